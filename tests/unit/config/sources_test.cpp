#include <rivulet/config.hpp>
#include <rivulet/error.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace rivulet {
namespace {

namespace fs = std::filesystem;

/// A folder of its own as working directory; both are put back afterwards.
class ConfigSources : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "rivulet-config-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        before_ = fs::current_path();
        fs::current_path(folder_);
    }
    void TearDown() override {
        fs::current_path(before_);
        fs::remove_all(folder_);
    }

    std::string write(const fs::path& name, const std::string& text) const {
        const fs::path path = folder_ / name;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
        return path.string();
    }

    static std::string refusal(const std::optional<std::string>& file, const environment& env) {
        try {
            load_config(file, env);
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::bad_config);
            return e.what();
        }
        return "";
    }

    fs::path folder_;
    fs::path before_;
};

TEST_F(ConfigSources, EnvironmentGoesBeforeFileBeforeDefault) {
    const std::string file = write("a.toml", "[session]\nname = 'file'\n[log]\nlevel = 'error'\n");
    const config c = load_config(file, {{"RIVULET_SESSION_NAME", "variable"}});
    EXPECT_EQ(c.session.name, "variable");
    EXPECT_EQ(c.log.level, "error");
    EXPECT_EQ(c.log.format, "text");
}

TEST_F(ConfigSources, FirstFileThatExistsIsReadAlone) {
    config_source source;
    const std::string home = (folder_ / "home").string();
    const std::string named = write("named.toml", "session.name = 'named'");
    const std::string given = write("given.toml", "session.name = 'given'");
    const std::string at_home = write("home/.config/rivulet/rivulet.toml", "session.name = 'home'\nlog.level = 'off'");

    EXPECT_EQ(load_config({}, {{"HOME", home}}, &source).session.name, "home");
    EXPECT_EQ(source.file, at_home);
    write("rivulet.toml", "session.name = 'here'");
    const config here = load_config({}, {{"HOME", home}}, &source);
    EXPECT_EQ(here.session.name, "here");
    EXPECT_EQ(here.log.level, "auto");
    EXPECT_EQ(source.file, "./rivulet.toml");
    EXPECT_EQ(load_config({}, {{"HOME", home}, {"RIVULET_CONFIG", named}}, &source).session.name, "named");
    EXPECT_EQ(source.file, named);
    EXPECT_EQ(load_config(given, {{"HOME", home}, {"RIVULET_CONFIG", named}}, &source).session.name, "given");
    EXPECT_EQ(source.file, given);
}

TEST_F(ConfigSources, AFileAskedForMustExist) {
    EXPECT_EQ(refusal("nowhere.toml", {}),
              "cannot read the configuration file nowhere.toml: No such file or directory");
    EXPECT_NE(refusal({}, {{"RIVULET_CONFIG", "nowhere.toml"}}).find("nowhere.toml: No such file"), std::string::npos);
    EXPECT_EQ(refusal(folder_.string(), {}),
              "cannot read the configuration file " + folder_.string() + ": Is a directory");
}

TEST_F(ConfigSources, AnEndlessFileIsRefused) {
    EXPECT_NE(refusal("/dev/zero", {}).find("larger than 1 MiB"), std::string::npos);
}

TEST_F(ConfigSources, MistakesInFileAndEnvironmentAreReportedTogether) {
    const std::string file = write("a.toml", "[session]\nnam = 'x'\n");
    EXPECT_EQ(refusal(file, {{"RIVULET_LOG_LEVEL", "5"}}),
              file + ":2: [session] nam: unknown key, did you mean name?\n"
                     "RIVULET_LOG_LEVEL: \"5\" is none of the choices; allowed: \"auto\", \"trace\", \"debug\", "
                     "\"info\", \"warn\", "
                     "\"error\", \"off\"");
}

} // namespace
} // namespace rivulet
