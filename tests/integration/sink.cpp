// test_sink ENDPOINT hold|drop [LOST_AFTER_MS]: the consumer of a counter stream, for tests.
//
// Prints "connected" when its inlet is open; when the stream ended, "ended SAMPLES LOST" or, when a value was not that
// of its sequence number, "wrong SEQUENCE"; when the stream was lost, "lost".
#include <rivulet/rivulet.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

int follow(rivulet::inlet& in) {
    std::vector<std::int64_t> values;
    std::vector<double> stamps;
    std::uint64_t samples = 0, lost = 0;
    for (;;) {
        const rivulet::pull_result got = in.pull_chunk(values, stamps);
        lost += got.lost_before;
        if (got.status == rivulet::pull_status::ended) {
            std::printf("ended %llu %llu\n", static_cast<unsigned long long>(samples),
                        static_cast<unsigned long long>(lost));
            return 0;
        }
        for (std::size_t i = 0; i < got.samples; ++i) {
            if (values[i] != static_cast<std::int64_t>(got.first_sequence + i)) {
                std::printf("wrong %llu\n", static_cast<unsigned long long>(got.first_sequence + i));
                return 1;
            }
        }
        samples += got.samples;
    }
}

} // namespace

int main(int count, char** arguments) {
    if (count < 3)
        return 2;
    rivulet::inlet_options options;
    options.name = "sink";
    options.open_timeout = std::chrono::seconds(60);
    options.max_buffered = std::size_t{2} << 20;
    if (std::string(arguments[2]) == "hold")
        options.full = rivulet::when_full::hold;
    if (count > 3)
        options.lost_after = std::chrono::milliseconds(std::stol(arguments[3]));
    rivulet::inlet in(arguments[1], options);
    std::puts("connected");
    std::fflush(stdout);
    try {
        return follow(in);
    } catch (const rivulet::stream_lost&) {
        std::puts("lost");
        return 0;
    }
}
