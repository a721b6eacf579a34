"""Functions of torch and Python that a loader, or a library it imports, has replaced: the next test must not be loaded or computed with them.

A worker that finds any begins again once the test is over (serve.py), so that every model meets the torch that it would meet alone. Never puts
anything back: a library that was imported once would not replace it a second time.
"""

from __future__ import annotations

import builtins
import copy
import inspect
import json
import os
import random
import time
import types
from collections.abc import Iterator
from typing import Any

import torch


def _places() -> Iterator[tuple[str, Any]]:
    yield from (("torch", torch), ("torch.Tensor", torch.Tensor), ("torch.nn.functional", torch.nn.functional), ("torch.nn.init", torch.nn.init),
                ("torch.nn.Module", torch.nn.Module), ("torch.linalg", torch.linalg), ("torch.fft", torch.fft))
    for name, kind in vars(torch.nn).items():
        if isinstance(kind, type) and issubclass(kind, torch.nn.Module) and kind is not torch.nn.Module:
            yield f"torch.nn.{name}", kind
    yield from ((module.__name__, module) for module in (builtins, copy, inspect, json, os, random, time))


def _functions(place: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(place).items() if callable(value) or isinstance(value, (staticmethod, classmethod, property))}


def _is_torchs(value: Any) -> bool:
    """What torch itself puts there, as its compiler does when it is first used."""
    inner = getattr(value, "__func__", getattr(value, "fget", value))
    return isinstance(inner, (types.BuiltinFunctionType, types.ModuleType)) or str(getattr(inner, "__module__", "")).partition(".")[0] in ("torch", "")


def _kernels() -> set[str]:
    """Of torch's own operators, those for which somebody registered a kernel from Python: `aten/relu/CPU`."""
    return {key for key in getattr(torch.library, "_impls", ()) if key.startswith("aten/") and key.endswith("CPU")}


class AsItWas:
    """What functions of torch and Python are when it is made."""

    def __init__(self) -> None:
        self._known = [(name, place, _functions(place)) for name, place in _places()]
        self._kernels = _kernels()

    def replaced(self) -> list[str]:
        """The names of functions that are others now, and not by torch's own doing."""
        found = []
        for name, place, functions in self._known:
            now = vars(place)
            found += [f"{name}.{one}" for one, value in functions.items() if now.get(one) is not value and not _is_torchs(now.get(one))]
        return sorted([*found, *(_kernels() - self._kernels)])
