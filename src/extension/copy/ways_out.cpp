// Decides which ways out of an array's memory may share it, and counts those that copy it.
#include "extension/copy/ways_out.hpp"

#include <string>

#include "core/ledger.hpp"
#include "extension/capi/errors.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

bool can_read(SharingWay::Reader reader, const core::Device& device) noexcept {
  switch (reader) {
    case SharingWay::Reader::kHost:
      return device.is_host();
    case SharingWay::Reader::kCuda:
      return device.kind == core::DeviceKind::kCuda ||
             device.kind == core::DeviceKind::kCudaManaged;
    case SharingWay::Reader::kAny:
      break;
  }
  return true;
}

std::string place_of(PyObject* array) {
  return is_off_host(array) ? device_text(State::of_object(array))
                            : core::name(view_of(array).device());
}

bool can_reach(PyObject* array, const SharingWay& way) noexcept {
  return !is_off_host(array) && can_read(way.reader, view_of(array).device());
}

}  // namespace

void require_sharing(PyObject* array, const SharingWay& way) {
  if (!can_reach(array, way) || (is_watched(array) && !way.gives_owner)) [[unlikely]]
    refuse_sharing(array, way);
}

void refuse_sharing(PyObject* array, const SharingWay& way) {
  if (can_reach(array, way)) {
    raise(*way.refusal,
          "%s keeps no owner of the memory alive, and %s sees writes of owners only; a buffer does",
          way.name, utf8(namespace_name(State::of_object(array)).get()).c_str());
  }
  if (way.reader == SharingWay::Reader::kCuda) {
    raise(*way.refusal, "%s needs CUDA memory, and the array is on %s", way.name,
          place_of(array).c_str());
  }
  raise(*way.refusal, "%s needs host memory, and the array is on %s; x.to_device(%s) copies it",
        way.name, place_of(array).c_str(), is_off_host(array) ? "" : "\"cpu\"");
}

core::ArrayView read_elements(PyObject* array, const char* operation, core::Array& owner) {
  if (core::is_any_ledger_open() && is_off_host(array)) [[unlikely]]
    note_transfer(view_of(array).nbytes(), /*with_host=*/true);
  return to_readable(view_of(array), operation, owner);
}

}  // namespace refarray::extension
