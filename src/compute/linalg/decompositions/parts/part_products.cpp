// Implements products of parts of matrices.
#include "compute/linalg/decompositions/parts/part_products.hpp"

#include "compute/linalg/matmul.hpp"

namespace refarray::core {
namespace {

/// A column-major part as a row-major array: its transpose.
template <class T>
struct Transposed {
  explicit Transposed(const ConstPart<T>& part) noexcept
      : shape{part.cols(), part.rows()}, strides{part.outerStride(), 1} {
    view.data = reinterpret_cast<std::byte*>(const_cast<T*>(part.data()));
    view.dtype = kDTypeOf<T>;
    view.ndim = 2;
    view.shape = shape;
    view.strides = strides;
  }
  Transposed(const Transposed&) = delete;
  Transposed& operator=(const Transposed&) = delete;

  std::int64_t shape[2];
  std::int64_t strides[2];
  ArrayView view;
};

/// Multiplications that may take long enough to ask for interrupts on the way.
constexpr double kManyProducts = 1e8;

}  // namespace

template <class T>
bool add_product(Part<T> to, const ConstPart<T>& a, const ConstPart<T>& b, Progress& progress) {
  const double products = static_cast<double>(to.size()) * static_cast<double>(a.cols());
  const bool is_long = products >= kManyProducts;
  const Transposed<T> out(to), left(b), right(a);
  const InterruptCheck check = is_long ? progress.interrupt() : InterruptCheck{};
  return add_matmul(out.view, left.view, right.view, check) &&
         !progress.is_stopped_after(is_long ? 0 : products);
}

template bool add_product<double>(Part<double> to, const ConstPart<double>& a,
                                  const ConstPart<double>& b, Progress& progress);
template bool add_product<std::complex<double>>(Part<std::complex<double>> to,
                                                const ConstPart<std::complex<double>>& a,
                                                const ConstPart<std::complex<double>>& b,
                                                Progress& progress);

}  // namespace refarray::core
