// Implements products of parts of matrices.
#include "compute/linalg/decompositions/parts/part_products.hpp"

#include "compute/linalg/matmul.hpp"

namespace refarray::core {
namespace {

/// A part as an array.
struct Viewed {
  template <class T>
  explicit Viewed(const ConstPart<T>& part) noexcept
      : shape{part.rows(), part.cols()}, strides{1, part.outerStride()} {
    view.data = reinterpret_cast<std::byte*>(const_cast<T*>(part.data()));
    view.dtype = kDTypeOf<T>;
    view.ndim = 2;
    view.shape = shape;
    view.strides = strides;
  }
  Viewed(const Viewed&) = delete;
  Viewed& operator=(const Viewed&) = delete;

  Viewed& transpose() noexcept {
    std::swap(shape[0], shape[1]);
    std::swap(strides[0], strides[1]);
    return *this;
  }

  std::int64_t shape[2];
  std::int64_t strides[2];
  ArrayView view;
};

/// Multiplications that may take long enough to ask for interrupts on the way.
constexpr double kManyProducts = 1e8;

/// Adds the transpose of `left` times `right` to that of `to`, whose columns are rows of an array.
template <class T>
bool add_transposed(Part<T>& to, Viewed& left, Viewed& right, Progress& progress) {
  const double products = static_cast<double>(to.size()) * static_cast<double>(left.view.shape[1]);
  const bool is_long = products >= kManyProducts;
  Viewed out{ConstPart<T>(to)};
  const InterruptCheck check = is_long ? progress.interrupt() : InterruptCheck{};
  return add_matmul(out.transpose().view, left.view, right.view, check) &&
         !progress.is_stopped_after(is_long ? 0 : products);
}

}  // namespace

template <class T>
bool add_product(Part<T> to, const ConstPart<T>& a, const ConstPart<T>& b, Progress& progress) {
  if (kIsComplex<T> && b.cols() == 1) {  // matmul() would pack the matrix first
    for (Index j = 0; j < a.cols(); ++j) to.col(0) += a.col(j) * b(j, 0);
    return !progress.is_stopped_after(static_cast<double>(a.size()));
  }
  Viewed left(b), right(a);
  return add_transposed<T>(to, left.transpose(), right.transpose(), progress);
}

template <class T>
bool add_adjoint_product(Vector<T>& to, const ConstPart<T>& a, const Vector<T>& b,
                         Progress& progress) {
  if constexpr (kIsComplex<T>) {
    for (Index j = 0; j < a.cols(); ++j) to[j] += a.col(j).dot(b);
    return !progress.is_stopped_after(static_cast<double>(a.size()));
  } else {
    Part<T> sums(to);
    Viewed left{ConstPart<T>(b)}, right(a);
    return add_transposed<T>(sums, left.transpose(), right, progress);
  }
}

using Complex = std::complex<double>;
template bool add_product(Part<double>, const ConstPart<double>&, const ConstPart<double>&,
                          Progress&);
template bool add_product(Part<Complex>, const ConstPart<Complex>&, const ConstPart<Complex>&,
                          Progress&);
template bool add_adjoint_product(Vector<double>&, const ConstPart<double>&, const Vector<double>&,
                                  Progress&);
template bool add_adjoint_product(Vector<Complex>&, const ConstPart<Complex>&,
                                  const Vector<Complex>&, Progress&);

}  // namespace refarray::core
