#include "common/cli.hpp"
#include "pub/publisher.hpp"

int main(int argc, char** argv) {
    using namespace rivulet::tools;
    return run_tool("stream-pub", [&] {
        const auto options = parse_pub_options(argc, argv);
        return std::holds_alternative<int>(options) ? std::get<int>(options) : publish(std::get<pub_options>(options));
    });
}
