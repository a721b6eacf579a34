"""Remembers what frameworks computed on the CPU: a second run of a model, on another device or the next night, computes no golden result twice.

A result goes by the hash of everything that decides it: the captured program, the values it takes, the framework, the processor, and the code of ours that
runs it. The folder and its entries are those of `cupel cache` (ContentCache.cpp); many processes may use it at once. Never makes a test fail: where nothing can
be read or written, nothing is remembered.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

KIND = "frameworks"
VARIABLE = "CUPEL_FRAMEWORKS_CACHE"
_LIMIT = 2 << 30
# Behind an entry's bytes: this mark and a hash of the key and them.
_MARK = b"\ncupel1:"
_TAIL = len(_MARK) + 64
_SHIFTS = {"K": 10, "M": 20, "G": 30}
_HASHED_AT_ONCE = 8

is_trusted: Callable[[], bool] = lambda: True  # noqa: E731
"""Whether frameworks are what they were: what one computed with functions that a loader replaced is no other model's result (patches.py sets it)."""


@dataclass
class Value:
    """An array as bytes; `dtype` is the framework's word for its type."""

    dtype: str
    shape: tuple[int, ...]
    data: Any
    """Contiguous, as anything that has a buffer."""


@dataclass
class Entry:
    facts: dict[str, Any]
    values: list[Value]


def _folder() -> Path:
    for variable, rest in (("CUPEL_CACHE_DIR", ""), ("XDG_CACHE_HOME", "cupel"), ("HOME", ".cache/cupel")):
        if place := os.environ.get(variable):
            return Path(place, rest, KIND)
    return Path(".cache/cupel", KIND)


def _limit() -> int:
    text = os.environ.get(VARIABLE, "")
    if not text:
        return _LIMIT
    found = re.match(r"\s*([\d.]+)([KMG]?)", text)
    try:
        return int(float(found[1]) * (1 << _SHIFTS.get(found[2], 0))) if found else 0
    except ValueError:
        return 0


@functools.cache
def _processor() -> str:
    """Kernels are chosen by it, and round by what they are."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(next((line for line in lines if line.startswith(word)), "") for word in wanted)


@functools.cache
def _code(files: tuple[str, ...]) -> str:
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()


def surroundings(versions: Mapping[str, str], files: Iterable[str]) -> dict[str, Any]:
    """What decides a result beside the program and its inputs; `files` is the code of ours that computes it."""
    return {"versions": dict(versions), "processor": _processor(), "code": _code(tuple(files)),
            "environment": {name: os.environ[name] for name in ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "XLA_FLAGS", "JAX_ENABLE_X64") if name in os.environ}}


def _digests(values: Iterable[Value]) -> Iterator[tuple[Value, bytes]]:
    """Each with the hash of its bytes. Weights are most of what is hashed: several at once, on all processors, and no more than that, since a value may be a copy."""
    rest, count = iter(values), min(_HASHED_AT_ONCE, len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(count) as pool:
        while some := list(itertools.islice(rest, 2 * count)):
            yield from zip(some, pool.map(lambda value: hashlib.sha256(value.data).digest(), some), strict=True)


def key_of(said: Mapping[str, Any], pieces: Iterable[Any] = (), values: Iterable[Value] = ()) -> str:
    """The hash of what is said (as JSON), of the bytes of every piece and of every value."""
    whole = hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode())
    for piece in pieces:
        whole.update(hashlib.sha256(piece).digest())
    for value, digest in _digests(values):
        whole.update(f"\n{value.dtype} {value.shape}\n".encode())
        whole.update(digest)
    return whole.hexdigest()


# --- the folder --------------------------------------------------------------------------------------------------------------------------


class GoldenCache:
    _written = 0
    """Since the folder was last looked through, by all of this process."""

    def __init__(self) -> None:
        self._limit = _limit()
        self._folder = _folder()

    @property
    def is_on(self) -> bool:
        return self._limit > 0

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]

    def find(self, key: str) -> Entry | None:
        """What was kept under this key; used now, so it stays longer."""
        if not self.is_on or not key:
            return None
        path = self._path(key)
        try:
            whole = path.read_bytes()
        except OSError:
            return None
        if not is_trusted():  # To find out takes longer than to look for a file.
            return None
        body = memoryview(whole)[:-_TAIL]
        entry = _unpacked(body) if whole[-_TAIL:] == _MARK + _hash(key, body) else None
        try:
            os.utime(path) if entry else path.unlink()  # What is damaged goes.
        except OSError:
            pass
        return entry

    def keep(self, key: str, facts: Mapping[str, Any], values: Sequence[Value]) -> None:
        """Complete or not at all; more than a quarter of the limit is not kept."""
        self.keep_all([(key, facts, values)])

    def keep_all(self, entries: Sequence[tuple[str, Mapping[str, Any], Sequence[Value]]]) -> None:
        """The same for several at once: to find out whether what was computed is trusted takes a while."""
        fitting = [(key, facts, values) for key, facts, values in entries if key and sum(memoryview(value.data).nbytes for value in values) <= self._limit // 4]
        if not self.is_on or not fitting or not is_trusted():
            return
        for key, facts, values in fitting:
            self._write(key, facts, values)

    def _write(self, key: str, facts: Mapping[str, Any], values: Sequence[Value]) -> None:
        try:
            body = _packed(facts, values)
            if len(body) > self._limit // 4:
                return
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(body)
                    file.write(_MARK + _hash(key, body))
                os.replace(name, path)
            except BaseException:
                os.unlink(name)
                raise
            GoldenCache._written += len(body) + _TAIL
            if GoldenCache._written > self._limit // 16:  # Looking through the folder costs more than most entries.
                GoldenCache._written = 0
                self._prune()
        except (OSError, TypeError, ValueError):
            return

    def _prune(self) -> None:
        """The least recently used go until the rest fits."""
        found = []
        for path in self._folder.glob("*/*"):
            try:
                status = path.stat()
            except OSError:
                continue
            found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._limit:
                return
            path.unlink(missing_ok=True)
            total -= size


def _hash(key: str, body: Any) -> bytes:
    whole = hashlib.sha256(key.encode())
    whole.update(body)
    return whole.hexdigest().encode()


# --- entries: the length of a JSON header, that header, and the bytes of each value --------------------------------------------------------


def _packed(facts: Mapping[str, Any], values: Sequence[Value]) -> bytes:
    head = json.dumps({"facts": dict(facts), "values": [[value.dtype, list(value.shape), memoryview(value.data).nbytes] for value in values]}).encode()
    return b"".join([len(head).to_bytes(8, "little"), head, *(memoryview(value.data).cast("B") if memoryview(value.data).nbytes else b"" for value in values)])


def _unpacked(body: memoryview) -> Entry | None:
    try:
        size = int.from_bytes(body[:8], "little")
        head = json.loads(bytes(body[8:8 + size]))
        at, values = 8 + size, []
        for dtype, shape, length in head["values"]:
            values.append(Value(str(dtype), tuple(int(one) for one in shape), body[at:at + length]))
            at += length
        return Entry(dict(head["facts"]), values) if at == len(body) else None
    except (ValueError, KeyError, TypeError):
        return None


# --- values of frameworks ----------------------------------------------------------------------------------------------------------------


def of_array(array: Any) -> Value:
    """An array of NumPy; types that NumPy does not have are ml_dtypes', by name."""
    plain = np.ascontiguousarray(array)
    return Value(plain.dtype.name, tuple(np.shape(array)), plain.reshape(-1).view(np.uint8))


def to_array(value: Value) -> np.ndarray:
    try:
        kind = np.dtype(value.dtype)
    except TypeError:
        import ml_dtypes

        kind = np.dtype(getattr(ml_dtypes, value.dtype))
    return np.frombuffer(bytearray(value.data), np.uint8).view(kind).reshape(value.shape)


def to_arrays(entry: Entry | None) -> list[np.ndarray] | None:
    """None where one of them is no array of numbers: whoever wrote that, the result is computed again."""
    try:
        return None if entry is None else [to_array(value) for value in entry.values]
    except (TypeError, ValueError, AttributeError):
        return None


def of_tensor(tensor: Any) -> Value:
    """A tensor of torch; raises TypeError for one that is more than its elements."""
    import torch

    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise TypeError(f"a tensor of layout {tensor.layout} is not kept")
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return Value(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), plain.reshape(-1).view(torch.uint8).numpy())


def to_tensor(value: Value) -> Any:
    import torch

    kind = getattr(torch, value.dtype)
    if not value.data.nbytes:
        return torch.empty(value.shape, dtype=kind)
    return torch.frombuffer(bytearray(value.data), dtype=torch.uint8).view(kind).reshape(value.shape)
