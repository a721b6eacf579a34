"""Functions and modules of frameworks, libraries and Python that a loader, or a library it imports, has replaced, and threads of its own that go on: the next test must not be loaded or computed with them.

A worker that finds any begins again once the test is over (serve.py), so that every model meets the framework that it would meet alone; until then no golden result is
remembered or recalled. Never puts anything back: a library that was imported once would not replace it a second time.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import importlib
import inspect
import itertools
import json
import os
import random
import sys
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import torch

from cupel.worker import golden_cache, libraries, surroundings


def _places() -> Iterator[tuple[str, Any]]:
    yield from (("torch", torch), ("torch.Tensor", torch.Tensor), ("torch.nn.functional", torch.nn.functional), ("torch.nn.init", torch.nn.init),
                ("torch.nn.Module", torch.nn.Module), ("torch.linalg", torch.linalg), ("torch.fft", torch.fft))
    yield from _classes("torch.nn", torch.nn, torch.nn.Module)
    yield from ((module.__name__, module) for module in (builtins, copy, inspect, json, numpy, numpy.linalg, os, random, time))


def _classes(name: str, module: types.ModuleType, base: type) -> Iterator[tuple[str, Any]]:
    yield from ((f"{name}.{one}", kind) for one, kind in vars(module).items() if isinstance(kind, type) and issubclass(kind, base) and kind is not base)


# By the framework of a test, what else its golden results come from. They are imported before its first loader: afterwards nobody knows what they were.
_MODULES = {"jax": ("jax", "jax.numpy", "jax.numpy.linalg", "jax.lax", "jax.nn", "jax.nn.initializers", "jax.random", "jax.scipy.special", "flax.nnx", "flax.linen"),
            "onnx": ("onnx", "onnx.helper", "onnx.numpy_helper", "onnxruntime")}


def _places_of(framework: str) -> Iterator[tuple[str, Any]]:
    for name in _MODULES.get(framework, ()):
        with contextlib.suppress(Exception):  # Not installed, or broken: whoever needs it says so.
            module = importlib.import_module(name)
            yield name, module
            if isinstance(base := getattr(module, "Module", None), type):  # Of flax.
                yield f"{name}.Module", base
                yield from _classes(name, module, base)
            if isinstance(session := getattr(module, "InferenceSession", None), type):
                yield from ((f"{name}.{one.__name__}", one) for one in session.__mro__ if one.__module__.startswith("onnxruntime"))


def _said(value: Any) -> tuple[str, str]:
    """What a function says of itself: its module and its name."""
    inner = getattr(value, "__func__", getattr(value, "fget", value))
    return str(getattr(inner, "__module__", "")), str(getattr(inner, "__qualname__", ""))


def _is_their_own(before: Any, now: Any) -> bool:
    """What a framework itself puts there when it is first used: the same function wrapped, or one of torch's compiler's; and what we put there for the time of a test. Another function of the framework is none of that."""
    return isinstance(now, types.ModuleType) or (_said(now) == _said(before) and _said(now) != ("", "")) or _said(now)[0].startswith(("torch._dynamo", "cupel."))


def _newly_hiding(place: Any, functions: dict[str, Any]) -> list[str]:
    """Of a class, what it had from another one and has itself now."""
    if not isinstance(place, type):
        return []
    return [one for one, value in vars(place).items() if one not in functions and callable(value)
            and (inherited := next((vars(base)[one] for base in place.__mro__[1:] if one in vars(base)), None)) is not None and not _is_their_own(inherited, value)]


def _modes() -> list[str]:
    """What a mode of torch's own that was entered, and never left or left at the wrong time, makes of the process; nothing puts that back."""
    if torch.is_inference_mode_enabled():
        return ["torch.inference_mode"]
    try:
        return [] if (torch.ones(2) + 1).tolist() == [2, 2] else ["torch.add"]
    except Exception as error:
        return [f"torch (it does not add: {type(error).__name__})"]


def _kernels() -> set[str]:
    """Of torch's own operators, those for which somebody registered a kernel from Python: `aten/relu/CPU`."""
    return {key for key in getattr(torch.library, "_impls", ()) if key.startswith("aten/") and key.endswith("CPU")}


# Of sys.modules, those that every test needs; a library above them may well take its modules out and import them again.
_NEEDED = frozenset({*sys.stdlib_module_names, "torch", "numpy", "jax", "jaxlib", "flax", "onnx", "onnxruntime", "cupel"})


def _modules() -> dict[str, types.ModuleType]:
    return {name: module for name, module in list(sys.modules.items()) if isinstance(module, types.ModuleType) and name.partition(".")[0] in _NEEDED}


class AsItWas:
    """What functions of torch and Python are when it is made, those of other frameworks when they are first asked for, and those of libraries when they are first seen."""

    def __init__(self) -> None:
        self._known = [(name, place, libraries.functions_of(place)) for name, place in _places()]
        self._frameworks: set[str] = set()
        self._kernels = _kernels()
        self._libraries = libraries.Known()
        self._modules = _modules()
        self._threads = set(threading.enumerate())
        self._numbers = surroundings.numbers()
        self._zoo: Path | None = None

    def expect(self, framework: str, zoo: Path) -> None:
        """A test of this framework is next, with a loader of this zoo."""
        self._zoo = zoo
        self.see()
        self._modules = _modules() | self._modules
        if framework not in self._frameworks:
            self._frameworks.add(framework)
            self._known += [(name, place, libraries.functions_of(place)) for name, place in _places_of(framework)]

    def see(self) -> None:
        """What has been imported since is as it should be, unless its code is the zoo's."""
        if self._zoo is not None:
            self._libraries.see(self._zoo)

    def replaced(self) -> list[str]:
        """The names of functions that are others now, and not by their framework's own doing; each by the first name that its place is known by."""
        found: dict[tuple[int, str], str] = {}
        for name, place, functions in itertools.chain(self._known, self._libraries.changed()):
            now = vars(place)
            others = [one for one, value in functions.items() if now.get(one) is not value and not _is_their_own(value, now.get(one))]
            for one in itertools.chain(others, _newly_hiding(place, functions)):
                found.setdefault((id(place), one), f"{name}.{one}")
        if self._zoo is not None:
            for name, place, one in self._libraries.put_by_the_zoo(self._zoo):
                found.setdefault((id(place), one), f"{name}.{one}")
        missed = (f"sys.modules[{name!r}]" for name, module in self._modules.items() if sys.modules.get(name) is not module)
        return sorted({*found.values(), *(_kernels() - self._kernels), *missed, *_modes(), *self._running()})

    def _running(self) -> list[str]:
        """Threads that a loader left and that are in its code, or will be: what they do to the process is done to somebody else's test."""
        if self._zoo is None or not (others := set(threading.enumerate()) - self._threads):
            return []
        zoo = libraries.Zoo(self._zoo)
        return [f"thread {one.name}" for one in others if zoo.runs(one)]

    def left(self) -> tuple[list[str], int, list[str]]:
        """What makes the worker begin anew: what was replaced, or holds tensors without values, and how many files are open where they are too many; and what makes it end: what nobody can put back."""
        recorded = sys.modules.get("cupel.torch.recorded")
        in_tables = ["a table with tensors of a capture, which have no values"] if recorded and recorded.tensors_left() else []
        return [*self.replaced(), *in_tables], surroundings.left_open(), surroundings.not_put_back()

    def is_as_it_was(self) -> bool:
        """Whether a result that the framework computes now is what it would be for any other loader."""
        return not self.replaced() and surroundings.numbers() == self._numbers


_watched: AsItWas | None = None


def watched() -> AsItWas:
    """That of this process; made before its first loader is imported."""
    global _watched
    if _watched is None:
        _watched = known = AsItWas()
        golden_cache.is_trusted = known.is_as_it_was
    return _watched
