"""What loaders import from the vendor's own runner: small modules of ours (folder `vendor`), found by files of the zoo and by nobody else.

Libraries ask whether torch_xla is installed and behave otherwise where it is; to them these modules do not exist. An installed package wins.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "vendor"
NAMES = ("infra", "torch_xla", "tt_torch")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        self.roots: set[str] = set()

    def _is_asked_by_a_loader(self) -> bool:
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None and (frame.f_code.co_filename.startswith("<frozen importlib") or f"{os.sep}importlib{os.sep}" in frame.f_code.co_filename):
            frame = frame.f_back
        asking = frame.f_code.co_filename if frame is not None else ""
        return any(asking.startswith(root + os.sep) for root in (*self.roots, str(FOLDER)))

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if fullname not in NAMES or not self._is_asked_by_a_loader():
            return None  # Their submodules are found through their own paths.
        return importlib.machinery.PathFinder.find_spec(fullname, [str(FOLDER)])


_finder = _Finder()


def serve_to(root: Path) -> None:
    """From now on files below this folder find the modules, behind everything that is installed."""
    _finder.roots.add(str(root.resolve()))
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)
