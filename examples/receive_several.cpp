// Receives several streams in one thread, numbers and text, and prints what comes: stream, wall clock, first channel.
//   receive_several ENDPOINT...
#include <rivulet/rivulet.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <list>
#include <string>
#include <vector>

namespace {

/// Prints all that is there; false once the stream has ended.
bool print_available(rivulet::inlet& in, const rivulet::stream_info& info) {
    const bool text = info.format == rivulet::channel_format::string;
    std::vector<double> numbers, stamps;
    std::vector<std::string> texts;
    for (;;) {
        const auto got = text ? in.pull_chunk(texts, stamps, std::chrono::seconds(0))
                              : in.pull_chunk(numbers, stamps, std::chrono::seconds(0));
        for (std::size_t i = 0; i < got.samples; ++i) {
            const std::size_t first = i * in.channel_count();
            std::printf("%s %.6f %s\n", info.name.c_str(), static_cast<double>(in.to_unix_ns(stamps[i])) * 1e-9,
                        text ? texts[first].c_str() : std::to_string(numbers[first]).c_str());
        }
        if (!got)
            return got.status != rivulet::pull_status::ended;
    }
}

} // namespace

int main(int argc, char** argv) try {
    std::list<rivulet::inlet> inlets;
    std::vector<rivulet::inlet*> open;
    for (int i = 1; i < argc; ++i)
        open.push_back(&inlets.emplace_back(argv[i]));
    while (!open.empty()) {
        const std::vector<std::size_t> ready = rivulet::wait_any(open, rivulet::forever);
        for (auto i = ready.rbegin(); i != ready.rend(); ++i) // from behind: those that ended are taken out
            if (!print_available(*open[*i], open[*i]->info()))
                open.erase(open.begin() + static_cast<std::ptrdiff_t>(*i));
        std::fflush(stdout);
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
