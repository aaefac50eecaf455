// What the import knows of the arrays of NumPy, PyTorch, JAX, PyArrow and tvm-ffi: answers that are
// cheaper than a call of the producer's method and always equal to it.
#pragma once

#include <Python.h>

#include <cstdint>

#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"
#include "refarray/dlpack/managed.hpp"

namespace refarray::extension {

/// A library whose own, unmodified method a type has. kNumpy: also array-api-strict, whose arrays
/// are NumPy's.
enum class Library : std::uint8_t { kOther, kNumpy, kTorch, kJax, kArrow, kTvm };

struct ProducerInfo;

/// The library of the methods that were found on the type of `x`. A type that is seen for the first
/// time is examined, which is slow; afterwards the methods are compared by identity, so a class may
/// be changed at any time. Throws what a lookup raises.
Library recognise(State& state, PyObject* x, PyObject* dlpack, PyObject* dlpack_device);

/// Whether a method that is bound to its object is NumPy's ndarray.__dlpack_device__.
bool is_numpys_device_method(const State& state, PyObject* bound) noexcept;

/// For a type with PyTorch's own __dlpack__: PyTorch's exchange table, if Tensor.__dlpack__ would
/// not refuse `x`: the table exports tensors that require grad, and ignores __torch_function__ and
/// active modes. nullptr: call the method. Data that is complex (it may be lazily conjugated) or on
/// a device is not judged yet. Throws what requires_grad raises.
const DLPackExchangeAPI* torch_table(const State& state, PyObject* x);

/// Calls PyTorch's table. Empty if it refuses: it raises RuntimeError where __dlpack__ raises what
/// the standard says.
dlpack::Managed<DLManagedTensorVersioned> call_torch_table(const DLPackExchangeAPI& table,
                                                           PyObject* x);

/// Whether Tensor.__dlpack__ exports this tensor, which PyTorch's table has exported. It refuses
/// tensors on a device that is not the current one, and complex ones that are lazily conjugated,
/// which a DLTensor does not show. Asking the tensor first would cost every other import a call.
bool torch_exports(const State& state, const DLManagedTensorVersioned& tensor);

/// Whether `producer` is to be asked for its data before its device: it has the unmodified methods
/// of JAX or tvm-ffi, and none of their arrays was on a device so far. Without stream= their
/// __dlpack__ waits for the data, or has none to wait for.
bool assumes_host(const State& state, const ProducerInfo& producer) noexcept;

/// Whether a JAX array is in host memory, by its method platform(). False: ask __dlpack_device__.
bool jax_is_on_host(const State& state, PyObject* x);

}  // namespace refarray::extension
