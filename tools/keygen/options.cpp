#include "keygen/options.hpp"

namespace rivulet::tools {
namespace {

constexpr const char* examples =
    R"(  stream-keygen amp-17                     amp-17.key, for the outlet's [security] secret_key, and amp-17.pub
  stream-keygen viewer                     the same for a consumer: its viewer.pub goes into the outlet's clients
  stream-keygen --session-key lab          lab.session, for [security] session_key of every program of the lab
  stream-keygen --show amp-17.key          the public key and its id once more

  stream-pub --secret-key amp-17.key --client-key viewer.pub
  stream-sub --secret-key viewer.key --server-key amp-17.pub --name Demo)";

} // namespace

std::variant<keygen_options, int> parse_keygen_options(int argc, const char* const* argv) {
    keygen_options o;
    CLI::App app("Makes keys for [security]: secret ones in files that only their owner can read, never over a file "
                 "that is there.",
                 "stream-keygen");
    app.add_option("NAME", o.name,
                   "Files to make: NAME.key (secret) and NAME.pub (to be given to others); may have a "
                   "folder before it")
        ->required();
    auto* const session = app.add_flag(
        "--session-key", o.session, "Makes NAME.session instead: the secret that a lab's programs share for beacons");
    app.add_flag("--show", o.show, "Makes nothing: NAME is a file with a secret key, whose public key is shown")
        ->excludes(session);
    app.add_flag("--json", o.json, "What was made as one line of JSON; never a secret");
    set_up_help(app, examples, "0 done, 1 failed, 2 usage");
    if (const auto code = parse_command_line(app, argc, argv))
        return *code;
    if (o.name.empty() || o.name.back() == '/')
        throw usage_error("NAME is empty, or a folder; give the name of the files to make");
    return o;
}

} // namespace rivulet::tools
