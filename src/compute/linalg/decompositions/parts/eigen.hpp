// The headers of Eigen, with memory for its matrices that stays valid when an allocation fails.
//
// Eigen 3.4 frees the memory of a matrix twice if resize() fails. The specializations below are
// chosen before Eigen's own, because they are constrained.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace refarray::core::detail {

/// kRows and kColumns are Eigen::Dynamic or fixed. Eigen calls these functions by name.
template <class T, int kRows, int kColumns>
class MatrixMemory {
 public:
  using Index = Eigen::Index;

  MatrixMemory() noexcept = default;
  explicit MatrixMemory(Eigen::internal::constructor_without_unaligned_array_assert) noexcept {}
  MatrixMemory(Index size, Index rows, Index columns)
      : data_(allocate(size)), rows_(rows), columns_(columns) {}
  MatrixMemory(const MatrixMemory& other)
      : data_(allocate(other.size())), rows_(other.rows_), columns_(other.columns_) {
    std::copy_n(other.data_, size(), data_);
  }
  MatrixMemory(MatrixMemory&& other) noexcept { swap(other); }
  MatrixMemory& operator=(MatrixMemory other) noexcept {
    swap(other);
    return *this;
  }
  ~MatrixMemory() { free(); }

  void swap(MatrixMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(rows_, other.rows_);
    std::swap(columns_, other.columns_);
  }
  Index rows() const noexcept { return kRows == Eigen::Dynamic ? rows_ : kRows; }
  Index cols() const noexcept { return kColumns == Eigen::Dynamic ? columns_ : kColumns; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }

  /// The elements become unspecified. If the allocation fails, the matrix is empty.
  void resize(Index size, Index rows, Index columns) {
    if (size != this->size()) {
      free();
      data_ = nullptr;
      rows_ = columns_ = 0;
      data_ = allocate(size);
    }
    rows_ = rows;
    columns_ = columns;
  }
  /// Keeps the elements, in the order of memory.
  void conservativeResize(Index size, Index rows, Index columns) {
    MatrixMemory other(size, rows, columns);
    std::copy_n(data_, std::min(size, this->size()), other.data_);
    swap(other);
  }

 private:
  Index size() const noexcept { return rows_ * columns_; }
  static T* allocate(Index size) {
    return Eigen::internal::conditional_aligned_new_auto<T, true>(static_cast<std::size_t>(size));
  }
  void free() noexcept {
    Eigen::internal::conditional_aligned_delete_auto<T, true>(data_,
                                                              static_cast<std::size_t>(size()));
  }

  T* data_ = nullptr;
  Index rows_ = 0;
  Index columns_ = 0;
};

}  // namespace refarray::core::detail

namespace Eigen {

template <class T, int Options>
  requires std::is_trivially_copyable_v<T>
class DenseStorage<T, Dynamic, Dynamic, Dynamic, Options>
    : public refarray::core::detail::MatrixMemory<T, Dynamic, Dynamic> {
  using refarray::core::detail::MatrixMemory<T, Dynamic, Dynamic>::MatrixMemory;
};
template <class T, int Rows, int Options>
  requires std::is_trivially_copyable_v<T>
class DenseStorage<T, Dynamic, Rows, Dynamic, Options>
    : public refarray::core::detail::MatrixMemory<T, Rows, Dynamic> {
  using refarray::core::detail::MatrixMemory<T, Rows, Dynamic>::MatrixMemory;
};
template <class T, int Columns, int Options>
  requires std::is_trivially_copyable_v<T>
class DenseStorage<T, Dynamic, Dynamic, Columns, Options>
    : public refarray::core::detail::MatrixMemory<T, Dynamic, Columns> {
  using refarray::core::detail::MatrixMemory<T, Dynamic, Columns>::MatrixMemory;
};

}  // namespace Eigen

// After the specializations: these headers use matrices.
#include <Eigen/SVD>
