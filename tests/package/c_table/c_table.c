/* A module in C that uses every function of refarray's C table; compiled with a C compiler, linked with nothing. */
#include <refarray/python/c_api.h>
#include <stddef.h>
#include <stdlib.h>

static const RefarrayCApi* api;

static PyObject* load(PyObject* self, PyObject* ignored) {
  (void)self;
  (void)ignored;
  api = refarray_import_c_api();
  return api ? Py_BuildValue("(II)", api->version, api->size) : 0;
}

/* layout() -> the offset of each member: a change of the table breaks compiled modules. */
static PyObject* layout(PyObject* self, PyObject* ignored) {
  (void)self;
  (void)ignored;
  return Py_BuildValue("(nnnnnnnnnnnn)", offsetof(RefarrayCApi, version), offsetof(RefarrayCApi, size),
                       offsetof(RefarrayCApi, is_array), offsetof(RefarrayCApi, empty),
                       offsetof(RefarrayCApi, from_tensor), offsetof(RefarrayCApi, to_tensor),
                       offsetof(RefarrayCApi, borrow), offsetof(RefarrayCApi, from_object),
                       offsetof(RefarrayCApi, make_allocator), offsetof(RefarrayCApi, use_allocator),
                       offsetof(RefarrayCApi, empty_from), sizeof(RefarrayCApi));
}

static PyObject* is_array(PyObject* self, PyObject* object) {
  (void)self;
  return PyLong_FromLong(api->is_array(object == Py_None ? 0 : object));
}

/* empty(code, bits, lanes, device type, device id, ndim, shape of up to three) */
static PyObject* empty(PyObject* self, PyObject* args) {
  (void)self;
  int code, bits, lanes, type, id, ndim;
  long long a = 0, b = 0, c = 0;
  if (!PyArg_ParseTuple(args, "iiiiii|LLL", &code, &bits, &lanes, &type, &id, &ndim, &a, &b, &c)) return 0;
  const int64_t shape[3] = {a, b, c};
  const DLDataType dtype = {(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
  const DLDevice device = {(DLDeviceType)type, id};
  return api->empty(dtype, device, ndim, PyTuple_Size(args) > 6 ? shape : 0);
}

static int32_t calls; /* of the deleter below */
static float values[4] = {1, 2, 3, 4};
static int64_t extents[1];

static void count_call(DLManagedTensorVersioned* tensor) {
  (void)tensor;
  ++calls;
}

/* from_tensor(extent, major version) -> an array over `values`, or what from_tensor() raises */
static PyObject* from_tensor(PyObject* self, PyObject* args) {
  (void)self;
  static DLManagedTensorVersioned tensor;
  long long extent;
  unsigned major;
  if (!PyArg_ParseTuple(args, "LI", &extent, &major)) return 0;
  extents[0] = extent;
  tensor.version.major = major;
  tensor.version.minor = DLPACK_MINOR_VERSION;
  tensor.deleter = count_call;
  tensor.dl_tensor.data = values;
  tensor.dl_tensor.device.device_type = kDLCPU;
  tensor.dl_tensor.ndim = 1;
  tensor.dl_tensor.dtype.code = kDLFloat;
  tensor.dl_tensor.dtype.bits = 32;
  tensor.dl_tensor.dtype.lanes = 1;
  tensor.dl_tensor.shape = extents;
  return api->from_tensor(extent == -99 ? 0 : &tensor);
}

static PyObject* deleter_calls(PyObject* self, PyObject* ignored) {
  (void)self;
  (void)ignored;
  return PyLong_FromLong(calls);
}

/* to_tensor(array) -> (ndim, first extent, flags); calls the deleter without the GIL */
static PyObject* to_tensor(PyObject* self, PyObject* array) {
  (void)self;
  DLManagedTensorVersioned* tensor = api->to_tensor(array == Py_None ? 0 : array);
  if (!tensor) return 0;
  PyObject* out = Py_BuildValue("(iLK)", tensor->dl_tensor.ndim,
                                tensor->dl_tensor.ndim ? (long long)tensor->dl_tensor.shape[0] : -1LL,
                                (unsigned long long)tensor->flags);
  Py_BEGIN_ALLOW_THREADS;
  tensor->deleter(tensor);
  Py_END_ALLOW_THREADS;
  return out;
}

/* borrow(array) -> (ndim, bits, flags, address) */
static PyObject* borrow(PyObject* self, PyObject* array) {
  (void)self;
  DLTensor tensor;
  uint64_t flags = 77;
  if (api->borrow(array, &tensor, &flags) != 0) return 0;
  return Py_BuildValue("(iiKK)", tensor.ndim, tensor.dtype.bits, (unsigned long long)flags,
                       (unsigned long long)(uintptr_t)tensor.data + tensor.byte_offset);
}

/* null_arguments(which): calls a function with NULL in the place of a result */
static PyObject* null_arguments(PyObject* self, PyObject* args) {
  (void)self;
  int which;
  PyObject* array;
  DLTensor tensor;
  uint64_t flags;
  if (!PyArg_ParseTuple(args, "iO", &which, &array)) return 0;
  if (which == 2) return api->from_object(0);
  const int status = which == 0 ? api->borrow(array, 0, &flags) : api->borrow(array, &tensor, 0);
  return status == 0 ? PyLong_FromLong(0) : 0;
}

static PyObject* from_object(PyObject* self, PyObject* object) {
  (void)self;
  return api->from_object(object);
}

/* An allocator that counts; `fault` 1: it has no memory, 2: its memory is not aligned. */
static struct {
  int allocations, deallocations, releases, fault;
  long long live;
} counts;

static void* allocate(size_t nbytes, size_t alignment, void* context) {
  if (context != &counts || alignment != 256 || nbytes == 0 || counts.fault == 1) return 0;
  char* out = aligned_alloc(alignment, (nbytes + 2 * alignment - 1) / alignment * alignment);
  if (!out) return 0;
  ++counts.allocations;
  counts.live += (long long)nbytes;
  return counts.fault == 2 ? out + 64 : out;
}

static void deallocate(void* pointer, size_t nbytes, void* context) {
  if (context != &counts) abort();
  ++counts.deallocations;
  counts.live -= (long long)nbytes;
  free((char*)((uintptr_t)pointer / 256 * 256));
}

static void release(void* context) {
  if (context != &counts) abort();
  ++counts.releases;
}

/* make_allocator(missing): 1 without `allocate`, 2 without `deallocate`, 3 without `release`, 4 NULL */
static PyObject* make_allocator(PyObject* self, PyObject* missing) {
  (void)self;
  const long which = PyLong_AsLong(missing);
  const RefarrayAllocator own = {which == 1 ? 0 : allocate, which == 2 ? 0 : deallocate, which == 3 ? 0 : release,
                                 &counts};
  return api->make_allocator(which == 4 ? 0 : &own);
}

static PyObject* use_allocator(PyObject* self, PyObject* allocator) {
  (void)self;
  return api->use_allocator(allocator);
}

/* empty_from(allocator, extent, bits) -> an array of floats */
static PyObject* empty_from(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* allocator;
  long long extent;
  int bits;
  if (!PyArg_ParseTuple(args, "OLi", &allocator, &extent, &bits)) return 0;
  const int64_t shape[1] = {extent};
  const DLDataType dtype = {kDLFloat, (uint8_t)bits, 1};
  return api->empty_from(allocator, dtype, 1, shape);
}

/* allocator_counts(fault) -> (allocations, deallocations, bytes in use, releases) until now */
static PyObject* allocator_counts(PyObject* self, PyObject* fault) {
  (void)self;
  counts.fault = (int)PyLong_AsLong(fault);
  return Py_BuildValue("(iiLi)", counts.allocations, counts.deallocations, counts.live, counts.releases);
}

static PyMethodDef methods[] = {{"load", load, METH_NOARGS, 0},
                                {"layout", layout, METH_NOARGS, 0},
                                {"is_array", is_array, METH_O, 0},
                                {"empty", empty, METH_VARARGS, 0},
                                {"from_tensor", from_tensor, METH_VARARGS, 0},
                                {"deleter_calls", deleter_calls, METH_NOARGS, 0},
                                {"to_tensor", to_tensor, METH_O, 0},
                                {"borrow", borrow, METH_O, 0},
                                {"null_arguments", null_arguments, METH_VARARGS, 0},
                                {"from_object", from_object, METH_O, 0},
                                {"make_allocator", make_allocator, METH_O, 0},
                                {"use_allocator", use_allocator, METH_O, 0},
                                {"empty_from", empty_from, METH_VARARGS, 0},
                                {"allocator_counts", allocator_counts, METH_O, 0},
                                {0, 0, 0, 0}};
static PyModuleDef_Slot slots[] = {
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, 0}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "c_table", 0, 0, methods, slots, 0, 0, 0};

PyMODINIT_FUNC PyInit_c_table(void) { return PyModuleDef_Init(&definition); }
