"""Checks that the documentation is true: generated parts current, folder map complete, links alive.

usage: check_docs.py BUILD/bin. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


# A path of the source tree, as prose and commands name it: not after a letter or a slash, which would make it a part of another.
PATH = re.compile(r"(?<![\w./-])((?:\.ci|bench|cmake|cupel|docs|examples|python|scripts|tests|zoo)/[\w./*{},-]*[\w}*])")
# What only looks like one: a folder below the cache, and tests by the ids they had on another machine.
NO_PATHS = {"cupel/environments", "zoo/attention", "zoo/dynamic_shapes"}


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


def an_op_costs_one_definition() -> list[str]:
    """docs/adding-an-op.md promises it. This op needs no verifier of its own, so its .td file is all."""
    mention = re.compile(r"\bpopcnt\b|\bPopulationCountOp\b|\bPopcntOp\b|\bpopcnt_v1\b")
    sources = [path for folder in ("stablehlo", "vhlo", "portable", "bytecode") for path in (ROOT / "cupel/ir" / folder).rglob("*")
               if path.suffix in (".h", ".cpp", ".td", ".py") and not path.name.endswith("Test.cpp")]
    files = [str(path.relative_to(ROOT)) for path in sources if mention.search(path.read_text())]
    return [] if len(files) == 1 else [f"stablehlo.popcnt is named in {', '.join(files) or 'no file'} instead of its definition alone"]


def main() -> int:
    checks = [generated_parts(sys.argv[1]), folder_map(), links(), decisions_are_listed(), paths(), options_of_commands(), words_of_the_map(),
              every_test_folder_is_on_the_map(), setting_of_jax_tests(), an_op_costs_one_definition()]
    for complaints in checks:
        for complaint in complaints:
            print(complaint)
    failed = sum(bool(complaints) for complaints in checks)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
