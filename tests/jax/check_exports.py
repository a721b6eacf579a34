"""Checks that Cupel reads what JAX writes: every file of a folder that export_programs.py made.

usage: check_exports.py BUILD/bin FOLDER... Ends with `N passed, N failed`.

A file that index.tsv marks `read` must be read, keep its Python locations, and survive a round trip through a portable
artifact of the newest version. One marked `prepare` may be refused, with a message.
"""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CUPEL = Path(sys.argv[1]).resolve() / "cupel"


def opt(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([str(CUPEL), "opt", *map(str, arguments)], capture_output=True, text=True, errors="replace", timeout=120)


def problem_with(path: Path, expectation: str) -> str:
    """What Cupel does wrong with one file; empty if nothing."""
    read = opt(path, "--mlir-print-debuginfo")
    if expectation == "prepare" and read.returncode == 1 and read.stderr:
        return ""  # plain bytecode of a newer MLIR, which may hold what MLIR 19 does not have
    if read.returncode != 0:
        return f"is not read: {read.stderr.strip()}"
    if '.py":' not in read.stdout:
        return "loses its Python locations"
    with tempfile.TemporaryDirectory(prefix="cupel-jax-") as folder:
        artifact = Path(folder) / "again.mlirbc"
        written = opt(path, "--emit=portable", "-o", artifact)
        if written.returncode != 0:
            return f"is not written as an artifact: {written.stderr.strip()}"
        again = opt(artifact)
        if again.returncode != 0:
            return f"is not read again: {again.stderr.strip()}"
        # Text may spell out defaults, which an artifact does not keep apart from absence.
        if path.suffix != ".mlir" and again.stdout != opt(path).stdout:
            return "is another program after a round trip through an artifact"
        copy = Path(folder) / "copy.mlirbc"
        opt(artifact, "--emit=portable", "-o", copy)
        return "" if copy.read_bytes() == artifact.read_bytes() else "is another artifact after a second round trip"


def main() -> int:
    rows = []
    for folder in map(Path, sys.argv[2:]):
        lines = (folder / "index.tsv").read_text().splitlines()
        rows += [(folder / line.split("\t")[0], line.split("\t")[3]) for line in lines if line.strip()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(pool.map(lambda row: problem_with(*row), rows))
    for (path, _), problem in zip(rows, problems):
        if problem:
            print(f"FAILED {path.parent.name}/{path.name} {problem}")
    failed = sum(bool(problem) for problem in problems)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
