#include <rivulet/config.hpp>

#include "config/keys.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace rivulet {
namespace {

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DefaultFile, EqualsTheCompiledDefaultsInText) { EXPECT_EQ(text_of(DEFAULT_FILE), default_config_text()); }

TEST(DefaultFile, EqualsTheCompiledDefaultsWhenRead) { EXPECT_EQ(load_config(DEFAULT_FILE, {}), config{}); }

TEST(Profiles, AreReadAndChangeSomething) {
    int profiles = 0;
    for (const auto& entry : std::filesystem::directory_iterator(PROFILES)) {
        EXPECT_NE(load_config(entry.path().string(), {}), config{}) << entry.path();
        ++profiles;
    }
    EXPECT_GE(profiles, 3);
}

TEST(DefaultFile, EveryKeyIsThereWithItsVariable) {
    const std::string text = default_config_text();
    for (const settings::key& key : settings::keys()) {
        EXPECT_NE(text.find("\n" + std::string(key.name) + " = "), text.find("\n# " + std::string(key.name) + " = "));
        EXPECT_NE(text.find(key.variable), std::string::npos);
    }
}

TEST(DefaultFile, UnsetKeysShowAValueThatCanBeUncommented) {
    std::string text = default_config_text();
    const std::size_t at = text.find("# send_timeout = ");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(parse_config(text.erase(at, 2), "x").tuning.send_timeout, config{}.tuning.watchdog);
}

TEST(Keys, EachBelongsToASectionAndIsUnique) {
    for (const settings::key& key : settings::keys()) {
        const auto names = settings::section_names();
        EXPECT_NE(std::find(names.begin(), names.end(), key.section), names.end()) << key.where();
        EXPECT_EQ(settings::find_key(key.section, key.name), &key) << key.where();
        EXPECT_EQ(key.check(config{}), "") << key.where();
    }
}

} // namespace
} // namespace rivulet
