#include <rivulet/rivulet.hpp>

#include <cstdio>

int main() {
    rivulet::stream_info info{.name = "EEG", .channel_count = 8, .nominal_rate_hz = 250};
    info.channel(0).label("Fp1").unit("microvolts");
    rivulet::validate(info);
    std::printf("rivulet %s\n", rivulet::version());
}
