#include "data_frame.hpp"

#include <algorithm>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rivulet::wire {
namespace {

#if defined(__x86_64__)

bool has_fma() noexcept {
    static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has;
}

/// run_stamp for as many samples as there are whole vectors of; returns how many. Bit for bit the same without the
/// division, which would take most of a push: the quotient by the rounded reciprocal is corrected twice. The first
/// correction brings it within one unit in the last place; from there, and with a reciprocal that is rounded correctly,
/// the second one yields what division yields (Markstein, IBM J. R&D 34(1), 1990), as long as nothing leaves the range
/// of normal numbers.
__attribute__((target("avx2,fma"))) std::uint32_t expand_with_fma(const stamp_run& run, double rate_hz,
                                                                  double* stamps) noexcept {
    const __m256d rate = _mm256_set1_pd(rate_hz);
    const __m256d inverse = _mm256_set1_pd(1.0 / rate_hz);
    const __m256d base = _mm256_set1_pd(run.base);
    const __m256d step = _mm256_set1_pd(4);
    __m256d ahead = _mm256_sub_pd(_mm256_set1_pd(run.ahead), _mm256_set_pd(3, 2, 1, 0)); // whole numbers: exact
    const std::uint32_t whole = run.count / 4 * 4;
    for (std::uint32_t j = 0; j < whole; j += 4) {
        __m256d quotient = _mm256_mul_pd(ahead, inverse);
        quotient = _mm256_fmadd_pd(_mm256_fnmadd_pd(quotient, rate, ahead), inverse, quotient);
        quotient = _mm256_fmadd_pd(_mm256_fnmadd_pd(quotient, rate, ahead), inverse, quotient);
        _mm256_storeu_pd(stamps + j, _mm256_sub_pd(base, quotient));
        ahead = _mm256_sub_pd(ahead, step);
    }
    return whole;
}

/// Far from where a quotient of a number below 2^32, or its remainder, would overflow or lose bits.
bool is_moderate(double rate_hz) noexcept { return rate_hz > 1e-200 && rate_hz < 1e200; }

#endif

} // namespace

void expand_run(const stamp_run& run, double rate_hz, double* stamps) noexcept {
    if (!(rate_hz > 0)) {
        std::fill_n(stamps, run.count, run.base);
        return;
    }
    std::uint32_t done = 0;
#if defined(__x86_64__)
    if (is_moderate(rate_hz) && has_fma())
        done = expand_with_fma(run, rate_hz, stamps);
#endif
    for (; done < run.count; ++done)
        stamps[done] = run_stamp(run, done, rate_hz);
}

} // namespace rivulet::wire
