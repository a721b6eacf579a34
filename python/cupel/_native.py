"""libcupel.so in Python: devices by their plugins, programs of frontends as StableHLO. Knows no framework.

What the C functions mean is said in cupel/capi/Api.h.
"""

from __future__ import annotations

import ctypes
import functools
import json
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cupel._files import library_path
from cupel._pjrt import missing_package


class NativeError(RuntimeError):
    """What the C++ side had to say."""


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int64),
        ("type", ctypes.c_char_p),
    ]


class _Tolerance(ctypes.Structure):
    _fields_ = [("pcc", ctypes.c_double), ("atol", ctypes.c_double), ("rtol", ctypes.c_double)]


@dataclass(frozen=True)
class Array:
    """A dense row-major array in memory that `owner` keeps alive; `type` as StableHLO writes it."""

    address: int
    size: int
    shape: tuple[int, ...]
    type: str
    owner: Any = None


_TEXTS = ctypes.POINTER(ctypes.c_char_p)
_ERROR = ctypes.POINTER(ctypes.c_char_p)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "cupel_free": (None, [ctypes.c_void_p]),
    "cupel_options": (ctypes.c_void_p, []),
    "cupel_device_open": (ctypes.c_void_p, [ctypes.c_char_p, _TEXTS, ctypes.c_size_t, _ERROR]),
    "cupel_device_close": (None, [ctypes.c_void_p]),
    "cupel_device_count": (ctypes.c_size_t, [ctypes.c_void_p]),
    "cupel_device_platform": (ctypes.c_char_p, [ctypes.c_void_p]),
    "cupel_device_stablehlo_version": (ctypes.c_char_p, [ctypes.c_void_p]),
    "cupel_compile": (
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, _TEXTS, ctypes.c_size_t, _ERROR],
    ),
    "cupel_executable_close": (None, [ctypes.c_void_p]),
    "cupel_execute": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.POINTER(_Tensor), ctypes.c_size_t, _ERROR]),
    "cupel_results_count": (ctypes.c_size_t, [ctypes.c_void_p]),
    "cupel_results_get": (_Tensor, [ctypes.c_void_p, ctypes.c_size_t]),
    "cupel_results_keep": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]),
    "cupel_result_release": (None, [ctypes.c_void_p]),
    "cupel_results_close": (None, [ctypes.c_void_p]),
    "cupel_compare": (ctypes.c_int, [ctypes.POINTER(_Tensor), ctypes.POINTER(_Tensor), _Tolerance, _ERROR, _ERROR]),
    "cupel_comparator_default": (ctypes.c_double, [ctypes.c_char_p]),
    "cupel_noise_open": (
        ctypes.c_void_p,
        [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_Tensor), ctypes.c_size_t, ctypes.c_size_t, _ERROR],
    ),
    "cupel_noise_close": (None, [ctypes.c_void_p]),
    "cupel_judge": (ctypes.c_int, [ctypes.POINTER(_Tensor), ctypes.POINTER(_Tensor), ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_double), _ERROR, _ERROR]),
    "cupel_judge_without_noise": (ctypes.c_int, [ctypes.POINTER(_Tensor), ctypes.POINTER(_Tensor), ctypes.c_char_p, _ERROR, _ERROR]),
    "cupel_torch_import": (ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, _ERROR]),
    "cupel_module_text": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), _ERROR]),
    "cupel_module_portable": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t), _ERROR]),
    "cupel_module_results": (ctypes.c_size_t, [ctypes.c_void_p]),
    "cupel_module_close": (None, [ctypes.c_void_p]),
}


@functools.cache
def _library() -> ctypes.CDLL:
    path = library_path()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"Cupel's library {path} cannot be loaded: {error}{missing_package(str(error))}") from None
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


@functools.cache
def option_table() -> list[dict[str, Any]]:
    """The options of our own compiler and devices, as docs/reference/plugin-options.md lists them."""
    library = _library()
    memory = library.cupel_options()
    try:
        return json.loads(ctypes.string_at(memory))
    finally:
        library.cupel_free(memory)


class _Failure:
    """Room for an error, raised if the call filled it."""

    def __init__(self) -> None:
        self.text = ctypes.c_char_p()

    def take(self, what: str) -> NativeError:
        message = self.text.value.decode(errors="replace") if self.text.value else f"{what} failed without a reason"
        _library().cupel_free(self.text)
        return NativeError(message)


def option_texts(options: Mapping[str, Any]) -> list[bytes]:
    """`name=value` as the C side parses it; texts in quotes, so that "8" stays a text."""
    texts = []
    for name, value in options.items():
        # Quotes inside stand as they are: the C side takes off the outer ones, and reads nothing inside.
        written = f'"{value}"' if isinstance(value, str) else json.dumps(value) if isinstance(value, bool) else str(value)
        texts.append(f"{name}={written}".encode())
    return texts


def _texts(options: Mapping[str, Any]) -> tuple[Any, int]:
    rows = option_texts(options)
    return (ctypes.c_char_p * len(rows))(*rows), len(rows)


def _described(array: Array) -> _Tensor:
    shape = (ctypes.c_int64 * len(array.shape))(*array.shape)
    tensor = _Tensor(array.address, array.size, ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)), len(array.shape), array.type.encode())
    tensor.kept = shape
    return tensor


def _verdict(function: str, actual: Array, expected: Array, *arguments: Any) -> tuple[bool, str]:
    library, failure, sentence = _library(), _Failure(), ctypes.c_char_p()
    held = getattr(library, function)(
        ctypes.byref(_described(actual)), ctypes.byref(_described(expected)), *arguments, ctypes.byref(sentence), ctypes.byref(failure.text))
    if held < 0:
        raise failure.take("the comparison")
    text = (sentence.value or b"").decode(errors="replace")
    library.cupel_free(sentence)
    return held == 1, text


def compare(actual: Array, expected: Array, pcc: float | None = None, atol: float | None = None, rtol: float | None = None) -> tuple[bool, str]:
    """Whether every bound that is given holds (none: equality), and one sentence about it."""
    return _verdict("cupel_compare", actual, expected, _Tolerance(*(-1.0 if bound is None else bound for bound in (pcc, atol, rtol))))


def comparator_default(name: str) -> float:
    """What `required_pcc`, `required_atol`, `allclose_rtol` or `allclose_atol` is where nobody names a number; `model_required_atol` is that of ModelTester,
    `tells_little` the noise of an output, as a share of its size, from which on a wrong one may pass."""
    return _library().cupel_comparator_default(name.encode())


@dataclass(frozen=True)
class RanOn:
    """Where results came from: the device as `cupel run --device` takes it, and the options of its compiler."""

    device: str
    compile_options: Mapping[str, Any]


class Noise:
    """What Cupel's own verdict goes by: what the device computes in, and how much the results of a program move by rounding.

    `source` gives the program in StableHLO and its inputs; it is asked, and the program evaluated, only where a result needs it. Without it limits follow
    from the precision alone.
    """

    SAMPLES = 2

    def __init__(self, precision: str = "f32", source: Callable[[], tuple[bytes, Iterable[Array]]] | None = None, ran_on: RanOn | None = None) -> None:
        self.precision = precision
        self.ran_on = ran_on
        self.decided: set[int] = set()
        """Outputs that were judged right and that rounding decides: a wrong one may be within their limits."""
        self._source = source
        self._handle: int | None = None
        self._inputs: list[Array] = []

    def _opened(self) -> int:
        if self._handle is None:
            program, inputs = self._source() if self._source else (b"", [])
            self._inputs = list(inputs)
            described = [_described(array) for array in self._inputs]
            library, failure = _library(), _Failure()
            handle = library.cupel_noise_open(self.precision.encode(), program, len(program), (_Tensor * len(described))(*described), len(described),
                                              self.SAMPLES, ctypes.byref(failure.text))
            if not handle:
                raise failure.take("the noise of the program")
            weakref.finalize(self, library.cupel_noise_close, handle)
            self._handle = handle
        return self._handle

    def judge(self, actual: Array, expected: Array, output: int) -> tuple[bool, str]:
        """Whether the result is right by the strict rule (docs/reference/compare.md), and one sentence about it."""
        passed, sentence = _verdict("cupel_judge_without_noise", actual, expected, self.precision.encode())
        if passed:
            return passed, sentence
        share = ctypes.c_double()
        passed, sentence = _verdict("cupel_judge", actual, expected, self._opened(), output, ctypes.byref(share))
        if passed and share.value >= comparator_default("tells_little"):
            self.decided.add(output)
        return passed, sentence

    @property
    def is_narrow(self) -> bool:
        """The device declares that it computes in less than f32."""
        return any(part not in ("f32", "f64") for part in self.precision.split("/"))

    def program(self) -> tuple[bytes, list[Array]] | None:
        """The program and its inputs; nothing where no single one says how the results round."""
        if self._source is None:
            return None
        program, inputs = self._source()
        return program, list(inputs)


class Executable:
    """A program on one device; `run` waits for the results."""

    def __init__(self, device: Device, handle: int) -> None:
        self.device = device
        self._handle = handle
        self._close = weakref.finalize(self, _library().cupel_executable_close, handle)

    def run(self, inputs: Iterable[Array]) -> list[Array]:
        given = list(inputs)
        described = [_described(array) for array in given]  # Keeps what the copies below point to.
        tensors = (_Tensor * len(given))(*described)
        library, failure = _library(), _Failure()
        results = library.cupel_execute(self._handle, tensors, len(given), ctypes.byref(failure.text))
        if not results:
            raise failure.take("the run")
        try:
            return [_kept(library, results, i) for i in range(library.cupel_results_count(results))]
        finally:
            library.cupel_results_close(results)


class _Owner:
    """Keeps one result's memory alive."""

    def __init__(self, kept: int) -> None:
        weakref.finalize(self, _library().cupel_result_release, kept)


def _kept(library: ctypes.CDLL, results: int, i: int) -> Array:
    tensor = library.cupel_results_get(results, i)
    shape = tuple(tensor.shape[d] for d in range(tensor.rank))
    return Array(tensor.data or 0, tensor.bytes, shape, tensor.type.decode(), _Owner(library.cupel_results_keep(results, i)))


class Device:
    """A plugin's client. Options are the plugin's own (for ours: docs/reference/plugin-options.md)."""

    def __init__(self, plugin: str, options: Mapping[str, Any] | None = None) -> None:
        library, failure = _library(), _Failure()
        texts, count = _texts(options or {})
        self._handle = library.cupel_device_open(plugin.encode(), texts, count, ctypes.byref(failure.text))
        if not self._handle:
            raise failure.take(f"opening {plugin}")
        self._close = weakref.finalize(self, library.cupel_device_close, self._handle)
        self.plugin = plugin

    @property
    def platform(self) -> str:
        return _library().cupel_device_platform(self._handle).decode()

    @property
    def stablehlo_version(self) -> str:
        """The newest StableHLO the plugin says it reads; empty where it does not say."""
        return _library().cupel_device_stablehlo_version(self._handle).decode()

    def __len__(self) -> int:
        return _library().cupel_device_count(self._handle)

    def compile(self, program: bytes, options: Mapping[str, Any] | None = None, ordinal: int = 0) -> Executable:
        """Compiles StableHLO (text, bytecode or a portable artifact) for device number `ordinal`."""
        library, failure = _library(), _Failure()
        texts, count = _texts(options or {})
        handle = library.cupel_compile(self._handle, ordinal, program, len(program), texts, count, ctypes.byref(failure.text))
        if not handle:
            raise failure.take("compiling")
        return Executable(self, handle)


def named_device(plugin: str, options: Mapping[str, Any]) -> str:
    """As `cupel run --device` takes it: `cupel?arch=n300`."""
    return plugin + ("?" if options else "") + "&".join(f"{name}={spelled(value)}" for name, value in options.items())


def spelled(value: Any) -> str:
    """An option's value as a command line has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@functools.cache
def _device(plugin: str, options: str) -> Device:
    return Device(plugin, json.loads(options))


def opened_device(plugin: str, options: Mapping[str, Any]) -> Device:
    """One client a plugin and set of options, kept for the process."""
    return _device(plugin, json.dumps(dict(options), sort_keys=True))


class Module:
    """StableHLO made from another form."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._close = weakref.finalize(self, _library().cupel_module_close, handle)

    @staticmethod
    def from_torch(program: bytes, options: Mapping[str, Any] | None = None) -> Module:
        """An exported program (the text of a .pt2 archive's model.json) whose weights are inputs."""
        library, failure = _library(), _Failure()
        handle = library.cupel_torch_import(program, len(program), json.dumps(dict(options or {})).encode(), ctypes.byref(failure.text))
        if not handle:
            raise failure.take("the import")
        return Module(handle)

    def _bytes(self, function: str, *arguments: Any) -> bytes:
        library, failure, size = _library(), _Failure(), ctypes.c_size_t()
        memory = getattr(library, function)(self._handle, *arguments, ctypes.byref(size), ctypes.byref(failure.text))
        if not memory:
            raise failure.take(function)
        try:
            return ctypes.string_at(memory, size.value)
        finally:
            library.cupel_free(memory)

    @property
    def text(self) -> str:
        return self._bytes("cupel_module_text").decode()

    @property
    def results(self) -> int:
        """How many it has; behind the program's own come new values of inputs that it writes to."""
        return int(_library().cupel_module_results(self._handle))

    def portable(self, version: str = "") -> bytes:
        """A portable artifact, which every plugin reads; for a StableHLO version, or the newest."""
        return self._bytes("cupel_module_portable", version.encode())
