// Kernels of Fourier transforms: passes of Stockham's algorithm, and what real numbers need.
#include "compute/kernels/transforms/fourier.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "compute/kernels/transforms/butterflies.hpp"
#include "compute/kernels/transforms/fourier_rows.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {
namespace {

template <class T>
using Vector = typename VectorOf<T, kVectorBytes>::type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class V, class T>
[[gnu::always_inline]] inline Complex<V> load(Planes<T> planes, std::int64_t at) noexcept {
  Complex<V> out;
  __builtin_memcpy(&out.real, planes.real + at, sizeof(V));
  __builtin_memcpy(&out.imag, planes.imag + at, sizeof(V));
  return out;
}
template <class V, class T>
[[gnu::always_inline]] inline void store(Planes<T> planes, std::int64_t at,
                                         const Complex<V>& value) noexcept {
  __builtin_memcpy(planes.real + at, &value.real, sizeof(V));
  __builtin_memcpy(planes.imag + at, &value.imag, sizeof(V));
}

/// The radix, known at compile time unless kRadix is 0.
template <int kRadix, class T>
[[gnu::always_inline]] inline int radix_of(const FourierPass<T>& call) noexcept {
  return kRadix > 0 ? kRadix : call.radix;
}
template <int kRadix>
constexpr int kMostArms = kRadix > 0 ? kRadix : kMaxRadix;

/// The elements from `q` on, as many as V has, of the group k.
template <class V, int kRadix, bool kTwiddles, class T>
[[gnu::always_inline]] inline void column(const FourierPass<T>& call, std::int64_t k,
                                          std::int64_t q) noexcept {
  const int radix = radix_of<kRadix>(call);
  Complex<V> arms[kMostArms<kRadix>];
  for (int i = 0; i < radix; ++i)
    arms[i] = load<V>(call.in, q + call.stride * (k + call.groups * i));
  butterfly<kRadix>(arms, radix, call.roots);
  store(call.out, q + call.stride * radix * k, arms[0]);
  for (int j = 1; j < radix; ++j) {
    if constexpr (kTwiddles)
      arms[j] = product(arms[j], load<T>(call.twiddles, (j - 1) * call.groups + k));
    store(call.out, q + call.stride * (radix * k + j), arms[j]);
  }
}

/// Vectors along q.
template <class T, int kRadix, bool kTwiddles>
void wide_pass(const FourierPass<T>& call) noexcept {
  for (std::int64_t k = call.first; k < call.last; ++k) {
    std::int64_t q = 0;
    for (; q + kLanes<T> <= call.columns; q += kLanes<T>)
      column<Vector<T>, kRadix, kTwiddles>(call, k, q);
    for (; q < call.columns; ++q) column<T, kRadix, kTwiddles>(call, k, q);
  }
}

/// The elements t = q + stride * k, as many as V has: they are contiguous in `in`.
template <class V, int kRadix, bool kTwiddles, class T>
[[gnu::always_inline]] inline void scattered_column(const FourierPass<T>& call,
                                                    std::int64_t t) noexcept {
  constexpr int kCount = sizeof(V) / sizeof(T);
  const int radix = radix_of<kRadix>(call);
  const std::int64_t row = call.groups * call.stride;
  Complex<V> arms[kMostArms<kRadix>];
  for (int i = 0; i < radix; ++i) arms[i] = load<V>(call.in, t + row * i);
  butterfly<kRadix>(arms, radix, call.roots);
  if constexpr (kTwiddles) {
    for (int j = 1; j < radix; ++j)
      arms[j] = product(arms[j], load<V>(call.twiddles, (j - 1) * row + t));
  }
  std::int64_t q = t % call.stride;
  std::int64_t to = (t - q) * radix + q;
  T real[kMostArms<kRadix>][kCount], imag[kMostArms<kRadix>][kCount];
  for (int j = 0; j < radix; ++j) {
    __builtin_memcpy(real[j], &arms[j].real, sizeof(V));
    __builtin_memcpy(imag[j], &arms[j].imag, sizeof(V));
  }
  for (int lane = 0; lane < kCount; ++lane) {
    for (int j = 0; j < radix; ++j) {
      call.out.real[to + call.stride * j] = real[j][lane];
      call.out.imag[to + call.stride * j] = imag[j][lane];
    }
    ++to;
    if (++q == call.stride) {
      q = 0;
      to += call.stride * (radix - 1);
    }
  }
}

/// Vectors along q and k together.
template <class T, int kRadix, bool kTwiddles>
void narrow_pass(const FourierPass<T>& call) noexcept {
  const std::int64_t count = call.last * call.stride;
  std::int64_t t = call.first * call.stride;
  for (; t + kLanes<T> <= count; t += kLanes<T>)
    scattered_column<Vector<T>, kRadix, kTwiddles>(call, t);
  for (; t < count; ++t) scattered_column<T, kRadix, kTwiddles>(call, t);
}

template <class T, int kRadix>
void pass_of(const FourierPass<T>& call) noexcept {
  const bool is_narrow = call.stride < kNarrow<T>;
  if (call.groups == 1)
    return is_narrow ? narrow_pass<T, kRadix, false>(call) : wide_pass<T, kRadix, false>(call);
  return is_narrow ? narrow_pass<T, kRadix, true>(call) : wide_pass<T, kRadix, true>(call);
}

template <class T>
void pass(const FourierPass<T>& call) noexcept {
  switch (call.radix) {
    case 2:
      return pass_of<T, 2>(call);
    case 3:
      return pass_of<T, 3>(call);
    case 4:
      return pass_of<T, 4>(call);
    case 5:
      return pass_of<T, 5>(call);
    case 7:
      return pass_of<T, 7>(call);
    case 11:
      return pass_of<T, 11>(call);
    default:
      return pass_of<T, 0>(call);
  }
}

/// Calls `step` for the elements from `at` on of the `width` transforms: as many as V has, then
/// one by one.
template <class T, class Step>
[[gnu::always_inline]] inline void across(std::int64_t width, const Step& step) noexcept {
  std::int64_t b = 0;
  for (; b + kLanes<T> <= width; b += kLanes<T>) step.template operator()<Vector<T>>(b);
  for (; b < width; ++b) step.template operator()<T>(b);
}

template <class T>
void multiply(const FourierProduct<T>& call) noexcept {
  if (call.width == 1) {
    const auto step = [&]<class V>(std::int64_t k) {
      store(call.out, k, product(load<V>(call.in, k), load<V>(call.factors, k)));
    };
    return across<T>(call.count, step);
  }
  for (std::int64_t k = 0; k < call.count; ++k) {
    across<T>(call.width, [&]<class V>(std::int64_t b) {
      const std::int64_t at = k * call.width + b;
      store(call.out, at, product(load<V>(call.in, at), load<T>(call.factors, k)));
    });
  }
}

template <class T>
void scale(T* values, std::int64_t count, T factor) noexcept {
  across<T>(count, [&]<class V>(std::int64_t i) {
    V value;
    __builtin_memcpy(&value, values + i, sizeof(V));
    value = value * factor;
    __builtin_memcpy(values + i, &value, sizeof(V));
  });
}

template <class V>
[[gnu::always_inline]] inline V reversed(V values) noexcept {
  if constexpr (std::is_arithmetic_v<V>) {
    return values;
  } else {
    constexpr int kCount = sizeof(V) / sizeof(values[0]);
    return [values]<int... i>(std::integer_sequence<int, i...>) {
      return __builtin_shufflevector(values, values, (kCount - 1 - i)...);
    }(std::make_integer_sequence<int, kCount>{});
  }
}
template <class V>
[[gnu::always_inline]] inline Complex<V> reversed(const Complex<V>& values) noexcept {
  return {reversed(values.real), reversed(values.imag)};
}

/// The elements k and half - k, in this order.
template <class V>
struct Pair {
  Complex<V> element;
  Complex<V> mirrored;
};

/// In both functions, `root` is that of the first element. The other one is its negative conjugate.
struct Split {
  template <class V, class W>
  [[gnu::always_inline]] static Pair<V> of(const Complex<V>& x, const Complex<V>& y,
                                           const Complex<W>& root) noexcept {
    const V half = V{} + 0.5F;
    const Complex<V> even{(x.real + y.real) * half, (x.imag - y.imag) * half};
    const Complex<V> odd{(x.imag + y.imag) * half, (y.real - x.real) * half};
    const Complex<V> turned = product(odd, root);
    return {{even.real + turned.real, even.imag + turned.imag},
            {even.real - turned.real, turned.imag - even.imag}};
  }
};

struct Join {
  template <class V, class W>
  [[gnu::always_inline]] static Pair<V> of(const Complex<V>& x, const Complex<V>& y,
                                           const Complex<W>& root) noexcept {
    const Complex<V> even{x.real + y.real, x.imag - y.imag};
    const Complex<W> inverse{root.real, -root.imag};
    const Complex<V> turned = product(Complex<V>{x.real - y.real, x.imag + y.imag}, inverse);
    return {{even.real - turned.imag, even.imag + turned.real},
            {even.real + turned.imag, turned.real - even.imag}};
  }
};

/// The elements 1 to half - 1 of the part, from both ends.
template <class Work, class T>
void convert_pairs(const RealPass<T>& call) noexcept {
  const std::int64_t last = std::min(call.last, call.half / 2 + 1);
  std::int64_t k = std::max(call.first, std::int64_t{1});
  if (call.width == 1) {
    for (; k + kLanes<T> <= last && 2 * (k + kLanes<T>) <= call.half; k += kLanes<T>) {
      const std::int64_t mirrored = call.half - k - (kLanes<T> - 1);
      const auto pair =
          Work::of(load<Vector<T>>(call.in, k), reversed(load<Vector<T>>(call.in, mirrored)),
                   load<Vector<T>>(call.roots, k));
      store(call.out, k, pair.element);
      store(call.out, mirrored, reversed(pair.mirrored));
    }
  }
  for (; k < last; ++k) {
    const std::int64_t at = k * call.width, mirrored = (call.half - k) * call.width;
    const Complex<T> root = load<T>(call.roots, k);
    across<T>(call.width, [&]<class V>(std::int64_t b) {
      const auto pair = Work::of(load<V>(call.in, at + b), load<V>(call.in, mirrored + b), root);
      store(call.out, mirrored + b, pair.mirrored);
      store(call.out, at + b, pair.element);
    });
  }
}

template <class T>
void split(const RealPass<T>& call) noexcept {
  convert_pairs<Split>(call);
  if (call.first > 0) return;
  const Complex<T> root = load<T>(call.roots, 0);
  across<T>(call.width, [&]<class V>(std::int64_t b) {
    const auto first = load<V>(call.in, b);
    const auto pair = Split::of(first, first, root);
    store(call.out, b, pair.element);
    store(call.out, call.half * call.width + b, pair.mirrored);
  });
}

template <class T>
void join(const RealPass<T>& call) noexcept {
  convert_pairs<Join>(call);
  if (call.first > 0) return;
  const Complex<T> root = load<T>(call.roots, 0);
  across<T>(call.width, [&]<class V>(std::int64_t b) {
    const auto last = load<V>(call.in, call.half * call.width + b);
    store(call.out, b, Join::of(load<V>(call.in, b), last, root).element);
  });
}

template <class T>
constexpr FourierKernels<T> kKernelsOf{&pass<T>,  &multiply<T>, &scale<T>,
                                       &split<T>, &join<T>,     &transform_rows<T>};

}  // namespace

extern const FourierKernels<float> kFourierFloat;
extern const FourierKernels<double> kFourierDouble;
const FourierKernels<float> kFourierFloat = kKernelsOf<float>;
const FourierKernels<double> kFourierDouble = kKernelsOf<double>;

}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
