// Fuzz target of elementwise functions, where(), reductions and scans: compares operands of any
// layout with single elements, and reductions with plain loops.
#include <bit>

#include "compute/ops/elementwise.hpp"
#include "compute/ops/elementwise_rows.hpp"
#include "compute/ops/reductions/reduce.hpp"
#include "input.hpp"
#include "naive_reductions.hpp"
#include "placement.hpp"

namespace refarray::fuzz {
namespace {

using core::ArrayView;
using core::DType;
using core::Kind;
using core::Reduction;
using core::scalar_dtype;
using core::ScalarType;

/// A dtype of the set, or the next one in it.
ScalarType type_in(core::DtypeSet set, Input& input) {
  int type = input.below(core::kComputable);
  while (!core::contains(set, static_cast<ScalarType>(type))) type = (type + 1) % core::kComputable;
  return static_cast<ScalarType>(type);
}

/// A shape that broadcasts to `shape`.
List broadcasting_shape(Input& input, const List& shape) {
  List own = shape;
  for (std::int64_t& extent : own)
    if (input.one_in(6)) extent = 1;
  const auto dropped = input.one_in(4) ? static_cast<std::size_t>(input.below(6)) : 0;
  own.erase(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(std::min(dropped, own.size())));
  return own;
}

/// The address for each element of a result of `shape`.
List addresses_for(const Placement& place, const List& shape) {
  return check::addresses(core::broadcast_layout(place.shape, place.strides, shape));
}

/// The dtype of an operand that is given for `wanted`: it, or one that converts to it.
DType given_dtype(Input& input, const DType& wanted) {
  if (!input.one_in(4)) return wanted;
  const DType other = scalar_dtype(any_type(input));
  return core::can_convert(other, wanted) ? other : wanted;
}

void elementwise(Input& input, const core::ElementwiseKernel& kernel, int inputs,
                 const std::string& what, unsigned choice) {
  const List shape = shape_from(input, 3000, 12);
  std::vector<Operand> operands;
  for (int i = 0; i < inputs; ++i) {
    const DType dtype = given_dtype(input, kernel.in[i]);
    operands.emplace_back(input, dtype, broadcasting_shape(input, shape),
                          static_cast<unsigned>(i) * 77);
  }
  const Placement out = placement_from(input, kernel.out, shape, false);
  Bytes seen = content_from(input, out.nbytes, 5);
  Bytes expected = seen;
  std::vector<ArrayView> views;
  std::vector<List> addresses;
  for (Operand& operand : operands) {
    views.push_back(operand.view());
    addresses.push_back(addresses_for(operand.place, shape));
  }
  core::kernels::use("plain");
  const List targets = out.addresses();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::vector<ArrayView> elements;
    for (std::size_t k = 0; k < operands.size(); ++k)
      elements.push_back(operands[k].at(addresses[k][i]));
    core::run_elementwise(kernel, out.at(expected, targets[i]), elements);
  }
  choose_kernels(choice);
  require(core::run_elementwise(kernel, out.in(seen), views), "not interrupted");
  compare(out, seen, expected, what);
  for (const Operand& operand : operands) operand.require_unchanged();
}

/// The first operand is the output.
void in_place(Input& input, const core::ElementwiseKernel& kernel, const std::string& what,
              unsigned choice) {
  const List shape = shape_from(input, 3000, 12);
  const Placement out = placement_from(input, kernel.out, shape, false);
  Operand other(input, kernel.in[1], broadcasting_shape(input, shape), 3);
  Bytes seen = content_from(input, out.nbytes, 5);
  Bytes expected = seen;
  core::kernels::use("plain");
  const List targets = out.addresses(), sources = addresses_for(other.place, shape);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const ArrayView target = out.at(expected, targets[i]);
    const ArrayView pair[] = {target, other.at(sources[i])};
    core::run_elementwise(kernel, target, pair);
  }
  choose_kernels(choice);
  const ArrayView pair[] = {out.in(seen), other.view()};
  require(core::run_elementwise(kernel, pair[0], pair), "not interrupted");
  compare(out, seen, expected, what + " in place");
}

void run_elementwise(Input& input, unsigned choice) {
  if (input.one_in(8))
    return elementwise(input, core::find_where_kernel(any_type(input)), 3, "where", choice);
  const auto& rows = core::kElementwiseRows;
  const core::ElementwiseRow& row =
      rows[static_cast<std::size_t>(input.below(static_cast<int>(rows.size())))];
  const ScalarType dtype = type_in(row.accepts, input);
  const core::ElementwiseKernel kernel = core::find_kernel(row.operation, dtype);
  const std::string what = std::string(row.name) + " of " + core::name(scalar_dtype(dtype));
  if (row.inputs == 2 && kernel.out == kernel.in[0] && input.one_in(4))
    return in_place(input, kernel, what, choice);
  elementwise(input, kernel, row.inputs, what, choice);
}

/// The elements at `base + address`, converted to T.
template <class T>
Numbers<T> numbers_at(const Placement& place, Bytes& memory, std::int64_t base,
                      const List& addresses, const DType& dtype) {
  Numbers<T> out(addresses.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = number_at<T>(place.at(memory, base + addresses[i]), dtype);
  return out;
}

/// Calls `body` with a value of the C++ type in which `dtype` is exact, and its dtype.
template <class Body>
void with_exact_type(const DType& dtype, const Body& body) {
  if (dtype.is_complex())
    return body(std::complex<double>{}, scalar_dtype(ScalarType::kComplex128));
  if (dtype.kind == Kind::kInt) return body(std::int64_t{}, scalar_dtype(ScalarType::kInt64));
  if (dtype.kind == Kind::kUInt || dtype.kind == Kind::kBool)
    return body(std::uint64_t{}, scalar_dtype(ScalarType::kUInt64));
  body(double{}, scalar_dtype(ScalarType::kFloat64));
}

/// The same with the type in which sums of `dtype` are computed. Signed integers wrap around in an
/// unsigned one.
template <class Body>
void with_sum_type(const DType& dtype, const Body& body) {
  const DType sum = core::accumulator_dtype(dtype);
  if (sum == scalar_dtype(ScalarType::kComplex64)) return body(std::complex<float>{}, sum);
  if (sum == scalar_dtype(ScalarType::kComplex128)) return body(std::complex<double>{}, sum);
  if (sum == scalar_dtype(ScalarType::kFloat32)) return body(float{}, sum);
  if (sum == scalar_dtype(ScalarType::kFloat64)) return body(double{}, sum);
  body(std::uint64_t{}, sum);
}

struct Reduced {
  const Placement& place;
  Bytes& memory;
  std::int64_t base;
  const List& addresses;

  template <class T>
  Numbers<T> as(T, const DType& dtype) const {
    return numbers_at<T>(place, memory, base, addresses, dtype);
  }
};

void reduce_naively(const ArrayView& out, const Reduced& x, Reduction operation) {
  const bool greatest = operation == Reduction::kMax || operation == Reduction::kArgmax;
  switch (operation) {
    case Reduction::kSum:
    case Reduction::kProd:
    case Reduction::kMean:
      return with_sum_type(out.dtype, [&](auto type, const DType& dtype) {
        const auto numbers = x.as(type, dtype);
        auto result = operation == Reduction::kProd ? product(numbers) : sum(numbers);
        if (operation == Reduction::kMean)
          result = divided(result, static_cast<double>(numbers.size()));
        put(out, result, dtype);
      });
    case Reduction::kVar:
    case Reduction::kStd: {
      const double result = variance(x.as(double{}, scalar_dtype(ScalarType::kFloat64)));
      return put(out, operation == Reduction::kVar ? result : std::sqrt(result),
                 scalar_dtype(ScalarType::kFloat64));
    }
    case Reduction::kAll:
    case Reduction::kAny:
    case Reduction::kCountNonzero:
      return with_exact_type(x.place.dtype, [&](auto type, const DType& dtype) {
        const auto numbers = x.as(type, dtype);
        const std::int64_t count = nonzero_count(numbers);
        const auto all = static_cast<std::int64_t>(numbers.size());
        if (operation == Reduction::kCountNonzero)
          return put(out, count, scalar_dtype(ScalarType::kInt64));
        put(out, std::uint8_t(operation == Reduction::kAll ? count == all : count > 0),
            scalar_dtype(ScalarType::kBool));
      });
    default:
      return with_exact_type(x.place.dtype, [&]<class T>(T type, const DType& dtype) {
        if constexpr (!std::is_same_v<T, std::complex<double>>) {
          const auto numbers = x.as(type, dtype);
          const bool searches = operation == Reduction::kArgmax || operation == Reduction::kArgmin;
          const std::size_t at = least_index(numbers, greatest, !searches);
          if (searches)
            return put(out, static_cast<std::int64_t>(at), scalar_dtype(ScalarType::kInt64));
          put(out, numbers[at], dtype);
        }
      });
  }
}

/// The axes of a placement for which `axes` has a bit, or those without one.
Placement axes_of(const Placement& place, std::uint64_t axes, bool wanted) {
  Placement out{place.dtype, {}, {}, place.origin, place.nbytes};
  for (std::size_t axis = 0; axis < place.shape.size(); ++axis) {
    if ((axes >> axis & 1) != (wanted ? 1U : 0U)) continue;
    out.shape.push_back(place.shape[axis]);
    out.strides.push_back(place.strides[axis]);
  }
  return out;
}

void run_reduction(Input& input, const core::ReductionRow& row, unsigned choice) {
  const DType dtype = scalar_dtype(type_in(row.accepts, input));
  const List shape = shape_from(input, 12000, 40);
  const auto axes = static_cast<std::uint64_t>(input.below(1 << shape.size()));
  const Placement x = placement_from(input, dtype, shape, true);
  List reduced_shape = shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if ((axes >> axis & 1) != 0) reduced_shape[axis] = 1;
  const Placement out =
      placement_from(input, core::reduced_dtype(row.operation, dtype), reduced_shape, false);
  const List addresses = axes_of(x, axes, true).addresses();
  if (addresses.empty()) return;  // results of no elements have tests
  Bytes memory = content_from(input, x.nbytes, 9);
  Bytes seen = content_from(input, out.nbytes, 5), expected = seen;
  core::kernels::use("plain");
  const List bases = axes_of(x, axes, false).addresses(), targets = out.addresses();
  for (std::size_t i = 0; i < targets.size(); ++i)
    reduce_naively(out.at(expected, targets[i]), {x, memory, bases[i], addresses}, row.operation);
  choose_kernels(choice);
  require(core::reduce(out.in(seen), x.in(memory), {row.operation, axes, 0}), "not interrupted");
  compare(out, seen, expected,
          std::string(row.name) + " of " + core::name(dtype) + " " +
              check::show(x.shape, x.strides) + " along axes " + std::to_string(axes));
}

void run_scan(Input& input, const core::ReductionRow& row, unsigned choice) {
  const DType dtype = scalar_dtype(type_in(row.accepts, input));
  const List shape = shape_from(input, 6000, 12);
  if (shape.empty()) return;
  const int axis = input.below(static_cast<int>(shape.size()));
  const std::uint64_t axes = std::uint64_t{1} << axis;
  const Placement x = placement_from(input, dtype, shape, true);
  const Placement out =
      placement_from(input, core::reduced_dtype(row.operation, dtype), shape, false);
  Bytes memory = content_from(input, x.nbytes, 9);
  Bytes seen = content_from(input, out.nbytes, 5), expected = seen;
  core::kernels::use("plain");
  const List steps = axes_of(x, axes, true).addresses(), to = axes_of(out, axes, true).addresses();
  const List bases = axes_of(x, axes, false).addresses();
  const List targets = axes_of(out, axes, false).addresses();
  for (std::size_t i = 0; i < bases.size(); ++i) {
    with_sum_type(out.dtype, [&]<class T>(T, const DType& sum_dtype) {
      const auto numbers = numbers_at<T>(x, memory, bases[i], steps, sum_dtype);
      const bool multiplies = row.operation == Reduction::kCumulativeProd;
      const auto results =
          running(numbers, [&](T a, T b) { return multiplies ? times(a, b) : a + b; });
      for (std::size_t k = 0; k < results.size(); ++k)
        put(out.at(expected, targets[i] + to[k]), results[k], sum_dtype);
    });
  }
  choose_kernels(choice);
  require(core::scan(out.in(seen), x.in(memory), axis, row.operation), "not interrupted");
  compare(out, seen, expected,
          std::string(row.name) + " of " + core::name(dtype) + " " +
              check::show(x.shape, x.strides) + " along axis " + std::to_string(axis));
}

}  // namespace

void run(Input& input) {
  const std::uint8_t first = input.byte();
  const unsigned choice = first / 2U;
  if (first % 2 == 0) return run_elementwise(input, choice);
  const auto& rows = core::kReductionRows;
  const core::ReductionRow& row =
      rows[static_cast<std::size_t>(input.below(static_cast<int>(rows.size())))];
  const bool scans =
      row.operation == Reduction::kCumulativeProd || row.operation == Reduction::kCumulativeSum;
  scans ? run_scan(input, row, choice) : run_reduction(input, row, choice);
}

}  // namespace refarray::fuzz
