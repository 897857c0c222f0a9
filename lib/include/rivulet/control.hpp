#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rivulet {

/// Control messages: bytes from a consumer to the producer, and an answer to it alone. What they mean is between both.

/// Most bytes of a request and of a reply.
inline constexpr std::size_t max_control_bytes = std::size_t{1} << 20;

/// What a handler gets.
struct control_request {
    std::string from;                            ///< the asker's name, as it calls itself (inlet_options::name)
    std::string consumer;                        ///< its consumer id, as it says; empty for askers without an inlet
    std::uint64_t id = 0;                        ///< of the request, as the asker counts
    std::optional<std::uint64_t> about_sequence; ///< the sample that it refers to
    double sent_at = 0;                          ///< local_clock() of the asker when it sent
    std::vector<std::byte> data;
};

/// How a request ended. All but `done` and `failed` say for sure that nothing was done.
enum class control_status : std::uint8_t {
    done,        ///< handled
    refused,     ///< the handler did not want it
    failed,      ///< the handler threw, or replied with more than max_control_bytes: it may have done part of its work
    busy,        ///< too many requests wait for the handler
    no_handler,  ///< the outlet takes no control messages
    unavailable, ///< the outlet is not there any more, or is closing
    unreachable  ///< nobody answers where the outlet's service was; nothing was sent
};

struct control_reply {
    std::vector<std::byte> data{};
    /// A handler gives done or refused; one that passes requests on gives what it was told itself.
    control_status status = control_status::done;
    std::string text{}; ///< the reason, for people

    explicit operator bool() const noexcept { return status == control_status::done; }
};

/// Where an outlet's control handler runs.
enum class control_thread : std::uint8_t {
    own, ///< one of its own ("rivulet-control"): it may take its time. Default
    io   ///< the context's I/O thread: the request need not wake another thread first, which is most of its way in a
         ///< control loop. Whatever the context sends and receives waits meanwhile: be brief, never block, and neither
         ///< make nor stop outlets and inlets in it
};

struct control_options {
    /// Longest wait for the reply. The request may still be handled after it.
    std::chrono::nanoseconds timeout = std::chrono::seconds(5);
    /// The sequence number of the sample that the request is about.
    std::optional<std::uint64_t> about_sequence{};
};

} // namespace rivulet
