"""Imports a model loader as the zoo's own runner does and calls it: its variant, only the arguments its methods name, by keyword.

Loaders are other people's code: whatever they raise comes out as a LoaderError that says which step it was.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cupel import zoo_import
from cupel.worker import vendor_modules, zoo_files


class LoaderError(Exception):
    """A loader could not be used; `kind` says in which way."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


def zoo_of(loader: Path) -> Path:
    """The root of the zoo a loader stands in: the nearest folder above with base.py and config.py, else the one above its model's."""
    for folder in loader.resolve().parents:
        if (folder / "base.py").is_file() and (folder / "config.py").is_file():
            return folder
    return loader.resolve().parent.parent


def _forget_other_zoo(root: Path) -> None:
    """Modules of a zoo that was served before would answer for this one's: both are called alike."""
    for name in (zoo_import.PACKAGE, f"third_party.{zoo_import.PACKAGE}"):
        known = sys.modules.get(name)
        if known is not None and [Path(place).resolve() for place in getattr(known, "__path__", [])] != [root.resolve()]:
            for module in [one for one in sys.modules if one == name or one.startswith(name + ".")]:
                del sys.modules[module]


_imported: set[Path] = set()


def _module_name(root: Path, loader: Path) -> str:
    return ".".join((zoo_import.PACKAGE, *loader.relative_to(root).with_suffix("").parts))


def _modules_beside(root: Path, loader: Path) -> list[str]:
    """What is imported of the model's folder, under both names of the zoo."""
    model = loader.relative_to(root).parts[0]
    folders = [f"{package}.{model}" for package in (zoo_import.PACKAGE, f"third_party.{zoo_import.PACKAGE}")]
    return [name for name in sys.modules if any(name == folder or name.startswith(folder + ".") for folder in folders)]


def _import_anew(root: Path, loader: Path) -> types.ModuleType:
    """A loader that was used before may have changed what its modules hold, and meets them as they were. Where they cannot be imported twice the old ones serve."""
    if loader not in _imported:
        _imported.add(loader)
        return _import(root, loader)
    known = {name: sys.modules.pop(name) for name in _modules_beside(root, loader)}
    try:
        return _import(root, loader)
    except Exception:
        before = known.get(_module_name(root, loader))
        if before is None:
            raise
        for name in _modules_beside(root, loader):
            del sys.modules[name]
        sys.modules.update(known)
        return before


def _prepare_packages(root: Path) -> None:
    sys.path[:] = dict.fromkeys([str(root), str(root.parent), *sys.path])
    if "third_party" not in sys.modules:
        sys.modules["third_party"] = types.ModuleType("third_party")
        sys.modules["third_party"].__path__ = []
    for name in (zoo_import.PACKAGE, f"third_party.{zoo_import.PACKAGE}"):
        zoo_import.make_package(name, root)


def _import_file(root: Path, loader: Path, name: str) -> types.ModuleType:
    """By its file, as upstream does: the packages above are not imported, and what is wrong in them does not matter."""
    spec = importlib.util.spec_from_file_location(name, loader)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    module.__package__ = name.rpartition(".")[0]
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _import(root: Path, loader: Path) -> types.ModuleType:
    """As a module of the zoo's package.

    A folder that is a package is imported as one, since its __init__ may import the loader; any other loader by its file. Where
    that fails the other way is tried: there are loaders that only work in one of the two.
    """
    _prepare_packages(root)
    name = _module_name(root, loader)
    ways = [lambda: importlib.import_module(name), lambda: _import_file(root, loader, name)]
    if any("." in part for part in loader.relative_to(root).parent.parts):
        ways = ways[1:]  # No name that Python's import could take.
    elif not (loader.parent / "__init__.py").is_file():
        ways.reverse()
    before = set(_modules_beside(root, loader))
    try:
        return ways[0]()
    except ImportError as first:
        # A folder below a package that failed stays behind, and whoever asks for it later is told of the package instead of what it lacks.
        for left in set(_modules_beside(root, loader)) - before:
            del sys.modules[left]
        for other in ways[1:]:
            try:
                return other()
            except ImportError:
                break
        raise first


def import_class(root: Path, loader: Path, name: str = "ModelLoader") -> type:
    """The class `ModelLoader` of a loader file; those of language models may have another beside it."""
    root, loader = root.resolve(), loader.resolve()
    if not loader.is_file():
        raise LoaderError("no_loader", f"{loader}: no such file")
    if root not in loader.parents:
        raise LoaderError("no_loader", f"{loader} is not in the zoo {root}")
    _forget_other_zoo(root)
    vendor_modules.serve_to(root)
    module = _import_anew(root, loader)
    zoo_files.use_our_files(root)
    found = getattr(module, name, None)
    if not isinstance(found, type):
        raise LoaderError("no_loader", f"{loader} defines no class {name}")
    return found


def choose_variant(loader_class: type, name: str) -> Any:
    """The member whose value or name this is. Enums are compared by text: a zoo may hold two copies of the same one."""
    available = loader_class.query_available_variants() or {}
    if not available:
        if name:
            raise LoaderError("no_variant", f"the loader has no variants, and '{name}' was asked for")
        return None
    if not name:
        return loader_class.DEFAULT_VARIANT
    for member in available:
        if name in (str(getattr(member, "value", member)), str(member)):
            return member
    for member in available:
        if name == getattr(member, "name", None):
            return member
    raise LoaderError("no_variant", f"there is no variant '{name}'; there are: {', '.join(str(getattr(member, 'value', member)) for member in available)}")


def instantiate(loader_class: type, variant: Any, offered: Mapping[str, Any]) -> Any:
    """`variant` by keyword: it is not the first parameter everywhere. Further parameters have defaults; what is offered replaces them."""
    names = inspect.signature(loader_class.__init__).parameters
    arguments = {name: value for name, value in offered.items() if name in names and value is not None}
    if "variant" in names:
        arguments["variant"] = variant
    return loader_class(**arguments)


def call_named(method: Any, **offered: Any) -> Any:
    """Calls with those of the arguments that the signature names; `**kwargs` names none. None means: not given."""
    names = inspect.signature(method).parameters
    return method(**{name: value for name, value in offered.items() if value is not None and name in names
                     and names[name].kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)})


def arguments_of(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """How a model is called with what load_inputs gave: a tensor is one argument, a sequence several, a mapping keywords."""
    import torch

    if isinstance(inputs, torch.Tensor):
        return (inputs,), {}
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, (list, tuple)):
        return tuple(inputs), {}
    raise LoaderError("bad_inputs", f"load_inputs gives a {type(inputs).__name__}: neither a tensor, a mapping nor a sequence")


def place_in_zoo(error: BaseException, root: Path) -> str:
    """`file:line` of the innermost frame in the zoo, relative to it; empty where there is none."""
    found = zoo_import.failure(error, root.resolve())
    return f"{os.path.relpath(found['file'], root.resolve())}:{found['line']}" if found["file"] else ""
