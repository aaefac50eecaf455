// The public face of the runtime layer. The layers above include this header only; everything else
// in src/runtime is internal, except runtime/streams/stream.hpp, which this header includes too.
#pragma once

#include "runtime/copy/stream_copy.hpp"        // copy()
#include "runtime/drivers/devices.hpp"         // which devices can be used, and why not
#include "runtime/drivers/driver_error.hpp"    // DriverError
#include "runtime/drivers/registry.hpp"        // probe_drivers()
#include "runtime/memory/deferred_free.hpp"    // collect(): frees that wait for work on a device
#include "runtime/memory/foreign_storage.hpp"  // storage over a producer's device memory
#include "runtime/memory/new_array.hpp"        // new_array()
#include "runtime/memory/pointer_device.hpp"   // confirm(): the device that owns an address
#include "runtime/streams/host_access.hpp"     // wait_on_host()
#include "runtime/streams/order.hpp"           // stream=, ordering exports and imports
#include "runtime/streams/stream.hpp"          // Stream, Event
