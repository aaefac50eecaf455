// Kernels of matrix products. Compiled once per instruction set (cmake/Compute.cmake).
#include "compute/kernels/products/products.hpp"

#include "compute/kernels/products/in_place.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::core::kernels::REFARRAY_PRODUCTS {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 12, kComplexRows = 5, kComplexVectors = 2;
#elif defined(__AVX2__)
constexpr int kRows = 6, kComplexRows = 3, kComplexVectors = 1;
#else
constexpr int kRows = 4, kComplexRows = 2, kComplexVectors = 1;
#endif

/// Packs `kWidth` words per index of the depth.
template <class Word, int kWidth>
void pack(const Panel& panel) noexcept {
  constexpr std::int64_t kSize = sizeof(Word);
  const auto width = static_cast<std::int64_t>(panel.width);
  if (width < kWidth)
    __builtin_memset(panel.to, 0, static_cast<std::size_t>(panel.depth * kWidth * kSize));
  if (panel.width_step == kSize) {
    const std::byte* from = panel.from;
    std::byte* to = panel.to;
    for (std::int64_t k = 0; k < panel.depth; ++k) {
      __builtin_memcpy(to, from,
                       static_cast<std::size_t>((width == kWidth ? kWidth : width) * kSize));
      from += panel.depth_step;
      to += kWidth * kSize;
    }
    return;
  }
  for (std::int64_t i = 0; i < width; ++i) {
    const std::byte* from = panel.from + i * panel.width_step;
    std::byte* to = panel.to + i * kSize;
    for (std::int64_t k = 0; k < panel.depth; ++k) {
      store(to, load<Word>(from));
      from += panel.depth_step;
      to += kWidth * kSize;
    }
  }
}

/// Complex columns: the real parts of all columns, then the imaginary ones.
template <class T, int kWidth>
void pack_parts(const Panel& panel) noexcept {
  constexpr std::int64_t kSize = sizeof(T);
  if (panel.width < kWidth)
    __builtin_memset(panel.to, 0, static_cast<std::size_t>(panel.depth * 2 * kWidth * kSize));
  for (std::int64_t k = 0; k < panel.depth; ++k) {
    const std::byte* from = panel.from + k * panel.depth_step;
    std::byte* const to = panel.to + k * 2 * kWidth * kSize;
    for (std::int64_t i = 0; i < panel.width; ++i, from += panel.width_step) {
      store(to + i * kSize, load<T>(from));
      store(to + (kWidth + i) * kSize, load<T>(from + kSize));
    }
  }
}

template <class T, int kTileRows, int kVectors>
struct Real {
  static constexpr int kTileColumns = kVectors * kLanes<T>;
  using V = Vector<T>;

  static void multiply(const ProductTile& tile) noexcept {
    V sums[kTileRows][kVectors];
    for (auto& row : sums)
      for (V& sum : row) sum = broadcast<T>(kNothing<T>);
    const std::byte* left = tile.left;
    const std::byte* right = tile.right;
    for (std::int64_t k = 0; k < tile.depth; ++k) {
      V columns[kVectors];
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) columns[j] = load<V>(right + j * kVectorBytes);
#pragma GCC unroll 12
      for (int i = 0; i < kTileRows; ++i) {
        const V row = broadcast(load<T>(left + i * static_cast<int>(sizeof(T))));
#pragma GCC unroll 8
        for (int j = 0; j < kVectors; ++j)
          sums[i][j] = multiply_add<T>(row, columns[j], sums[i][j]);
      }
      left += kTileRows * static_cast<int>(sizeof(T));
      right += kVectors * kVectorBytes;
    }
    if (tile.rows == kTileRows && tile.columns == kTileColumns) return write(tile, sums);
    write_part(tile, sums);
  }

  [[gnu::always_inline]] static void write(const ProductTile& tile,
                                           const V (&sums)[kTileRows][kVectors]) noexcept {
#pragma GCC unroll 12
    for (int i = 0; i < kTileRows; ++i) {
      std::byte* const out = tile.out + i * tile.row_pitch;
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) {
        std::byte* const to = out + j * kVectorBytes;
        store<V>(to, tile.adds ? load<V>(to) + sums[i][j] : sums[i][j]);
      }
    }
  }

  [[gnu::always_inline]] static void write_part(const ProductTile& tile,
                                                const V (&sums)[kTileRows][kVectors]) noexcept {
    T values[kTileRows][kTileColumns];
    __builtin_memcpy(values, sums, sizeof values);
    for (int i = 0; i < tile.rows; ++i) {
      std::byte* out = tile.out + i * tile.row_pitch;
      for (int j = 0; j < tile.columns; ++j, out += sizeof(T))
        store<T>(out, static_cast<T>(tile.adds ? load<T>(out) + values[i][j] : values[i][j]));
    }
  }

  static constexpr ProductKernels kKernels{kTileRows,
                                           kTileColumns,
                                           false,
                                           &pack<T, kTileRows>,
                                           &pack<T, kTileColumns>,
                                           &multiply,
                                           multiply_along_kernel<T>(),
                                           multiply_across_kernel<T>()};
};

/// Complex numbers with parts of type T.
template <class T, int kTileRows, int kVectors>
struct OfPairs {
  static constexpr int kTileColumns = kVectors * kLanes<T>;
  using V = Vector<T>;
  struct Pair {
    T real;
    T imag;
  };

  static void multiply(const ProductTile& tile) noexcept {
    V real[kTileRows][kVectors], imag[kTileRows][kVectors];
    for (int i = 0; i < kTileRows; ++i) {
      for (int j = 0; j < kVectors; ++j) real[i][j] = imag[i][j] = broadcast<T>(-T{0});
    }
    const std::byte* left = tile.left;
    const std::byte* right = tile.right;
    for (std::int64_t k = 0; k < tile.depth; ++k) {
      V reals[kVectors], imags[kVectors];
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) {
        reals[j] = load<V>(right + j * kVectorBytes);
        imags[j] = load<V>(right + (kVectors + j) * kVectorBytes);
      }
#pragma GCC unroll 5
      for (int i = 0; i < kTileRows; ++i) {
        const Pair pair = load<Pair>(left + i * static_cast<int>(sizeof(Pair)));
        const V a = broadcast(pair.real), b = broadcast(pair.imag);
#pragma GCC unroll 8
        for (int j = 0; j < kVectors; ++j) {
          real[i][j] = multiply_add<T>(a, reals[j], real[i][j]);
          imag[i][j] = multiply_add<T>(a, imags[j], imag[i][j]);
          real[i][j] = multiply_add<T>(-b, imags[j], real[i][j]);
          imag[i][j] = multiply_add<T>(b, reals[j], imag[i][j]);
        }
      }
      left += kTileRows * static_cast<int>(sizeof(Pair));
      right += 2 * kVectors * kVectorBytes;
    }
    write(tile, real, imag);
  }

  [[gnu::always_inline]] static void write(const ProductTile& tile,
                                           const V (&real)[kTileRows][kVectors],
                                           const V (&imag)[kTileRows][kVectors]) noexcept {
    T reals[kTileRows][kTileColumns], imags[kTileRows][kTileColumns];
    __builtin_memcpy(reals, real, sizeof reals);
    __builtin_memcpy(imags, imag, sizeof imags);
    for (int i = 0; i < tile.rows; ++i) {
      std::byte* out = tile.out + i * tile.row_pitch;
      for (int j = 0; j < tile.columns; ++j, out += sizeof(Pair)) {
        Pair sum{reals[i][j], imags[i][j]};
        if (tile.adds) {
          const Pair before = load<Pair>(out);
          sum = {before.real + sum.real, before.imag + sum.imag};
        }
        store(out, sum);
      }
    }
  }

  static constexpr ProductKernels kKernels{
      kTileRows, kTileColumns, true,   &pack<Pair, kTileRows>, &pack_parts<T, kTileColumns>,
      &multiply, nullptr,      nullptr};
};

/// For one row: long tiles, so that several sums are in progress.
const ProductKernels& row_kernels(const ScalarInfo& info) noexcept {
  if (info.kind == Kind::kFloat)
    return info.bits == 32 ? Real<float, 1, 8>::kKernels : Real<double, 1, 8>::kKernels;
  switch (info.bits) {
    case 8:
      return Real<std::uint8_t, 1, 4>::kKernels;
    case 16:
      return Real<std::uint16_t, 1, 4>::kKernels;
    case 32:
      return Real<std::uint32_t, 1, 4>::kKernels;
    default:
      return Real<std::uint64_t, 1, 4>::kKernels;
  }
}

}  // namespace

const ProductKernels& product_kernels(ScalarType dtype, bool one_row) noexcept {
  const ScalarInfo& info = info_of(dtype);
  if (one_row && info.kind != Kind::kComplex) return row_kernels(info);
  if (info.kind == Kind::kComplex) {
    if (info.bits == 64) return OfPairs<float, kComplexRows, kComplexVectors>::kKernels;
    return OfPairs<double, kComplexRows, kComplexVectors>::kKernels;
  }
  if (info.kind == Kind::kFloat)
    return info.bits == 32 ? Real<float, kRows, 2>::kKernels : Real<double, kRows, 2>::kKernels;
  switch (info.bits) {
    case 8:
      return Real<std::uint8_t, 4, 1>::kKernels;
    case 16:
      return Real<std::uint16_t, 4, 1>::kKernels;
    case 32:
      return Real<std::uint32_t, kRows, 2>::kKernels;
    default:
      return Real<std::uint64_t, 4, 2>::kKernels;
  }
}

}  // namespace refarray::core::kernels::REFARRAY_PRODUCTS
