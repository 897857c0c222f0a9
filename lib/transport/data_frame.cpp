#include "transport/data_frame.hpp"

namespace rivulet::transport {

wire::data_header describe(const samples::log_span& span, std::uint64_t base, std::size_t payload_bytes,
                           std::span<wire::stamp_run> store) {
    wire::data_header header;
    header.first_sequence = span.position - base;
    header.count = span.count;
    header.payload_bytes = payload_bytes;
    if (span.count == 1) {
        store[0] = {1, 0, *span.stamps()};
        header.runs = store.first(1);
        return header;
    }
    header.runs = span.collect_runs(store);
    if (header.runs.empty() || header.runs.size() > span.count / 2) { // a run takes about two stamps' bytes
        header.runs = {};
        header.column = {span.stamps(), span.count};
    }
    return header;
}

} // namespace rivulet::transport
