"""Functions of libraries, whichever a loader imports, that are no longer theirs: those that are a loader's own code now, and those that are others than when they were first looked at.

Nobody knows beforehand which libraries a loader imports, so what it replaces in the same breath is known by where its code stands: in the zoo. Everything that is imported is looked at
for that; what was imported before a test began, or with its loader, is compared with what it was as well. Used by patches.py, which decides what follows. Imports nothing, changes nothing.
"""

from __future__ import annotations

import functools
import operator
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Frameworks put functions of their own in place while they work; which of theirs golden results come from, patches.py knows by name.
_COMPARED_ELSEWHERE = frozenset({*sys.stdlib_module_names, "torch", "functorch", "triton", "jax", "jaxlib", "flax", "numpy", "onnx", "onnxruntime", "cupel", "third_party", "tt_forge_models"})
_WRAPPED: dict[type, Callable[[Any], Any]] = {staticmethod: lambda one: one.__func__, classmethod: lambda one: one.__func__, types.MethodType: lambda one: one.__func__,
                                              property: lambda one: one.fget, functools.partial: lambda one: one.func, functools.cached_property: lambda one: one.func}


def functions_of(place: Any) -> dict[str, Any]:
    """Of a module or a class, what can be called in some way."""
    return {name: value for name, value in list(vars(place).items()) if callable(value) or isinstance(value, (staticmethod, classmethod, property))}


def _is_class(value: Any) -> bool:
    """By its type alone: objects that warn of themselves do so when they are asked."""
    return issubclass(type(value), type)


def _is_installed(file: str) -> bool:
    return "/site-packages/" in file or "/dist-packages/" in file


class Zoo:
    """What is code of the zoo."""

    def __init__(self, root: Path):
        self._folder = f"{root.resolve()}/"
        self.modules = {name for name, module in list(sys.modules.items()) if self._holds(getattr(module, "__file__", None))}

    def _holds(self, file: Any) -> bool:
        return isinstance(file, str) and file.startswith(self._folder) and not _is_installed(file)

    def wrote(self, value: Any) -> bool:
        """A function with its code there, a class of such a module, an instance of one, or what wraps them; a stand-in of unittest.mock says nothing of who made it, and no library holds any."""
        while (inner := _WRAPPED.get(type(value))) is not None:
            value = inner(value)
        if type(value) is types.FunctionType:
            return self._holds(value.__code__.co_filename)
        kind = value if _is_class(value) else type(value)
        return (kind.__module__ in self.modules or (kind.__module__ == "unittest.mock" and kind is not value)) and callable(value)

    def runs(self, thread: threading.Thread) -> bool:
        """Whether a thread is in its code, or begins there."""
        if any(self.wrote(vars(thread).get(name)) for name in ("_target", "function")):  # Of a thread, of a timer.
            return True
        frame = sys._current_frames().get(thread.ident or 0)
        while frame is not None:
            if self._holds(frame.f_code.co_filename):
                return True
            frame = frame.f_back
        return False


def _imported(without: set[str]) -> Iterator[tuple[str, types.ModuleType]]:
    for name, module in list(sys.modules.items()):
        if isinstance(module, types.ModuleType) and name not in without and name != "__main__" and not name.startswith(("cupel.", "unittest.mock")):
            yield name, module


def _classes_of(module: types.ModuleType) -> Iterator[tuple[str, type]]:
    """Those that it defines; it may have been imported under another name (os.path)."""
    name = vars(module).get("__name__")
    for one, value in list(vars(module).items()):
        if _is_class(value) and value.__module__ == name:
            yield one, value


class _Looked:
    """Places by what they held when they were last looked at: one that still holds the very same is not looked at again. Most of what a look would cost is saved."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, tuple[Any, ...]]] = {}

    def holds_the_same(self, place: Any) -> bool:
        known = self._held.get(id(place))
        if known is None or known[0] is not place:
            return False
        values = tuple(vars(place).values())
        return len(values) == len(known[1]) and all(map(operator.is_, values, known[1]))

    def keep(self, place: Any) -> None:
        self._held[id(place)] = (place, tuple(vars(place).values()))


class Known:
    """The libraries that were looked at, with what their functions were."""

    def __init__(self) -> None:
        self._modules: dict[str, types.ModuleType] = {}
        self._places: dict[str, tuple[Any, dict[str, Any]]] = {}
        self._as_seen = _Looked()
        self._clean, self._root = _Looked(), Path()
        self._classes: dict[int, list[tuple[str, type]]] = {}

    def see(self, root: Path) -> None:
        """Looks at what was imported since the last time."""
        for name, module in _imported(Zoo(root).modules):
            if self._modules.get(name) is module or name.partition(".")[0] in _COMPARED_ELSEWHERE:
                continue
            self._modules[name] = module
            for called, place in ((name, module), *((f"{name}.{one}", kind) for one, kind in _classes_of(module))):
                self._places[called] = (place, functions_of(place))
                self._as_seen.keep(place)

    def changed(self) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        """Modules that are still the imported ones, and classes, that hold something else than when they were seen; with the functions they had."""
        for name, (place, functions) in self._places.items():
            if (_is_class(place) or sys.modules.get(name) is place) and not self._as_seen.holds_the_same(place):
                yield name, place, functions

    def put_by_the_zoo(self, root: Path) -> Iterator[tuple[str, Any, str]]:
        """Whatever of the zoo's own code stands in modules and classes of others: what they are called, they themselves, and its name there."""
        if root != self._root:
            self._clean, self._root = _Looked(), root
        zoo = Zoo(root)
        for name, module in _imported(zoo.modules):
            if not self._clean.holds_the_same(module):
                yield from self._found(zoo, name, module)
                self._classes[id(module)] = list(_classes_of(module))
            for one, kind in self._classes[id(module)]:
                if not self._clean.holds_the_same(kind):
                    yield from self._found(zoo, f"{name}.{one}", kind)

    def _found(self, zoo: Zoo, name: str, place: Any) -> Iterator[tuple[str, Any, str]]:
        found = [one for one, value in list(vars(place).items()) if zoo.wrote(value)]
        if not found:
            self._clean.keep(place)
        yield from ((name, place, one) for one in found)
