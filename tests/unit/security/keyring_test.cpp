#include "links.hpp"

#include <rivulet/error.hpp>
#include <rivulet/keys.hpp>
#include <security/keyring.hpp>

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace rivulet::security {
namespace {

std::string file(const std::string& text, mode_t mode = 0600) {
    const std::string path = links::fresh_path();
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
}

/// What is wrong with these settings; fails when nothing is.
std::string complaint(const config::security_section& settings) {
    try {
        const keyring ring(settings);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), make_error_code(errc::bad_config)) << e.what();
        return e.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

key_bytes bytes_of(const std::string& public_key) {
    return *decode_key(std::string_view(public_key).substr(public_prefix.size()));
}

TEST(Keyring, NothingIsConfiguredByDefault) {
    const keyring ring{config::security_section{}};
    EXPECT_FALSE(ring.required());
    EXPECT_FALSE(ring.curve());
    EXPECT_EQ(ring.session_key(), nullptr);
}

TEST(Keyring, ASecretThatOthersCanGetAtIsRefusedWithWhatToDo) {
    for (const mode_t mode : {0640, 0604, 0660, 0620, 0602, 0644, 0777, 0610}) {
        config::security_section settings;
        settings.secret_key = file(make_key_pair().secret_key, mode);
        const std::string told = complaint(settings);
        EXPECT_TRUE(mentions(told, "chmod 600 " + settings.secret_key)) << told;
        EXPECT_TRUE(mentions(told, "[security] secret_key")) << told;
        config::security_section session;
        session.session_key = file(make_session_key(), mode);
        EXPECT_TRUE(mentions(complaint(session), "chmod 600 " + session.session_key));
    }
    for (const mode_t mode : {0600, 0400, 0700}) {
        config::security_section settings;
        settings.secret_key = file(make_key_pair().secret_key, mode);
        EXPECT_TRUE(keyring(settings).curve());
    }
}

TEST(Keyring, FilesThatAreNoneAreRefusedWithoutRepeatingSecrets) {
    const key_pair keys = make_key_pair();
    config::security_section settings;
    const auto told = [&](const std::string& path) {
        settings.secret_key = path;
        const std::string text = complaint(settings);
        EXPECT_FALSE(mentions(text, keys.secret_key.substr(secret_prefix.size()))) << text;
        return text;
    };
    EXPECT_TRUE(mentions(told("/nonexistent/key"), "/nonexistent/key"));
    EXPECT_TRUE(mentions(told("/dev/null"), "no regular file"));
    EXPECT_TRUE(mentions(told(file("")), "0 keys"));
    EXPECT_TRUE(mentions(told(file(keys.secret_key + '\n' + keys.secret_key)), "2 keys"));
    EXPECT_TRUE(mentions(told(file(keys.public_key)), "a public key"));
    EXPECT_TRUE(mentions(told(file(make_session_key())), "a session key"));
    EXPECT_TRUE(mentions(told(file(keys.secret_key.substr(0, 50))), "line 1"));
    EXPECT_TRUE(mentions(told(keys.secret_key), "name a file"));
    EXPECT_TRUE(mentions(told(file(std::string(2 << 20, '#'))), "larger"));
    config::security_section clients;
    clients.secret_key = file(keys.secret_key);
    clients.clients = {keys.secret_key};
    const std::string text = complaint(clients);
    EXPECT_TRUE(mentions(text, ".pub")) << text;
    EXPECT_FALSE(mentions(text, keys.secret_key.substr(secret_prefix.size()))) << text;
}

TEST(Keyring, WhoIsTrusted) {
    const key_pair own = make_key_pair(), first = make_key_pair(), second = make_key_pair(), third = make_key_pair();
    config::security_section settings;
    settings.secret_key = file("# mine\n\n  " + own.secret_key + " with a comment\r\n");
    settings.clients = {first.public_key, file(second.public_key + " second\n# and\n" + third.public_key, 0644)};
    const keyring ring(settings);
    EXPECT_EQ(ring.id(), key_id(own.public_key));
    for (const key_pair* one : {&own, &first, &second, &third})
        EXPECT_TRUE(ring.admits(bytes_of(one->public_key)));
    EXPECT_FALSE(ring.admits(bytes_of(make_key_pair().public_key)));
    EXPECT_FALSE(ring.admits({}));
    EXPECT_EQ(ring.server("", "x"), bytes_of(own.public_key)) << "a lab with one key for all";
    EXPECT_THROW(ring.server(key_id(first.public_key), "x"), error) << "a consumer is no outlet";
}

TEST(Keyring, WhichKeyAnOutletMustHave) {
    const key_pair own = make_key_pair(), first = make_key_pair(), second = make_key_pair();
    config::security_section settings;
    settings.secret_key = file(own.secret_key);
    settings.servers = {first.public_key};
    EXPECT_EQ(keyring(settings).server("", "x"), bytes_of(first.public_key));
    settings.servers.push_back(second.public_key);
    const keyring ring(settings);
    EXPECT_EQ(ring.server(key_id(second.public_key), "x"), bytes_of(second.public_key));
    EXPECT_EQ(ring.server(key_id(own.public_key), "x"), bytes_of(own.public_key));
    try {
        ring.server("", "zmq+tcp://h:1");
        ADD_FAILURE() << "two could be meant";
    } catch (const error& e) {
        EXPECT_TRUE(mentions(e.what(), "?key=") && mentions(e.what(), key_id(first.public_key))) << e.what();
    }
    EXPECT_THROW(ring.server("0123456789abcdef", "x"), error);
}

TEST(Keyring, AFileTellsItsPublicKey) {
    const key_pair own = make_key_pair();
    EXPECT_EQ(public_key_of_file(file(own.secret_key)), own.public_key);
    EXPECT_THROW(public_key_of_file(file(own.secret_key, 0644)), error);
}

} // namespace
} // namespace rivulet::security
