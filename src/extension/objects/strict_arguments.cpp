// Arguments of strict namespaces: what the standard's signatures do not have is refused.
#include <algorithm>

#include "core/error.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

enum class Kind {
  kAny,       // what the function checks itself: arrays, dtypes, devices, text
  kIntegers,  // integers, tuples and lists of them
  kSequence,  // tuples and lists of integers
  kRepeats,   // integers, or an array
  kNumber,    // int, float or complex
  kReal,      // likewise, or a floating-point array, whose float() SciPy leaves to the function
  kRtol,      // likewise, or an array
  kOrder,     // likewise, or the name of a norm
  kFlag,      // True or False
};

Kind kind_of(Key key) noexcept {
  switch (key) {
    case Key::kAxes:
    case Key::kAxis:
    case Key::kDestination:
    case Key::kK:
    case Key::kN:
    case Key::kNCols:
    case Key::kNRows:
    case Key::kNum:
    case Key::kOffset:
    case Key::kRepetitions:
    case Key::kShape:
    case Key::kShift:
    case Key::kSource:
      return Kind::kIntegers;
    case Key::kS:
      return Kind::kSequence;
    case Key::kRepeats:
      return Kind::kRepeats;
    case Key::kCorrection:
      return Kind::kNumber;
    case Key::kD:
    case Key::kStart:
    case Key::kStep:
    case Key::kStop:
      return Kind::kReal;
    case Key::kRtol:
      return Kind::kRtol;
    case Key::kOrd:
      return Kind::kOrder;
    case Key::kDescending:
    case Key::kEndpoint:
    case Key::kFullMatrices:
    case Key::kIncludeInitial:
    case Key::kInvert:
    case Key::kKeepdims:
    case Key::kStable:
    case Key::kUpper:
      return Kind::kFlag;
    default:
      return Kind::kAny;
  }
}

/// Whether the object is an int, or another number with __index__: not a bool, and no array of any
/// library, which have __index__ as well. That of a lazy namespace raises its own error.
bool is_integer(const State& state, PyObject* object) {
  if (PyLong_Check(object)) return !PyBool_Check(object);
  if (is_any_array(object)) return state.modes.lazy;
  return PyIndex_Check(object) && !PySequence_Check(object) &&
         !find_on_type(state, Py_TYPE(object), state.get(Slot::kDlpackName));
}

bool is_number(const State& state, PyObject* object) {
  return PyFloat_Check(object) || PyComplex_Check(object) || is_integer(state, object);
}

bool is_tuple_or_list(PyObject* object) noexcept {
  return PyTuple_Check(object) || PyList_Check(object);
}

/// Also of pairs of sequences, the axes of tensordot().
bool are_integers(const State& state, PyObject* object, int levels = 2) {
  if (!is_tuple_or_list(object) || levels == 0) return is_integer(state, object);
  // Not by PySequence_Size(), which runs the code of subclasses.
  const Ref items =
      PyTuple_Check(object) ? Ref::borrow(object) : check(calling<PyList_AsTuple>(object));
  for (Py_ssize_t i = 0; i < compat::tuple_size(items.get()); ++i)
    if (!are_integers(state, compat::tuple_item(items.get(), i), levels - 1)) return false;
  return true;
}

/// What is wanted in the place of the argument, or nullptr if it is of the kind.
const char* wanted(const State& state, Kind kind, PyObject* object) {
  if (kind == Kind::kFlag) return PyBool_Check(object) ? nullptr : "True or False";
  if (object == Py_None) return nullptr;  // where it is not the default, the function refuses it
  switch (kind) {
    case Kind::kSequence:
      if (!is_tuple_or_list(object)) return "a tuple of integers";
      [[fallthrough]];
    case Kind::kIntegers:
      return are_integers(state, object) ? nullptr : "an integer or a tuple of integers";
    case Kind::kRepeats:
      if (is_any_array(object) || is_integer(state, object)) return nullptr;
      return "an integer or an array of integers";
    case Kind::kOrder:
      if (PyUnicode_Check(object)) return nullptr;
      return is_number(state, object) ? nullptr : "a number or the name of a norm";
    case Kind::kRtol:
      if (is_any_array(object)) return nullptr;
      return is_number(state, object) ? nullptr : "a number or an array";
    case Kind::kReal:
      if (is_array(state, object) && view_of(object).dtype.kind == core::Kind::kFloat)
        return nullptr;
      [[fallthrough]];
    case Kind::kNumber:
      return is_number(state, object) ? nullptr : "a number";
    default:
      return nullptr;
  }
}

}  // namespace

void require_standard_arguments(const State& state, const char* function, std::span<const Key> keys,
                                std::span<PyObject* const> arguments) {
  const bool takes_sequences = std::ranges::find(keys, Key::kS) != keys.end();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Kind kind = arguments[i] == nullptr ? Kind::kAny : kind_of(keys[i]);
    if (kind == Kind::kAny) continue;
    if (takes_sequences && kind == Kind::kIntegers) kind = Kind::kSequence;
    if (const char* const instead = wanted(state, kind, arguments[i])) {
      core::fail(Fault::kType, function, "(): ", kKeywordTexts[static_cast<std::size_t>(keys[i])],
                 " must be ", instead, ", not ", short_repr(arguments[i]),
                 "; this namespace is strict");
    }
  }
}

}  // namespace refarray::extension
