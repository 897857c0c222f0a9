#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// libFuzzer's own mutations; a program without libFuzzer has a replacement that changes nothing.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Mutations of msgpack that keep it msgpack: values change, come, go and move, and lengths are written anew. Bytes
/// that change at random seldom get past a parser that checks them.
namespace rivulet::fuzz {

struct msgpack_value {
    enum class kind : std::uint8_t { nil, boolean, positive, negative, float32, float64, text, bin, array, map };

    kind what = kind::nil;
    std::uint64_t number = 0;           ///< of numbers, their bits; of truth values 0 or 1
    std::string bytes{};                ///< of text and bin
    std::vector<msgpack_value> items{}; ///< of arrays; of maps, keys and values in turn

    static msgpack_value uint(std::uint64_t n) { return {kind::positive, n, {}, {}}; }
    static msgpack_value str(std::string text) { return {kind::text, 0, std::move(text), {}}; }
};

using random_source = std::minstd_rand;

/// The value at `at`, which is moved behind it. False: none of ours (cut, an ext, deeper than 40).
bool read_msgpack(const std::uint8_t* data, std::size_t size, std::size_t& at, msgpack_value& out,
                  std::size_t depth = 0);
/// Encodings are the shortest, now and then a longer one. What does not fit into a msgpack length is cut.
void write_msgpack(const msgpack_value& value, random_source& random, std::string& out);
/// One change somewhere in the tree, now and then more.
void mutate_tree(msgpack_value& root, random_source& random);

/// A custom mutator for inputs that are one msgpack value: mostly by mutate_tree, else by libFuzzer's own mutations.
/// @param repair sets right what no mutation is to touch, on most trees.
std::size_t mutate_msgpack(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                           void (*repair)(msgpack_value& root) = nullptr);

} // namespace rivulet::fuzz
