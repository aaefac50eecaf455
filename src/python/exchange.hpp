// Owns the declaration of our exchange table's capsule, for the type that carries it.
#pragma once

#include <Python.h>

#include "ref.hpp"

namespace refarray::python {

/// A new capsule around our static table (CAPI-02).
Ref make_exchange_capsule();

}  // namespace refarray::python
