// Owns the declaration of our exchange table's capsule, for the type that carries it.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"

namespace refarray::extension {

/// A new capsule around our static table (CAPI-02).
Ref make_exchange_capsule();

}  // namespace refarray::extension
