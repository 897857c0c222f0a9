#include "common/cli.hpp"
#include "ls/lister.hpp"

int main(int argc, char** argv) {
    using namespace rivulet::tools;
    return run_tool("stream-ls", [&] {
        const auto options = parse_ls_options(argc, argv);
        return std::holds_alternative<int>(options) ? std::get<int>(options) : list(std::get<ls_options>(options));
    });
}
