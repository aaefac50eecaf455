// Tests what Python cannot ask of decompositions: outputs of any strides, and interrupts within a
// matrix. Values are tested by tests/compute/decompositions.
#include "compute/linalg/decompositions/decompositions.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "check.hpp"
#include "core/copy/copy.hpp"
#include "core/kernels/table.hpp"
#include "operands.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr DType kReal{Kind::kFloat, 64};
constexpr DType kComplex{Kind::kComplex, 128};

/// One output for each matrix of order n: a number, a vector or a matrix.
struct Output {
  std::size_t rank;
  const DType* dtype = nullptr;  // nullptr: that of the matrices
};
constexpr Output kNumber{0}, kMatrix{2}, kRealNumber{0, &kReal}, kReals{1, &kReal},
    kPairs{1, &kComplex}, kVectors{2, &kComplex};

struct In {
  const ArrayView& x;
  const InterruptCheck& stop;
};
using Out = std::span<const Array>;

struct Function {
  const char* name;
  std::int64_t order;
  int checks;  // of the interrupt, at least
  std::vector<Output> outputs;
  Outcome (*run)(Out, In);
  std::int64_t matrices = 1;
};

const Function kFunctions[] = {
    {"det", 300, 3, {kNumber}, [](Out o, In i) { return det(o[0], i.x, i.stop); }},
    {"slogdet",
     300,
     3,
     {kNumber, kRealNumber},
     [](Out o, In i) { return slogdet(o[0], o[1], i.x, i.stop); }},
    {"inv", 300, 5, {kMatrix}, [](Out o, In i) { return inv(o[0], i.x, i.stop); }},
    {"solve", 300, 5, {kMatrix}, [](Out o, In i) { return solve(o[0], i.x, i.x, i.stop); }},
    {"lower", 300, 3, {kMatrix}, [](Out o, In i) { return cholesky(o[0], i.x, false, i.stop); }},
    {"upper", 300, 3, {kMatrix}, [](Out o, In i) { return cholesky(o[0], i.x, true, i.stop); }},
    {"qr", 200, 4, {kMatrix, kMatrix}, [](Out o, In i) { return qr(o[0], o[1], i.x, i.stop); }},
    {"eigh", 150, 5, {kReals, kMatrix}, [](Out o, In i) { return eigh(o[0], o[1], i.x, i.stop); }},
    {"eigvalsh", 150, 2, {kReals}, [](Out o, In i) { return eigvalsh(o[0], i.x, i.stop); }},
    {"eig", 150, 20, {kPairs, kVectors}, [](Out o, In i) { return eig(o[0], o[1], i.x, i.stop); }},
    {"eigvals", 150, 10, {kPairs}, [](Out o, In i) { return eigvals(o[0], i.x, i.stop); }},
    {"svdvals", 150, 3, {kReals}, [](Out o, In i) { return svdvals(o[0], i.x, i.stop); }},
    {"three svdvals", 64, 1, {kReals}, [](Out o, In i) { return svdvals(o[0], i.x, i.stop); }, 3},
    {"svd",
     150,
     10,
     {kMatrix, kReals, kMatrix},
     [](Out o, In i) { return svd(o[0], o[1], o[2], i.x, i.stop); }},
    {"three svd",
     64,
     3,
     {kMatrix, kReals, kMatrix},
     [](Out o, In i) { return svd(o[0], o[1], o[2], i.x, i.stop); },
     3},
};

List shape_of(std::int64_t matrices, std::size_t rank, std::int64_t order) {
  List shape(rank + 1, order);
  shape[0] = matrices;
  return shape;
}

/// Random numbers in [-1, 1]; the diagonal makes the matrices positive definite.
Array matrices_of(Random& random, const DType& dtype, std::int64_t count, std::int64_t order) {
  const Array parts = new_array(kReal, List{count, order, order, dtype.bits / 64}, false);
  const std::int64_t size = parts.view().size();
  for (std::int64_t i = 0; i < size; ++i) {
    const bool is_diagonal =
        i * 64 % dtype.bits == 0 && i * 64 / dtype.bits % (order * order) % (order + 1) == 0;
    const double value = static_cast<double>(random.between(-(1LL << 52), 1LL << 52)) * 0x1p-52 +
                         (is_diagonal ? 2.0 * static_cast<double>(order) : 0.0);
    std::memcpy(parts.data + i * 8, &value, 8);
  }
  Array out = parts;
  out.dtype = dtype;
  out.layout = c_layout(List{count, order, order});
  return out;
}

template <class Make>
std::vector<Array> outputs_of(const Function& of, const ArrayView& x, const Make& make) {
  std::vector<Array> out;
  for (const Output& each : of.outputs)
    out.push_back(make(each.dtype != nullptr ? *each.dtype : x.dtype,
                       shape_of(x.shape[0], each.rank, x.shape[1])));
  return out;
}

std::vector<Array> gapless_outputs(const Function& of, const ArrayView& x) {
  return outputs_of(
      of, x, [](const DType& dtype, const List& shape) { return new_array(dtype, shape, false); });
}

/// Calls `body(function, x)` for real and complex matrices.
template <class Body>
void each_function(std::int64_t parts, const Body& body) {
  Random random(45);
  for (const Function& of : kFunctions)
    for (const DType& dtype : {kReal, kComplex})
      body(of, matrices_of(random, dtype, of.matrices, of.order / parts));
}

const Case bits("the bits depend on no strides, instruction set or number of threads", [] {
  Random random(46);
  each_function(2, [&](const Function& of, const Array& x) {
    const std::vector<Array> expected = gapless_outputs(of, x);
    of.run(expected, {x, {}});
    const auto compare = [&](const Array& from, const char* what) {
      const std::vector<Array> seen = outputs_of(of, x, [&](const DType& dtype, const List& shape) {
        return strided_array(random, dtype, shape);
      });
      check(of.run(seen, {from, {}}).ending == Ending::kDone, of.name);
      for (std::size_t i = 0; i < seen.size(); ++i)
        check(std::memcmp(contiguous(seen[i]).data, expected[i].data,
                          static_cast<std::size_t>(expected[i].view().nbytes())) == 0,
              text(of.name, " of ", name(x.dtype), ", ", what));
    };
    const Array view = strided_array(random, x.dtype, shape_of(of.matrices, 2, of.order / 2));
    copy(view, x);
    const kernels::Choices all = kernels::choices();
    for (int i = all.count - 1; i >= 0; --i) {  // the best is left in use
      kernels::use(all.tables[i]->name);
      compare(view, all.tables[i]->name);
    }
    set_copy_threads(3);
    compare(x, "threads");
    set_copy_threads(1);
  });
});

const Case interrupts("an interrupt ends the work at each of its checks, within a matrix too", [] {
  each_function(1, [](const Function& of, const Array& x) {
    const std::vector<Array> out = gapless_outputs(of, x);
    for (int calls = 0; calls < of.checks; ++calls) {
      Stopper stopper{calls};
      check(of.run(out, {x, stopper.check()}).ending == Ending::kInterrupted,
            text(of.name, " is not interrupted at call ", calls));
      check(stopper.calls == calls + 1, text(of.name, " goes on after an interrupt"));
    }
  });
});

const Case memory("matrices larger than any memory are refused", [] {
  for (const std::int64_t n : {std::int64_t{1} << 24, std::int64_t{1} << 31}) {
    const Array one = new_array(kReal, List{1, 1}, true);
    const Array x = with_layout(one, Layout(List{n, n}, List{0, 0}), 0);
    fails(Fault::kMemory, "no memory", [&] { det(new_array(kReal, {}, false), x, {}); });
  }
});

}  // namespace
