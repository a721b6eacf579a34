"""Where the compiled parts lie: beside this package in a wheel, in build/ of a source tree."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
PLUGIN = "pjrt_plugin_cupel.so"
LIBRARY = "libcupel.so"


def _find(folder: str, name: str, override: str) -> Path:
    if named := os.environ.get(override):
        path = Path(named)
        if not path.is_file():
            raise FileNotFoundError(f"{override} names {path}, which is no file")
        return path
    places = [PACKAGE / folder / name, PACKAGE.parent.parent / "build" / folder / name]
    for path in places:
        if path.is_file():
            return path
    looked = " and ".join(str(path.parent) for path in places)
    raise FileNotFoundError(f"{name} is in neither {looked}; ./run builds it in a source tree, {override} names one elsewhere")


def plugin_path() -> str:
    """The PJRT plugin's file; CUPEL_PLUGIN overrides it."""
    return str(_find("lib", PLUGIN, "CUPEL_PLUGIN"))


def library_path() -> str:
    """The shared library that Python calls; CUPEL_LIBRARY overrides it."""
    return str(_find("lib", LIBRARY, "CUPEL_LIBRARY"))


def command_path(name: str = "cupel") -> str:
    """A binary's file; CUPEL_COMMAND overrides the command's."""
    return str(_find("bin", name, "CUPEL_COMMAND" if name == "cupel" else f"CUPEL_{name.upper().replace('-', '_')}"))
