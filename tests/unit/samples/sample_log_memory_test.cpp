// Counts the blocks of this program's operator new[], which segments live in, and looks which of their pages are there.
#include "log_samples.hpp"

#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr std::size_t counted_from = 2048; ///< smaller arrays are not segments' blocks
std::atomic<std::size_t> live_bytes{0};
std::atomic<std::size_t> live_blocks{0};
std::atomic<std::size_t> blocks_ever{0};

/// The size is kept in front of the block.
constexpr std::size_t front = 64;

} // namespace

void* operator new[](std::size_t size) {
    auto* block = static_cast<std::byte*>(std::malloc(size + front));
    if (!block)
        throw std::bad_alloc();
    *reinterpret_cast<std::size_t*>(block) = size;
    if (size >= counted_from) {
        live_bytes += size;
        ++live_blocks;
        ++blocks_ever;
    }
    return block + front;
}
void operator delete[](void* p) noexcept {
    if (!p)
        return;
    auto* block = static_cast<std::byte*>(p) - front;
    const std::size_t size = *reinterpret_cast<std::size_t*>(block);
    if (size >= counted_from) {
        live_bytes -= size;
        --live_blocks;
    }
    std::free(block);
}
void operator delete[](void* p, std::size_t) noexcept { operator delete[](p); }

namespace rivulet::samples {
namespace {

using namespace testing;

constexpr std::size_t block_of(std::size_t log_bytes) { return log_bytes / 8; }

TEST(SampleLogMemory, NothingIsTakenBeforeTheFirstSample) {
    const auto log = make_log(256 << 20, 1000);
    log_reader reader(log, 0, true);
    EXPECT_FALSE(reader.peek());
    EXPECT_EQ(live_blocks, 0u);
    append(*log, 1);
    EXPECT_EQ(live_blocks, 1u);
    EXPECT_LE(live_bytes, 1u << 20);
}

/// Pages of a block that are resident.
std::size_t resident_pages(const std::byte* begin, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t start = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
    const std::size_t pages = (reinterpret_cast<std::uintptr_t>(begin) + bytes - start) / page;
    std::vector<unsigned char> in(pages);
    EXPECT_EQ(::mincore(reinterpret_cast<void*>(start), pages * page, in.data()), 0);
    return static_cast<std::size_t>(std::count_if(in.begin(), in.end(), [](unsigned char c) { return c & 1; }));
}

TEST(SampleLogMemory, PagesAreNotThereBeforeTheyAreWritten) {
    // Larger than what malloc would ever serve from memory used before.
    const std::size_t channels = 5u << 20;
    const auto log = make_log(0, channels);
    const sample_log::room room = log->reserve(overflow::drop_oldest);
    ASSERT_EQ(room.count, 1u);
    const std::size_t bytes = channels * 8;
    const std::size_t pages = bytes / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (resident_pages(room.samples, bytes) > pages / 4)
        GTEST_SKIP() << "the allocator of this build writes to what it hands out";
    std::memset(room.samples, 1, bytes / 2);
    EXPECT_GE(resident_pages(room.samples, bytes), pages / 2 - 2);
    EXPECT_LE(resident_pages(room.samples, bytes), pages / 2 + 1024) << "transparent huge pages at most";
}

TEST(SampleLogMemory, WindowNeverExceedsItsBytes) {
    for (const std::size_t bytes : {64u << 10, 1u << 20, 16u << 20, 100'000u, 3'000'000u}) {
        for (const std::size_t channels : {1u, 5u, 64u}) {
            const auto log = make_log(bytes, channels);
            std::size_t most = 0;
            for (std::size_t written = 0; written < 3 * bytes; written += 64 * channels * 8) {
                append(*log, 64);
                most = std::max<std::size_t>(most, live_bytes);
            }
            EXPECT_LE(most, bytes) << channels << " channels";
            EXPECT_GE(most, bytes / 10 * 7) << "and most of them are used";
        }
    }
    EXPECT_EQ(live_blocks, 0u);
}

TEST(SampleLogMemory, TextWindowNeverExceedsItsBytes) {
    const std::size_t bytes = 1 << 20;
    const auto log = make_log(bytes, 1, channel_format::string);
    const double stamp = 1;
    for (const std::size_t length : {0u, 3u, 100u, 20'000u, 60'000u, 300'000u, 30u}) {
        const std::string text(length, 'x');
        const std::string_view value = text;
        for (std::size_t written = 0; written < 3 * bytes; written += length + 12) {
            log->append_text({&value, 1}, &stamp, overflow::drop_oldest);
            ASSERT_LE(live_bytes, bytes) << length;
        }
        const std::uint64_t kept = log->head() - log->oldest();
        EXPECT_GE(kept * (length + 12), bytes / 4) << length << ": and a good part of it is used";
    }
}

TEST(SampleLogMemory, WithoutHistoryOnlyWhatIsUnreadIsKept) {
    const std::size_t bytes = 8 << 20;
    const auto log = std::make_shared<sample_log>(log_options{
        .format = channel_format::int64, .channels = 1, .rate_hz = test_rate, .bytes = bytes, .history = false});
    append(*log, 1000);
    EXPECT_EQ(log->oldest(), 0u) << "nobody has read it yet";
    tally got;
    {
        log_reader slow(log, 0, false);
        log_reader reader(log, 0, false);
        append(*log, 200'000);
        got.take_all(reader);
        EXPECT_EQ(log->oldest(), 0u) << "one of two has read it";
        tally others;
        others.take_all(slow);
        EXPECT_EQ(others.lost + others.wrong, 0u);
        for (int i = 0; i < 100; ++i) {
            append(*log, 20'000);
            got.take_all(reader);
            others.take_all(slow);
        }
    }
    EXPECT_LE(live_bytes, 3 * block_of(bytes));
    const std::size_t before = blocks_ever;
    log_reader reader(log, got.next, true);
    for (int i = 0; i < 100; ++i) {
        append(*log, 20'000);
        got.take_all(reader);
    }
    EXPECT_EQ(blocks_ever, before) << "segments are used again";
    const std::uint64_t burst = append_until_refused(*log);
    EXPECT_GT(live_bytes, bytes / 4 * 3) << "unread samples still fill all of the window";
    EXPECT_GT(burst, bytes / 32);
    for (int i = 0; i < 100; ++i) {
        got.take_all(reader);
        append(*log, 20'000);
    }
    got.take_all(reader);
    EXPECT_LE(live_bytes, 3 * block_of(bytes)) << "and go after a burst";
    EXPECT_EQ(got.lost + got.wrong, 0u);
    EXPECT_EQ(got.next, log->head());
}

TEST(SampleLogMemory, SteadyStateAllocatesNothing) {
    const auto log = make_log(1 << 20);
    log_reader reader(log, 0, false);
    tally got;
    append(*log, 200'000);
    got.take_all(reader);
    const std::size_t before = blocks_ever;
    for (int i = 0; i < 100; ++i) {
        append(*log, 20'000);
        got.take_all(reader);
    }
    EXPECT_EQ(blocks_ever, before) << "segments are used again";
    EXPECT_EQ(got.wrong, 0u);
}

TEST(SampleLogMemory, EachReaderKeepsAtMostOneSegmentMore) {
    const std::size_t bytes = 1 << 20;
    const auto log = make_log(bytes);
    std::vector<std::unique_ptr<log_reader>> readers;
    for (std::size_t n = 1; n <= 6; ++n) {
        readers.push_back(std::make_unique<log_reader>(log, log->head(), false));
        append(*log, 10);
        ASSERT_TRUE(readers.back()->peek(1)); // stays there for good
        append(*log, 200'000);
        EXPECT_GT(live_bytes, bytes / 8 * 7) << "the window";
        EXPECT_LE(live_bytes, bytes + n * block_of(bytes));
    }
    const std::size_t window = live_blocks - readers.size();
    for (const auto& reader : readers) {
        const log_span span = reader->peek();
        EXPECT_EQ(wrong_samples(span), 0u) << "what is kept stays as it was";
    }
    readers.clear();
    EXPECT_EQ(live_blocks, window);
}

TEST(SampleLogMemory, SharedSegmentOutlivesReaderAndLog) {
    segment_ref shared;
    log_span span;
    {
        const auto log = make_log(1 << 20);
        log_reader reader(log, 0, false);
        append(*log, 1000);
        span = reader.peek();
        shared = reader.share_segment();
        append(*log, 500'000);
        tally got;
        got.take_all(reader);
        EXPECT_EQ(wrong_samples(span), 0u);
    }
    EXPECT_EQ(live_blocks, 1u);
    EXPECT_EQ(wrong_samples(span), 0u);
    segment_ref copy = shared;
    segment* raw = copy.detach();
    EXPECT_EQ(raw, shared.get());
    shared = segment_ref();
    EXPECT_EQ(live_blocks, 1u);
    EXPECT_EQ(wrong_samples(span), 0u);
    segment_ref::adopt(raw);
    EXPECT_EQ(live_blocks, 0u);
}

TEST(SampleLogMemory, HugeValuesTakeNoMoreThanTheyNeed) {
    const std::size_t bytes = 1 << 20;
    const auto log = make_log(bytes, 1, channel_format::blob);
    const std::string huge(200'000, 'h');
    const std::string_view value = huge;
    const double stamp = 1;
    for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(log->append_text({&value, 1}, &stamp, overflow::drop_oldest), 1u);
        ASSERT_LE(live_bytes, bytes);
    }
    EXPECT_EQ(log->oldest(), 45u) << "five of them fit";
    EXPECT_GE(live_bytes, 5 * huge.size());
}

} // namespace
} // namespace rivulet::samples
