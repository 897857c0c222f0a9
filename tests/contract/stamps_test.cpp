// A stamp is that of its own sample, to the bit, whatever was batched, cut or lost around it.
#include "contract.hpp"

#include <cmath>

namespace rivulet::contract {
namespace {

class Stamps : public promises {};
// --- what is done to them on pull -----------------------------------------------------------------------------------

/// Stamps of an even stream at 100 Hz that come late by up to 4 ms.
std::vector<double> jittery(std::uint64_t first, std::size_t samples) {
    std::vector<double> stamps(samples);
    for (std::size_t i = 0; i < samples; ++i)
        stamps[i] = 1000 + static_cast<double>(first + i) / 100 + 0.001 * static_cast<double>((first + i) * 7 % 5);
    return stamps;
}

double worst_step(std::span<const double> stamps) {
    double worst = 0;
    for (std::size_t i = 1; i < stamps.size(); ++i)
        worst = std::max(worst, std::abs(stamps[i] - stamps[i - 1] - 0.01));
    return worst;
}

TEST_P(Stamps, DejitterMakesThemEvenHoweverTheyArePulled) {
    outlet out = serve(numbers(channel_format::int64, 1, 100));
    inlet raw = connect(out);
    inlet chunks = connect(out, {.stamps = {.dejitter = true}});
    inlet views = connect(out, {.stamps = {.dejitter = true}});
    const std::size_t samples = 2000;
    out.push_chunk(counting(0, samples), jittery(0, samples));
    const auto as_sent = pull<std::int64_t>(raw, samples);
    const auto smooth = pull<std::int64_t>(chunks, samples, 37);
    EXPECT_TRUE(same(as_sent.stamps, jittery(0, samples)));
    EXPECT_GT(worst_step(as_sent.stamps), 0.002);
    EXPECT_LT(worst_step(std::span(smooth.stamps).last(1000)), 1e-4);
    std::vector<double> viewed;
    while (viewed.size() < samples) {
        const chunk_view view = views.pull_view(patience, 61);
        ASSERT_TRUE(view);
        viewed.insert(viewed.end(), view.stamps().begin(), view.stamps().end());
    }
    EXPECT_TRUE(same(viewed, smooth.stamps));
}

TEST_P(Stamps, DejitterBeginsAnewAfterAFlush) {
    outlet out = serve(numbers(channel_format::int64, 1, 100));
    inlet in = connect(out, {.stamps = {.dejitter = true}});
    const std::vector<double> before = jittery(0, 1000);
    out.push_chunk(counting(0, 1000), before);
    EXPECT_EQ(pull<std::int64_t>(in, 1000).samples, 1000u);
    out.push_chunk(counting(1000, 10), std::vector<double>(10, 1010.5)); // within what it would smooth
    ASSERT_TRUE(eventually([&] { return in.samples_available() == 10; }));
    in.flush();
    out.push_sample(std::int64_t{1010}, 1010.7);
    EXPECT_EQ(pull<std::int64_t>(in, 1).stamps.at(0), 1010.7) << "the first after it stands for itself";
}

TEST_P(Stamps, MonotonizeLetsNoneGoBack) {
    outlet out = serve(counter());
    inlet in = connect(out, {.stamps = {.monotonize = true}});
    out.push_chunk(counting(0, 6), std::vector<double>{1, 3, 2, 2.5, 4, 3.9});
    EXPECT_TRUE(same(pull<std::int64_t>(in, 6, 4).stamps, std::vector<double>{1, 3, 3, 3, 4, 4}));
}

TEST_P(Stamps, ClocksyncOfTheSameClockMovesThemByNoMoreThanItsUncertainty) {
    outlet out = serve(counter());
    inlet in = connect(out, {.stamps = {.clocksync = true}});
    const auto clock = in.time_correction(patience);
    ASSERT_TRUE(clock);
    out.push_chunk(counting(0, 100), std::vector<double>(100, 1000.0));
    for (const double stamp : pull<std::int64_t>(in, 100).stamps)
        EXPECT_NEAR(stamp, 1000.0, 2 * clock->uncertainty_s + 0.01);
    EXPECT_NEAR(static_cast<double>(in.to_unix_ns(1000.0)), static_cast<double>(local_to_unix_ns(1000.0)), 1e8);
}

INSTANTIATE_TEST_SUITE_P(Over, Stamps, ::testing::ValuesIn(links::all), links::name_of);

/// What a chunk of n samples with the stamp `last` promises: sample i has last - (n-1-i)/rate.
std::vector<double> deduced(std::size_t n, double last, double rate_hz) {
    std::vector<double> stamps;
    for (std::size_t i = 0; i < n; ++i)
        stamps.push_back(rate_hz > 0 ? last - static_cast<double>(n - 1 - i) / rate_hz : last);
    return stamps;
}

/// Stamps without any rule: forwards, backwards, tiny, huge.
std::vector<double> irregular_stamps(std::size_t n) {
    std::mt19937_64 random(17);
    std::vector<double> stamps{0.0, -0.0, 1e-300, -1.0, 1e18, 5e-324, 123456.789};
    while (stamps.size() < n)
        stamps.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -40));
    stamps.resize(n);
    return stamps;
}

TEST_P(Stamps, GivenStampsArriveToTheBit) {
    const auto stamps = irregular_stamps(5000);
    for (const double rate : {irregular, 1000.0}) {
        SCOPED_TRACE(rate);
        outlet out = serve(numbers(channel_format::int64, 1, rate));
        inlet in = connect(out);
        for (std::size_t i = 0; i < 1000; ++i)
            out.push_sample(static_cast<std::int64_t>(i), stamps[i]);
        out.push_chunk(counting(1000, 4000), std::span(stamps).subspan(1000));
        out.stop();
        const auto all = pull<std::int64_t>(in);
        EXPECT_TRUE(holds_exactly(all, 0, 5000));
        EXPECT_TRUE(same(all.stamps, stamps));
    }
}

TEST_P(Stamps, ChunkStampsFollowTheFormulaToTheBit) {
    for (const double rate : {1.0, 3.0, 250.0, 1000.0, 44'100.0, 30'000.25, 1e-3, 1e9}) {
        SCOPED_TRACE(rate);
        outlet out = serve(numbers(channel_format::int64, 1, rate));
        inlet in = connect(out);
        std::vector<double> expected;
        std::uint64_t pushed = 0;
        double last = 98'765.4321;
        for (const std::size_t n : {1u, 2u, 3u, 7u, 100u, 1000u, 2000u, 1u, 1u}) {
            out.push_chunk(counting(pushed, n), last);
            const auto stamps = deduced(n, last, rate);
            expected.insert(expected.end(), stamps.begin(), stamps.end());
            pushed += n;
            last += static_cast<double>(n) / rate * 1.000001;
        }
        out.stop();
        EXPECT_TRUE(same(pull<std::int64_t>(in).stamps, expected));
    }
}

TEST_P(Stamps, AConsumersCutsChangeNoBit) {
    const double rate = 44'100.0;
    outlet out = serve(numbers(channel_format::int64, 1, rate));
    std::vector<inlet> inlets;
    for (int i = 0; i < 4; ++i)
        inlets.push_back(connect(out));
    std::vector<double> expected;
    std::uint64_t pushed = 0;
    for (int chunk = 0; chunk < 50; ++chunk) {
        const double last = 1000.1 + 0.0173 * chunk;
        out.push_chunk(counting(pushed, 997), last);
        const auto stamps = deduced(997, last, rate);
        expected.insert(expected.end(), stamps.begin(), stamps.end());
        pushed += 997;
    }
    out.stop();
    for (std::size_t i = 0; i < inlets.size(); ++i) {
        const std::size_t cut = std::array<std::size_t, 4>{1, 7, 500, 100'000}[i];
        SCOPED_TRACE(cut);
        EXPECT_TRUE(same(pull<std::int64_t>(inlets[i], everything, cut).stamps, expected));
    }
}

TEST_P(Stamps, ChunkLargerThanAFrameKeepsTheFormula) {
    const double rate = 30'000.0;
    const std::size_t samples = 500'000; // 4 MB
    outlet out = serve(numbers(channel_format::int64, 1, rate));
    inlet in = connect(out);
    out.push_chunk(counting(0, samples), 777.777);
    out.stop();
    EXPECT_TRUE(same(pull<std::int64_t>(in).stamps, deduced(samples, 777.777, rate)));
}

TEST_P(Stamps, IrregularChunkGivesItsStampToAllItsSamples) {
    outlet out = serve(counter());
    inlet in = connect(out);
    out.push_chunk(counting(0, 100), 2.5);
    out.push_chunk(counting(100, 50), 1.5);
    out.stop();
    std::vector<double> expected(100, 2.5);
    expected.resize(150, 1.5);
    EXPECT_TRUE(same(pull<std::int64_t>(in).stamps, expected));
}

TEST_P(Stamps, StringsFollowTheSameRules) {
    const double rate = 7.0;
    outlet out = serve(numbers(channel_format::string, 2, rate));
    inlet in = connect(out);
    const std::vector<std::string> three_samples{"a", "b", "c", "d", "e", "f"};
    const std::array given{5.0, 4.0, 4.5};
    out.push_chunk(three_samples, 100.3);
    out.push_chunk(three_samples, given);
    out.push_sample(std::vector<std::string>{"g", "h"}, 9.25);
    out.stop();
    auto expected = deduced(3, 100.3, rate);
    expected.insert(expected.end(), {5.0, 4.0, 4.5, 9.25});
    EXPECT_TRUE(same(pull<std::string>(in, everything, 2).stamps, expected));
}

TEST_P(Stamps, MixedStampKindsInOneBatchStayTheirOwn) {
    const double rate = 500.0;
    outlet out = serve(numbers(channel_format::int64, 1, rate));
    inlet in = connect(out);
    std::mt19937 random(23);
    std::vector<double> expected;
    std::uint64_t pushed = 0;
    for (int i = 0; i < 3000; ++i) {
        const std::size_t n = 1 + random() % 20;
        const auto values = counting(pushed, n);
        pushed += n;
        const double last = 50.0 + i * 0.1;
        auto stamps = deduced(n, last, rate);
        if (random() % 2 == 0) {
            out.push_chunk(values, last);
        } else {
            for (double& stamp : stamps)
                stamp += static_cast<double>(random() % 1000) * 1e-7;
            out.push_chunk(values, stamps);
        }
        expected.insert(expected.end(), stamps.begin(), stamps.end());
    }
    out.stop();
    const auto all = pull<std::int64_t>(in, everything, 333);
    EXPECT_TRUE(holds_exactly(all, 0, pushed));
    EXPECT_TRUE(same(all.stamps, expected));
}

TEST_P(Stamps, NowIsTheClockAtThePush) {
    const double rate = 100.0;
    outlet out = serve(numbers(channel_format::int64, 1, rate));
    inlet in = connect(out);
    const auto bracketed = [&](std::size_t samples, const std::function<void()>& push) {
        const double before = local_clock();
        push();
        const double after = local_clock();
        const auto all = pull<std::int64_t>(in, samples);
        ASSERT_EQ(all.stamps.size(), samples);
        EXPECT_GE(all.stamps.back(), before);
        EXPECT_LE(all.stamps.back(), after);
        EXPECT_TRUE(same(all.stamps, deduced(samples, all.stamps.back(), rate)));
    };
    bracketed(1, [&] { out.push_sample(std::int64_t{1}); });
    bracketed(1, [&] { out.push_sample(std::int64_t{1}, now); });
    bracketed(1, [&] { out.push_sample(counting(0, 1)); });
    bracketed(10, [&] { out.push_chunk(counting(0, 10)); });
    bracketed(10, [&] { out.push_chunk(counting(0, 10), now); });
}

TEST_P(Stamps, NowOfAnIrregularChunkIsOneInstant) {
    outlet out = serve(numbers(channel_format::string));
    inlet in = connect(out);
    const double before = local_clock();
    out.push_chunk(std::vector<std::string>{"a", "b", "c"});
    const double after = local_clock();
    const auto all = pull<std::string>(in, 3);
    ASSERT_EQ(all.stamps.size(), 3u);
    EXPECT_TRUE(same(all.stamps, std::vector<double>(3, all.stamps[0])));
    EXPECT_GE(all.stamps[0], before);
    EXPECT_LE(all.stamps[0], after);
}

TEST_P(Stamps, NaNIsRefusedAndHarmsNothing) {
    outlet out = serve(counter());
    outlet text = serve(numbers(channel_format::string));
    inlet in = connect(out);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    out.push_sample(std::int64_t{0}, 1.0);
    const std::string message = refusal(errc::invalid_argument, [&] { out.push_sample(std::int64_t{1}, nan); });
    EXPECT_TRUE(mentions(message, "NaN") && mentions(message, "stamp")) << message;
    refusal(errc::invalid_argument, [&] { out.push_chunk(counting(1, 5), nan); });
    refusal(errc::invalid_argument, [&] { out.push_chunk(counting(1, 3), std::array{1.0, nan, 3.0}); });
    refusal(errc::invalid_argument, [&] { text.push_sample("x", nan); });
    refusal(errc::invalid_argument, [&] { text.push_chunk(std::vector<std::string>{"x"}, std::array{nan}); });
    out.push_sample(std::int64_t{1}, 2.0);
    out.stop();
    const auto all = pull<std::int64_t>(in);
    EXPECT_TRUE(holds_exactly(all, 0, 2));
    EXPECT_TRUE(same(all.stamps, std::array{1.0, 2.0}));
}

TEST_P(Stamps, WallClockTimeOfAStampIsTheWallClocks) {
    const auto wall = [] {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    };
    outlet out = serve(counter());
    inlet in = connect(out);
    const auto slack = std::chrono::nanoseconds(10ms).count(); // the wall clock may be slewed meanwhile
    const auto before = wall();
    out.push_sample(std::int64_t{0});
    const auto after = wall();
    std::int64_t value = 0;
    double stamp = 0;
    ASSERT_TRUE(in.pull_sample(value, stamp, patience));
    EXPECT_GE(in.to_unix_ns(stamp), before - slack);
    EXPECT_LE(in.to_unix_ns(stamp), after + slack);
    EXPECT_NEAR(static_cast<double>(in.to_unix_ns(stamp + 1.0) - in.to_unix_ns(stamp)), 1e9, 1e7);
}

TEST_P(Stamps, DroppedSamplesTakeNoStampsWithThem) {
    const double rate = 1000.0;
    outlet out = serve(numbers(channel_format::int64, 1, rate), {.buffer = MiB});
    inlet in = connect(out, {.max_buffered = MiB});
    const std::size_t chunk = 1000;
    const auto last_stamp = [](std::uint64_t chunk_index) { return 10.0 + static_cast<double>(chunk_index) * 1.1; };
    const std::uint64_t chunks = 3000; // 24 MB
    for (std::uint64_t i = 0; i < chunks; ++i)
        out.push_chunk(counting(i * chunk, chunk), last_stamp(i));
    out.stop();
    const auto all = pull<std::int64_t>(in, everything, 777);
    EXPECT_GT(all.lost, 0u);
    EXPECT_EQ(all.samples + all.lost, chunks * chunk);
    EXPECT_TRUE(values_fit_sequences(all));
    for (std::size_t i = 0; i < all.stamps.size(); ++i) {
        const std::uint64_t in_chunk = all.sequences[i] % chunk;
        const double expected = last_stamp(all.sequences[i] / chunk) - static_cast<double>(chunk - 1 - in_chunk) / rate;
        ASSERT_EQ(all.stamps[i], expected) << "sample " << all.sequences[i];
    }
}

} // namespace
} // namespace rivulet::contract
