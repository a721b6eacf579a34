"""Imports one model loader and reports what it offers, for loaders whose text does not tell.

usage: python zoo_import.py ROOT LOADER OUTPUT

ROOT is the zoo's root, LOADER the loader.py below it; OUTPUT is a file that receives one JSON object.
Started by `cupel list --import`, one process a loader. It needs nothing but Python's own library;
what the loader itself imports must be installed in this Python.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any

PACKAGE = "tt_forge_models"  # what loaders call the package they live in
METHODS = (
    "load_model", "load_inputs", "load_config", "load_shard_spec", "get_mesh_config",
    "unpack_forward_output", "decode_output", "load_inputs_decode", "load_inputs_prefill",
)
BASES = ("ForgeModel", "ForgePrefillModel")


def make_package(name: str, root: Path) -> None:
    """Makes the zoo importable under `name`, whatever its folder is called."""
    if name in sys.modules:
        return
    init = root / "__init__.py"
    if init.is_file():
        spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(root)])
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    else:
        module = types.ModuleType(name)
        module.__path__ = [str(root)]
        sys.modules[name] = module


def import_loader(root: Path, loader: Path) -> types.ModuleType:
    sys.path[:0] = [str(root), str(root.parent)]
    for parent, name in (("", PACKAGE), ("third_party", f"third_party.{PACKAGE}"), ("", root.name)):
        if parent and parent not in sys.modules:
            sys.modules[parent] = types.ModuleType(parent)
            sys.modules[parent].__path__ = []
        if name.replace(".", "_").isidentifier():
            make_package(name, root)
    package = ".".join((PACKAGE, *loader.parent.relative_to(root).parts))
    spec = importlib.util.spec_from_file_location(f"{package}.{loader.stem}", loader)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    module.__package__ = package
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def text(value: Any) -> str:
    value = getattr(value, "value", value)
    return "" if value is None else str(value)


def describe(loader_class: type, doubts: list[str]) -> list[dict[str, str]]:
    """One record a variant: its name and what its model info says."""
    records = []
    for variant in loader_class.query_available_variants() or [None]:
        record = {"name": text(variant)}
        try:
            info = loader_class.get_model_info(variant=variant)
            for field in ("model", "group", "task", "source", "framework"):
                record[field] = text(getattr(info, field, None))
        except Exception as error:  # a loader may raise anything
            doubts.append(f"get_model_info raises {type(error).__name__}: {error}")
        records.append(record)
    return records


def parameters(function: Any) -> list[str]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [stars.get(parameter.kind, "") + parameter.name for parameter in found if parameter.name != "self"]


def definer(loader_class: type, name: str) -> str | None:
    return next((base.__name__ for base in loader_class.__mro__ if name in vars(base)), None)


def report(root: Path, loader: Path) -> dict[str, Any]:
    module = import_loader(root, loader)
    main = module.ModelLoader
    doubts: list[str] = []
    prefill: list[dict[str, str]] = []
    has_prefill = False
    for name in sorted(vars(module)):
        value = vars(module)[name]
        if (isinstance(value, type) and value is not main and value.__module__ == module.__name__
                and value.__name__ not in BASES
                and any(base.__name__ == "ForgePrefillModel" for base in value.__mro__)):
            has_prefill = True
            prefill += [record for record in describe(value, doubts) if record["name"] not in {p["name"] for p in prefill}]
    methods = [{"name": name, "parameters": parameters(getattr(main, name))}
               for name in METHODS if definer(main, name) not in (None, *BASES)]
    files = {str(Path(path).resolve()) for other in list(sys.modules.values())
             if isinstance(path := getattr(other, "__file__", None), str)}
    return {
        "ok": True,
        "variants": describe(main, doubts),
        "has_prefill": has_prefill,
        "prefill_variants": prefill,
        "has_decode": hasattr(main, "load_inputs_decode"),
        "methods": methods,
        "doubts": sorted(set(doubts)),
        "files": sorted(file for file in files if file.startswith(f"{root.resolve()}{os.sep}")),
    }


def text_of(error: BaseException) -> str:
    """What an error says; one of a loader's own class may fail even there."""
    try:
        return str(error)
    except Exception as other:
        return f"(its text cannot be had: {type(other).__name__})"


def failure(error: BaseException, root: Path) -> dict[str, Any]:
    """What went wrong, and the innermost line of the zoo it came through."""
    place = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(root))]
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(str(root)):
        file, line = error.filename, error.lineno or 0
    else:
        file, line = (place[-1].filename, place[-1].lineno or 0) if place else ("", 0)
    return {"ok": False, "error": f"{type(error).__name__}: {text_of(error)}".splitlines()[0][:500], "file": file, "line": line}


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    root, loader, output = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    sys.dont_write_bytecode = True
    try:
        with contextlib.redirect_stdout(sys.stderr):
            result = report(root, loader)
    except BaseException as error:  # also SystemExit: a loader may do anything at import
        result = failure(error, root)
    output.write_text(json.dumps(result), encoding="utf-8")
    # Threads that a framework left running must not keep the process.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
