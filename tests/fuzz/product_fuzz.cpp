// Fuzz target of products of matrices and vectors: compares them with plain loops.
#include "../cpp/compute/naive_products.hpp"
#include "compute/linalg/matmul.hpp"
#include "input.hpp"
#include "placement.hpp"

namespace refarray::fuzz {
namespace {

using core::ArrayView;
using core::DType;
using core::scalar_dtype;
using core::ScalarType;

constexpr std::int64_t kTerms = 20'000;  // of a result
constexpr int kMultiplied = 13;          // matmul takes the dtypes [1, kMultiplied)

/// Moves the exponents of float32 and float64 close to each other, so that every term of a sum
/// counts. Elements that share memory may not be whole afterwards.
void level_exponents(const Placement& place, Bytes& memory) {
  const int parts = place.dtype.is_complex() ? 2 : 1;
  const int bytes = place.dtype.itemsize() / parts;
  for (const std::int64_t address : place.addresses()) {
    for (int part = 0; part < parts; ++part) {
      std::byte* const at = place.at(memory, address).data + part * bytes;
      std::uint64_t bits = read_number(at, static_cast<std::size_t>(bytes));
      bits = bytes == 4 ? (bits & 0x81FF'FFFF) | 0x3E00'0000
                        : (bits & 0x803F'FFFF'FFFF'FFFF) | 0x3FC0'0000'0000'0000;
      write_number(at, bits, static_cast<std::size_t>(bytes));
    }
  }
}

Operand operand_from(Input& input, const DType& dtype, const List& shape, unsigned salt) {
  Operand out(input, dtype, shape, salt);
  const bool has_exponents = 9 <= dtype.index() && dtype.index() < kMultiplied;
  if (has_exponents && input.one_in(2)) level_exponents(out.place, out.memory);
  out.before = out.memory;
  return out;
}

std::string label(const char* function, const Operand& x1, const Operand& x2) {
  return std::string(function) + " of " + core::name(x1.place.dtype) + " " +
         check::show(x1.place.shape, x1.place.strides) + " and " +
         check::show(x2.place.shape, x2.place.strides);
}

/// Computes a result into both memories, by plain loops and by the function itself, and compares.
template <class Compute>
void compare_with(const core::Array& expected, const Placement& out, const Input& input,
                  const std::string& what, const Compute& compute) {
  Bytes seen = content_from(input, out.nbytes, 5), wanted = seen;
  core::copy(out.in(wanted), expected);
  require(compute(out.in(seen)), "not interrupted");
  compare(out, seen, wanted, what);
}

/// Mostly short; at most 255 * 40, so longer than what is packed at a time.
std::int64_t extent_from(Input& input, std::int64_t limit) {
  const int kind = input.below(4);
  const std::int64_t wanted = kind == 0   ? input.below(3)
                              : kind == 1 ? input.byte() * (1 + input.below(40))
                                          : input.below(40);
  return std::min(wanted, limit);
}

/// The axes of the result's stack that an operand has: some of the first are missing, and some have
/// extent 1.
List stack_of(Input& input, const List& batch) {
  const auto missing = static_cast<std::ptrdiff_t>(
      batch.empty() || !input.one_in(3) ? 0 : input.below(1 + int(batch.size())));
  List out(batch.begin() + missing, batch.end());
  for (std::int64_t& extent : out)
    if (input.one_in(5)) extent = 1;
  return out;
}

/// Row-major, at any address.
Placement row_major(Input& input, const DType& dtype, const List& shape) {
  const core::Layout layout = core::c_layout(shape);
  Placement out{dtype, shape, {layout.strides, layout.strides + layout.ndim}, 0, 0};
  out.origin = 8 * input.below(20);
  out.nbytes = out.origin / 8 + core::size_of(shape) * dtype.itemsize() + input.below(3);
  return out;
}

void run_matmul(Input& input, unsigned choice) {
  const DType dtype = scalar_dtype(static_cast<ScalarType>(1 + input.below(kMultiplied - 1)));
  List batch(static_cast<std::size_t>(std::max(input.below(6) - 2, 0)));
  for (std::int64_t& extent : batch) extent = input.below(4);
  std::int64_t limit = kTerms / std::max<std::int64_t>(core::size_of(batch), 1);
  std::int64_t extents[3];           // of rows, the summed axis and columns
  const int first = input.below(3);  // may be longest
  for (int i = 0; i < 3; ++i) {
    std::int64_t& extent = extents[(first + i) % 3];
    extent = extent_from(input, limit);
    limit /= std::max<std::int64_t>(extent, 1);
  }
  List left = stack_of(input, batch), right = stack_of(input, batch), shape = batch;
  left.insert(left.end(), {extents[0], extents[1]});
  right.insert(right.end(), {extents[1], extents[2]});
  shape.insert(shape.end(), {extents[0], extents[2]});
  Operand x1 = operand_from(input, dtype, left, 1), x2 = operand_from(input, dtype, right, 2);
  const Placement out = row_major(input, dtype, shape);
  core::kernels::use("plain");
  const core::Array expected = check::product(x1.view(), x2.view(), shape);
  choose_kernels(choice);
  compare_with(expected, out, input, label("matmul", x1, x2),
               [&](const ArrayView& to) { return core::matmul(to, x1.view(), x2.view(), {}); });
  x1.require_unchanged();
  x2.require_unchanged();
}

void run_vecdot(Input& input, unsigned choice) {
  const DType dtype = scalar_dtype(static_cast<ScalarType>(1 + input.below(core::kComputable - 1)));
  List shape = shape_from(input, kTerms, 160);
  if (shape.empty()) shape.push_back(extent_from(input, kTerms));
  Operand x1 = operand_from(input, dtype, shape, 1), x2 = operand_from(input, dtype, shape, 2);
  shape.back() = 1;
  const Placement out = placement_from(input, dtype, shape, false);
  core::kernels::use("plain");
  const core::Array expected = check::sums_of_products(x1.view(), x2.view(), shape);
  choose_kernels(choice);
  compare_with(expected, out, input, label("vecdot", x1, x2),
               [&](const ArrayView& to) { return core::vecdot(to, x1.view(), x2.view(), {}); });
  x1.require_unchanged();
  x2.require_unchanged();
}

}  // namespace

void run(Input& input) {
  const std::uint8_t first = input.byte();
  const unsigned choice = first / 4U;
  first % 4 == 0 ? run_vecdot(input, choice) : run_matmul(input, choice);
}

}  // namespace refarray::fuzz
