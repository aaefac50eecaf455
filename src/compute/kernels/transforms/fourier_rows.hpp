// Fourier transforms of rows of a few contiguous numbers. The lanes of a vector are elements of
// equal index of several rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/kernels/transforms/butterflies.hpp"
#include "core/kernels/transpose.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels {
namespace {

/// As many rows as a vector has lanes, as real and imaginary parts.
template <class T, int kLength>
struct RowBlock {
  using V = typename VectorOf<T, kVectorBytes>::type;
  using B = Block<sizeof(T), kVectorBytes>;
  static constexpr int kPairs = B::kColumns / 2;
  static constexpr std::int64_t kPiece = B::kPiece;  // bytes of kPairs pairs
  static constexpr int kGroups = kLength / 4;

  // Not an array of Complex: g++ would copy one in halves of vectors, and the next load of a whole
  // one would wait for them.
  V real[kLength];
  V imag[kLength];

  /// The elements from `k` on, kPairs of them.
  [[gnu::always_inline]] void read(int k, const std::byte* from, std::int64_t pitch,
                                   bool exchanges) noexcept {
    typename B::V columns[B::kColumns];
    B::read_columns(columns, from + k / kPairs * kPiece, pitch);
#pragma GCC unroll 2
    for (int i = 0; i < kPairs; ++i) {
      const V first = (V)columns[2 * i], second = (V)columns[2 * i + 1];
      real[k + i] = exchanges ? second : first;
      imag[k + i] = exchanges ? first : second;
    }
  }

  [[gnu::always_inline]] void write(int k, std::byte* to, std::int64_t pitch, bool exchanges,
                                    T scale) const noexcept {
    typename B::V rows[B::kColumns];
#pragma GCC unroll 2
    for (int i = 0; i < kPairs; ++i) {
      const V first = real[k + i] * scale, second = imag[k + i] * scale;
      rows[2 * i] = (typename B::V)(exchanges ? second : first);
      rows[2 * i + 1] = (typename B::V)(exchanges ? first : second);
    }
    B::transpose_pieces(rows);
#pragma GCC unroll 4
    for (int i = 0; i < B::kColumns; ++i) {
      std::byte pieces[kVectorBytes];
      store(pieces, rows[i]);
#pragma GCC unroll 4
      for (int piece = 0; piece < kVectorBytes / kPiece; ++piece) {
        __builtin_memcpy(to + (B::kColumns * piece + i) * pitch + k / kPairs * kPiece,
                         pieces + piece * kPiece, kPiece);
      }
    }
  }

  /// The group k of a pass of radix 4.
  [[gnu::always_inline]] void first_pass(int k, RowBlock& out,
                                         Planes<const T> twiddles) const noexcept {
    Complex<V> arms[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) arms[i] = {real[k + kGroups * i], imag[k + kGroups * i]};
    butterfly_of_4(arms);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const int at = (j - 1) * kGroups + k;
      if (j > 0 && kGroups > 1)
        arms[j] = product(arms[j], Complex<T>{twiddles.real[at], twiddles.imag[at]});
      out.real[4 * k + j] = arms[j].real;
      out.imag[4 * k + j] = arms[j].imag;
    }
  }

  /// The elements q, q + 4, ... of a pass of radix kGroups.
  [[gnu::always_inline]] void last_pass(int q, RowBlock& out) const noexcept {
    Complex<V> arms[kGroups];
#pragma GCC unroll 4
    for (int i = 0; i < kGroups; ++i) arms[i] = {real[q + 4 * i], imag[q + 4 * i]};
    if constexpr (kGroups > 1) butterfly<kGroups>(arms, kGroups, Planes<const T>{});
#pragma GCC unroll 4
    for (int i = 0; i < kGroups; ++i) {
      out.real[q + 4 * i] = arms[i].real;
      out.imag[q + 4 * i] = arms[i].imag;
    }
  }
};

/// Calls work(0), work(kStep) and so on below kEnd.
template <int kEnd, int kStep, bool kUnrolls, class Work>
[[gnu::always_inline]] inline void each(const Work& work) noexcept {
  if constexpr (kUnrolls) {
#pragma GCC unroll 8
    for (int k = 0; k < kEnd; k += kStep) work(k);
  } else {
#pragma GCC unroll 1
    for (int k = 0; k < kEnd; k += kStep) work(k);
  }
}

template <class T, int kLength>
void transform_rows_of(const FourierRows<T>& call) noexcept {
  using Rows = RowBlock<T, kLength>;
  constexpr std::int64_t kRows = kVectorBytes / sizeof(T);
  constexpr bool kUnrolls = kLength <= 8;  // more would not fit the registers
  for (std::int64_t row = 0; row < call.count; row += kRows) {
    const std::byte* const in = call.in + row * call.in_pitch;
    std::byte* const out = call.out + row * call.out_pitch;
    Rows rows, next;
    each<kLength, Rows::kPairs, kUnrolls>(
        [&](int k) { rows.read(k, in, call.in_pitch, call.exchanges); });
    each<Rows::kGroups, 1, kUnrolls>([&](int k) { rows.first_pass(k, next, call.twiddles); });
    each<4, 1, kUnrolls>([&](int q) { next.last_pass(q, rows); });
    each<kLength, Rows::kPairs, kUnrolls>(
        [&](int k) { rows.write(k, out, call.out_pitch, call.exchanges, call.scale); });
  }
}

template <class T>
void transform_rows(const FourierRows<T>& call) noexcept {
  if (call.length == 4) return transform_rows_of<T, 4>(call);
  if (call.length == 8) return transform_rows_of<T, 8>(call);
  transform_rows_of<T, 16>(call);
}

}  // namespace
}  // namespace refarray::core::kernels
