/* The C table of refarray: make and read arrays from C, C++ or Cython, with nothing to link. */
#pragma once

#include <Python.h>

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

/* The version of the table below. It changes only if a member changes its meaning or its place; new members are
   appended, and `size` tells whether the running refarray has them. */
enum { REFARRAY_C_API_VERSION = 1 };

/* An allocator of host memory for the elements of arrays: malloc() and free() with a context. Its functions are called on
   any thread, with or without the GIL, also after the interpreter has ended; they use neither Python nor refarray. */
typedef struct RefarrayAllocator {
  /* `nbytes` (1 or more) uninitialized bytes at a multiple of `alignment` (256), or NULL. */
  void* (*allocate)(size_t nbytes, size_t alignment, void* context);
  /* Gets the pointer and the size of an allocation. */
  void (*deallocate)(void* pointer, size_t nbytes, void* context);
  /* Called once, when no array and no capsule uses the allocator any more; may be NULL. */
  void (*release)(void* context);
  void* context;
} RefarrayAllocator;

/* Every function needs the GIL and an attached thread. Those that return a pointer return NULL, those that return an
   int return -1, with a Python exception set, unless stated otherwise. None keeps a pointer that it was given. */
typedef struct RefarrayCApi {
  uint32_t version; /* REFARRAY_C_API_VERSION of the running refarray */
  uint32_t size;    /* the bytes of its table */

  /* 1 if `object` is a refarray.Array, else 0. Never fails; NULL is no array. */
  int (*is_array)(PyObject* object);

  /* A new uninitialized row-major array. The device is one of the CPU's or of a loaded driver's. */
  PyObject* (*empty)(DLDataType dtype, DLDevice device, int32_t ndim, const int64_t* shape);

  /* A new array over a tensor, whose deleter it calls in the end. Takes the tensor only on success; on failure it is
     still the caller's. BufferError for an invalid tensor. */
  PyObject* (*from_tensor)(DLManagedTensorVersioned* tensor);

  /* A new tensor over an array's memory. The caller calls its deleter, from any thread. BufferError for an array on a
     virtual device, also from borrow(). */
  DLManagedTensorVersioned* (*to_tensor)(PyObject* array);

  /* Fills `out` with an array's fields and `flags` with those of a managed tensor (DLPACK_FLAG_BITMASK_READ_ONLY …),
     without a reference: both are valid as long as the array is. Memory of a device: work in the stream that is
     current for it may access the elements. */
  int (*borrow)(PyObject* array, DLTensor* out, uint64_t* flags);

  /* refarray.from_dlpack(object): a new array that shares the memory of any array with DLPack. */
  PyObject* (*from_object)(PyObject* object);

  /* A new capsule around a copy of an allocator, whose context it takes on success only. */
  PyObject* (*make_allocator)(const RefarrayAllocator* allocator);

  /* Lets the arrays that the calling thread makes on the CPU get their memory from an allocator, until the thread ends.
     None: from refarray's own, the default. Returns the capsule of the one before, or None. */
  PyObject* (*use_allocator)(PyObject* allocator);

  /* empty() on the CPU, with an allocator for this array only. */
  PyObject* (*empty_from)(PyObject* allocator, DLDataType dtype, int32_t ndim, const int64_t* shape);
} RefarrayCApi;

/* The table of the installed refarray, which is imported; it stays valid until the process ends. NULL with
   ImportError set if refarray is missing, or if its table has another version or lacks members of this header. */
static inline const RefarrayCApi* refarray_import_c_api(void) {
  const RefarrayCApi* api = (const RefarrayCApi*)PyCapsule_Import("refarray._C_API", 0);
  if (!api) return api;
  if (api->version == (uint32_t)REFARRAY_C_API_VERSION && api->size >= sizeof(RefarrayCApi)) return api;
  PyErr_Format(PyExc_ImportError,
               "refarray's C table has version %u and %u bytes; this module was compiled for version %u and needs %u",
               (unsigned)api->version, (unsigned)api->size, (unsigned)REFARRAY_C_API_VERSION,
               (unsigned)sizeof(RefarrayCApi));
  return 0;
}
