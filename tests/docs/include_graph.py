"""Who includes whom between the folders of cupel/, held against the column "may use" of docs/architecture.md.

Every `#include "cupel/..."` (and TableGen's `include`) of a file in one folder must name a folder that its row allows: the folder itself, one
above or below it, one that the row names (which allows the folders below that one too), or one that a folder so allowed may use in
turn. Between folders that do not contain each other nobody may use, over however many steps, somebody who uses him. Unit tests
(*Test.cpp, *Testing.h) are left out: they are linked on their own and may look at anything.
"""

from __future__ import annotations

import re
from pathlib import Path

ROW = re.compile(r"^\| `cupel/([\w/]+)` \|(?:[^|\n]|\\\|)*\|([^|\n]*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#?\s*include "cupel/([\w/]+)/[\w.]+"', re.MULTILINE)
NOT_OURS = {"", "MLIR", "nothing of ours"}


def read_map(page: str) -> dict[str, set[str]]:
    """Folder -> what its row names; `everything` stays as it is. A name may leave out the folder that both are in."""
    cells = dict(ROW.findall(page))
    rows = {}
    for folder, cell in cells.items():
        words = {word.strip() for word in re.sub(r"\([^)]*\)", "", cell).split(",")} - NOT_OURS
        beside = folder.rpartition("/")[0]
        rows[folder] = {f"{beside}/{word}" if word not in cells and f"{beside}/{word}" in cells else word for word in words}
    return rows


def may_use(folder: str, rows: dict[str, set[str]]) -> set[str]:
    """All that a folder may use, over however many steps."""
    allowed: set[str] = set()
    waiting = list(rows[folder])
    while waiting:
        word = waiting.pop()
        for there in [there for there in rows if contains(word, there) and there not in allowed]:
            allowed.add(there)
            waiting.extend(rows[there])
    return allowed


def is_test(name: str) -> bool:
    return bool(re.search(r"Test(ing|File)?s?\.(cpp|h)$|Testing\w*\.(cpp|h)$|^Fake", name))


def read_includes(root: Path, rows: dict[str, set[str]]) -> dict[str, dict[str, str]]:
    """Folder -> folder that it includes -> one file that does. Folders that have no row belong to the nearest above that has."""

    def room(folder: str) -> str:
        while folder not in rows and "/" in folder:
            folder = folder.rpartition("/")[0]
        return folder

    edges: dict[str, dict[str, str]] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".h", ".cpp", ".td", ".def", ".in") or is_test(path.name):
            continue
        here = room(str(path.parent.relative_to(root)))
        for there in INCLUDE.findall(path.read_text(errors="replace")):
            if room(there) != here:
                edges.setdefault(here, {}).setdefault(room(there), str(path.relative_to(root.parent)))
    return edges


def contains(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(outer + "/")


def complaints(rows: dict[str, set[str]], edges: dict[str, dict[str, str]]) -> list[str]:
    found = []
    for folder, named in sorted(rows.items()):
        for word in sorted(named - {"everything"} - set(rows)):
            found.append(f"docs/architecture.md: cupel/{folder} may use '{word}', which is no folder of the table")
        if "everything" in named:
            continue
        allowed = may_use(folder, rows)
        for there, file in sorted(edges.get(folder, {}).items()):
            if there not in allowed and not contains(there, folder) and not contains(folder, there):
                found.append(f"{file} includes of cupel/{there}, which the row of cupel/{folder} in docs/architecture.md does not allow")
    return found + cycles(edges)


def cycles(edges: dict[str, dict[str, str]]) -> list[str]:
    graph = {folder: sorted(there for there in used if not contains(there, folder) and not contains(folder, there))
             for folder, used in edges.items()}
    found, done = [], set()

    def visit(folder: str, trail: list[str]) -> None:
        if folder in trail:
            ring = trail[trail.index(folder):] + [folder]
            found.append("folders include each other in a ring: " +
                         ", ".join(f"cupel/{a} -> cupel/{b} ({edges[a][b]})" for a, b in zip(ring, ring[1:])))
            return
        if folder in done:
            return
        for there in graph.get(folder, []):
            visit(there, [*trail, folder])
        done.add(folder)

    for folder in sorted(graph):
        visit(folder, [])
    return found


def check(root: Path) -> list[str]:
    rows = read_map((root / "docs/architecture.md").read_text())
    return complaints(rows, read_includes(root / "cupel", rows)) + check_itself()


def check_itself() -> list[str]:
    """What is planted must be found."""
    rows = read_map("| `cupel/low` | x | nothing of ours |\n| `cupel/mid` | x | low (to fold), MLIR |\n| `cupel/mid/deep` | x | |\n"
                    "| `cupel/mid/deeper` | x | deep |\n| `cupel/high` | x | mid |\n| `cupel/top` | x | everything |\n")
    fine = {"mid": {"low": "A.cpp", "mid/deep": "A.cpp"}, "mid/deep": {"mid": "B.h"}, "high": {"low": "C.cpp", "mid/deeper": "C.cpp"},
            "mid/deeper": {"mid/deep": "D.cpp"}, "top": {"high": "E.cpp"}}
    planted = [("complains of what is allowed", fine, 0),
               ("misses a bad include", {**fine, "mid/deep": {"low": "F.cpp"}}, 1),
               ("misses a ring", {**fine, "low": {"mid": "F.cpp"}}, 2),
               ("misses a longer ring", {**fine, "low": {"high": "F.cpp"}}, 2),
               ("misses a ring of rooms side by side", {**fine, "mid/deep": {"mid/deeper": "F.cpp"}}, 2)]
    found = [f"the check of includes {what}: {complaints(rows, edges)}" for what, edges, count in planted
             if len(complaints(rows, edges)) != count]
    if INCLUDE.findall('#include "cupel/low/D.h"\n#include "mlir/IR/Value.h"\n') != ["low"] or not is_test("PlanTest.cpp") or is_test("Plan.cpp"):
        found.append("the check of includes does not read includes")
    return found
