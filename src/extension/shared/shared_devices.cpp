// Arrays in memory of a device that processes share: new ones, and the bytes by which another
// process attaches one. Its descriptor travels beside the bytes.
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/array_record.hpp"
#include "core/error.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/errors.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/shared/shared_functions.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

using core::fail;
using core::Fault;

/// The bytes of a message: this, then those of the array's record.
struct Fields {
  std::uint32_t magic;
  std::uint32_t ndim;
  std::int32_t kind;  // of the device
  std::uint32_t zero;
  runtime::Uuid device;
  runtime::SharedId id;
  std::uint64_t nbytes;
};
static_assert(std::is_trivially_copyable_v<Fields> && sizeof(Fields) == 56);

constexpr std::uint32_t kMagic = 0x31444152;  // "RAD1"

runtime::SharedMemory checked_memory(const Fields& head) {
  if (head.nbytes == 0 || head.nbytes > INT64_MAX)
    fail(Fault::kBuffer, "nbytes is ", head.nbytes, "; it must be 1 to ", INT64_MAX);
  return {static_cast<core::DeviceKind>(head.kind), head.device, head.id, head.nbytes};
}

}  // namespace

Ref new_on_device(const State& state, const core::DType& dtype, core::Extents shape,
                  const core::Device& device, bool zeroed) {
  core::Array out;
  {
    const DriverCalls here;
    out = runtime::new_shared_array(dtype, shape, device, zeroed);
  }
  return make_array(state, std::move(out));
}

Ref send_from_device(const core::ArrayView& view) {
  const auto memory = [&] {
    const DriverCalls here;
    return runtime::share(view);
  }();
  const Fields head{kMagic,
                    static_cast<std::uint32_t>(view.ndim),
                    static_cast<std::int32_t>(memory.kind),
                    0,
                    memory.device,
                    memory.id,
                    memory.nbytes};
  std::vector<std::byte> out(sizeof head);
  std::memcpy(out.data(), &head, sizeof head);
  core::encode(out, core::record_of(view));
  return check(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(out.data()),
                                         static_cast<Py_ssize_t>(out.size())));
}

bool is_of_device(std::span<const std::byte> message) noexcept {
  return message.size() >= sizeof kMagic &&
         std::memcmp(message.data(), &kMagic, sizeof kMagic) == 0;
}

Ref attach_on_device(const State& state, std::span<const std::byte> message, int file) {
  Fields head{};
  if (message.size() < sizeof head) {
    fail(Fault::kBuffer, "the handle has ", message.size(), " bytes; the minimum is ", sizeof head);
  }
  std::memcpy(&head, message.data(), sizeof head);
  const runtime::SharedMemory memory = checked_memory(head);
  const core::ArrayRecord record = core::decode_record(message, sizeof head, head.ndim,
                                                       static_cast<std::int64_t>(memory.nbytes));
  core::Array out{{}, nullptr, record.dtype, record.bit, record.readonly, record.layout};
  {
    const DriverCalls here;
    out.storage = runtime::open_shared(memory, file);
  }
  out.data = out.storage->data() + record.first;
  return make_array(state, std::move(out));
}

}  // namespace refarray::extension
