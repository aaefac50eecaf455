//! A Rust module that takes arrays of any library with DLPack's C exchange table, and returns arrays
//! of the same library over memory of Rust. It needs no crates, NumPy or refarray.
//!
//! All functions have the GIL, except `free_owned`, which any thread may call.

#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_void};
use std::{mem, ptr};

// --- Python's limited API, as far as it is used. The layouts are those of builds with a GIL.

pub enum PyObject {}
type Function = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;

#[repr(C)]
struct PyMethodDef {
    name: *const c_char,
    function: Option<Function>,
    flags: c_int,
    doc: *const c_char,
}

#[repr(C)]
struct PyModuleDef {
    ob_refcnt: isize,
    ob_type: *mut PyObject,
    init: *const c_void,
    index: isize,
    copy: *mut PyObject,
    name: *const c_char,
    doc: *const c_char,
    size: isize,
    methods: *mut PyMethodDef,
    slots: *mut c_void,
    traverse: *const c_void,
    clear: *const c_void,
    free: *const c_void,
}

extern "C" {
    static mut PyExc_TypeError: *mut PyObject;
    static mut PyExc_ValueError: *mut PyObject;
    fn PyArg_ParseTuple(args: *mut PyObject, format: *const c_char, ...) -> c_int;
    fn PyCapsule_GetPointer(capsule: *mut PyObject, name: *const c_char) -> *mut c_void;
    fn PyErr_Format(kind: *mut PyObject, format: *const c_char, ...) -> *mut PyObject;
    fn PyErr_SetObject(kind: *mut PyObject, value: *mut PyObject);
    fn PyErr_NoMemory() -> *mut PyObject;
    fn PyModuleDef_Init(definition: *mut PyModuleDef) -> *mut PyObject;
    fn PyObject_GetAttrString(object: *mut PyObject, name: *const c_char) -> *mut PyObject;
    fn PyObject_Type(object: *mut PyObject) -> *mut PyObject;
    fn PyUnicode_FromStringAndSize(text: *const c_char, length: isize) -> *mut PyObject;
    fn Py_DecRef(object: *mut PyObject);
    fn Py_BuildValue(format: *const c_char, ...) -> *mut PyObject;
}

/// A Python exception is set.
struct Raised;

/// Text for C; the literal ends with "\0".
fn c(text: &'static str) -> *const c_char {
    debug_assert!(text.ends_with('\0'));
    text.as_ptr().cast()
}

/// Raises ValueError with the message.
fn refuse<T>(message: String) -> Result<T, Raised> {
    unsafe {
        let text = PyUnicode_FromStringAndSize(message.as_ptr().cast(), message.len() as isize);
        if !text.is_null() {
            PyErr_SetObject(PyExc_ValueError, text);
            Py_DecRef(text);
        }
    }
    Err(Raised)
}

// --- dlpack.h 1.3, as far as it is used.

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct DLDataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DLTensor {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    dtype: DLDataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct DLManagedTensorVersioned {
    version: [u32; 2],
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    flags: u64,
    dl_tensor: DLTensor,
}

#[repr(C)]
struct DLPackExchangeAPI {
    version: [u32; 2],
    prev_api: *const DLPackExchangeAPI,
    allocator: *const c_void,
    from_object: unsafe extern "C" fn(*mut PyObject, *mut *mut DLManagedTensorVersioned) -> c_int,
    to_object: unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut PyObject) -> c_int,
}

const VERSION: [u32; 2] = [1, 3];
const READ_ONLY: u64 = 1;
const CPU: [i32; 2] = [1, 0];
const FLOAT32: DLDataType = DLDataType {
    code: 2,
    bits: 32,
    lanes: 1,
};
const FLOAT64: DLDataType = DLDataType {
    code: 2,
    bits: 64,
    lanes: 1,
};

/// The table of the array's type. It lives as long as the process.
unsafe fn table_of(array: *mut PyObject) -> Result<&'static DLPackExchangeAPI, Raised> {
    let kind = PyObject_Type(array);
    let capsule = PyObject_GetAttrString(kind, c("__dlpack_c_exchange_api__\0"));
    if capsule.is_null() {
        let text = c(
            "%R has no __dlpack_c_exchange_api__; refarray.from_dlpack() makes an array that has\0",
        );
        PyErr_Format(PyExc_TypeError, text, kind);
        Py_DecRef(kind);
        return Err(Raised);
    }
    Py_DecRef(kind);
    let newest =
        PyCapsule_GetPointer(capsule, c("dlpack_exchange_api\0")).cast::<DLPackExchangeAPI>();
    Py_DecRef(capsule);
    if newest.is_null() {
        return Err(Raised);
    }
    let mut table: *const DLPackExchangeAPI = newest;
    while (*table).version[0] != VERSION[0] {
        table = (*table).prev_api;
        if table.is_null() {
            let major = (*newest).version[0];
            return refuse(format!(
                "the exchange table's major version is {major}; it must be 1"
            ));
        }
    }
    Ok(&*table)
}

// --- Import.

/// A managed tensor of the producer, released when it goes out of scope.
struct Tensor(*mut DLManagedTensorVersioned);

impl Tensor {
    unsafe fn of(array: *mut PyObject) -> Result<Tensor, Raised> {
        let mut tensor = ptr::null_mut();
        if (table_of(array)?.from_object)(array, &mut tensor) != 0 {
            return Err(Raised);
        }
        if tensor.is_null() {
            return refuse("the exchange table returned NULL instead of a tensor".into());
        }
        let tensor = Tensor(tensor);
        match (*tensor.0).version[0] {
            1 => Ok(tensor),
            major => refuse(format!("version: major is {major}; it must be 1")),
        }
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        unsafe {
            if let Some(deleter) = (*self.0).deleter {
                deleter(self.0)
            }
        }
    }
}

/// The elements of a tensor with N axes on the CPU, after every field was checked.
struct View<'a, T, const N: usize> {
    first: *mut T,
    extents: [i64; N],
    strides: [i64; N], // count elements
    _tensor: &'a Tensor,
}

impl<'a, T, const N: usize> View<'a, T, N> {
    unsafe fn new(tensor: &'a Tensor, dtype: DLDataType, writes: bool) -> Result<Self, Raised> {
        let fields = &(*tensor.0).dl_tensor;
        if fields.dtype != dtype {
            let DLDataType { code, bits, lanes } = fields.dtype;
            let wanted = (dtype.code, dtype.bits, dtype.lanes);
            return refuse(format!(
                "dtype is {:?}; it must be {wanted:?}",
                (code, bits, lanes)
            ));
        }
        if fields.ndim != N as i32 {
            return refuse(format!("ndim is {}; it must be {N}", fields.ndim));
        }
        if fields.device[0] != CPU[0] {
            return refuse(format!("device is {:?}; its type must be 1", fields.device));
        }
        if writes && (*tensor.0).flags & READ_ONLY != 0 {
            return refuse("the elements are read-only; writable ones are needed".into());
        }
        if fields.shape.is_null() {
            return refuse("shape is NULL".into());
        }
        let mut view = View {
            first: ptr::null_mut(),
            extents: [0; N],
            strides: [1; N],
            _tensor: tensor,
        };
        for axis in (0..N).rev() {
            view.extents[axis] = *fields.shape.add(axis);
            if view.extents[axis] < 0 {
                return refuse(format!(
                    "shape[{axis}] is {}; extents are 0 or more",
                    view.extents[axis]
                ));
            }
            view.strides[axis] = match fields.strides.is_null() {
                false => *fields.strides.add(axis),
                true if axis + 1 == N => 1,
                true => view.extents[axis + 1].wrapping_mul(view.strides[axis + 1]),
            };
        }
        view.first = fields
            .data
            .cast::<u8>()
            .wrapping_add(fields.byte_offset as usize)
            .cast();
        if fields.data.is_null() && !view.extents.contains(&0) {
            return refuse("data is NULL although the tensor has elements".into());
        }
        if view.first as usize % mem::align_of::<T>() != 0 {
            return refuse("data: the first element is not aligned; pass a copy".into());
        }
        Ok(view)
    }

    /// The address of an element; the index must be inside the extents.
    fn at(&self, index: [i64; N]) -> *mut T {
        let steps = index
            .iter()
            .zip(&self.strides)
            .map(|(i, stride)| i * stride);
        self.first.wrapping_offset(steps.sum::<i64>() as isize)
    }
}

// --- Export.

/// What a managed tensor of this module points to.
struct Owned {
    tensor: DLManagedTensorVersioned,
    extent: i64,
    stride: i64,
    _values: Vec<f32>,
}

unsafe extern "C" fn free_owned(tensor: *mut DLManagedTensorVersioned) {
    drop(Box::from_raw((*tensor).manager_ctx.cast::<Owned>()));
}

/// The values as an array of the library of `like`, which keeps them until its last view is gone.
unsafe fn array_like(like: *mut PyObject, mut values: Vec<f32>) -> Result<*mut PyObject, Raised> {
    let table = table_of(like)?;
    let tensor = DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx: ptr::null_mut(),
        deleter: Some(free_owned),
        flags: 0,
        dl_tensor: DLTensor {
            data: if values.is_empty() {
                ptr::null_mut()
            } else {
                values.as_mut_ptr().cast()
            },
            device: CPU,
            ndim: 1,
            dtype: FLOAT32,
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        },
    };
    let extent = values.len() as i64;
    let owned = Box::into_raw(Box::new(Owned {
        tensor,
        extent,
        stride: 1,
        _values: values,
    }));
    (*owned).tensor.manager_ctx = owned.cast();
    (*owned).tensor.dl_tensor.shape = &mut (*owned).extent;
    (*owned).tensor.dl_tensor.strides = &mut (*owned).stride;
    let mut array = ptr::null_mut();
    // On failure dlpack.h does not say whose the tensor is: nobody may free it.
    match (table.to_object)(&mut (*owned).tensor, &mut array) {
        0 => Ok(array),
        _ => Err(Raised),
    }
}

/// `count` numbers, or MemoryError.
fn zeros(count: i64) -> Result<Vec<f32>, Raised> {
    let mut values = Vec::new();
    match usize::try_from(count).map(|count| values.try_reserve_exact(count)) {
        Ok(Ok(())) => values.resize(count as usize, 0.0),
        _ => unsafe {
            PyErr_NoMemory();
            return Err(Raised);
        },
    }
    Ok(values)
}

// --- The functions of the module.

fn finish(result: Result<*mut PyObject, Raised>) -> *mut PyObject {
    result.unwrap_or(ptr::null_mut())
}

/// row_sums(x): the sums of the rows of a float32 matrix, in the library of x.
unsafe extern "C" fn row_sums(_: *mut PyObject, x: *mut PyObject) -> *mut PyObject {
    let sums = || {
        let tensor = Tensor::of(x)?;
        let matrix = View::<f32, 2>::new(&tensor, FLOAT32, false)?;
        let mut sums = zeros(matrix.extents[0])?;
        for (i, sum) in sums.iter_mut().enumerate() {
            for j in 0..matrix.extents[1] {
                *sum += *matrix.at([i as i64, j]);
            }
        }
        array_like(x, sums)
    };
    finish(sums())
}

/// scale(x, factor): multiplies the elements of a float64 vector in place.
unsafe extern "C" fn scale(_: *mut PyObject, args: *mut PyObject) -> *mut PyObject {
    let (mut x, mut factor) = (ptr::null_mut::<PyObject>(), 1.0_f64);
    if PyArg_ParseTuple(args, c("Od:scale\0"), &mut x, &mut factor) == 0 {
        return ptr::null_mut();
    }
    let scaled = || {
        let tensor = Tensor::of(x)?;
        let vector = View::<f64, 1>::new(&tensor, FLOAT64, true)?;
        (0..vector.extents[0]).for_each(|i| *vector.at([i]) *= factor);
        Ok(Py_BuildValue(c("\0")))
    };
    finish(scaled())
}

/// numbers(like, count): 0 to count - 1 as float32, in the library of `like`.
unsafe extern "C" fn numbers(_: *mut PyObject, args: *mut PyObject) -> *mut PyObject {
    let (mut like, mut count) = (ptr::null_mut::<PyObject>(), 0_isize);
    if PyArg_ParseTuple(args, c("On:numbers\0"), &mut like, &mut count) == 0 {
        return ptr::null_mut();
    }
    let made = || {
        if count < 0 {
            return refuse(format!("count is {count}; it must be 0 or more"));
        }
        let mut values = zeros(count as i64)?;
        values
            .iter_mut()
            .enumerate()
            .for_each(|(i, value)| *value = i as f32);
        array_like(like, values)
    };
    finish(made())
}

// --- The module.

#[no_mangle]
pub unsafe extern "C" fn PyInit_example_rust() -> *mut PyObject {
    const VARARGS: c_int = 1;
    const ONE: c_int = 8; // METH_O
    let method = |name, function: Option<Function>, flags| PyMethodDef {
        name,
        function,
        flags,
        doc: ptr::null(),
    };
    // Python keeps pointers to both: they live as long as the process.
    let methods = Box::leak(Box::new([
        method(c("row_sums\0"), Some(row_sums as Function), ONE),
        method(c("scale\0"), Some(scale as Function), VARARGS),
        method(c("numbers\0"), Some(numbers as Function), VARARGS),
        method(ptr::null(), None, 0),
    ]));
    let definition = Box::leak(Box::new(PyModuleDef {
        ob_refcnt: 1,
        ob_type: ptr::null_mut(),
        init: ptr::null(),
        index: 0,
        copy: ptr::null_mut(),
        name: c("example_rust\0"),
        doc: c("Takes arrays and returns them, over DLPack's C exchange table.\0"),
        size: 0,
        methods: methods.as_mut_ptr(),
        slots: ptr::null_mut(),
        traverse: ptr::null(),
        clear: ptr::null(),
        free: ptr::null(),
    }));
    PyModuleDef_Init(definition)
}
