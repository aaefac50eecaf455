// Tests what Python cannot ask of Fourier transforms: the same bits for every layout on every
// instruction set and number of threads without a byte beside the output, transforms in place, and
// interrupts. Values are tested by tests/compute/fourier.
#include <algorithm>
#include <cstring>
#include <string>

#include "check.hpp"
#include "compute/fft/transform.hpp"
#include "core/copy/copy.hpp"
#include "core/kernels/table.hpp"
#include "core/promotion.hpp"
#include "naive.hpp"
#include "operands.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr Direction kBoth[] = {Direction::kForward, Direction::kBackward};
// Passes of every kind and their products, convolutions, and lengths that are powers of two.
constexpr std::int64_t kLengths[] = {
    1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,  12,  13,  15,  16,  17,  19,  22,  24,  25, 31,
    34, 49, 60, 61, 64, 67, 94, 97, 98, 99, 105, 121, 127, 128, 134, 169, 210, 243, 256, 257};
constexpr std::int64_t kBatches[] = {1, 3, 7, 8, 9, 16, 17, 33};

/// What a transform takes and returns.
enum class Form : std::uint8_t { kComplex, kFromReal, kToReal };

DType dtype_of(bool is_complex, bool is_wide) {
  if (is_complex) return scalar_dtype(is_wide ? ScalarType::kComplex128 : ScalarType::kComplex64);
  return scalar_dtype(is_wide ? ScalarType::kFloat64 : ScalarType::kFloat32);
}
DType input_dtype(Form kind, bool is_wide) { return dtype_of(kind != Form::kFromReal, is_wide); }
DType output_dtype(Form kind, bool is_wide) { return dtype_of(kind != Form::kToReal, is_wide); }
std::int64_t input_length(Form kind, std::int64_t n) {
  return kind == Form::kToReal ? n / 2 + 1 : n;
}
std::int64_t output_length(Form kind, std::int64_t n) {
  return kind == Form::kFromReal ? n / 2 + 1 : n;
}

// --- operands

/// Random numbers in [-1, 1].
Array numbers(Random& random, const DType& dtype, const List& shape) {
  Array out = new_array(dtype, shape, false);
  const bool is_wide =
      dtype == scalar_dtype(ScalarType::kFloat64) || dtype == scalar_dtype(ScalarType::kComplex128);
  const std::int64_t count = out.view().size() * (dtype.is_complex() ? 2 : 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(random.between(-(1LL << 52), 1LL << 52)) / 0x1p52;
    const auto narrow = static_cast<float>(value);
    if (is_wide) std::memcpy(out.data + i * 8, &value, 8);
    if (!is_wide) std::memcpy(out.data + i * 4, &narrow, 4);
  }
  return out;
}

/// A copy of any layout.
Array scattered(Random& random, const Array& content) {
  const ArrayView view = content;
  Array out = strided_array(random, view.dtype, List(view.shape, view.shape + view.ndim));
  copy(out, content);
  return out;
}

List shape_with(std::int64_t rows, std::int64_t length, int axis) {
  return axis == 0 ? List{length, rows} : List{rows, length};
}

std::string label(Form kind, bool is_wide, std::int64_t n, std::int64_t rows, int axis) {
  return text(kind == Form::kComplex    ? "complex"
              : kind == Form::kFromReal ? "from real"
                                        : "to real",
              is_wide ? " double" : " single", ", n = ", n, ", rows = ", rows, ", axis = ", axis);
}

/// Calls `body` for every kind of transform in both precisions.
template <class Body>
void each_kind(const Body& body) {
  for (const Form kind : {Form::kComplex, Form::kFromReal, Form::kToReal})
    for (const bool is_wide : {false, true}) body(kind, is_wide);
}

/// Compares transforms of an array of rank 2 at every level.
void compare(Form kind, bool is_wide, const Array& x, int axis, std::int64_t n, Random& random) {
  const std::int64_t rows = x.layout.shape[1 - axis];
  const std::string what = label(kind, is_wide, n, rows, axis);
  const Direction direction = kBoth[random.between(0, 1)];
  const double scale = random.between(0, 1) == 0 ? 1.0 : 0.25;
  const Array view = scattered(random, x);
  const List shape = shape_with(rows, output_length(kind, n), axis);
  const kernels::Choices all = kernels::choices();
  const Array first = new_array(output_dtype(kind, is_wide), shape, false);
  check(transform(first, x, axis, n, direction, scale, {}), what);
  for (int i = all.count - 1; i >= 0; --i) {  // the best is left in use
    kernels::use(all.tables[i]->name);
    const Guarded out(random, first.dtype, shape);
    check(transform(out.array, i % 2 == 0 ? view : x, axis, n, direction, scale, {}), what);
    check(out.is_intact(), text(what, " writes beside its output"));
    check(same(first.dtype, out.array.data, first.data, first.view().size()),
          text(what, " at level ", all.tables[i]->name));
  }
}

const Case lengths("all kinds of lengths", [] {
  Random random(41);
  each_kind([&](Form kind, bool is_wide) {
    for (const std::int64_t n : kLengths) {
      for (const int axis : {0, 1}) {
        const std::int64_t rows = kBatches[random.between(0, 3)];
        const Array x = numbers(random, input_dtype(kind, is_wide),
                                shape_with(rows, input_length(kind, n), axis));
        compare(kind, is_wide, x, axis, n, random);
      }
    }
  });
});

const Case batches("any number of sequences", [] {
  Random random(42);
  each_kind([&](Form kind, bool is_wide) {
    for (const std::int64_t rows : kBatches) {
      for (const std::int64_t n : {12, 17, 67}) {
        for (const int axis : {0, 1}) {
          const Array x = numbers(random, input_dtype(kind, is_wide),
                                  shape_with(rows, input_length(kind, n), axis));
          compare(kind, is_wide, x, axis, n, random);
        }
      }
    }
  });
});

const Case resized("sequences are cut or extended by zeros", [] {
  Random random(43);
  each_kind([&](Form kind, bool is_wide) {
    for (const std::int64_t extent : {0, 1, 2, 7, 12}) {
      for (const std::int64_t n : {1, 2, 3, 8, 13, 34}) {
        for (const int axis : {0, 1}) {
          const Array x = numbers(random, input_dtype(kind, is_wide), shape_with(5, extent, axis));
          compare(kind, is_wide, x, axis, n, random);
        }
      }
    }
  });
});

const Case in_place("a transform may take the place of its argument", [] {
  Random random(44);
  for (const bool is_wide : {false, true}) {
    for (const std::int64_t n : {1, 2, 15, 16, 67, 210}) {
      for (const int axis : {0, 1, 2}) {
        List shape{3, 5, 4};
        shape[static_cast<std::size_t>(axis)] = n;
        const Array x = numbers(random, dtype_of(true, is_wide), shape);
        const Array view = scattered(random, x), out = new_array(x.dtype, shape, true);
        check(transform(out, x, axis, n, Direction::kForward, 0.5, {}));
        check(transform(view, view, axis, n, Direction::kForward, 0.5, {}));
        check(same(out.dtype, out.data, contiguous(view).data, out.view().size()),
              text("n = ", n, ", axis = ", axis));
      }
    }
  }
});

const Case empty("no sequences are transformed to none", [] {
  each_kind([](Form kind, bool is_wide) {
    const Array x = new_array(input_dtype(kind, is_wide), List{0, input_length(kind, 6)}, true);
    const Array out = new_array(output_dtype(kind, is_wide), List{0, output_length(kind, 6)}, true);
    check(transform(out, x, 1, 6, Direction::kForward, 1, {}));
  });
});

/// Arrays that are worth several threads, and what holds their transforms.
template <class Body>
void each_long_transform(const Body& body) {
  Random random(45);
  each_kind([&](Form kind, bool is_wide) {
    for (const std::int64_t n : {240, 257}) {
      for (const int axis : {0, 1}) {
        const List shape = shape_with(3000, input_length(kind, n), axis);
        const Array x = scattered(random, numbers(random, input_dtype(kind, is_wide), shape));
        body(label(kind, is_wide, n, 3000, axis), x, axis, n, output_dtype(kind, is_wide),
             shape_with(3000, output_length(kind, n), axis));
      }
    }
  });
}

const Case threads("threads do not change transforms", [] {
  each_long_transform([](const std::string& what, const Array& x, int axis, std::int64_t n,
                         const DType& dtype, const List& shape) {
    const Array alone = new_array(dtype, shape, true), shared = new_array(dtype, shape, true);
    check(transform(alone, x, axis, n, Direction::kForward, 1, {}), what);
    set_copy_threads(4);
    check(transform(shared, x, axis, n, Direction::kForward, 1, {}), what);
    set_copy_threads(1);
    check(same(alone.dtype, alone.data, shared.data, alone.view().size()), what);
  });
});

const Case interrupts("an interrupt ends a transform with false", [] {
  for (const int count : {1, 4}) {
    set_copy_threads(count);
    each_long_transform([count](const std::string& what, const Array& x, int axis, std::int64_t n,
                                const DType& dtype, const List& shape) {
      const Array out = new_array(dtype, shape, true);
      for (const int call : {0, 1, 1 << 30}) {
        Stopper stopper{call};
        const bool goes_on = transform(out, x, axis, n, Direction::kForward, 1, stopper.check());
        check(goes_on == (stopper.calls_left >= 0), what);
        // The other threads may have taken all pieces before this one.
        if (count == 1) check(goes_on == (call > 1), what);
      }
    });
  }
  set_copy_threads(1);
});

const Case long_sequences("one long sequence is interrupted, too", [] {
  for (const std::int64_t n : {std::int64_t{1} << 21, std::int64_t{1} << 20 | 7}) {
    const Array x = new_array(scalar_dtype(ScalarType::kComplex64), List{n}, true);
    const Array out = new_array(scalar_dtype(ScalarType::kComplex64), List{n}, true);
    Stopper counting{1 << 30}, stopping{3};
    check(transform(out, x, 0, n, Direction::kForward, 1, counting.check()));
    check((1 << 30) - counting.calls_left > 4, "a sequence is transformed without a check");
    check(!transform(out, x, 0, n, Direction::kForward, 1, stopping.check()));
  }
});

}  // namespace
