// The registry of the array API's functions: one row for each, from which the compiler makes its
// argument binding, its text signature, its docstring and its PyMethodDef.
//
// The rows lie beside the implementations. Those of elementwise functions and reductions are made
// from the rows in compute/ops.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "extension/capi/args.hpp"

namespace refarray::extension {

/// The categories into which the standard divides its functions.
enum class Category : std::uint8_t {
  kCreation,
  kDataType,
  kElementwise,
  kFourier,
  kIndexing,
  kLinearAlgebra,
  kManipulation,
  kSearching,
  kSet,
  kSorting,
  kStatistical,
  kUtility,
};

struct FunctionRow {
  const char* name;
  const char* parameters;  // as in Python: "x, /, *, axis=None"
  Category category;
  std::uint16_t since;  // the year of the standard that introduced it
  const char* doc;      // the first sentence says what the function returns
};

namespace detail {

constexpr std::string_view name(Category category) noexcept {
  constexpr std::string_view kNames[] = {"creation",          "data type",   "elementwise",
                                         "Fourier transform", "indexing",    "linear algebra",
                                         "manipulation",      "searching",   "set",
                                         "sorting",           "statistical", "utility"};
  return kNames[static_cast<std::size_t>(category)];
}

struct Parameters {
  std::array<Key, 8> keys{};
  std::size_t count = 0;
  Py_ssize_t positional = 0;
  Py_ssize_t required = 0;
  Py_ssize_t positional_only = 0;
};

consteval Key key_of(std::string_view name) {
  const auto at = std::find(kKeywordTexts.begin(), kKeywordTexts.end(), name);
  if (at == kKeywordTexts.end()) throw "kKeywordTexts lacks this name";
  return static_cast<Key>(at - kKeywordTexts.begin());
}

/// Reads the text of a row. "*names" stands for arguments that the function takes itself.
consteval Parameters parse(std::string_view text) {
  Parameters out;
  bool is_positional = true;
  for (;;) {
    const std::size_t end = text.find(", ");
    const std::string_view part = text.substr(0, end);
    if (part == "/") {
      out.positional_only = out.positional;
    } else if (part.starts_with('*')) {
      is_positional = false;
    } else {
      const std::size_t equals = part.find('=');
      if (equals == part.npos && static_cast<std::size_t>(out.required++) != out.count)
        throw "a parameter without a default follows one with a default";
      out.keys[out.count++] = key_of(part.substr(0, equals));
      if (is_positional) ++out.positional;
    }
    if (end == text.npos) return out;
    text.remove_prefix(end + 2);
  }
}

template <const FunctionRow& kRow>
inline constexpr auto kSignature = [] {
  constexpr Parameters kParsed = parse(kRow.parameters);
  Signature<kParsed.count> out{
      kRow.name, {}, kParsed.positional, kParsed.required, kParsed.positional_only};
  std::copy_n(kParsed.keys.begin(), kParsed.count, out.keys.begin());
  return out;
}();

// METH_ flags that belong to the parameters of an implementation.
constexpr int flags(Ref (*)(PyObject*, PyObject*)) noexcept { return METH_O; }
constexpr int flags(Ref (*)(PyObject*, PyObject* const*, Py_ssize_t)) noexcept {
  return METH_FASTCALL;
}
constexpr int flags(Ref (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) noexcept {
  return METH_FASTCALL | METH_KEYWORDS;
}

constexpr std::array<char, 4> digits(std::uint16_t year) noexcept {
  return {static_cast<char>('0' + year / 1000), static_cast<char>('0' + year / 100 % 10),
          static_cast<char>('0' + year / 10 % 10), static_cast<char>('0' + year % 10)};
}

}  // namespace detail

/// The parts for which `kEachPart` calls its argument, in one null-terminated text.
template <auto kEachPart>
inline constexpr auto kJoined = [] {
  constexpr std::size_t kLength = [] {
    std::size_t length = 0;
    kEachPart([&](std::string_view part) { length += part.size(); });
    return length;
  }();
  std::array<char, kLength + 1> out{};
  char* at = out.data();
  kEachPart([&](std::string_view part) { at = std::copy(part.begin(), part.end(), at); });
  return out;
}();

/// What help() shows. tools/rows reads category and version from the last line.
template <const FunctionRow& kRow>
inline constexpr auto kDocstring = kJoined<[](auto add) {
  const std::array<char, 4> since = detail::digits(kRow.since);
  add(kRow.name);
  add("(");
  add(kRow.parameters);
  add(")\n--\n\n");
  add(kRow.doc);
  add("\n\nArray API standard, ");
  add(detail::name(kRow.category));
  add(" functions, since ");
  add(std::string_view(since.data(), since.size()));
  add(".12.");
}>;

/// Throws kType for an argument of a kind that the standard's signatures do not have for the
/// parameter: a bool or an array where they have int or float, an integer where they have a
/// sequence, another object than a bool where they have bool. The functions check the rest.
/// `arguments` are those of `keys`, nullptr for one not passed.
void require_standard_arguments(const State& state, const char* function, std::span<const Key> keys,
                                std::span<PyObject* const> arguments);

/// The arguments of a call in the order of the row's parameters; see the other bind().
template <const FunctionRow& kRow>
using Given = std::array<PyObject*, detail::parse(kRow.parameters).count>;

/// Reads them. In a strict namespace also raises TypeError for kinds that the standard does not
/// have.
template <const FunctionRow& kRow>
Given<kRow> bind(const State& state, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  constexpr const auto& kSignature = detail::kSignature<kRow>;
  const auto out = bind(kSignature, state, args, nargs, kwnames);
  if (state.modes.strict) [[unlikely]]
    require_standard_arguments(state, kSignature.function, kSignature.keys, out);
  return out;
}

namespace detail {
/// An implementation as a module's function.
template <const FunctionRow& kRow, auto kImplementation>
struct Call {
  static Ref bound(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    State& state = State::of_module(module);
    return kImplementation(state, bind<kRow>(state, args, nargs, kwnames));
  }
  static Ref one(PyObject* module, PyObject* x) {
    return kImplementation(State::of_module(module), x);
  }
  static Ref several(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
    return kImplementation(State::of_module(module), args, nargs);
  }
  static constexpr auto function() noexcept {
    using Implementation = decltype(kImplementation);
    if constexpr (std::is_invocable_v<Implementation, State&, PyObject*>)
      return &one;
    else if constexpr (std::is_invocable_v<Implementation, State&, PyObject**, Py_ssize_t>)
      return &several;
    else if constexpr (requires { flags(kImplementation); })
      return kImplementation;
    else
      return &bound;
  }
};
}  // namespace detail

/// The entry of a module's table for a row and its implementation. That takes the state of the
/// module and what bind() returns; or, not bound, one positional argument, or as many as there are.
/// It may be a function of C as well.
template <const FunctionRow& kRow, auto kImplementation>
PyMethodDef entry() noexcept {
  constexpr auto kFunction = detail::Call<kRow, kImplementation>::function();
  return {kRow.name, method<kFunction>(), detail::flags(kFunction), kDocstring<kRow>.data()};
}

}  // namespace refarray::extension
