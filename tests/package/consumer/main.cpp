#include <rivulet/rivulet.hpp>

#include <cstdio>

int main() {
    rivulet::stream_info info{.name = "EEG", .nominal_rate_hz = 250};
    info.channel(0).label("Fp1").unit("microvolts");
    rivulet::outlet out{info, {.endpoints = {"zmq+tcp://127.0.0.1:*"}}};
    rivulet::inlet in{out.endpoints().at(0)};
    out.push_sample(1.5);

    double value = 0, stamp = 0;
    if (!in.pull_sample(value, stamp, std::chrono::seconds(60)) || value != 1.5 || in.info().label(0) != "Fp1")
        return 1;
    std::printf("rivulet %s\n", rivulet::version());
}
