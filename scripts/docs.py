#!/usr/bin/env python3
"""Keeps the generated parts of the documentation current.

  scripts/docs.py            rewrite what is out of date
  scripts/docs.py --check    only say what is, and exit with 1

Generated: docs/reference/cli.md from the tools' own --help, docs/reference/ops.md from TableGen,
docs/reference/errors.md from the list of error codes and the table of reasons, docs/reference/composites.md from the table of composites,
docs/reference/config-diagnostics.md from the table of codes, docs/reference/onnx.md from the outcomes of ONNX's tests,
docs/reference/plugin-options.md from the table of options, docs/reference/api.md from the server's table of questions, and in every page the
fenced block after `<!-- source: PATH: TEXT -->`, which is the part of PATH from the line that contains TEXT to the
line that closes the brackets and braces it opened, and the table after `<!-- rows: PATH: COLUMN, ... -->`, which has the
rows of a .def file by the names of its macro's parameters.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import errors_reference
import onnx_reference
import ops_reference

ROOT = Path(__file__).resolve().parent.parent
SOURCE_BLOCK = re.compile(r"(<!-- source: (?P<path>\S+): (?P<text>.+?) -->\n)```(?P<language>\w*)\n.*?^```$", re.MULTILINE | re.DOTALL)

ROWS_BLOCK = re.compile(r"(<!-- rows: (?P<path>\S+): (?P<columns>.+?) -->\n)(?:\|.*\n)*")
DEF_ARGUMENT = re.compile(r'\s*("(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*|[^,]*)\s*(?:,|$)')


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def excerpt(path: str, text: str) -> str:
    """The block of `path` that starts with the line containing `text`."""
    try:
        lines = (ROOT / path).read_text().splitlines()
    except OSError as error:
        raise SystemExit(f"error: cannot quote {path}: {error.strerror}") from error
    starts = [number for number, line in enumerate(lines) if text in line]
    if not starts:
        raise SystemExit(f"error: {path} has no line with '{text}', which a page quotes")
    block, depth = [], 0
    for line in lines[starts[0]:]:
        block.append(line)
        depth += sum(line.count(opening) for opening in "([{") - sum(line.count(closing) for closing in ")]}")
        if depth <= 0:
            break
    return "\n".join(block)


def rows(path: str, columns: list[str]) -> str:
    """The table of a .def file: one row for each use of the macro that it defines."""
    text = (ROOT / path).read_text()
    macro, parameters = re.search(r"#define (\w+)\(([^)]*)\)", text).groups()
    names = [name.strip() for name in parameters.split(",")]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for use in re.findall(rf"^{macro}\((.*?)\)$", text, re.MULTILINE | re.DOTALL):
        values = [match[1] for match in DEF_ARGUMENT.finditer(use) if match[1]]
        words = {name: "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', value)) if value.startswith('"') else value for name, value in zip(names, values)}
        lines.append("| " + " | ".join(words[column] for column in columns) + " |")
    return "\n".join(lines) + "\n"


def with_current_excerpts(page: str) -> str:
    page = ROWS_BLOCK.sub(lambda match: match[1] + rows(match["path"], match["columns"].split(", ")), page)
    return SOURCE_BLOCK.sub(lambda match: f"{match[1]}```{match['language']}\n{excerpt(match['path'], match['text'])}\n```", page)


def help_of(cupel: Path, *verb: str) -> str:
    try:
        result = subprocess.run([cupel, *verb, "--help"], capture_output=True, text=True)
    except OSError as error:
        raise SystemExit(f"error: {cupel} cannot be started; ./run builds it") from error
    if result.returncode != 0:
        raise SystemExit(f"error: {' '.join(['cupel', *verb, '--help'])} failed: {result.stderr.strip()}")
    return "\n".join(line.rstrip() for line in result.stdout.strip("\n").splitlines())


def cli_page(cupel: Path) -> str:
    top = help_of(cupel)
    verbs = [line.split()[0] for line in top.split("Verbs:\n")[1].split("\n\n")[0].splitlines()]
    lines = ["# The command line", "", "Made by `scripts/docs.py` from the tools' own `--help`: change that, not this page.", "",
             "## cupel", "", "```", top, "```", ""]
    for verb in verbs:
        lines += [f"## cupel {verb}", "", "```", help_of(cupel, verb), "```", ""]
    device = cupel.parent / "cupel-device"
    for verb in ([], ["run"], ["info"], ["serve"]):
        lines += [" ".join(["## cupel-device", *verb]), "", "```", help_of(device, *verb), "```", ""]
    return "\n".join(lines)


def composites_page() -> str:
    """The table of composites, from the list that the code is compiled with."""
    rows = re.findall(r'CUPEL_COMPOSITE\(\w+,((?:\s*"[^"]*",?)+)\)', (ROOT / "cupel/ir/stablehlo/Composites.def").read_text())
    lines = ["# Composites", "", "Made by `scripts/docs.py` from `cupel/ir/stablehlo/Composites.def`: change that, not this page.", "",
             "A layer that devices have kernels for is kept whole as `stablehlo.composite`, whatever format it came in; its decomposition says what it",
             "computes. `--no-composites` writes the decompositions instead. Real attributes are `f32`, `axis`, `num_groups` and their like `i64`,",
             "`normalized_shape` a vector of `i64`. Operands in brackets may be missing.", "", "| composite | operands | attributes | what it computes |", "|---|---|---|---|"]
    for row in rows:
        # Strings that follow each other are one.
        name, operands, attributes, meaning = re.findall(r'"([^"]*)"(?:,|$)', re.sub(r'"\s+"', "", row))
        listed = ", ".join(f"`{attribute}`" for attribute in attributes.split(", ") if attribute)
        lines.append(f"| `{name}` | {operands} | {listed or 'none'} | {meaning} |")
    return "\n".join([*lines, ""])


def diagnostics_page(cupel: Path) -> str:
    """What `cupel config` can find, from the table in the code."""
    result = subprocess.run([cupel, "config", "explain", "--markdown"], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"error: cupel config explain --markdown failed: {result.stderr.strip()}")
    return result.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, fail if something is out of date")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="where the built tools are")
    options = parser.parse_args()

    wanted = {ROOT / "docs/reference/cli.md": cli_page(options.bin / "cupel"),
              ROOT / "docs/reference/ops.md": ops_reference.ops_page(),
              ROOT / "docs/reference/errors.md": errors_reference.errors_page(),
              ROOT / "docs/reference/composites.md": composites_page(),
              ROOT / "docs/reference/api.md": subprocess.run([options.bin / "cupel", "serve", "--describe-api"], capture_output=True, text=True, check=True).stdout,
              ROOT / "docs/reference/plugin-options.md": subprocess.run([options.bin / "cupel_options_page"], capture_output=True, text=True, check=True).stdout,
              ROOT / "docs/reference/onnx.md": onnx_reference.onnx_page(options.bin / "cupel"),
              ROOT / "docs/reference/config-diagnostics.md": diagnostics_page(options.bin / "cupel")}
    for page in pages():
        if page not in wanted:
            wanted[page] = with_current_excerpts(page.read_text())
    stale = [page for page, text in wanted.items() if not page.exists() or page.read_text() != text]
    for page in stale:
        name = page.relative_to(ROOT)
        if options.check:
            print(f"{name} is out of date; scripts/docs.py rewrites it")
        else:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(wanted[page])
            print(f"rewrote {name}")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
