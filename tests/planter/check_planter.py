#!/usr/bin/env python3
"""Plants faults behind a plugin and counts what `cupel run` catches; runs correct devices and counts what it flags.

usage: check_planter.py BUILD [--per-model N] [--page FILE] [--verbose]. Ends with `N passed, N failed`.

Programs are those of zoo/programs and of models/ beside this file. planter_plugin.so wraps our own plugin: it compiles a changed program
instead of the given one (mutations.py), or changes results (the table in PlanterPlugin.cpp), runs the right program beside the planted one and tells
whether the fault is observable, so that nobody is asked to see what does not show. All programs run in one go with one fault each.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mutations

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("build", type=Path)
PARSER.add_argument("--per-model", type=int, default=6, help="programs that are changed of each model")
PARSER.add_argument("--page", type=Path, help="write what was found, by rule, to this page")
PARSER.add_argument("--verbose", action="store_true", help="name what was missed or flagged")
OPTIONS = PARSER.parse_args()
BUILD = OPTIONS.build.resolve()
MODELS = [ROOT / "zoo/programs", HERE / "models"]

# Which error class each fault of the run time must be called by, where it has one of its own.
RESULT_FAULTS = {"scaled": None, "shifted": None, "negated": None, "batch_scaled": None, "row_zeroed": None, "exponent_bit": None, "sign_bit": None,
                 "one_element": None, "not_a_number": None, "wrong_stride": None, "off_by_one": None, "reversed": None, "tile_repeated": None,
                 "rounded_to_bf16": None, "swapped_outputs": None, "stale": {"stale_result"}, "stale_once": {"stale_result"},
                 "flaky": {"not_deterministic", "wrong_result"}, "flaky_element": {"not_deterministic", "wrong_result"},
                 "adds_to_last": {"not_deterministic", "wrong_result", "stale_result"}, "aliased": {"stale_result"}}
RIGHT_RESULTS = ["right_off_by_1e-6", "right_last_bit", "right_varies"]
# The rules that the page compares: what `cupel run` is told.
RULES = {"strict": [], "PCC 0.99": ["--compare", "pcc"], "PCC 0.99, one look": ["--compare", "pcc", "--repeat", "1"]}
# Of observable faults in programs of f32 and more; in programs that compute in bf16 or quantized themselves, whose own noise hides some.
GOAL, NARROW_GOAL = 0.995, 0.75


class Runs:
    """`cupel run` of all models with one fault each."""

    def __init__(self, folder: Path, rule: list[str]) -> None:
        self.folder, self.rule, self.count = folder, rule, 0

    def run(self, device: str = "", **options: str | Path) -> tuple[dict[str, dict], set[str]]:
        """The records by the program's name, and the keys of programs in which the fault showed."""
        self.count += 1
        place = self.folder / f"run{self.count}"
        place.mkdir()
        log = place / "log"
        given = "&".join([f"{name}={value}" for name, value in {**options, "log": log, "num_devices": "8"}.items()] + ([device] if device else []))
        command = [BUILD / "bin/cupel", "run", *MODELS, "--device", f"{BUILD / 'lib/planter_plugin.so'}?{given}", "--results", place / "results",
                   "--json", place / "report.json", "--keep-failed", "none", "--quiet", *self.rule]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
        if not (place / "report.json").exists():
            raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}\n0 passed, 1 failed")
        tests = {Path(test["id"]).stem: test for test in json.loads((place / "report.json").read_text())["tests"]}
        seen = {line.split()[0] for line in (log.read_text().splitlines() if log.exists() else []) if line.endswith(" observable")}
        return tests, seen


class Programs:
    """The programs as the device is given them, by the names of their tests."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        folder.mkdir()
        tests, _ = runs.run(dump=folder)
        self.right = {name: test for name, test in tests.items()}
        self.texts: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        for file in sorted(folder.glob("*.mlirbc")):
            text = subprocess.run([str(BUILD / "bin/cupel"), "opt", str(file)], capture_output=True, text=True, check=True).stdout
            name = text.split("module @", 1)[1].split()[0] if "module @" in text else ""
            if name in tests:
                self.texts[name], self.keys[name] = text, file.stem
        self.narrow = {name for name, text in self.texts.items() if "bf16" in text or "f16" in text or "!quant" in text}

    def write(self, folder: Path, programs: dict[str, str]) -> Path:
        folder.mkdir()
        for name, text in programs.items():
            (folder / f"{self.keys[name]}.mlir").write_text(text)
        return folder


class Tally:
    """What was planted in programs of one precision, and what came of right devices."""

    def __init__(self) -> None:
        self.planted: collections.Counter[str] = collections.Counter()
        self.caught: collections.Counter[str] = collections.Counter()
        self.missed: list[str] = []
        self.misnamed: list[str] = []
        self.right: collections.Counter[str] = collections.Counter()
        self.flagged: collections.Counter[str] = collections.Counter()
        self.alarms: list[str] = []

    def count(self, kind: str, name: str, test: dict, classes: set[str] | None = None) -> None:
        self.planted[kind] += 1
        if test["outcome"] == "failed":
            self.caught[kind] += 1
            if classes and test.get("error_class") not in classes:
                self.misnamed.append(f"{kind} in {name}: {test.get('error_class')}: {test.get('message')}")
        else:
            self.missed.append(f"{kind} in {name}: {test['outcome']} {[row.get('sentence') for row in test.get('comparisons', [])]}")

    def count_right(self, kind: str, name: str, test: dict) -> None:
        self.right[kind] += 1
        if test["outcome"] not in ("passed", "unjudged"):
            self.flagged[kind] += 1
            self.alarms.append(f"{kind}, {name}: {test['outcome']}: {test.get('message')}")

    def share(self) -> float:
        return sum(self.caught.values()) / max(sum(self.planted.values()), 1)


def plant(runs: Runs, programs: Programs, folder: Path, wide: Tally, narrow: Tally) -> None:
    def tally_of(name: str) -> Tally:
        return narrow if name in programs.narrow else wide

    for fault, classes in RESULT_FAULTS.items():
        tests, seen = runs.run(fault=fault)
        for name, key in programs.keys.items():
            if key in seen:
                tally_of(name).count(fault.replace("_", " "), name, tests[name], classes)
    planted = {name: list(zip(range(OPTIONS.per_model), mutations.faults(text))) for name, text in programs.texts.items()}
    for number in range(OPTIONS.per_model):
        chosen = {name: found[number][1] for name, found in planted.items() if number < len(found)}
        tests, seen = runs.run(programs=programs.write(folder / f"planted{number}", {name: text for name, (_, text) in chosen.items()}))
        for name, (kind, _) in chosen.items():
            if programs.keys[name] in seen:
                tally_of(name).count(kind, name, tests[name])


def run_right(runs: Runs, programs: Programs, folder: Path, tally: Tally) -> None:
    for name, test in programs.right.items():
        tally.count_right("as it is", name, test)
    for kind in RIGHT_RESULTS:
        tests, _ = runs.run(fault=kind)
        for name in programs.keys:
            tally.count_right(kind.removeprefix("right_").replace("_", " "), name, tests[name])
    for kind, change in mutations.CORRECT.items():
        changed = {name: mutations.correct(text, change) for name, text in programs.texts.items()}
        changed = {name: text for name, text in changed.items() if text != programs.texts[name]}
        tests, _ = runs.run(programs=programs.write(folder / f"right-{kind.split()[0].strip(',')}", changed))
        for name in changed:
            tally.count_right(kind, name, tests[name])
    narrow = {name: mutations.correct(text, mutations.products_in_bf16) for name, text in programs.texts.items()}
    narrow = {name: text for name, text in narrow.items() if text != programs.texts[name]}
    place = programs.write(folder / "right-bf16", narrow)
    tests, _ = runs.run("precision=bf16", programs=place)
    for name in narrow:
        tally.count_right("products in bf16, declared", name, tests[name])


def measure(rule: list[str]) -> tuple[Tally, Tally, Programs]:
    with tempfile.TemporaryDirectory(prefix="cupel-planter-") as name:
        folder = Path(name)
        runs, wide, narrow = Runs(folder, rule), Tally(), Tally()
        programs = Programs(runs, folder / "programs")
        plant(runs, programs, folder, wide, narrow)
        run_right(runs, programs, folder, wide)
        return wide, narrow, programs


def faults_table(tallies: dict[str, Tally]) -> list[str]:
    strict = tallies["strict"]
    text = [f"| planted | observable | {' | '.join(f'caught: {rule}' for rule in tallies)} |", "|---|---|" + "---|" * len(tallies)]
    for kind in strict.planted:
        text.append(f"| {kind} | {strict.planted[kind]} | {' | '.join(f'{tally.caught[kind]} of {tally.planted[kind]}' for tally in tallies.values())} |")
    sums = " | ".join(f"**{sum(t.caught.values())} of {sum(t.planted.values())} ({100 * t.share():.1f} %)**" for t in tallies.values())
    return [*text, f"| **all** | **{sum(strict.planted.values())}** | {sums} |"]


def page(wide: dict[str, Tally], narrow: dict[str, Tally], programs: Programs) -> str:
    strict = wide["strict"]
    total = sum(strict.planted.values()) + sum(narrow["strict"].planted.values())
    text = ["# What verdicts catch", "",
            "Made by `tests/planter/check_planter.py BUILD --page docs/reference/detection.md`: faults are planted behind a plugin, and `cupel run` is asked what it",
            f"thinks of them. {total} observable faults of {len(strict.planted)} kinds in {len(programs.keys)} programs (those of `zoo/programs` and of `tests/planter/models`),",
            f"and {sum(strict.right.values())} runs on devices that are right.", "",
            "A fault is *observable* if it moves an element by more than a thousandth of the output's largest magnitude (2^-7 in bf16), makes it NaN, or makes another",
            "integer of it, in any of the executions that were made; others are not counted. The right program runs beside the planted one and says so.", "",
            "## Faults in programs of f32 and f64", "", *faults_table(wide), "",
            "The first rows are faults of the run time, which change results; the others change one operation of the program. The numbers of a row differ where a rule",
            "looks once only: what shows later is then not there to be seen.", "",
            f"## Faults in programs that are narrow themselves ({', '.join(sorted(programs.narrow))})", "",
            "What such a program rounds on its way is wider than some faults.", "", *faults_table(narrow), "",
            "## Devices that are right", "", f"| device | runs | {' | '.join(f'flagged: {rule}' for rule in wide)} |", "|---|---|" + "---|" * len(wide)]
    for kind in strict.right:
        text.append(f"| {kind} | {strict.right[kind]} | {' | '.join(str(tally.flagged[kind]) for tally in wide.values())} |")
    text.append("| **all** | **{}** | {} |".format(sum(strict.right.values()), " | ".join(f"**{sum(t.flagged.values())}**" for t in wide.values())))
    missed = strict.missed + narrow["strict"].missed
    if missed:
        text += ["", "## Missed by the strict rule", "", *(f"- {line.split(':')[0]}" for line in missed)]
    return "\n".join(text) + "\n"


def main() -> int:
    started = time.monotonic()
    wide, narrow, programs = measure(RULES["strict"])
    seconds = time.monotonic() - started
    planted, right = sum(wide.planted.values()), sum(wide.right.values())
    print(f"{planted} observable faults of {len(wide.planted)} kinds in {len(programs.keys)} programs: {100 * wide.share():.2f} % caught in f32 and f64, "
          f"{100 * narrow.share():.2f} % of {sum(narrow.planted.values())} in narrow programs; {right} runs on right devices: {sum(wide.flagged.values())} flagged; {seconds:.0f} s")
    latent = [kind for kind in wide.planted if kind.startswith(("stale", "flaky", "aliased", "adds to last"))]
    checks = {"at least 200 observable faults": planted >= 200, "at least 15 kinds": len(wide.planted) >= 15, "at least 10 programs": len(programs.keys) >= 10,
              f"at least {100 * GOAL} % of them caught": wide.share() >= GOAL, f"at least {100 * NARROW_GOAL} % in narrow programs": narrow.share() >= NARROW_GOAL,
              "as many kinds of right devices as run": len(wide.right) >= 8 and right >= 70, "no right device is flagged": not wide.alarms,
              "what is stale or varies is all caught": all(wide.caught[kind] == wide.planted[kind] for kind in latent) and len(latent) >= 5,
              "and called so": not wide.misnamed}
    if OPTIONS.verbose or not all(checks.values()):
        for title, lines in (("missed", wide.missed), ("missed, narrow", narrow.missed), ("flagged", wide.alarms), ("misnamed", wide.misnamed)):
            for line in lines:
                print(f"  {title}: {line[:400]}")
    if OPTIONS.page:
        others = {rule: measure(arguments) for rule, arguments in RULES.items() if rule != "strict"}
        OPTIONS.page.write_text(page({"strict": wide, **{rule: found[0] for rule, found in others.items()}},
                                     {"strict": narrow, **{rule: found[1] for rule, found in others.items()}}, programs))
    for check, holds in checks.items():
        if not holds:
            print(f"FAIL {check}")
    print(f"{sum(checks.values())} passed, {len(checks) - sum(checks.values())} failed")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
