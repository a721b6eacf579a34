"""The few PJRT calls that Python needs: loading the plugin with a useful error, and its FFI extension.

Offsets are those of the PJRT C API; only fields that never move are read.
"""

from __future__ import annotations

import ctypes
import functools

from cupel._files import plugin_path

FFI_EXTENSION = 5
_ERROR_DESTROY, _ERROR_MESSAGE = 40, 48  # Offsets in PJRT_Api: after size, extensions and the version struct.


class _ExtensionBase(ctypes.Structure):
    pass


_ExtensionBase._fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int32), ("next", ctypes.POINTER(_ExtensionBase))]


class _RegisterHandlerArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("target_name", ctypes.c_char_p),
        ("target_name_size", ctypes.c_size_t),
        ("handler", ctypes.c_void_p),
        ("platform_name", ctypes.c_char_p),
        ("platform_name_size", ctypes.c_size_t),
        ("traits", ctypes.c_int32),
    ]


class _ErrorMessageArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("error", ctypes.c_void_p),
        ("message", ctypes.c_void_p),
        ("message_size", ctypes.c_size_t),
    ]


class _ErrorDestroyArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p), ("error", ctypes.c_void_p)]


def missing_package(message: str) -> str:
    """What to install, where the loader misses a library that Debian has."""
    for library, package in (("libMLIR", "libmlir-19"), ("libLLVM", "libllvm19"), ("liblapacke", "liblapacke"), ("liblapack", "liblapack3"), ("libblas", "libblas3")):
        if library in message:
            return f"; on Debian 12: apt-get install {package}"
    return ""


@functools.cache
def _library() -> ctypes.CDLL:
    path = plugin_path()
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"the Cupel plugin {path} cannot be loaded: {error}{missing_package(str(error))}") from None


@functools.cache
def _api() -> int:
    get = _library().GetPjrtApi
    get.restype = ctypes.c_void_p
    return get()


def check_loadable() -> None:
    """Raises ImportError with what to install if the plugin cannot be loaded."""
    _library()


def _function(offset: int, arguments: type[ctypes.Structure], result: type | None):
    address = ctypes.cast(_api() + offset, ctypes.POINTER(ctypes.c_void_p)).contents.value
    return ctypes.CFUNCTYPE(result, ctypes.POINTER(arguments))(address)


def _raise(error: int, what: str) -> None:
    message = _ErrorMessageArgs(ctypes.sizeof(_ErrorMessageArgs), None, error)
    _function(_ERROR_MESSAGE, _ErrorMessageArgs, None)(message)
    text = ctypes.string_at(message.message, message.message_size).decode(errors="replace")
    _function(_ERROR_DESTROY, _ErrorDestroyArgs, None)(_ErrorDestroyArgs(ctypes.sizeof(_ErrorDestroyArgs), None, error))
    raise RuntimeError(f"{what}: {text}")


@functools.cache
def _register_handler_function():
    first = ctypes.cast(_api() + 8, ctypes.POINTER(ctypes.POINTER(_ExtensionBase))).contents
    extension = first
    while extension:
        if extension.contents.type == FFI_EXTENSION:
            base = ctypes.addressof(extension.contents)
            address = ctypes.cast(base + 40, ctypes.POINTER(ctypes.c_void_p)).contents.value
            return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_RegisterHandlerArgs))(address)
        extension = extension.contents.next
    raise RuntimeError("this build of the Cupel plugin has no FFI extension")


def register_ffi_handler(name: str, handler: int, traits: int = 0) -> None:
    """Registers the C function at address `handler` as the XLA FFI handler of custom calls of `name`."""
    target, platform = name.encode(), b"cupel"
    arguments = _RegisterHandlerArgs(ctypes.sizeof(_RegisterHandlerArgs), target, len(target), handler, platform, len(platform), traits)
    if error := _register_handler_function()(arguments):
        _raise(error, f"registering the FFI handler of {name}")


def capsule_address(capsule: object) -> int:
    """The pointer in a PyCapsule, whatever its name."""
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, name(capsule))
