"""Checks that the documentation is true: generated parts current, folder map complete, links alive.

usage: check_docs.py BUILD/bin. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import op_places

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "zoo").rglob("*.md")])


def generated_parts(build_bin: str) -> list[str]:
    result = subprocess.run([sys.executable, ROOT / "scripts/docs.py", "--check", "--bin", build_bin], capture_output=True, text=True)
    return (result.stdout + result.stderr).splitlines() if result.returncode else []


def folder_map() -> list[str]:
    named = set(re.findall(r"^\| `(cupel(?:/\w+)+)`", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE))
    actual = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "cupel").rglob("CMakeLists.txt")} - {"cupel"}
    return ([f"docs/architecture.md does not name the folder {folder}" for folder in sorted(actual - named)] +
            [f"docs/architecture.md names {folder}, which does not exist" for folder in sorted(named) if not (ROOT / folder).is_dir()])


def anchors(page: Path) -> set[str]:
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(page.read_text())}


def links() -> list[str]:
    broken = []
    for page in pages():
        for target in LINK.findall(page.read_text()):
            if target.startswith(("http://", "https://", "mailto:")):
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / name).resolve() if name else page
            if not path.exists():
                broken.append(f"{page.relative_to(ROOT)}: the link {target} leads nowhere")
            elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                broken.append(f"{page.relative_to(ROOT)}: {name} has no heading #{anchor}")
    return broken


def decisions_are_listed() -> list[str]:
    index = (ROOT / "docs/decisions/README.md").read_text()
    return [f"docs/decisions/README.md does not list {page.name}" for page in sorted((ROOT / "docs/decisions").glob("0*.md"))
            if f"({page.name})" not in index]


def paths_in_the_readme() -> list[str]:
    """Commands that a newcomer copies must name files that exist."""
    text = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    names = set(re.findall(r"(?<![\w/])((?:zoo|tests|scripts|cmake|cupel)/[\w./-]+\.\w+)", text))
    return [f"README.md or CONTRIBUTING.md names {name}, which does not exist" for name in sorted(names) if not (ROOT / name).exists()]


def planted_places_are_found() -> list[str]:
    """The check of op_places.py sees an operation that a fourth file knows, a list of names, and an exception nobody needs."""
    planted = {"cupel/compiler/Planted.cpp": "bool f(Operation *op) { return isa<stablehlo::CholeskyOp>(op); }",
               "cupel/compiler/List.cpp": "kNames = {" + ", ".join(f'"{name}"' for name in ("abs", "ceil", "fft", "floor", "rsqrt", "tan")) + "};",
               "cupel/compiler/Maker.cpp": "builder.create<stablehlo::CholeskyOp>(loc);"}
    found = op_places.places(op_places.sources() | planted)
    wrong = [f"{operation} in {file}: op_places.py says {file in found[operation]}" for operation, file, expected in
             (("stablehlo.cholesky", "cupel/compiler/Planted.cpp", True), ("stablehlo.fft", "cupel/compiler/List.cpp", True),
              ("stablehlo.cholesky", "cupel/compiler/Maker.cpp", False)) if (file in found[operation]) != expected]
    said = op_places.complaints(found)
    return wrong + [f"op_places.py does not complain of {operation}" for operation in ("stablehlo.cholesky", "stablehlo.fft")
                    if not any(complaint.startswith(operation + " ") for complaint in said)]


def main() -> int:
    checks = [generated_parts(sys.argv[1]), folder_map(), links(), decisions_are_listed(), paths_in_the_readme(), op_places.complaints(op_places.places(op_places.sources())),
              planted_places_are_found()]
    for complaints in checks:
        for complaint in complaints:
            print(complaint)
    failed = sum(bool(complaints) for complaints in checks)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
