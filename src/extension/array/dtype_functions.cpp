// Implements can_cast(), isdtype() and result_type(), and Array.__array_namespace__.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/python_numbers.hpp"
#include "extension/objects/value_types.hpp"

namespace refarray::extension {
namespace {

using core::DType;
using core::Fault;
using core::Kind;
using core::ScalarType;

constexpr FunctionRow kCanCast{
    "can_cast",
    "from_, to, /",
    Category::kDataType,
    2021,
    R"doc(Whether type promotion can convert from_, a dtype or an array, to the dtype `to`.

True if both are equal, or promote to `to`; values are not looked at. Dtypes that take part
in no computation convert to themselves only. Raises TypeError for other arguments.)doc",
};

constexpr FunctionRow kIsdtype{
    "isdtype",
    "dtype, kind",
    Category::kDataType,
    2022,
    R"doc(Whether a dtype is of a kind: a dtype; one of 'bool', 'signed integer', 'unsigned integer',
'integral', 'real floating', 'complex floating', 'numeric'; or a tuple of those, any of which
suffices.

bfloat16, float16 and the narrower floats are 'real floating', complex32 is 'complex
floating'. Raises ValueError for another name, TypeError for other arguments.)doc",
};

constexpr FunctionRow kResultType{
    "result_type",
    "*arrays_and_dtypes",
    Category::kDataType,
    2021,
    R"doc(The dtype to which arrays, dtypes and Python numbers promote together.

At least one argument must be an array or a dtype; numbers take part as in operators. Raises
TypeError where the standard leaves the promotion undefined, ValueError without an array or
dtype.)doc",
};

constexpr char kArrayNamespaceDoc[] =
    "__array_namespace__($self, /, *, api_version=None)\n--\n\n"
    "The module refarray, which has the functions of the array API standard.\n\n"
    "api_version: a version of the standard from '2021.12' to '2025.12', or None for the\n"
    "last one. An earlier version is a namespace without the functions that came later,\n"
    "and with the results of its time. Raises ValueError for other versions, TypeError for\n"
    "an argument that is no str.\n\n"
    "Array API standard, array object: __array_namespace__.";

constexpr Signature<1> kArrayNamespace{"__array_namespace__", {Key::kApiVersion}, 0, 0, 0};

/// The dtype of an array, or one that to_dtype() takes.
DType dtype_of(const State& state, PyObject* object) {
  if (is_array(state, object)) return view_of(object).dtype;
  refuse_other_namespace(state, object);
  return to_dtype(state, object);
}

Ref can_cast(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2)
    core::fail(Fault::kType, "can_cast() takes 2 positional arguments; ", nargs, " were given");
  const State& state = State::of_module(module);
  const DType to = to_dtype(state, args[1]);
  return check(PyBool_FromLong(core::promote(dtype_of(state, args[0]), to) == to));
}

bool is_of_named_kind(const DType& dtype, PyObject* name) {
  const std::string kind = utf8(name);
  const bool is_signed = dtype.kind == Kind::kInt;
  const bool is_unsigned = dtype.kind == Kind::kUInt;
  const bool is_bool = dtype.kind == Kind::kBool;
  const bool is_complex = dtype.is_complex();
  const bool is_real_floating = !is_signed && !is_unsigned && !is_bool && !is_complex;
  if (kind == "bool") return is_bool;
  if (kind == "signed integer") return is_signed;
  if (kind == "unsigned integer") return is_unsigned;
  if (kind == "integral") return is_signed || is_unsigned;
  if (kind == "real floating") return is_real_floating;
  if (kind == "complex floating") return is_complex;
  if (kind == "numeric") return !is_bool;
  core::fail(Fault::kValue, "isdtype(): no kind is named ", short_repr(name),
             "; the names are 'bool', 'signed integer', 'unsigned integer', 'integral', 'real "
             "floating', 'complex floating' and 'numeric'");
}

bool is_of_kind(const State& state, const DType& dtype, PyObject* kind) {
  if (PyUnicode_Check(kind)) return is_of_named_kind(dtype, kind);
  if (!PyTuple_Check(kind)) return to_dtype(state, kind) == dtype;
  bool found = false;  // every entry is checked, so that a wrong one never goes unnoticed
  for_each_index(PyTuple_Size(kind), [&](std::int64_t i) {
    PyObject* entry = compat::tuple_item(kind, static_cast<Py_ssize_t>(i));
    if (PyTuple_Check(entry))
      core::fail(Fault::kType, "isdtype(): kind[", i,
                 "] is a tuple; the entries are dtypes and "
                 "names of kinds");
    found = is_of_kind(state, dtype, entry) || found;
  });
  return found;
}

Ref isdtype(const State& state, const Given<kIsdtype>& given) {
  const auto [dtype, kind] = given;
  return check(PyBool_FromLong(is_of_kind(state, to_dtype(state, dtype), kind)));
}

[[noreturn, gnu::cold]] void fail_common(const DType& a, const DType& b) {
  core::fail(Fault::kType, "result_type(): ", core::name(a), " and ", core::name(b),
             " have no common dtype in the standard");
}

/// The promoted dtype of the arguments that are arrays or dtypes. Every two of them must promote,
/// so that the order does not matter.
DType promote_arguments(const State& state, PyObject* const* args, Py_ssize_t nargs,
                        const std::vector<Ref>& numbers) {
  std::optional<DType> out;
  core::DtypeSet seen = 0;
  for_each_index(nargs, [&](std::int64_t i) {
    if (numbers[static_cast<std::size_t>(i)]) return;
    const DType next = dtype_of(state, args[i]);
    const ScalarType type = core::computable_scalar(next);
    if (out && *out != next) {
      if (type == ScalarType::kNone || seen == 0) fail_common(*out, next);
      for (const ScalarType other : core::kComputableTypes) {
        if (core::contains(seen, other) && core::promote(other, type) == ScalarType::kNone)
          fail_common(core::scalar_dtype(other), next);
      }
    }
    if (type != ScalarType::kNone) seen |= core::set_of(type);
    out = seen != 0 ? core::scalar_dtype(core::promote_all(seen)) : next;
  });
  if (out) return *out;
  core::fail(nargs == 0 ? Fault::kType : Fault::kValue,
             "result_type() takes at least one array or dtype; ", nargs,
             " arguments were given, none of them one");
}

Ref result_type(const State& state, PyObject* const* args, Py_ssize_t nargs) {
  std::vector<Ref> numbers;
  for_each_index(nargs, [&](std::int64_t i) {
    numbers.push_back(is_any_array(args[i]) ? Ref() : to_exact_number(state, args[i]));
  });
  DType out = promote_arguments(state, args, nargs, numbers);
  for_each_index(nargs, [&](std::int64_t i) {
    const Ref& each = numbers[static_cast<std::size_t>(i)];
    if (!each) return;
    const ScalarType type = require_computable(out, "result_type", core::dtype_sets::kAll);
    out = core::scalar_dtype(type_beside(number_kind(each.get()), type, "result_type"));
  });
  return make_dtype(state, out);
}

Ref array_namespace(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_object(self);
  const auto [version] = bind(kArrayNamespace, state, args, nargs, kwnames);
  PyObject* const own = state.get(Slot::kNamespace);
  if (is_given(version)) {
    if (!PyUnicode_Check(version)) {
      core::fail(Fault::kType, "__array_namespace__(): api_version must be a str or None, not ",
                 type_name(version));
    }
    constexpr std::string_view kVersions[] = {"2021.12", "2022.12", "2023.12",
                                              "2024.12", "2025.12", "2026.12"};
    const std::string text = utf8(version);
    if (std::find(std::begin(kVersions), std::end(kVersions), text) == std::end(kVersions)) {
      core::fail(Fault::kValue, "__array_namespace__(): api_version is ", short_repr(version),
                 "; the versions are '2021.12', '2022.12', '2023.12', '2024.12', '2025.12' and "
                 "the draft, '2026.12'");
    }
    if (own != nullptr) {
      const Ref make = python_function("refarray._namespaces.modes", "in_version");
      return check(calling<PyObject_CallFunctionObjArgs>(make.get(), own, version, nullptr));
    }
    if (text != kVersions[4]) {
      const Ref make = python_function("refarray._namespaces.versions", "namespace");
      return check(calling<PyObject_CallFunctionObjArgs>(make.get(), version, nullptr));
    }
  }
  return own != nullptr ? Ref::borrow(own) : check(calling<PyImport_ImportModule>("refarray"));
}

}  // namespace

PyMethodDef kDtypeFunctions[] = {
    entry<kCanCast, &can_cast>(),
    entry<kIsdtype, &isdtype>(),
    entry<kResultType, &result_type>(),
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kNamespaceMethods[] = {
    {"__array_namespace__", method<&array_namespace>(), METH_FASTCALL | METH_KEYWORDS,
     kArrayNamespaceDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
