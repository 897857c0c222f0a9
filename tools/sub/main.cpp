#include "common/cli.hpp"
#include "common/connector.hpp"
#include "sub/subscriber.hpp"

int main(int argc, char** argv) {
    using namespace rivulet::tools;
    return leave(run_tool("stream-sub", [&] {
        const auto options = parse_sub_options(argc, argv);
        return std::holds_alternative<int>(options) ? std::get<int>(options)
                                                    : subscribe(std::get<sub_options>(options));
    }));
}
