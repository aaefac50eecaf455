// The public face of the runtime layer. The layers above include this header only; everything else
// in src/runtime is internal, except runtime/streams/stream.hpp, which this header includes too.
#pragma once

#include "runtime/copy/stream_copy.hpp"  // copy()
#include "runtime/drivers/devices.hpp"   // probe_drivers(); which devices can be used, and why not
#include "runtime/drivers/driver_error.hpp"    // DriverError
#include "runtime/memory/deferred_free.hpp"    // collect(): frees that wait for work on a device
#include "runtime/memory/device_storage.hpp"   // new_array()
#include "runtime/memory/foreign_storage.hpp"  // a producer's memory: storage, confirm(): its device
#include "runtime/streams/order.hpp"   // wait_on_host(); stream=, ordering exports and imports
#include "runtime/streams/stream.hpp"  // Stream, Event
