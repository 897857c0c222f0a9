#include "fuzz_target.hpp"
#include "msgpack_mutator.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

// Runs a fuzz target on files, and on all files of folders, given as arguments: what libFuzzer's own main does with a
// corpus, for compilers without libFuzzer.

std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t size, std::size_t) { return size; }

namespace {

void replay(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (!file) {
        std::cerr << "cannot read " << path << '\n';
        std::exit(1);
    }
    // On the heap and of exactly its size, so that AddressSanitizer sees reads beyond it.
    const auto bytes = std::make_unique<std::uint8_t[]>(content.size());
    std::copy(content.begin(), content.end(), bytes.get());
    std::cout << path.string() << std::endl; // flushed: the last line names the input that made it crash
    LLVMFuzzerTestOneInput(bytes.get(), content.size());
}

} // namespace

int main(int argc, char** argv) {
    int replayed = 0;
    for (int i = 1; i < argc; ++i) {
        if (!std::filesystem::is_directory(argv[i])) {
            replay(argv[i]);
            ++replayed;
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
            replay(entry.path());
            ++replayed;
        }
    }
    std::cout << replayed << " inputs replayed\n";
    return replayed == 0;
}
