// Docstrings of Stream, Event and the private functions on streams.
#pragma once

namespace refarray::extension {

// --- Stream

inline constexpr char kStreamDoc[] = R"doc(Stream(device, handle=None)
--

A queue of work on a device. Work in different streams may run concurrently.

device: a Device or its name.
handle: None creates a stream, which is destroyed with its last use. An int or an
    object with __cuda_stream__() wraps a stream that another library owns; the owner
    must keep it alive as long as the Stream object lives. 0 is the legacy default stream.

Raises BufferError for a device that cannot be used or a stream of another device,
ValueError for a handle that the vendor does not define, DriverError.)doc";

inline constexpr char kStreamProtocolDoc[] = R"doc(__cuda_stream__($self, /)
--

Return (0, handle): the CUDA stream protocol, version 0.)doc";

inline constexpr char kStreamSynchronizeDoc[] = R"doc(synchronize($self, /)
--

Wait until all work in the stream is done.

Raises BufferError while the stream captures a graph.)doc";

inline constexpr char kStreamRecordDoc[] = R"doc(record($self, /)
--

Return a new Event that marks the work queued in the stream so far.

Raises BufferError for the legacy default stream while a stream that is ordered with it
captures a graph, DriverError.)doc";

inline constexpr char kStreamWaitDoc[] = R"doc(wait($self, other, /)
--

Make work queued in this stream from now on wait for other.

other: an Event, or a Stream, which means the work queued in it so far. The host does
    not wait.

Raises ValueError for another vendor's device, DriverError, and BufferError where the
wait would invalidate a graph capture: a capturing stream waits for its own capture
only, and the legacy default stream for none.)doc";

inline constexpr char kStreamDeviceDoc[] = R"doc(The Device to which the stream belongs.)doc";

inline constexpr char kStreamHandleDoc[] =
    R"doc(The driver's stream handle, an int.

1 and 2 are CUDA's default streams, 0 is ROCm's.)doc";

inline constexpr char kStreamDoneDoc[] =
    R"doc(Whether all work in the stream is done.

Raises BufferError while the stream captures a graph.)doc";

// --- Event

inline constexpr char kEventDoc[] = R"doc(Event(device, *, timing=False)
--

A marker for a position in a stream.

device: a Device or its name.
timing: if True, elapsed_ms() can measure the time between two such events.

Raises BufferError for a device that cannot be used, DriverError.)doc";

inline constexpr char kEventRecordDoc[] = R"doc(record($self, stream, /)
--

Make the event mark the work queued in the stream so far.

Streams that already wait for the event keep waiting for the previous position.

Raises ValueError for a stream of another device, BufferError for the legacy default
stream while a stream that is ordered with it captures a graph, DriverError.)doc";

inline constexpr char kEventSynchronizeDoc[] = R"doc(synchronize($self, /)
--

Wait until the work that the event marks is done.

Raises BufferError if the event was recorded in a graph capture, DriverError.)doc";

inline constexpr char kEventElapsedMsDoc[] = R"doc(elapsed_ms($self, end, /)
--

Return the time from this event to end in milliseconds, a float.

Both events must have been created with timing=True and must be done.)doc";

inline constexpr char kEventDoneDoc[] = R"doc(Whether the work that the event marks is done.

Raises BufferError if the event was recorded in a graph capture.)doc";

// --- Private module functions

inline constexpr char kStreamTypesDoc[] = R"doc(_stream_types($module, /)
--

Return the types Stream and Event.)doc";

inline constexpr char kCurrentStreamDoc[] = R"doc(_current_stream($module, device, /)
--

Return the calling thread's current stream on a device.)doc";

inline constexpr char kSetCurrentStreamDoc[] = R"doc(_set_current_stream($module, stream, /)
--

Set the calling thread's current stream on the stream's device.

Returns the stream set before, or None.)doc";

inline constexpr char kResetCurrentStreamDoc[] =
    R"doc(_reset_current_stream($module, device, before, /)
--

Restore the current stream that _set_current_stream() returned.

before: None means that no stream was set.)doc";

inline constexpr char kSynchronizeDoc[] = R"doc(_synchronize($module, device, /)
--

Wait for all work on a device, then free the memory that was waiting for it.)doc";

inline constexpr char kEmptyCacheDoc[] = R"doc(_empty_cache($module, device, /)
--

Return the memory that nothing uses to the driver.)doc";

}  // namespace refarray::extension
