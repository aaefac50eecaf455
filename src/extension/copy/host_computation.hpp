// Functions that have no kernels for devices compute on the host: with copies of the arrays that
// are on a device, and with results that go to it.
#pragma once

#include <array>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {

/// Whether functions compute on the host for arrays on devices, in the whole process; they raise
/// NotImplementedError otherwise.
void set_host_computation(bool enabled) noexcept;
bool host_computation() noexcept;

/// Whether the object is an array in memory that the CPU cannot address.
inline bool is_on_device(const State& state, PyObject* object) noexcept {
  return is_array(state, object) && !memory_device(object).is_host();
}
inline bool is_any_on_device(const State& state, std::span<PyObject* const> objects) noexcept {
  for (PyObject* object : objects)
    if (is_on_device(state, object)) [[unlikely]]
      return true;
  return false;
}

/// The arguments of a call, of which one or more are arrays on a device, with copies on the host in
/// their places. Managed memory is not copied: the CPU uses it.
class HostArguments {
 public:
  /// Blocks until the elements have arrived. Throws kValue for arrays on different devices,
  /// ErrorSet with NotImplementedError if computation on the host is switched off, and as
  /// to_readable(). `writes_first`: the first argument is written to.
  HostArguments(const State& state, const char* function, std::span<PyObject* const> arguments,
                bool writes_first = false);
  HostArguments(const HostArguments&) = delete;
  HostArguments& operator=(const HostArguments&) = delete;

  PyObject* const* data() const noexcept { return pointers_.data(); }
  PyObject* operator[](std::size_t i) const noexcept { return pointers_[i]; }

  /// A copy on the device of an array, and of each in a tuple; any other result as it is.
  Ref on_device(Ref result) const;

 private:
  const State& state_;
  core::Device device_;
  std::vector<Ref> copies_;
  std::vector<PyObject*> pointers_;
};

/// Copies elements from the host to an array on a device, which is unchanged unless all arrive;
/// does nothing if they are the array's own.
void write_to_device(const core::ArrayView& to, const core::ArrayView& from);

// The functions for arrays on devices are not inlined: what the others do not need costs nothing.

template <class Compute, class... Objects>
[[gnu::cold, gnu::noinline]] Ref copy_and_compute(const State& state, const char* function,
                                                  Compute compute, Objects... x) {
  const std::array<PyObject*, sizeof...(x)> arguments{x...};
  const HostArguments host(state, function, arguments);
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return host.on_device(compute(host[i]...));
  }(std::index_sequence_for<Objects...>{});
}

/// compute(x...) with arrays that the CPU can read.
template <class Compute, class... Objects>
[[gnu::always_inline]] inline Ref on_host(const State& state, const char* function, Compute compute,
                                          Objects... x) {
  if (!(is_on_device(state, x) || ...)) [[likely]]
    return compute(x...);
  return copy_and_compute(state, function, compute, x...);
}

/// The same for compute(x1, x2) that writes to x1 and returns it: on the host it writes to a copy,
/// whose elements go to x1 at the end. If anything fails, x1 is unchanged, but for managed memory,
/// which is written as memory of the CPU is.
template <class Compute>
Ref on_host_in_place(const State& state, const char* function, Compute compute, PyObject* x1,
                     PyObject* x2) {
  if (!is_on_device(state, x1) && !is_on_device(state, x2)) [[likely]]
    return compute(x1, x2);
  if (!view_of(x1).writable())
    core::fail(core::Fault::kValue, function, "() in place: the array is read-only");
  const std::array<PyObject*, 2> arguments{x1, x2};
  const HostArguments host(state, function, arguments, /*writes_first=*/true);
  Ref result = compute(host[0], host[1]);
  if (result.get() != host[0]) return result;  // NotImplemented
  write_to_device(view_of(x1), view_of(host[0]));
  return Ref::borrow(x1);
}

namespace detail {
template <const FunctionRow& kRow, auto kFunction,
          class Type = std::remove_const_t<decltype(kFunction)>>
struct OnHost;
template <const FunctionRow& kRow, auto kFunction>
struct OnHost<kRow, kFunction, Ref (*)(PyObject*, PyObject*)> {
  static Ref call(PyObject* module, PyObject* x) {
    return on_host(
        State::of_module(module), kRow.name, [=](PyObject* one) { return kFunction(module, one); },
        x);
  }
};
template <const FunctionRow& kRow, auto kFunction, class... Keywords>
struct OnHost<kRow, kFunction, Ref (*)(PyObject*, PyObject* const*, Py_ssize_t, Keywords...)> {
  static Ref call(PyObject* module, PyObject* const* args, Py_ssize_t nargs, Keywords... names) {
    auto count = static_cast<std::size_t>(nargs);
    ((count += names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_Size(names))), ...);
    if (!is_any_on_device(State::of_module(module), {args, count})) [[likely]]
      return kFunction(module, args, nargs, names...);
    return copy_and_call(module, {args, count}, nargs, names...);
  }
  [[gnu::cold, gnu::noinline]] static Ref copy_and_call(PyObject* module,
                                                        std::span<PyObject* const> arguments,
                                                        Py_ssize_t nargs, Keywords... names) {
    const HostArguments host(State::of_module(module), kRow.name, arguments);
    return host.on_device(kFunction(module, host.data(), nargs, names...));
  }
};
}  // namespace detail

/// entry() of a function that computes: for arrays on devices it does so on the host.
template <const FunctionRow& kRow, auto kImplementation>
PyMethodDef computing_entry() noexcept {
  constexpr auto kFunction = detail::Call<kRow, kImplementation>::function();
  return {kRow.name, method<&detail::OnHost<kRow, kFunction>::call>(), detail::flags(kFunction),
          kDocstring<kRow>.data()};
}

}  // namespace refarray::extension
