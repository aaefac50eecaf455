// Plane rotations, and sweeps of them that are applied to the columns of a matrix many at a time.
#pragma once

#include <vector>

#include "compute/linalg/decompositions/parts/eigen.hpp"

namespace refarray::core {

/// Takes (x, y) to (c x + s y, c y - s x).
struct Rotation {
  double c;
  double s;
};

/// The rotation that takes (x, y), which are less than 2^500, to (r, 0). Sets r.
Rotation rotation_to_zero(double x, double y, double& r) noexcept;

/// Rotations of neighbouring columns. They are kept until there are so many that reading the whole
/// matrix pays; each element takes them in the order in which they were added.
class Sweeps {
 public:
  /// The columns of `matrix` begin every `stride` numbers and have `rows` numbers each, where a
  /// complex element is two. nullptr: there is no matrix, and rotations are dropped.
  Sweeps(double* matrix, Eigen::Index rows, Eigen::Index columns, Eigen::Index stride)
      : matrix_(matrix), rows_(rows), columns_(columns), stride_(stride) {}

  /// The next rotations are of `column` and the one `step` (1 or -1) away, then of that one and its
  /// neighbour, and so on. Throws std::bad_alloc, as add() does.
  void begin(Eigen::Index column, Eigen::Index step) {
    if (matrix_ != nullptr) sweeps_.push_back({column, step, rotations_.size()});
  }
  void add(const Rotation& rotation) {
    if (matrix_ != nullptr) rotations_.push_back(rotation);
  }

  /// Whether it is time for apply().
  bool is_full() const noexcept {
    return rotations_.size() >= kRotations * static_cast<std::size_t>(columns_);
  }
  /// Rotates the columns of the matrix. Returns the multiplications that this took.
  double apply();

 private:
  static constexpr std::size_t kRotations = 32;  // for each column, that are kept

  struct Sweep {
    Eigen::Index column;
    Eigen::Index step;
    std::size_t first;  // of the rotations
  };

  void rotate_packed() noexcept;

  double* matrix_;
  Eigen::Index rows_;
  Eigen::Index columns_;
  Eigen::Index stride_;
  std::vector<Sweep> sweeps_;
  std::vector<Rotation> rotations_;
  std::vector<double> packed_;  // some rows
};

/// Sweeps of the first `columns` columns of a matrix. They have no effect if it is empty.
template <class T>
Sweeps sweeps_of(Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>& matrix, Eigen::Index columns) {
  const Eigen::Index rows = matrix.rows() * static_cast<Eigen::Index>(sizeof(T) / sizeof(double));
  double* const data = matrix.size() > 0 ? reinterpret_cast<double*>(matrix.data()) : nullptr;
  return Sweeps(data, rows, columns, rows);
}

}  // namespace refarray::core
