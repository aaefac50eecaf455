// The elementwise functions of the module, one for each row of the registry, with their docstrings.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/namespace/elementwise.hpp"

namespace refarray::extension {
namespace {

using core::ElementwiseRow;
using core::kElementwiseRows;

// The docstring of a row, put together by the compiler.

constexpr std::string_view result_text(core::Result rule) noexcept {
  switch (rule) {
    case core::Result::kBoolDtype:
      return "a new array of bool";
    case core::Result::kRealDtype:
      return "a new array of the same dtype, for complex dtypes the real one of their parts";
    default:
      return "a new array of the same dtype";
  }
}

/// Calls `add` for each part of the docstring of a row.
template <class Add>
constexpr void each_part(const ElementwiseRow& row, Add add) {
  const bool is_binary = row.inputs == 2;
  add(row.name);
  add(is_binary ? "(x1, x2, /)\n--\n\n" : "(x, /)\n--\n\n");
  add(row.text);
  add("\n\n");
  add(is_binary ? "x1 and x2 are arrays of " : "x is an array of ");
  add(core::name(row.accepts));
  add(is_binary ? " dtypes, or one of them a Python number. They\n"
                  "broadcast and are promoted to a common dtype. Returns "
                : " dtypes, of any shape. Returns\n");
  add(result_text(row.result));
  add(is_binary
          ? ".\n\nRaises TypeError for other dtypes and for those without a common dtype in the\n"
            "standard, ValueError if the shapes do not broadcast, OverflowError for a number\n"
            "that the dtype cannot hold.\n\nArray API standard, elementwise functions: "
          : ".\n\nRaises TypeError for other dtypes.\n\nArray API standard, elementwise "
            "functions: ");
  add(row.name);
  add(".");
}

template <std::size_t Row>
constexpr auto kDoc = [] {
  constexpr std::size_t kLength = [] {
    std::size_t length = 0;
    each_part(kElementwiseRows[Row], [&](std::string_view part) { length += part.size(); });
    return length;
  }();
  std::array<char, kLength + 1> out{};
  char* at = out.data();
  each_part(kElementwiseRows[Row],
            [&](std::string_view part) { at = std::copy(part.begin(), part.end(), at); });
  return out;
}();

template <std::size_t Row>
Ref unary(PyObject* module, PyObject* x) {
  return compute_unary(State::of_module(module), kElementwiseRows[Row].operation, x);
}

template <std::size_t Row>
Ref binary(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  const ElementwiseRow& row = kElementwiseRows[Row];
  if (nargs != 2) {
    core::fail(core::Fault::kType, row.name, "() takes 2 positional arguments; ", nargs,
               nargs == 1 ? " was given" : " were given");
  }
  return compute_binary(State::of_module(module), row.operation, args[0], args[1]);
}

template <std::size_t Row>
PyMethodDef definition() {
  constexpr const ElementwiseRow& row = kElementwiseRows[Row];
  if constexpr (row.inputs == 1)
    return {row.name, method<&unary<Row>>(), METH_O, kDoc<Row>.data()};
  else
    return {row.name, method<&binary<Row>>(), METH_FASTCALL, kDoc<Row>.data()};
}

constexpr std::size_t kRows = kElementwiseRows.size();

template <std::size_t... Rows>
std::array<PyMethodDef, kRows + 1> definitions(std::index_sequence<Rows...>) {
  return {definition<Rows>()..., PyMethodDef{nullptr, nullptr, 0, nullptr}};
}

}  // namespace

PyMethodDef* elementwise_functions() {
  // Functions keep pointers into it, so it lives for the whole process.
  static std::array<PyMethodDef, kRows + 1> all = definitions(std::make_index_sequence<kRows>());
  return all.data();
}

}  // namespace refarray::extension
