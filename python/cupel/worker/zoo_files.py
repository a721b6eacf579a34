"""Loaders fetch large files with a function of their own zoo, `tools.utils.get_file`: here ours takes its place, which locks, resumes and checks.

Roots, variables and names are the same. A get_file from elsewhere (somebody stands in for downloads) is left alone.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

from cupel import zoo_import
from cupel.files import get_file


def use_our_files(root: Path) -> None:
    """In every module of the zoo that has been imported."""
    packages = (zoo_import.PACKAGE, f"third_party.{zoo_import.PACKAGE}", "tools")
    theirs = str(root / "tools") + "/"
    for name, module in list(sys.modules.items()):
        if isinstance(module, types.ModuleType) and name.startswith(packages):
            found = vars(module).get("get_file")
            if isinstance(found, types.FunctionType) and found.__code__.co_filename.startswith(theirs):
                module.get_file = get_file  # type: ignore[attr-defined]
