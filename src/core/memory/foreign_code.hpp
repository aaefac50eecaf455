// Calls of other libraries' code and of drivers by threads of which the core knows nothing.
#pragma once

namespace refarray::core {

/// Prepares the calling thread for code of another library and runs `body(argument)`. The layer
/// above installs it: the extension attaches the thread to the interpreter and saves a pending
/// exception.
using ForeignCaller = void (*)(void (*body)(void*) noexcept, void* argument) noexcept;

/// nullptr, the default, stands for a direct call.
void set_foreign_caller(ForeignCaller caller) noexcept;

/// Runs `body(argument)`, which may call a producer's deleter, by the ForeignCaller. The calling
/// thread may be any, attached to an interpreter or not.
void call_foreign(void (*body)(void*) noexcept, void* argument) noexcept;

/// The same for code that calls a driver: the extension releases the GIL, if the thread holds it.
void set_driver_caller(ForeignCaller caller) noexcept;
void call_driver(void (*body)(void*) noexcept, void* argument) noexcept;

}  // namespace refarray::core
