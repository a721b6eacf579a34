"""Checks that the documentation is true: generated parts current, folder map complete, links alive.

usage: check_docs.py BUILD/bin. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import include_graph
import one_policy
import op_places

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


# A path of the source tree, as prose and commands name it: not after a letter or a slash, which would make it a part of another.
PATH = re.compile(r"(?<![\w./-])((?:\.ci|bench|cmake|cupel|docs|examples|python|scripts|tests|zoo)/[\w./*{},-]*[\w}*])")
# What only looks like one: a folder below the cache, and tests by the ids they had on another machine.
NO_PATHS = {"cupel/environments", "zoo/mlp", "zoo/dynamic_shapes", "zoo/quantized_dot"}


def pages() -> list[Path]:
    folders = ("bench", "docs", "examples", "tests", "zoo")
    return sorted([*ROOT.glob("*.md"), *(page for folder in folders for page in (ROOT / folder).rglob("*.md"))])


def generated_parts(build_bin: str) -> list[str]:
    result = subprocess.run([sys.executable, ROOT / "scripts/docs.py", "--check", "--bin", build_bin], capture_output=True, text=True)
    return (result.stdout + result.stderr).splitlines() if result.returncode else []


def folder_map() -> list[str]:
    named = set(re.findall(r"^\| `(cupel(?:/\w+)+)`", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE))
    actual = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "cupel").rglob("CMakeLists.txt")} - {"cupel"}
    return ([f"docs/architecture.md does not name the folder {folder}" for folder in sorted(actual - named)] +
            [f"docs/architecture.md names {folder}, which does not exist" for folder in sorted(named) if not (ROOT / folder).is_dir()])


def passes_have_tests() -> list[str]:
    """Passes.td promises each pass a test of the same name."""
    passes = re.findall(r': Pass<"([\w-]+)"', (ROOT / "cupel/compiler/passes/Passes.td").read_text())
    return [f"the pass {name} has no test tests/lit/passes/{name}.mlir" for name in passes if not (ROOT / f"tests/lit/passes/{name}.mlir").exists()]


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


def exists(name: str) -> bool:
    """A path, a pattern of paths, or a header and its source together (`cupel/support/Files`)."""
    pattern = re.sub(r"\{[^}]*\}", "*", name)
    return (ROOT / name).exists() or any(ROOT.glob(pattern)) or any(ROOT.glob(pattern + ".*"))


def paths() -> list[str]:
    """What pages name must be there: commands that a newcomer copies, places to look at."""
    return [f"{page.relative_to(ROOT)} names {name}, which does not exist" for page in pages()
            for name in sorted(set(PATH.findall(page.read_text())) - NO_PATHS) if not exists(name)]


def options_of_commands() -> list[str]:
    """Options of `cupel VERB` that pages show, against the page of the command line, which is made from the tool itself."""
    reference = (ROOT / "docs/reference/cli.md").read_text()
    sections = dict(re.findall(r"^## cupel (\S+)\n(.*?)(?=^## |\Z)", reference, re.MULTILINE | re.DOTALL))
    complaints = []
    for page in pages():
        for verb, rest in re.findall(r"(?:^|[`/ ])cupel ([a-z-]+)((?: [^`\n]*)?)", page.read_text()):
            for option in re.findall(r"(?<=\s)--[a-z][\w-]*", rest.partition("  #")[0]) if verb in sections else []:
                if option not in sections[verb] and option not in ("--help",):
                    complaints.append(f"{page.relative_to(ROOT)}: cupel {verb} has no option {option}")
    return complaints if len(sections) > 10 else ["docs/reference/cli.md has no sections of verbs"]


def words_of_the_map() -> list[str]:
    """Files and folders that the rows outside cupel/ name beside their own."""
    rows = re.findall(r"^\| (`[^|]*`) \| ([^|]*) \|$", (ROOT / "docs/architecture.md").read_text().partition("\nOutside:\n")[2], re.MULTILINE)
    complaints = [] if rows else ["docs/architecture.md has no table of what is outside cupel/"]
    for named, text in rows:
        folders = re.findall(r"`([^`]+)`", named)
        complaints += [f"docs/architecture.md names {folder}, which does not exist" for folder in folders if not exists(folder.rstrip("/"))]
        complaints += [f"docs/architecture.md: {word} is not in {' or '.join(folders)}" for word in re.findall(r"`([\w./]+)`", text)
                       if not any((ROOT / folder / word).exists() for folder in (*folders, "."))]
    return complaints


def every_test_folder_is_on_the_map() -> list[str]:
    text = (ROOT / "docs/architecture.md").read_text()
    return [f"docs/architecture.md does not name tests/{folder.name}" for folder in sorted((ROOT / "tests").iterdir())
            if folder.is_dir() and folder.name != "__pycache__" and f"`tests/{folder.name}`" not in text]


def setting_of_jax_tests() -> list[str]:
    """The page of JAX's tests says how they are run."""
    sys.path.insert(0, str(ROOT / "tests/jax_suite"))
    import run_jax_tests

    page = "docs/reference/jax-tests.md"
    return [] if run_jax_tests.SETTING.strip() in (ROOT / page).read_text() else [f"{page} does not say how the tests are run (SETTING of run_jax_tests.py)"]


def planted_places_are_found() -> list[str]:
    """The check of op_places.py sees a file that knows an operation and a list of names, and leaves those alone that make one."""
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


def planted_bounds_are_found() -> list[str]:
    """The check of one_policy.py sees a bound, and leaves comments, texts and other numbers alone."""
    planted = {"cupel/cli/Planted.cpp": "Tolerance limits{.pcc = 0.99};", "python/cupel/planted.py": "def check(a, b, rtol=1e-3):\n    return a",
               "cupel/cli/Right.cpp": "// pcc 0.99\nprint(\"pcc 0.99\");\ndouble half = 0.5 * pcc;", "python/cupel/right.py": '"""atol 1e-3"""\npcc = default()  # 0.99'}
    said = one_policy.complaints(planted)
    return [f"one_policy.py says of {file}: {said}" for file, expected in (("cupel/cli/Planted.cpp", 1), ("python/cupel/planted.py", 1), ("cupel/cli/Right.cpp", 0), ("python/cupel/right.py", 0))
            if sum(complaint.startswith(f"{file}:") for complaint in said) != expected]


def main() -> int:
    checks = [generated_parts(sys.argv[1]), folder_map(), include_graph.check(ROOT), passes_have_tests(), links(), decisions_are_listed(), paths(),
              options_of_commands(), words_of_the_map(), every_test_folder_is_on_the_map(), setting_of_jax_tests(),
              op_places.complaints(op_places.places(op_places.sources())), planted_places_are_found(),
              one_policy.complaints(one_policy.sources()), planted_bounds_are_found()]
    for complaints in checks:
        for complaint in complaints:
            print(complaint)
    failed = sum(bool(complaints) for complaints in checks)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
