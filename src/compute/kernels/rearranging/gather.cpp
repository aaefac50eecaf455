// Kernels of indexing: gather, scatter, and what masks select, by the size of an element.
#include "compute/kernels/rearranging/gather.hpp"

#include <array>
#include <bit>

#include "compute/kernels/operations.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels {
namespace {

/// Bytes of one element: a constant, or as the call says if kBytes is 0.
template <int kBytes>
[[gnu::always_inline]] inline void move_element(std::byte* dst, const std::byte* src,
                                                std::int64_t bytes) noexcept {
  if constexpr (kBytes == 0)
    __builtin_memcpy(dst, src, static_cast<std::size_t>(bytes));
  else
    __builtin_memcpy(dst, src, kBytes);
}

// Members are read once: a store of bytes may change them for all that the compiler knows.

template <int kBytes>
void gather(const IndexedMove& move) noexcept {
  const auto [dst, src, offsets, count, step, bytes] = move;
  if (kBytes != 0 && step == kBytes) {  // the usual case, with a constant step
    for (std::int64_t i = 0; i < count; ++i)
      move_element<kBytes>(dst + i * kBytes, src + offsets[i], kBytes);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    move_element<kBytes>(dst + i * step, src + offsets[i], bytes);
}

template <int kBytes>
void scatter(const IndexedMove& move) noexcept {
  const auto [dst, src, offsets, count, step, bytes] = move;
  for (std::int64_t i = 0; i < count; ++i)
    move_element<kBytes>(dst + offsets[i], src + i * step, bytes);
}

inline std::int64_t product(std::int64_t a, std::int64_t b) noexcept {  // of an empty array: wraps
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// The terms of indices in range. A shift replaces the product for sizes that are powers of two:
/// few instruction sets multiply vectors of 64-bit numbers.
template <bool kAdds>
void add_terms(const IndexTerm& term, std::int64_t begin, std::int64_t end) noexcept {
  const std::int64_t* const index = term.index;
  std::int64_t* const offsets = term.offsets;
  const std::int64_t extent = term.extent;
  const auto add = [=](auto times_stride) {
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t offset = times_stride(index[i] + (index[i] < 0 ? extent : 0));
      offsets[i] = kAdds ? offsets[i] + offset : offset;
    }
  };
  const auto stride = static_cast<std::uint64_t>(term.stride);
  if (stride == 0 || (stride & (stride - 1)) != 0)
    return add([stride = term.stride](std::int64_t at) { return product(at, stride); });
  const int shift = __builtin_ctzll(stride);
  add([shift](std::int64_t at) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(at) << shift);
  });
}

std::int64_t add_term(const IndexTerm& term) noexcept {
  constexpr std::int64_t kBlock = 256;  // checked, then used
  const std::int64_t* const index = term.index;
  const std::int64_t low = term.low, extent = term.extent;
  for (std::int64_t begin = 0; begin < term.count; begin += kBlock) {
    const std::int64_t end = min(term.count, begin + kBlock);
    std::int64_t bad = 0;  // as wide as an index, and without branches: for vectors
    for (std::int64_t i = begin; i < end; ++i)
      bad |= std::int64_t{index[i] < low} | std::int64_t{index[i] >= extent};
    if (bad != 0) {
      std::int64_t i = begin;
      while (index[i] >= low && index[i] < extent) ++i;
      return i;
    }
    term.adds ? add_terms<true>(term, begin, end) : add_terms<false>(term, begin, end);
  }
  return -1;
}

// --- Masks.

std::int64_t count_set(const std::byte* mask, std::int64_t count) noexcept {
  constexpr std::int64_t kWide = 32;
  typedef std::uint8_t Lanes [[gnu::vector_size(kWide)]];
  std::int64_t total = 0;
  std::int64_t i = 0;
  while (i + kWide <= count) {
    const std::int64_t end = min(count - kWide, i + 254 * kWide);  // a lane counts to 255
    Lanes sums{};
    for (; i <= end; i += kWide) {
      Lanes bytes;  // load() would return a vector, which the ABI of the plain level lacks
      __builtin_memcpy(&bytes, mask + i, kWide);
      sums -= bytes != 0;
    }
    for (int lane = 0; lane < kWide; ++lane) total += sums[lane];
  }
  for (; i < count; ++i) total += mask[i] != std::byte{0};
  return total;
}

/// 1 in each byte for which one of the eight at `from` is not zero, the first one lowest.
inline std::uint64_t ones_where_set(const std::byte* from) noexcept {
  auto mask = load<std::uint64_t>(from);
  if constexpr (std::endian::native == std::endian::big) mask = __builtin_bswap64(mask);
  mask |= mask >> 4 & 0x0F0F'0F0F'0F0F'0F0FU;
  mask |= mask >> 2 & 0x0303'0303'0303'0303U;
  mask |= mask >> 1 & 0x0101'0101'0101'0101U;
  return mask & 0x0101'0101'0101'0101U;
}

/// Calls take(i, n) with the number n of elements taken before, for each byte i that is not zero,
/// and returns how many there are, or `limit`. Groups of eight are taken without a branch, so that
/// take() is also called for elements that are not set, and its result then overwritten: it may
/// write wherever n < limit.
template <class Take, class TakeAll>
[[gnu::always_inline]] inline std::int64_t each_set(const std::byte* mask, std::int64_t count,
                                                    std::int64_t limit, Take take,
                                                    TakeAll take_all) noexcept {
  constexpr std::uint64_t kAll = 0x0101'0101'0101'0101U;
  std::int64_t taken = 0;
  std::int64_t i = 0;
  for (; i + 8 <= count && taken + 8 <= limit; i += 8) {
    std::uint64_t set = ones_where_set(mask + i);
    if (set == 0) continue;
    if (set == kAll) {
      take_all(i, taken);
      taken += 8;
      continue;
    }
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j, set >>= 8) {
      take(i + j, taken);
      taken += static_cast<std::int64_t>(set & 1);
    }
  }
  while (i < count && taken < limit) {
    if (i + 8 <= count && load<std::uint64_t>(mask + i) == 0) {
      i += 8;
      continue;
    }
    if (mask[i] != std::byte{0}) take(i, taken++);
    ++i;
  }
  return taken;
}

std::int64_t positions(std::int64_t* out, std::int64_t limit, const std::byte* mask,
                       std::int64_t count, std::int64_t first, std::int64_t stride) noexcept {
  const auto take = [=](std::int64_t i, std::int64_t n) { out[n] = first + product(i, stride); };
  return each_set(mask, count, limit, take, [=](std::int64_t i, std::int64_t n) {
    for (std::int64_t j = 0; j < 8; ++j) take(i + j, n + j);
  });
}

#if defined(__AVX2__)
/// For each set of eight 4-byte words, or of four 8-byte ones, the 4-byte words in the order that
/// brings those of the set to the front.
template <int kBytes>
constexpr auto kFrontOrders = [] {
  constexpr unsigned kWords = 32 / kBytes;
  std::array<std::uint64_t, 1U << kWords> out{};
  for (unsigned set = 0; set < out.size(); ++set) {
    int to = 0;
    for (unsigned word = 0; word < kWords; ++word) {
      if ((set >> word & 1) == 0) continue;
      for (unsigned part = 0; part < kBytes / 4; ++part)
        out[set] |= std::uint64_t{word * (kBytes / 4) + part} << (8 * to++);
    }
  }
  return out;
}();

/// Copies the words of a set of `32 / kBytes`, and writes whole vectors.
template <int kBytes>
[[gnu::always_inline]] inline void select_vector(std::byte* dst, const std::byte* src,
                                                 unsigned set) noexcept {
  const auto bytes = static_cast<long long>(kFrontOrders<kBytes>[set]);
  const __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes));
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(src));
  _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(dst), _mm256_permutevar8x32_epi32(words, order));
}

/// As select(), but leaves the last elements: returns how many it has looked at.
template <int kBytes>
std::int64_t select_vectors(std::byte* dst, std::int64_t limit, const std::byte* src,
                            const std::byte* mask, std::int64_t count,
                            std::int64_t& taken) noexcept {
  std::int64_t i = 0;
  for (; i + 8 <= count && taken + 8 <= limit; i += 8) {
    // The product moves bit 8 j to bit 56 + j.
    const std::uint64_t ones = ones_where_set(mask + i);
    const auto set = static_cast<unsigned>(ones * 0x0102'0408'1020'4080U >> 56);
    if constexpr (kBytes == 4) {
      select_vector<4>(dst + taken * 4, src + i * 4, set);
    } else {
      select_vector<8>(dst + taken * 8, src + i * 8, set & 15);
      const std::int64_t in_half = __builtin_popcount(set & 15);
      select_vector<8>(dst + (taken + in_half) * 8, src + (i + 4) * 8, set >> 4);
    }
    taken += __builtin_popcount(set);
  }
  return i;
}
#endif

template <int kBytes>
std::int64_t select(std::byte* dst, std::int64_t limit, const std::byte* src, const std::byte* mask,
                    std::int64_t count) noexcept {
  std::int64_t taken = 0;
#if defined(__AVX2__)
  if constexpr (kBytes == 4 || kBytes == 8) {
    const std::int64_t done = select_vectors<kBytes>(dst, limit, src, mask, count, taken);
    dst += taken * kBytes;
    limit -= taken;
    src += done * kBytes;
    mask += done;
    count -= done;
  }
#endif
  return taken + each_set(
                     mask, count, limit,
                     [=](std::int64_t i, std::int64_t n) {
                       __builtin_memcpy(dst + n * kBytes, src + i * kBytes, kBytes);
                     },
                     [=](std::int64_t i, std::int64_t n) {
                       __builtin_memcpy(dst + n * kBytes, src + i * kBytes, 8 * kBytes);
                     });
}

}  // namespace

namespace REFARRAY_OPERATIONS {

extern const Gathering kGathering;
const Gathering kGathering{
    {&gather<1>, &gather<2>, &gather<4>, &gather<8>, &gather<16>, &gather<0>},
    {&scatter<1>, &scatter<2>, &scatter<4>, &scatter<8>, &scatter<16>, &scatter<0>},
    &add_term,
    &count_set,
    &positions,
    {&select<1>, &select<2>, &select<4>, &select<8>, &select<16>}};

}  // namespace REFARRAY_OPERATIONS
}  // namespace refarray::core::kernels
