// The elementwise functions of the module, one for each row in compute/ops/elementwise_rows.hpp.
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/compute/elementwise_call.hpp"
#include "extension/compute/tables.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::ElementwiseRow;
using core::kElementwiseRows;

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

/// Calls `add` for each part of a row's text.
template <class Add>
constexpr void each_part(const ElementwiseRow& row, Add add) {
  const bool is_binary = row.inputs == 2;
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
            "that the dtype cannot hold."
          : ".\n\nRaises TypeError for other dtypes.");
}

template <std::size_t Row>
constexpr FunctionRow kFunction{
    kElementwiseRows[Row].name, kElementwiseRows[Row].inputs == 2 ? "x1, x2, /" : "x, /",
    Category::kElementwise, kElementwiseRows[Row].since,
    kJoined<[](auto add) { each_part(kElementwiseRows[Row], add); }>.data()};

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
  const State& state = State::of_module(module);
  return compute_binary(state, row.operation, args[0], args[1]);
}

template <std::size_t Row>
PyMethodDef definition() noexcept {
  if constexpr (kElementwiseRows[Row].inputs == 1)
    return entry<kFunction<Row>, &unary<Row>>();
  else
    return entry<kFunction<Row>, &binary<Row>>();
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
