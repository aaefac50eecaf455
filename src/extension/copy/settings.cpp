// Implements the copy settings: REFARRAY_ISA and REFARRAY_COPY_THREADS, and the module functions.
#include "extension/copy/settings.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "core/kernels/table.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copy_docs.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr std::int64_t kMaxThreads = 256;
constexpr const char* kIsaVariable = "REFARRAY_ISA";
constexpr const char* kThreadsVariable = "REFARRAY_COPY_THREADS";

std::string isa_names() {
  const core::kernels::Choices all = core::kernels::choices();
  std::string out;
  for (int i = 0; i < all.count; ++i) {
    if (i > 0) out += ", ";
    out += all.tables[i]->name;
  }
  return out;
}

/// `source` names the argument or environment variable in the message.
void use_isa(const char* name, const char* source) {
  if (core::kernels::use(name)) return;
  core::fail(Fault::kValue, source, " is '", name, "'; this processor supports ", isa_names());
}

void use_threads(std::int64_t count, const char* source) {
  if (count < 1 || count > kMaxThreads)
    core::fail(Fault::kValue, source, " is ", count, "; the range is 1 to ", kMaxThreads);
  core::set_copy_threads(static_cast<int>(count));
}

Ref set_copy_threads(PyObject*, PyObject* count) {
  use_threads(to_int64(count, "count"), "count");
  return Ref::borrow(Py_None);
}

Ref get_copy_threads(PyObject*, PyObject*) { return check(PyLong_FromLong(core::copy_threads())); }

Ref use_isa_function(PyObject*, PyObject* name) {
  if (!PyUnicode_Check(name)) core::fail(Fault::kType, "name must be a str, not ", type_name(name));
  use_isa(std::string(utf8(name)).c_str(), "name");
  return Ref::borrow(Py_None);
}

}  // namespace

void read_copy_settings() {
  const char* const isa = std::getenv(kIsaVariable);
  if (isa != nullptr && *isa != '\0') use_isa(isa, kIsaVariable);
  const char* const threads = std::getenv(kThreadsVariable);
  if (threads == nullptr || *threads == '\0') return;
  char* end = nullptr;
  const std::int64_t count = std::strtoll(threads, &end, 10);
  use_threads(*end == '\0' ? count : 0, kThreadsVariable);
}

PyMethodDef kCopySettingFunctions[] = {
    {"set_copy_threads", method<&set_copy_threads>(), METH_O, kSetCopyThreadsDoc},
    {"get_copy_threads", method<&get_copy_threads>(), METH_NOARGS, kGetCopyThreadsDoc},
    {"_use_isa", method<&use_isa_function>(), METH_O, kUseIsaDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
