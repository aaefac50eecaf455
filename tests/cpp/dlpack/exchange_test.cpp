// Tests of the headers for extension authors: import with validation, export, and typed views.
#include "refarray/dlpack/exchange.hpp"

#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check.hpp"
#include "refarray/array_view.hpp"

namespace {

using namespace refarray::check;
using refarray::array_view;
using refarray::dtype_text;
using refarray::element;
using refarray::exchange_error;
using refarray::export_tensor;
using refarray::managed_ptr;
using refarray::managed_tensor;
using Versioned = DLManagedTensorVersioned;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

/// `body` throws exchange_error with a message that contains `part`.
template <class Body>
void refuses(std::string_view part, const Body& body, Where at = Where::current()) {
  try {
    body();
  } catch (const exchange_error& error) {
    check(std::string_view(error.what()).find(part) != std::string_view::npos, error.what(), at);
    return;
  }
  check(false, "no exception; expected: " + std::string(part), at);
}

/// A 2 x 3 float32 tensor whose fields a test changes, and a count of its deleter's calls.
struct Source {
  float values[6] = {0, 1, 2, 3, 4, 5};
  std::int64_t shape[70] = {2, 3};
  std::int64_t strides[70] = {3, 1};
  int deleted = 0;

  template <class M>
  managed_ptr<M> make(const std::function<void(M&)>& change = nullptr) {
    auto* out = new M{};
    out->dl_tensor = {values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    if constexpr (std::is_same_v<M, Versioned>)
      out->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    out->manager_ctx = this;
    out->deleter = [](M* self) {
      ++static_cast<Source*>(self->manager_ctx)->deleted;
      delete self;
    };
    if (change) change(*out);
    return managed_ptr<M>(out);
  }
  managed_tensor import(const std::function<void(Versioned&)>& change = nullptr) {
    return managed_tensor(make<Versioned>(change));
  }
};

const Case views("a view reads and writes both kinds of tensors", [] {
  Source source;
  {
    const managed_tensor tensor = source.import();
    const array_view<float, 2> view(tensor);
    expect(view.extent(0), 2);
    expect(view.stride(0), 3);
    expect(view.size(), 6);
    check(view.is_contiguous());
    expect(view(1, 2), 5.0F);
    view(1, 2) = 7;
    const array_view<const float, 2> reading = view;
    expect(reading.at(1, 2), 7.0F);
    expect(source.deleted, 0);
  }
  expect(source.deleted, 1);
  const managed_tensor legacy(source.make<DLManagedTensor>());
  expect(array_view<float, 2>(legacy)(0, 1), 1.0F);
  check(!legacy.readonly());
});

const Case strides("NULL, negative and zero strides, and a byte offset", [] {
  Source source;
  const managed_tensor row_major = source.import([](auto& m) { m.dl_tensor.strides = nullptr; });
  expect(array_view<const float, 2>(row_major)(1, 0), 3.0F);
  source.strides[0] = -3;
  source.strides[1] = 0;
  const managed_tensor turned = source.import([](auto& m) { m.dl_tensor.byte_offset = 16; });
  const array_view<const float, 2> view(turned);
  expect(view(0, 2), 4.0F);
  expect(view(1, 0), 1.0F);
  check(!view.is_contiguous());
});

const Case empty("a tensor without elements has any strides and no address", [] {
  Source source;
  source.shape[1] = 0;
  source.strides[0] = kMin;
  const managed_tensor tensor = source.import([](auto& m) {
    m.dl_tensor.data = nullptr;
    m.dl_tensor.byte_offset = 3;
  });
  const array_view<float, 2> view(tensor);
  expect(view.size(), 0);
  check(view.data() == nullptr);
  check(view.is_contiguous());
});

const Case scalar("a view of rank 0", [] {
  Source source;
  const managed_tensor tensor = source.import([](auto& m) {
    m.dl_tensor.ndim = 0;
    m.dl_tensor.shape = nullptr;
    m.dl_tensor.strides = nullptr;
  });
  expect(array_view<const float, 0>(tensor)(), 0.0F);
});

const Case fields("every field is refused with its value, and the tensor released", [] {
  Source source;
  const std::pair<const char*, std::function<void(Versioned&)>> cases[] = {
      {"version: major is 2; it must be 1", [](auto& m) { m.version.major = 2; }},
      {"version: major is 0; it must be 1", [](auto& m) { m.version.major = 0; }},
      {"ndim is -1; it must be 0 to 64", [](auto& m) { m.dl_tensor.ndim = -1; }},
      {"ndim is 65; it must be 0 to 64", [](auto& m) { m.dl_tensor.ndim = 65; }},
      {"shape is NULL although ndim is 2", [](auto& m) { m.dl_tensor.shape = nullptr; }},
      {"bits is 0", [](auto& m) { m.dl_tensor.dtype.bits = 0; }},
      {"lanes is 0", [](auto& m) { m.dl_tensor.dtype.lanes = 0; }},
      {"data is NULL", [](auto& m) { m.dl_tensor.data = nullptr; }},
      {"byte_offset is 18446744073709551615",
       [](auto& m) { m.dl_tensor.byte_offset = std::uint64_t(-1); }},
      {"shape[1] is -1; extents are 0 or more", [](auto& m) { m.dl_tensor.shape[1] = -1; }},
      {"shape[0]: 3 times 9223372036854775807",
       [](auto& m) {
         m.dl_tensor.shape[0] = kMax;
         m.dl_tensor.strides = nullptr;
       }},
      {"strides[0]: 9223372036854775807 times 4", [](auto& m) { m.dl_tensor.strides[0] = kMax; }},
      {"strides[0]: -9223372036854775808 times", [](auto& m) { m.dl_tensor.strides[0] = kMin; }},
      {"leave the address space", [](auto& m) { m.dl_tensor.strides[0] = kMin / 8; }},
      {"leave the address space",
       [](auto& m) { m.dl_tensor.data = reinterpret_cast<void*>(std::uintptr_t(-8)); }},
      {"span more than",
       [](auto& m) {
         m.dl_tensor.strides[0] = kMax / 5;
         m.dl_tensor.strides[1] = kMax / 9;
       }},
  };
  int deleted = 0;
  for (const auto& [message, change] : cases) {
    refuses(message, [&] { source.import(change); });
    expect(source.deleted, ++deleted, message);
    source.shape[0] = 2, source.shape[1] = 3;
    source.strides[0] = 3, source.strides[1] = 1;
  }
  refuses("the managed tensor is NULL", [] { managed_tensor(managed_ptr<Versioned>()); });
});

const Case requests("a view refuses another type, rank, device, access or alignment", [] {
  Source source;
  const auto of = [&source](const std::function<void(Versioned&)>& change) {
    const managed_tensor tensor = source.import(change);
    array_view<float, 2> view(tensor);
  };
  const auto with_dtype = [&](std::uint8_t code, std::uint8_t bits, std::uint16_t lanes) {
    of([&](auto& m) { m.dl_tensor.dtype = {code, bits, lanes}; });
  };
  refuses("dtype is float64; it must be float32", [&] { with_dtype(kDLFloat, 64, 1); });
  refuses("dtype is int32; it must be float32", [&] { with_dtype(kDLInt, 32, 1); });
  refuses("dtype is float32x2; it must be float32", [&] { with_dtype(kDLFloat, 32, 2); });
  refuses("dtype is code 12, 8 bits; it must be", [&] { with_dtype(12, 8, 1); });
  refuses("ndim is 1; it must be 2", [&] { of([](auto& m) { m.dl_tensor.ndim = 1; }); });
  refuses("device is (2, 1); the CPU can access types 1, 3 and 11 only",
          [&] { of([](auto& m) { m.dl_tensor.device = {kDLCUDA, 1}; }); });
  refuses("the elements are read-only",
          [&] { of([](auto& m) { m.flags = DLPACK_FLAG_BITMASK_READ_ONLY; }); });
  refuses("is not a multiple of 4, the alignment of float32; pass a copy", [&] {
    of([](auto& m) {
      m.dl_tensor.byte_offset = 1;
      m.dl_tensor.shape[1] = 1;
    });
  });
  source.shape[1] = 3;
  expect(source.deleted, 8);
  const managed_tensor pinned = source.import([](auto& m) {
    m.dl_tensor.device = {kDLCUDAHost, 0};
    m.flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  });
  check(pinned.readonly() && pinned.is_copied());
  expect(array_view<const float, 2>(pinned)(0, 1), 1.0F);
});

static_assert(!std::is_constructible_v<array_view<float, 1>, managed_tensor>);
static_assert(!std::is_convertible_v<array_view<const float, 1>, array_view<float, 1>>);

const Case index("at() checks every index", [] {
  float values[6] = {};
  const array_view<float, 2> view(values, {2, 3});
  for (const auto& [i, j] : {std::pair{2, 0}, {-1, 0}, {0, 3}, {0, -1}}) {
    bool thrown = false;
    try {
      view.at(i, j);
    } catch (const std::out_of_range& error) {
      thrown = true;
      check(std::string_view(error.what()).find("axis " + std::to_string(i == 0)) !=
                std::string_view::npos,
            error.what());
    }
    check(thrown);
  }
});

struct CountedOwner {
  std::shared_ptr<int> owner = std::make_shared<int>(0);
  static inline std::weak_ptr<int> last;
  CountedOwner() { last = owner; }
};

template <class M>
void export_and_import() {
  float values[6] = {0, 1, 2, 3, 4, 5};
  const array_view<float, 2> turned(values + 5, {2, 3}, {-3, -1});
  managed_ptr<M> tensor = export_tensor<M>(CountedOwner(), turned);
  check(!CountedOwner::last.expired());
  expect(tensor->dl_tensor.byte_offset, 0U);
  {
    const managed_tensor imported(std::move(tensor));
    expect(array_view<float, 2>(imported)(0, 1), 4.0F);
    expect(imported.flags(), 0U);
  }
  check(CountedOwner::last.expired(), "the deleter frees the owner");
}

const Case exported("an exported tensor is imported, and frees its owner", [] {
  export_and_import<Versioned>();
  export_and_import<DLManagedTensor>();
  double none[1] = {};
  const auto empty_one = export_tensor(CountedOwner(), array_view<double, 1>(none, {0}));
  check(empty_one->dl_tensor.data == nullptr, "an empty export has no address");
});

const Case readonly_export("const elements are exported as read-only, and never as legacy", [] {
  const float value = 1;
  const array_view<const float, 1> view(&value, {1});
  const auto tensor = export_tensor(CountedOwner(), view, DLPACK_FLAG_BITMASK_IS_COPIED);
  expect(tensor->flags, DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED);
  refuses("which a legacy tensor cannot say",
          [&] { export_tensor<DLManagedTensor>(CountedOwner(), view); });
  check(CountedOwner::last.expired(), "a refused export frees its owner");
});

const Case bad_export("a shape that no importer would take is refused", [] {
  float value = 0;
  refuses("shape[0] is -1", [&] { export_tensor(0, &value, {-1}, {1}); });
  refuses("strides has 0 numbers; shape has 1", [&] { export_tensor(0, &value, {1}, {}); });
  refuses("ndim is 65", [&] {
    export_tensor(0, &value, std::vector<std::int64_t>(65, 1), std::vector<std::int64_t>(65, 1));
  });
  refuses("data is NULL", [] { export_tensor(0, static_cast<float*>(nullptr), {1}, {1}); });
});

template <class T>
std::string type_text() {
  return dtype_text(element<T>::dtype);
}

const Case types("the DLPack types of C++ types, and their names", [] {
  expect(type_text<bool>(), "bool");
  expect(type_text<std::int8_t>(), "int8");
  expect(type_text<unsigned char>(), "uint8");
  expect(type_text<std::uint16_t>(), "uint16");
  expect(type_text<long long>(), "int64");
  expect(type_text<double>(), "float64");
  expect(type_text<std::complex<float>>(), "complex64");
  expect(type_text<std::complex<double>>(), "complex128");
  expect(dtype_text({kDLBfloat, 16, 1}), "bfloat16");
  expect(dtype_text({kDLOpaqueHandle, 64, 1}), "code 3, 64 bits");
  expect(dtype_text({kDLBool, 1, 1}), "bool1");
});

}  // namespace
