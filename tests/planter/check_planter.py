#!/usr/bin/env python3
"""Plants faults behind a plugin and counts what `cupel run` catches; runs correct devices and counts what it flags.

usage: check_planter.py BUILD [--per-model N] [--only KINDS] [--page FILE [--seconds N]] [--jobs N] [--verbose]. Ends with `N passed, N failed`.

Programs are those of zoo/programs and of models/ beside this file (its ONNX models are made by tests/onnx_models). planter_plugin.so wraps our own
plugin: it compiles a changed program instead of the given one (mutations.py), or changes results (the table in Faults.cpp), runs the right program
beside the planted one and tells whether the fault is observable, so that nobody is asked to see what does not show. All programs run in one go with
one fault each; a device that declares tf32 or bf16 gets the limits of that.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import mutations

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("build", type=Path)
PARSER.add_argument("--per-model", type=int, default=6, help="programs that are changed of each model")
PARSER.add_argument("--only", default="", help="kinds of faults with this in their name alone, several divided by commas; all of a model's")
PARSER.add_argument("--page", type=Path, help="write what was found, by rule, to this page")
PARSER.add_argument("--seconds", type=float, help="with --page: end after about so long, to be gone on with (exit code 75)")
PARSER.add_argument("--jobs", type=int, default=1, help="measure so many rules at once")
PARSER.add_argument("--verbose", action="store_true", help="name what was missed or flagged")
OPTIONS = PARSER.parse_args()
BUILD = OPTIONS.build.resolve()
STARTED, GO_ON = time.monotonic(), 75
MODELS = [ROOT / "zoo/programs", HERE / "models"]
FILES = sorted(path for folder in MODELS for path in folder.iterdir() if path.suffix in (".mlir", ".onnx"))
# Records go by the names of files.
assert len({path.name for path in FILES}) == len(FILES), "two programs have the same name"

# Which error class each fault of the run time must be called by, where it has one of its own.
UNSTEADY = {"not_deterministic", "wrong_result"}
RESULT_FAULTS = {"scaled": None, "stale": {"stale_result"}, "shifted": None, "flaky": UNSTEADY, "negated": None, "batch_scaled": None, "row_zeroed": None, "exponent_bit": None,
                 "sign_bit": None, "one_element": None, "stale_once": {"stale_result"}, "not_a_number": None, "wrong_stride": None, "off_by_one": None, "reversed": None,
                 "tile_repeated": None, "rounded_to_bf16": None, "swapped_outputs": None, "flaky_element": UNSTEADY, "adds_to_last": {*UNSTEADY, "stale_result"},
                 "aliased": {"stale_result"}, "tail_dropped": None, "tail_uninitialised": None, "transposed_layout": None, "padding_moved": None, "nan_spread": None,
                 "rounded_down": None, "saturated": None, "column_scaled": None, "scaled_a_little": None, "second_is_first": None, "of_another_device": None,
                 "previous_input": {"stale_result"}, "partly_written": None, "flaky_seldom": UNSTEADY, "wrong_later": UNSTEADY,
                 "share_missing": None, "rows_swapped": None, "wrong_batch": None, "lane_lost": None, "flushed": None, "overflowed": None, "drifts": {*UNSTEADY, "stale_result"},
                 "first_row_kept": None}
# What only shows in executions after the first.
LATENT = ("stale", "flaky", "aliased", "adds to last", "previous input", "wrong later", "partly written", "drifts")
RIGHT_RESULTS = ["right_off_by_1e-6", "right_last_bit", "right_varies"]
# What must be caught of observable faults on a device that declares a precision; in programs that compute in bf16 or quantized themselves.
GOALS = {"f32": 0.995, "tf32": 0.94, "bf16": 0.80}
NARROW_GOAL = 0.80
ALLCLOSE = "{assert_pcc: true, assert_allclose: true, allclose_rtol: 0.01, allclose_atol: 0.001}"


@dataclasses.dataclass(frozen=True)
class Rule:
    """What `cupel run` is told, and how much of it is measured: every `share`-th fault."""

    arguments: tuple[str, ...] = ()
    precision: str = "f32"
    comparators: str = ""
    share: int = 1


STRICT = {"strict": Rule(), "strict, tf32 declared": Rule(precision="tf32", share=2), "strict, bf16 declared": Rule(precision="bf16", share=2)}
# The rules that the page compares beside them.
OTHERS = {"rtol 1e-2, atol 1e-3, PCC": Rule(comparators=ALLCLOSE), "PCC 0.99": Rule(("--compare", "pcc")), "PCC 0.99, one look": Rule(("--compare", "pcc", "--repeat", "1"))}


class Kept:
    """What runs gave that belong to a page, as long as the build and the planter are the same: a page is made in several goes."""

    def __init__(self) -> None:
        self.file = BUILD / "planter-runs.json"
        parts = [BUILD / "bin/cupel", BUILD / "bin/cupel-worker", BUILD / "lib/pjrt_plugin_cupel.so", BUILD / "lib/planter_plugin.so", HERE / "mutations.py"]
        self.build = hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in parts)).hexdigest()
        self.lock = threading.Lock()
        self.runs: dict[str, list] = {}
        if OPTIONS.page and self.file.exists():
            read = json.loads(self.file.read_text())
            self.runs = read["runs"] if read["build"] == self.build else {}

    def of(self, key: str, make) -> tuple[dict[str, dict], set[str]]:
        if key not in self.runs:
            if OPTIONS.seconds and time.monotonic() - STARTED > OPTIONS.seconds:
                print("more runs are left: the same command goes on")
                raise SystemExit(GO_ON)
            tests, seen = make()
            fields = ("id", "outcome", "error_class", "message")
            told = {name: {**{field: test.get(field) for field in fields}, "comparisons": [{"sentence": row.get("sentence")} for row in test.get("comparisons", [])]}
                    for name, test in tests.items()}
            with self.lock:
                self.runs[key] = [told, sorted(seen)]
                if OPTIONS.page:
                    self.file.write_text(json.dumps({"build": self.build, "runs": self.runs}))
        told, seen = self.runs[key]
        return told, set(seen)


KEPT = Kept()


class Runs:
    """`cupel run` of all models with one fault each."""

    def __init__(self, folder: Path, rule: Rule) -> None:
        self.folder, self.rule, self.count = folder, rule, 0
        self.arguments = list(rule.arguments)
        if rule.comparators:
            config = folder / "config"
            config.mkdir()
            listed = subprocess.run([str(word) for word in (BUILD / "bin/cupel", "list", *MODELS, "--format", "ids")], capture_output=True, text=True, check=True).stdout
            entries = "".join(f"  {line.split('::', 1)[1]}: {rule.comparators}\n" for line in listed.splitlines() if "::" in line)
            (config / "test_config_planted.yaml").write_text(f"test_config:\n{entries}")
            self.arguments += ["--config", str(config)]

    def run(self, precision: str = "", key: str = "", models: list[Path] = MODELS, **options: str | Path) -> tuple[dict[str, dict], set[str]]:
        """The records by the program's name, and the keys of programs in which the fault showed. What has a key is kept."""
        if key:
            return KEPT.of(f"{self.rule}: {key}", lambda: self.run(precision, models=models, **options))
        self.count += 1
        place = self.folder / f"run{self.count}"
        place.mkdir()
        log = place / "log"
        given = "&".join(f"{name}={value}" for name, value in {**options, "log": log, "num_devices": "8", "precision": precision or self.rule.precision}.items())
        command = [BUILD / "bin/cupel", "run", *models, "--device", f"{BUILD / 'lib/planter_plugin.so'}?{given}", "--results", place / "results",
                   "--json", place / "report.json", "--keep-failed", "none", "--timeout", "60", "--quiet", *self.arguments]  # A fault may make a loop endless.
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
        if not (place / "report.json").exists():
            raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}\n0 passed, 1 failed")
        tests = {Path(test["id"]).name: test for test in json.loads((place / "report.json").read_text())["tests"]}
        seen = {line.split()[0] for line in (log.read_text().splitlines() if log.exists() else []) if line.endswith(" observable")}
        return tests, seen


class Programs:
    """The programs as the device is given them, by the names of their tests."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        folder.mkdir()
        self.right, _ = runs.run(dump=folder)
        self.texts: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        for file in sorted(folder.glob("*.mlirbc")):
            text = self.text_of(file)
            name = text.split("module @", 1)[1].split()[0] + ".mlir" if "module @" in text else ""
            if name in self.right:
                self.texts[name], self.keys[name] = text, file.stem
        # Models of ONNX have no names of their own in the programs that they become.
        for path in FILES:
            if path.suffix == ".onnx":
                alone = folder / path.stem
                alone.mkdir()
                runs.run(dump=alone, models=[path])
                file = max(alone.glob("*.mlirbc"), key=lambda one: one.stat().st_size)
                self.texts[path.name], self.keys[path.name] = self.text_of(file), file.stem
        self.narrow = {name for name, text in self.texts.items() if "bf16" in text or "f16" in text or "!quant" in text}

    @staticmethod
    def text_of(file: Path) -> str:
        return subprocess.run([str(BUILD / "bin/cupel"), "opt", str(file)], capture_output=True, text=True, check=True).stdout

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


def is_asked_for(kind: str) -> bool:
    return not OPTIONS.only or any(word in kind for word in OPTIONS.only.split(","))


def plant(runs: Runs, programs: Programs, folder: Path, wide: Tally, narrow: Tally) -> None:
    def tally_of(name: str) -> Tally:
        return narrow if name in programs.narrow else wide

    share = 1 if OPTIONS.only else max(1, runs.rule.share // 2) if OPTIONS.page else runs.rule.share
    for fault, classes in [(fault, classes) for fault, classes in RESULT_FAULTS.items() if is_asked_for(fault.replace("_", " "))][::share]:
        tests, seen = runs.run(key=fault, fault=fault)
        for name, key in programs.keys.items():
            if key in seen:
                tally_of(name).count(fault.replace("_", " "), name, tests[name], classes)
    # Other kinds in each model: all have their turn somewhere.
    planted = {name: list(itertools.islice(((kind, changed) for kind, changed in mutations.faults(text, 5 * number) if is_asked_for(kind)), OPTIONS.per_model))
               for number, (name, text) in enumerate(programs.texts.items())}
    for number in range(0, OPTIONS.per_model, share):
        chosen = {name: found[number] for name, found in planted.items() if number < len(found)}
        tests, seen = runs.run(key=f"changed {number} of {OPTIONS.per_model}", programs=programs.write(folder / f"planted{number}", {name: text for name, (_, text) in chosen.items()}))
        for name, (kind, _) in chosen.items():
            if programs.keys[name] in seen:
                tally_of(name).count(kind, name, tests[name])


def run_right(runs: Runs, programs: Programs, folder: Path, tally: Tally) -> None:
    for name, test in programs.right.items():
        tally.count_right("as it is", name, test)
    for kind in RIGHT_RESULTS:
        tests, _ = runs.run(key=kind, fault=kind)
        for name in programs.keys:
            tally.count_right(kind.removeprefix("right_").replace("_", " "), name, tests[name])
    rounded = {kind: ("", change) for kind, change in mutations.CORRECT.items()} | mutations.NARROW
    for number, (kind, (precision, change)) in enumerate(rounded.items()):
        changed = {name: mutations.correct(text, change) for name, text in programs.texts.items()}
        changed = {name: text for name, text in changed.items() if text != programs.texts[name]}
        tests, _ = runs.run(precision, key=kind, programs=programs.write(folder / f"right{number}", changed))
        for name in changed:
            tally.count_right(kind, name, tests[name])


def measure(rule: Rule) -> tuple[Tally, Tally, Programs]:
    with tempfile.TemporaryDirectory(prefix="cupel-planter-") as name:
        folder = Path(name)
        runs, wide, narrow = Runs(folder, rule), Tally(), Tally()
        programs = Programs(runs, folder / "programs")
        plant(runs, programs, folder, wide, narrow)
        if rule.precision == "f32" and not OPTIONS.only:
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
            "looks once only, or a device that declares less is looked at piece by piece: other executions are there to be seen. The device itself always computes in f32;",
            "one that declares tf32 or bf16 gets the limits of these, within which some faults hide. What stays from execution to execution (*first row kept*) hides there where",
            "fewer than four numbers of it should have changed by two steps of bf16: inputs of later executions are near the first ones, so that they stay valid, and a",
            "right device of bf16 may well give one or two numbers bit by bit again.",
            "",
            f"## Faults in programs that are narrow themselves ({', '.join(sorted(programs.narrow))})", "",
            "What such a program rounds on its way is wider than some faults.", "", *faults_table(narrow), "",
            "## Devices that are right", ""]
    judged = {rule: tally for rule, tally in wide.items() if tally.right}  # A device that declares less runs in the columns of f32, with what it declares.
    text += [f"| device | runs | {' | '.join(f'flagged: {rule}' for rule in judged)} |", "|---|---|" + "---|" * len(judged)]
    for kind in strict.right:
        text.append(f"| {kind} | {strict.right[kind]} | {' | '.join(str(tally.flagged[kind]) for tally in judged.values())} |")
    text.append("| **all** | **{}** | {} |".format(sum(strict.right.values()), " | ".join(f"**{sum(t.flagged.values())}**" for t in judged.values())))
    missed = strict.missed + narrow["strict"].missed
    if missed:
        text += ["", "## Missed by the strict rule on a device of f32", "", *(f"- {line.split(':')[0]}" for line in missed)]
    return "\n".join(text) + "\n"


def right_devices(old: Path) -> str:
    """What check_right.py wrote into the page."""
    begin, end = "<!-- right devices: begin -->", "<!-- right devices: end -->"
    text = old.read_text() if old.exists() else ""
    return f"\n{text[text.index(begin):text.index(end)]}{end}\n" if begin in text and end in text else ""


def main() -> int:
    checks: dict[str, bool] = {}
    wides, narrows, complaints = {}, {}, []
    pool = concurrent.futures.ThreadPoolExecutor(OPTIONS.jobs)
    measured = {rule: pool.submit(measure, how) for rule, how in (STRICT | (OTHERS if OPTIONS.page else {})).items()}
    for rule, how in STRICT.items():
        started = time.monotonic()
        wide, narrow, programs = measured[rule].result()
        wides[rule], narrows[rule] = wide, narrow
        count, all_narrow = sum(wide.planted.values()), sum(narrow.planted.values())
        print(f"{rule}: {count} observable faults of {len(wide.planted)} kinds in {len(programs.keys)} programs: {100 * wide.share():.2f} % caught, "
              f"{100 * narrow.share():.2f} % of {all_narrow} in narrow programs; {sum(wide.right.values())} runs on right devices: {sum(wide.flagged.values())} flagged; "
              f"{time.monotonic() - started:.0f} s", flush=True)
        goal = GOALS[how.precision]
        latent = [kind for kind in {**wide.planted, **narrow.planted} if kind.startswith(LATENT)]
        checks[f"{rule}: at least {100 * goal} % caught"] = wide.share() >= goal
        checks[f"{rule}: what is stale or varies is all caught"] = len(latent) >= 3 and all(t.caught[kind] == t.planted[kind] for kind in latent for t in (wide, narrow))
        if rule == "strict":
            checks |= {"at least 500 observable faults": count >= 500, "at least 40 kinds": len(wide.planted) >= 40, "at least 18 programs": len(programs.keys) >= 18,
                       f"at least {100 * NARROW_GOAL} % in narrow programs": narrow.share() >= NARROW_GOAL,
                       "as many kinds of right devices as run": len(wide.right) >= 11 and sum(wide.right.values()) >= 120,
                       "no right device is flagged": not wide.alarms, "what is stale or varies is called so": not wide.misnamed + narrow.misnamed}
        for title, lines in (("missed", wide.missed), ("missed, narrow", narrow.missed), ("flagged", wide.alarms), ("misnamed", wide.misnamed + narrow.misnamed)):
            complaints += [f"  {rule}, {title}: {line[:400]}" for line in lines]
    if OPTIONS.verbose or not all(checks.values()):
        print("\n".join(complaints))
    if OPTIONS.page:
        for rule in OTHERS:
            wides[rule], narrows[rule], _ = measured[rule].result()
        OPTIONS.page.write_text(page(wides, narrows, programs) + right_devices(OPTIONS.page))
    for check, holds in checks.items():
        if not holds:
            print(f"FAIL {check}")
    print(f"{sum(checks.values())} passed, {len(checks) - sum(checks.values())} failed")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
