"""docs/reference/generated-code.md: what coverage.py counted, as tables."""

from __future__ import annotations

import collections
import re
from pathlib import Path

TITLES = {"stablehlo": "StableHLO's vectors that check themselves", "onnx": "ONNX's backend tests", "zoo": "models of the bundled zoo on one device, inference and training"}
LANGUAGES = {"py": "Python", "cpp": "C++"}

HEAD = """# What code is generated of

Written by `tests/codegen/coverage.py BIN --full --page`: code is generated of the programs of three corpora, C++ is built with `-O0 -Wall -Wextra -Werror`, and what it
gives is judged: programs that check themselves by their checks, the rest by the data that comes with them (within 1e-3, as ONNX's own tests do), else by the strict rule against the
golden reference ([compare](compare.md)). *Near*: a check asks for the last bits of a sum, which is formed in another order; within 1e-5 it holds. *No program*: models that
are never supported, since StableHLO has no strings, no sequences and no shapes that depend on data, or since their random numbers are specified nowhere.
They are refused before there is a program that code could be generated of. The zoo is judged without models that are made to fail and those whose packages are not
installed; what was judged with an earlier build and generated again as it was, or not at all since (`--go-on`), counts.
"""


def without_program(outcomes: list[dict]) -> int:
    return sum(outcome["verdict"] == "refused" and "never supported" in outcome["why"] for outcome in outcomes)


def reason(why: str) -> str:
    """A refusal without the places and names of one program."""
    if found := re.search(r"never supported \(([a-z -]+)\)", why):
        return f"no program: {found[1]}"
    if found := re.search(r"((?:stablehlo|chlo|interpreter|check|sdy)\.\w+):? (.+?)(?: \(|$)", why):
        return f"`{found[1]}` {found[2]}"
    if found := re.search(r"elements of type (\w+)", why):
        return f"elements of type {found[1]}"
    return why[:100]


def write(page: Path, kept: dict[str, dict[str, dict]], totals: dict[str, int]) -> None:
    lines = [HEAD, "| programs | as | judged | right | near | refused by name | no program | wrong | generated of programs |", "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    reasons: dict[str, collections.Counter[str]] = {}
    wrong = []
    for key, found in sorted(((key, found) for key, found in kept.items() if found), key=lambda item: (list(TITLES).index(item[0].split()[0]), item[0])):
        corpus, language = key.split()
        outcomes = list(found.values())
        counts = collections.Counter(outcome["verdict"] for outcome in outcomes)
        never = without_program(outcomes)
        total = max(1, len(outcomes) - never)
        judged = f"{len(outcomes):,}" + (f" of {totals[key]:,}" if totals.get(key, 0) > len(outcomes) else "")
        lines.append(f"| {TITLES[corpus]} | {LANGUAGES[language]} | {judged} | {counts['right']:,} | {counts['near']} | {counts['refused'] - never} | {never} | {counts['wrong']} | "
                     f"{100 * (total - counts['refused'] + never) / total:.1f} % |")  # fmt: skip
        for outcome in outcomes:
            if outcome["verdict"] == "refused":
                reasons.setdefault(reason(outcome["why"]), collections.Counter())[language] += 1
            elif outcome["verdict"] == "wrong":
                wrong.append(f"| {outcome['name']} | {LANGUAGES[language]} | {outcome['why'][:200].replace('|', '/')} |")
    lines += ["", "## Why programs are refused", "", "| reason | Python | C++ |", "|---|---:|---:|"]
    lines += [f"| {why} | {counts['py']} | {counts['cpp']} |" for why, counts in sorted(reasons.items(), key=lambda item: (-sum(item[1].values()), item[0]))]
    if wrong:
        lines += ["", "## What is wrong", "", "| program | as | why |", "|---|---|---|", *wrong]
    page.write_text("\n".join(lines) + "\n")
