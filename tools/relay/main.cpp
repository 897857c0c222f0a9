#include "common/cli.hpp"
#include "common/connector.hpp"
#include "relay/relay.hpp"

int main(int argc, char** argv) {
    using namespace rivulet::tools;
    return leave(run_tool("stream-relay", [&] {
        const auto options = parse_relay_options(argc, argv);
        return std::holds_alternative<int>(options) ? std::get<int>(options)
                                                    : relay_streams(std::get<relay_options>(options));
    }));
}
