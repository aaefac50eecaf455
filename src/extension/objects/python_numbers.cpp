// Reading and writing of single elements for the 27 scalar types, and the promotion of Python
// numbers beside arrays.
#include "extension/objects/python_numbers.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "core/bits.hpp"
#include "core/element.hpp"
#include "core/error.hpp"
#include "extension/capi/errors.hpp"

namespace refarray::extension {
namespace {

template <class T>
inline constexpr bool kIsComplex =
    std::is_same_v<T, core::Complex32> || std::is_same_v<T, std::complex<float>> ||
    std::is_same_v<T, std::complex<double>>;

template <class T>
double widen(T value) noexcept {
  if constexpr (std::is_floating_point_v<T>)
    return double{value};
  else
    return double{value.value()};
}

/// Rounds to the nearest value of a real floating-point type.
template <class T>
T narrow(double value) noexcept {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else
    return T::from(value);
}

// --- Reading: memory to Python.

template <class T>
PyObject* read_as(const std::byte* raw) noexcept {
  T value;
  std::memcpy(&value, raw, sizeof value);
  if constexpr (std::is_same_v<T, core::Bool>)
    return PyBool_FromLong(value.byte != 0);
  else if constexpr (std::is_same_v<T, core::Complex32>)
    return PyComplex_FromDoubles(widen(value.real), widen(value.imag));
  else if constexpr (kIsComplex<T>)
    return PyComplex_FromDoubles(double{value.real()}, double{value.imag()});
  else if constexpr (std::is_unsigned_v<T>)
    return PyLong_FromUnsignedLongLong(value);
  else if constexpr (std::is_integral_v<T>)
    return PyLong_FromLongLong(value);
  else
    return PyFloat_FromDouble(widen(value));
}

using Read = PyObject* (*)(const std::byte*) noexcept;
constexpr std::array<Read, core::kScalars.size()> kRead =
    core::Elements::table([]<class T>() -> Read { return &read_as<T>; });

// --- Writing: Python to memory.

/// The number for an error message; long ints are abbreviated.
std::string number_text(PyObject* number) {
  if (number_kind(number) == NumberKind::kInt) return short_repr(number);
  return utf8(check(calling<PyObject_Str>(number)).get());
}

[[noreturn, gnu::cold]] void fail_range(PyObject* number, const char* dtype, const Ref& low,
                                        const Ref& high) {
  core::fail(core::Fault::kOverflow, number_text(number), " is out of range for ", dtype,
             ", which holds ", utf8(check(calling<PyObject_Str>(low.get())).get()), " to ",
             utf8(check(calling<PyObject_Str>(high.get())).get()));
}

[[noreturn, gnu::cold]] void fail_kind(PyObject* number, const char* dtype) {
  core::fail(core::Fault::kType, number_text(number), " (", type_name(number),
             ") cannot become an element of dtype ", dtype,
             ": kinds convert in this order only: bool, int, float, complex");
}

template <class T>
T to_integer(PyObject* number, const char* dtype) {
  if (number_kind(number) > NumberKind::kInt) fail_kind(number, dtype);
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);  // an int: cannot fail
  if (overflow == 0 && std::in_range<T>(value)) return static_cast<T>(value);
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (overflow > 0) {
      const unsigned long long large = PyLong_AsUnsignedLongLong(number);
      if (PyErr_Occurred() == nullptr) return large;
      compat::clear_raised();  // too large for uint64 as well: fail_range() reports it
    }
  }
  using Limits = std::numeric_limits<T>;
  fail_range(number, dtype, check(PyLong_FromLongLong(static_cast<long long>(Limits::min()))),
             check(PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(Limits::max()))));
}

/// The smallest and the largest finite value.
template <class T>
std::pair<double, double> finite_range() noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return {double{std::numeric_limits<T>::lowest()}, double{std::numeric_limits<T>::max()}};
  } else if constexpr (std::is_same_v<T, core::BFloat16>) {
    const double largest = widen(T{0x7F7F});
    return {-largest, largest};
  } else if constexpr (std::is_same_v<T, core::Float8_e8m0fnu>) {
    return {widen(T{0}), widen(T{0xFE})};
  } else {
    const double largest = widen(T{static_cast<typename T::Code>(T::format.max)});
    return {-largest, largest};
  }
}

/// Whether converting `value` to `out` only rounded it, without overflow to infinity, NaN or the
/// largest value.
template <class T>
bool is_in_range(double value, T out) noexcept {
  if constexpr (requires { T::format; }) {
    if constexpr (T::format.over == T::format.max)
      return std::abs(value) <= finite_range<T>().second;
  }
  return std::isfinite(value) && std::isfinite(widen(out));
}

/// An int as a double that rounds to the same narrower float as the int itself: of the two doubles
/// around it, the one whose last bit is set ("round to odd"). Leaves the exception set that an int
/// out of range raises.
double double_rounding_alike(PyObject* number) {
  constexpr double kAllExact = 0x1p53;
  const double nearest = PyLong_AsDouble(number);  // the caller asks PyErr_Occurred()
  if (!(std::abs(nearest) >= kAllExact)) return nearest;
  const Ref back = check(PyLong_FromDouble(nearest));
  const bool is_above = check(PyObject_RichCompareBool(number, back.get(), Py_GT)) != 0;
  const bool is_below = check(PyObject_RichCompareBool(number, back.get(), Py_LT)) != 0;
  const bool is_odd = (std::bit_cast<std::uint64_t>(nearest) & 1) != 0;
  if (is_odd || is_above == is_below) return nearest;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return std::nextafter(nearest, is_above ? kInfinity : -kInfinity);
}

/// Throws OverflowError for an int out of range; a float out of range is converted as by
/// core::copy.
template <class T>
T to_real(PyObject* number, const char* dtype) {
  const NumberKind kind = number_kind(number);
  if (kind == NumberKind::kComplex) fail_kind(number, dtype);
  const double value = kind == NumberKind::kFloat  ? PyFloat_AsDouble(number)
                       : std::is_same_v<T, double> ? PyLong_AsDouble(number)
                                                   : double_rounding_alike(number);
  const bool is_double = PyErr_Occurred() == nullptr;
  compat::clear_raised();  // an int out of range for double: fail_range() reports it
  const T out = narrow<T>(value);
  if (kind == NumberKind::kFloat || (is_double && is_in_range(value, out))) return out;
  const auto [low, high] = finite_range<T>();
  fail_range(number, dtype, check(PyFloat_FromDouble(low)), check(PyFloat_FromDouble(high)));
}

template <class T>
T to_complex(PyObject* number, const char* dtype) {
  using Part = std::conditional_t<std::is_same_v<T, core::Complex32>, core::Float16,
                                  std::conditional_t<sizeof(T) == 8, float, double>>;
  if (number_kind(number) != NumberKind::kComplex)
    return T{to_real<Part>(number, dtype), narrow<Part>(0.0)};
  return T{narrow<Part>(PyComplex_RealAsDouble(number)),
           narrow<Part>(PyComplex_ImagAsDouble(number))};
}

template <class T>
void write_as(PyObject* number, const char* dtype, std::byte* raw) {
  const T value = [&] {
    if constexpr (std::is_same_v<T, core::Bool>) {
      if (!PyBool_Check(number)) fail_kind(number, dtype);
      return T{static_cast<std::uint8_t>(number == Py_True)};
    } else if constexpr (kIsComplex<T>) {
      return to_complex<T>(number, dtype);
    } else if constexpr (std::is_integral_v<T>) {
      return to_integer<T>(number, dtype);
    } else {
      return to_real<T>(number, dtype);
    }
  }();
  std::memcpy(raw, &value, sizeof value);
}

using Write = void (*)(PyObject*, const char*, std::byte*);
constexpr std::array<Write, core::kScalars.size()> kWrite =
    core::Elements::table([]<class T>() -> Write { return &write_as<T>; });

}  // namespace

NumberKind number_kind(PyObject* number) noexcept {
  if (PyBool_Check(number)) return NumberKind::kBool;
  if (PyLong_Check(number)) return NumberKind::kInt;
  return PyFloat_Check(number) ? NumberKind::kFloat : NumberKind::kComplex;
}

core::DType default_dtype(NumberKind kind) noexcept {
  switch (kind) {
    case NumberKind::kBool:
      return {core::Kind::kBool, 8};
    case NumberKind::kInt:
      return {core::Kind::kInt, 64};
    case NumberKind::kFloat:
      return {core::Kind::kFloat, 64};
    case NumberKind::kComplex:
      return {core::Kind::kComplex, 128};
  }
  return {};
}

Ref plain_number(PyObject* object) {
  if (PyBool_Check(object) || PyLong_CheckExact(object)) return Ref::borrow(object);
  if (PyLong_Check(object))
    return check(calling<PyNumber_Index>(object));  // calls no __index__: the object is an int
  if (PyFloat_CheckExact(object) || PyComplex_CheckExact(object)) return Ref::borrow(object);
  if (PyFloat_Check(object))
    return check(PyFloat_FromDouble(check_number<PyFloat_AsDouble>(object)));
  if (!PyComplex_Check(object)) return {};
  return check(
      PyComplex_FromDoubles(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)));
}

Ref in_kind_of(const core::DType& dtype, PyObject* number) {
  const NumberKind kind = number_kind(number);
  if (kind == NumberKind::kComplex) return Ref::borrow(number);
  if (dtype.kind == core::Kind::kBool) {
    for (PyObject* each : {Py_False, Py_True})
      if (check(PyObject_RichCompareBool(number, each, Py_EQ)) != 0) return Ref::borrow(each);
  } else if (kind == NumberKind::kFloat &&
             (dtype.kind == core::Kind::kInt || dtype.kind == core::Kind::kUInt)) {
    const double value = PyFloat_AsDouble(number);  // a float: cannot fail
    if (std::isfinite(value) && std::trunc(value) == value) return check(PyLong_FromDouble(value));
  }
  return Ref::borrow(number);
}

Ref read_scalar(const core::DType& dtype, const std::byte* data, std::int64_t bit) {
  const auto row = static_cast<std::size_t>(dtype.index());
  const std::byte* at = data + (bit >> 3);
  if (!dtype.is_sub_byte()) return check(kRead[row](at));
  const auto code =
      static_cast<std::byte>(core::read_bits(at, static_cast<int>(bit & 7), dtype.bits));
  return check(kRead[row](&code));
}

Ref read_element(const core::DType& dtype, const std::byte* data, std::int64_t bit) {
  if (dtype.lanes == 1) return read_scalar(dtype, data, bit);
  Ref out = check(calling<PyTuple_New>(dtype.lanes));
  for (int lane = 0; lane < dtype.lanes; ++lane) {
    check(PyTuple_SetItem(out.get(), lane,
                          read_scalar(dtype, data, bit + lane * dtype.bits).release()));
  }
  return out;
}

void write_scalar(const core::DType& dtype, std::byte* data, std::int64_t bit, PyObject* number) {
  const auto row = static_cast<std::size_t>(dtype.index());
  const char* name = core::kScalars[row].name.data();  // null-terminated: a string literal
  std::byte* at = data + (bit >> 3);
  if (!dtype.is_sub_byte()) return kWrite[row](number, name, at);
  std::byte code{};
  kWrite[row](number, name, &code);
  core::write_bits(at, static_cast<int>(bit & 7), dtype.bits, std::to_integer<unsigned>(code));
}

// --- Promotion.

namespace {

using core::Fault;
using core::ScalarType;

const char* kind_name(NumberKind kind) noexcept {
  constexpr const char* kNames[] = {"bool", "int", "float", "complex"};
  return kNames[static_cast<int>(kind)];
}

/// The dtypes of the standard's table for Python numbers of a kind.
core::DtypeSet dtypes_beside(NumberKind kind) noexcept {
  using namespace core::dtype_sets;
  switch (kind) {
    case NumberKind::kBool:
      return kBool;
    case NumberKind::kInt:
      return kNumeric;
    default:
      return kFloating;
  }
}

ScalarType complex_of(ScalarType real) noexcept {
  return real == ScalarType::kFloat64 ? ScalarType::kComplex128 : ScalarType::kComplex64;
}

}  // namespace

ScalarType require_computable(const core::DType& dtype, const char* function,
                              core::DtypeSet accepts) {
  const ScalarType type = core::computable_scalar(dtype);
  if (type != ScalarType::kNone && core::contains(accepts, type)) [[likely]]
    return type;
  core::fail(Fault::kType, function, "() takes arrays of ", core::name(accepts), " dtypes, not ",
             core::name(dtype), "; astype() converts");
}

ScalarType type_beside(NumberKind kind, ScalarType other, const char* function) {
  if (!core::contains(dtypes_beside(kind), other)) {
    core::fail(Fault::kType, function, "(): a Python ", kind_name(kind), " beside an array of ",
               core::info_of(other).name, " has no common dtype in the standard; use astype()");
  }
  const bool becomes_complex =
      kind == NumberKind::kComplex && core::contains(core::dtype_sets::kRealFloating, other);
  return becomes_complex ? complex_of(other) : other;
}

}  // namespace refarray::extension
