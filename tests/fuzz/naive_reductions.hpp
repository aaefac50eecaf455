// Reductions and scans of a list of numbers by plain loops, in the order that the manual documents
// (docs/array-api.md).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

namespace refarray::fuzz {

/// The numbers of one output, in row-major order of the reduced axes.
template <class T>
using Numbers = std::vector<T>;

/// Combines by lanes of a block, halves of the lanes, and neighbouring blocks.
template <class T, class Combine>
T in_order(const Numbers<T>& numbers, Combine combine) {
  const std::size_t lanes = 256 / sizeof(T), block = 8192 / sizeof(T);
  Numbers<T> results;
  for (std::size_t begin = 0; begin < numbers.size(); begin += block) {
    const std::size_t end = std::min(begin + block, numbers.size());
    Numbers<T> row;
    for (std::size_t i = begin; i < end; ++i) {
      if (i - begin < lanes)
        row.push_back(numbers[i]);
      else
        row[(i - begin) % lanes] = combine(row[(i - begin) % lanes], numbers[i]);
    }
    for (std::size_t width = lanes / 2; width > 0; width /= 2) {
      for (std::size_t i = 0; i < width && i + width < row.size(); ++i)
        row[i] = combine(row[i], row[i + width]);
      row.resize(std::min(row.size(), width));
    }
    results.push_back(row[0]);
  }
  while (results.size() > 1) {
    Numbers<T> pairs;
    for (std::size_t i = 0; i < results.size(); i += 2)
      pairs.push_back(i + 1 < results.size() ? combine(results[i], results[i + 1]) : results[i]);
    results = pairs;
  }
  return results[0];
}

template <class T>
T plus(T a, T b) {
  return a + b;
}

template <class T>
T times(T a, T b) {
  return a * b;
}

/// The textbook formula, in double: no special treatment of infinities.
template <class T>
std::complex<T> times(std::complex<T> x, std::complex<T> y) {
  const double a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  return {static_cast<T>(a * c - b * d), static_cast<T>(a * d + b * c)};
}

template <class T>
T sum(const Numbers<T>& numbers) {
  return in_order(numbers, &plus<T>);
}

template <class T>
T product(const Numbers<T>& numbers) {
  return in_order(numbers, [](T a, T b) { return times(a, b); });
}

template <class T>
T divided(T number, double count) {
  return static_cast<T>(static_cast<double>(number) / count);
}
template <class T>
std::complex<T> divided(std::complex<T> number, double count) {
  return {divided(number.real(), count), divided(number.imag(), count)};
}

/// In two passes, without a correction.
inline double variance(const Numbers<double>& numbers) {
  const double mean = sum(numbers) / static_cast<double>(numbers.size());
  Numbers<double> squares;
  for (const double number : numbers) squares.push_back((number - mean) * (number - mean));
  return sum(squares) / static_cast<double>(numbers.size());
}

/// The index of the first least number, or of the first NaN. With `signed_zeros` -0 is less than
/// +0.
template <class T>
std::size_t least_index(const Numbers<T>& numbers, bool greatest, bool signed_zeros) {
  const auto is_better = [&](T a, T b) {
    if (b != b) return false;
    if (a != a) return true;
    if (a == b && signed_zeros &&
        std::signbit(static_cast<double>(a)) != std::signbit(static_cast<double>(b)))
      return std::signbit(static_cast<double>(a)) != greatest;
    return greatest ? a > b : a < b;
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (is_better(numbers[i], numbers[best])) best = i;
  return best;
}

template <class T>
std::int64_t nonzero_count(const Numbers<T>& numbers) {
  return std::count_if(numbers.begin(), numbers.end(), [](T number) { return number != T{0}; });
}

/// Each number combined with the result before it.
template <class T, class Combine>
Numbers<T> running(const Numbers<T>& numbers, Combine combine) {
  Numbers<T> out;
  for (const T number : numbers) out.push_back(out.empty() ? number : combine(out.back(), number));
  return out;
}

}  // namespace refarray::fuzz
