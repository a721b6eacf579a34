"""XLA FFI call frames as NumPy arrays, so that a Python function can answer a custom call.

The layout is the published one of FFI 0.3; `cupel/calls/FfiAbi.h` is its C++ twin.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

_DTYPES = {
    1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8, 7: np.uint16, 8: np.uint32, 9: np.uint64,
    10: np.float16, 11: np.float32, 12: np.float64, 15: np.complex64, 16: ml_dtypes.bfloat16, 18: np.complex128,
    19: ml_dtypes.float8_e5m2, 20: ml_dtypes.float8_e4m3fn, 21: ml_dtypes.int4, 22: ml_dtypes.uint4, 23: ml_dtypes.float8_e4m3b11fnuz,
    24: ml_dtypes.float8_e5m2fnuz, 25: ml_dtypes.float8_e4m3fnuz, 26: ml_dtypes.int2, 27: ml_dtypes.uint2, 28: ml_dtypes.float8_e4m3,
    29: ml_dtypes.float8_e3m4, 32: ml_dtypes.float4_e2m1fn, 33: ml_dtypes.float8_e8m0fnu,
}  # fmt: skip
_METADATA = 1
_INTERNAL = 13


class _Header(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extensions", ctypes.c_void_p)]


class _Extension(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int32), ("next", ctypes.c_void_p), ("metadata", ctypes.c_void_p)]


class _Metadata(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("version", _Header), ("major", ctypes.c_int32), ("minor", ctypes.c_int32), ("traits", ctypes.c_uint32)]


class _Buffer(ctypes.Structure):
    _fields_ = [("header", _Header), ("dtype", ctypes.c_int32), ("data", ctypes.c_void_p), ("rank", ctypes.c_int64), ("dims", ctypes.POINTER(ctypes.c_int64))]


class _Values(ctypes.Structure):
    _fields_ = [("header", _Header), ("size", ctypes.c_int64), ("types", ctypes.c_void_p), ("values", ctypes.POINTER(ctypes.POINTER(_Buffer)))]


class _Span(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Scalar(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int32), ("value", ctypes.c_void_p)]


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("header", _Header),
        ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("names", ctypes.POINTER(ctypes.POINTER(_Span))),
        ("values", ctypes.POINTER(ctypes.c_void_p)),
    ]


class _Frame(ctypes.Structure):
    _fields_ = [
        ("header", _Header),
        ("api", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int32),
        ("operands", _Values),
        ("results", _Values),
        ("attributes", _Attributes),
        ("future", ctypes.c_void_p),
    ]


class _ErrorCreateArgs(ctypes.Structure):
    _fields_ = [("header", _Header), ("message", ctypes.c_char_p), ("code", ctypes.c_int32)]


_Handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Frame))
_ErrorCreate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_ErrorCreateArgs))


def _array(buffer: _Buffer, writeable: bool) -> np.ndarray:
    dtype = np.dtype(_DTYPES[buffer.dtype])
    shape = tuple(buffer.dims[i] for i in range(buffer.rank))
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0:
        array = np.empty(shape, dtype)
    else:
        array = np.frombuffer((ctypes.c_char * size).from_address(buffer.data), dtype=dtype).reshape(shape)
    array.flags.writeable = writeable
    return array


def _attribute(attributes: _Attributes, wanted: str) -> int:
    for i in range(attributes.size):
        name = attributes.names[i].contents
        if ctypes.string_at(name.data, name.size).decode() == wanted:
            scalar = ctypes.cast(attributes.values[i], ctypes.POINTER(_Scalar)).contents
            return ctypes.cast(scalar.value, ctypes.POINTER(ctypes.c_uint64)).contents.value
    raise KeyError(f"the call lacks the attribute {wanted}")


def make_handler(answer: Callable[[int, Sequence[np.ndarray], Sequence[np.ndarray]], None]) -> _Handler:
    """A C function that calls `answer(key, operands, results)`; it must be kept alive while it may be called.

    `key` is the call's attribute `key`; operands are views that must not outlive the call; results are to be filled.
    """

    def handle(frame_pointer: ctypes._Pointer) -> int | None:
        frame = frame_pointer.contents
        if frame.header.extensions:
            extension = ctypes.cast(frame.header.extensions, ctypes.POINTER(_Extension)).contents
            if extension.type == _METADATA:
                metadata = ctypes.cast(extension.metadata, ctypes.POINTER(_Metadata)).contents
                metadata.major, metadata.minor = 0, 3
                return None
        try:
            operands = [_array(frame.operands.values[i].contents, False) for i in range(frame.operands.size)]
            results = [_array(frame.results.values[i].contents, True) for i in range(frame.results.size)]
            answer(_attribute(frame.attributes, "key"), operands, results)
            return None
        except BaseException as error:  # noqa: BLE001  Whatever it is, it must not unwind into C.
            text = "".join(traceback.format_exception(error))
            create = _ErrorCreate(ctypes.cast(frame.api + 48, ctypes.POINTER(ctypes.c_void_p)).contents.value)
            arguments = _ErrorCreateArgs(_Header(ctypes.sizeof(_ErrorCreateArgs), None), text.encode(errors="replace"), _INTERNAL)
            return create(arguments)

    return _Handler(handle)
