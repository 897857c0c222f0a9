#pragma once

#include "bench/arrival.hpp"
#include "bench/work.hpp"

#include <rivulet/context.hpp>
#include <rivulet/inlet.hpp>
#include <rivulet/outlet.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

/// The work done by outlets and inlets, as a user's program would.
namespace rivulet::tools::bench {

class rivulet_sender {
public:
    /// @param path of Unix sockets, to which the stream's number is appended.
    rivulet_sender(const work& w, const std::string& path, const config& settings);

    const std::string& endpoints() const noexcept { return endpoints_; }
    void wait_for_consumers();
    void send(std::size_t stream, const std::byte* values, double stamp) {
        if (work_.int16)
            push<std::int16_t>(outlets_[stream], values, stamp);
        else
            push<float>(outlets_[stream], values, stamp);
    }
    void finish();

private:
    template<class T>
    void push(outlet& out, const std::byte* values, double stamp) const {
        const auto* typed = reinterpret_cast<const T*>(values);
        if (count_ == 1)
            out.push_sample(*typed, stamp);
        else if (work_.chunk == 1)
            out.push_sample(std::span(typed, count_), stamp);
        else
            out.push_chunk(std::span(typed, count_), stamp);
    }

    work work_;
    std::size_t count_; ///< values a chunk
    std::string endpoints_;
    std::vector<outlet> outlets_;
};

class rivulet_receiver {
public:
    rivulet_receiver(const work& w, const std::string& endpoints, const config& settings);

    /// What the next pull returned; waits for it.
    arrival receive();

private:
    template<class T>
    pull_result pull(inlet& in, std::chrono::nanoseconds timeout) {
        return in.pull_chunk(std::span<T>(reinterpret_cast<T*>(values_.data()), values_.size() / sizeof(T)),
                             std::span<double>(stamps_), timeout);
    }

    work work_;
    std::vector<inlet> inlets_;
    std::vector<inlet*> open_;
    std::vector<std::byte> values_;
    std::vector<double> stamps_;
    std::vector<std::size_t> ready_;
};

} // namespace rivulet::tools::bench
