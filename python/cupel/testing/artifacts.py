"""The stages of one test's compilations on disk, and LLVM's FileCheck on them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

FOLDER = "output_artifact"
DONE = "_cupel_filecheck_done"


def sanitized(name: str) -> str:
    """A test's name as a folder: letters, digits, dot, dash and underscore."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("_") or "test"


def find_filecheck() -> str:
    if named := os.environ.get("FILECHECK"):
        return named
    for candidate in ("FileCheck-19", "/usr/lib/llvm-19/bin/FileCheck", "FileCheck"):
        if found := shutil.which(candidate):
            return found
    raise FileNotFoundError("LLVM's FileCheck is not installed (on Debian 12: apt-get install llvm-19-tools); FILECHECK names it elsewhere")


class Artifacts:
    """Where a test's stages go, and what is expected of them."""

    def __init__(self, item: Any, patterns: list[str]) -> None:
        self.item = item
        self.patterns = patterns
        self.folder = Path(str(item.config.rootpath)) / FOLDER / sanitized(item.name)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    @staticmethod
    def of(request: Any) -> Artifacts | None:
        """Nothing where neither --serialize nor the mark asks for stages."""
        if request is None:
            return None
        marks = [pattern for mark in request.node.iter_markers("filecheck") for pattern in mark.args[0]]
        if not marks and not request.config.getoption("--serialize", default=False):
            return None
        return Artifacts(request.node, marks)

    def stages(self, stage: str) -> list[Path]:
        """Files of a stage, in the order they were written: NAME.stage.mlir, stage.mlir, numbered or not."""
        found = [path for path in self.folder.rglob("*.mlir") if stage in re.split(r"[._-]", path.name.removesuffix(".mlir"))]
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))

    def _pattern_file(self, name: str) -> Path:
        beside = Path(str(self.item.path)).parent
        places = [beside / name, beside / "filecheck" / name, Path(str(self.item.config.rootpath)) / "tests/filecheck" / name]
        for place in places:
            if place.is_file():
                return place
        raise AssertionError(f"filecheck: there is no pattern file {name} (looked in {', '.join(str(p.parent) for p in places)})")

    def finish(self) -> None:
        """Runs FileCheck for each pattern file NAME.STAGE.mlir on what that stage left; one program has to match."""
        setattr(self.item, DONE, True)
        for name in self.patterns:
            pattern = self._pattern_file(name)
            parts = name.removesuffix(".mlir").split(".")
            if len(parts) < 2:
                raise AssertionError(f"filecheck: {name} names no stage; it should be NAME.STAGE.mlir")
            files = self.stages(parts[-1])
            if not files:
                there = sorted({p.name for p in self.folder.rglob("*.mlir")})
                raise AssertionError(f"filecheck: no stage '{parts[-1]}' was written to {self.folder}; there are {', '.join(there) or 'none'}")
            failures = []
            for file in files:
                run = subprocess.run([find_filecheck(), str(pattern), "--input-file", str(file)], capture_output=True, text=True, check=False)
                if run.returncode == 0:
                    break
                failures.append(f"{file}:\n{run.stderr.strip()}")
            else:
                raise AssertionError(f"filecheck: {pattern} does not match\n" + "\n".join(failures))
