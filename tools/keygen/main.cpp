#include "common/cli.hpp"
#include "keygen/key_writer.hpp"

int main(int argc, char** argv) {
    using namespace rivulet::tools;
    return run_tool("stream-keygen", [&] {
        const auto options = parse_keygen_options(argc, argv);
        return std::holds_alternative<int>(options) ? std::get<int>(options)
                                                    : make_keys(std::get<keygen_options>(options));
    });
}
