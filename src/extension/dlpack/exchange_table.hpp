// The capsule around the C exchange table of refarray.Array.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"

namespace refarray::extension {

/// A new capsule around our static table (CAPI-02).
Ref make_exchange_capsule();

}  // namespace refarray::extension
