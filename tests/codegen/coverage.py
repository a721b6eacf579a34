"""Generates code of whole corpora and runs it: every program is right or refused by name, and at least 95 % are generated.

    coverage.py BIN [--corpus stablehlo,onnx,zoo] [--language py,cpp] [--sample N | --full] [--seconds S] [--page]

--full takes every program and keeps outcomes in build/codegen-coverage.json: interrupted, or ended by --seconds, it goes
on where it stopped; --page writes the table of docs/reference/generated-code.md from what is kept. Of another
build of Cupel all is generated anew, and what came out as it was is not judged again. Without --full a sample, chosen by the programs' names, is judged.
The last line is `N passed, N failed, N refused`.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import corpora
import coverage_page
from judging import ROOT, Outcome, judge

GOAL = 0.95
# How many programs are a batch: of C++ one binary, of models, which are large, fewer.
BATCH = {("stablehlo", "py"): 8, ("stablehlo", "cpp"): 24, ("onnx", "py"): 8, ("onnx", "cpp"): 24, ("zoo", "py"): 1, ("zoo", "cpp"): 1}


class Kept:
    """Outcomes by corpus, language and program; of one state of what generates."""

    def __init__(self, file: Path, state: str) -> None:
        self.file, self.state = file, state
        read = json.loads(file.read_text()) if file.is_file() else {}
        outcomes = read.get("outcomes", {})
        self.totals: dict[str, int] = read.get("totals", {})
        same = read.get("state") == state
        self.outcomes: dict[str, dict[str, dict]] = outcomes if same else {}
        self.earlier: dict[str, dict[str, dict]] = read.get("earlier", {})
        for key, found in ({} if same else outcomes).items():
            self.earlier.setdefault(key, {}).update(found)

    def known(self, corpus: str, language: str) -> dict[str, Outcome]:
        return {name: Outcome(**one) for name, one in self.earlier.get(f"{corpus} {language}", {}).items() if one["verdict"] != "wrong"}

    def of(self, corpus: str, language: str) -> dict[str, dict]:
        return self.outcomes.setdefault(f"{corpus} {language}", {})

    def known_right(self, corpus: str, language: str) -> dict[str, dict]:
        """What another build judged, and not to be wrong."""
        return {name: one for name, one in self.earlier.get(f"{corpus} {language}", {}).items() if one["verdict"] != "wrong"}

    def of_all_builds(self) -> dict[str, dict[str, dict]]:
        keys = self.earlier | self.outcomes
        return {key: {**self.known_right(*key.split()), **self.outcomes.get(key, {})} for key in keys}

    def write(self) -> None:
        self.file.write_text(json.dumps({"state": self.state, "outcomes": self.outcomes, "earlier": self.earlier, "totals": self.totals}, indent=1))


def state_of(binaries: Path) -> str:
    return hashlib.sha256((binaries / "cupel-worker").read_bytes()).hexdigest()[:16]


def run_batches(cupel: str, language: str, batches: list, known: dict[str, Outcome], jobs: int, ends: float, took: Callable[[list[Outcome]], None]) -> bool:
    """Whether all were judged before the time was over."""
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        waiting, running = list(reversed(batches)), set()
        while waiting or running:
            while waiting and len(running) < jobs and time.monotonic() < ends:
                batch = waiting.pop()
                running.add(pool.submit(judge, cupel, language, batch, {case.name: known[case.name] for case in batch if case.name in known}))
            if not running:
                return False
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for one in done:
                took(one.result())
    return True


def said(corpus: str, language: str, outcomes: list[dict]) -> tuple[str, bool]:
    """One line of counts, and whether enough was generated."""
    counts = collections.Counter(outcome["verdict"] for outcome in outcomes)
    never = coverage_page.without_program(outcomes)
    total = max(1, len(outcomes) - never)
    generated = total - (counts["refused"] - never)
    line = (f"{len(outcomes)} programs of {corpus} as {'Python' if language == 'py' else 'C++'}: {counts['right']} right, {counts['near']} right but for the order of sums, "
            f"{counts['refused']} refused by name ({never} of them have no program), {counts['wrong']} wrong; {100 * generated / total:.1f} % of programs generated")  # fmt: skip
    return line, generated >= GOAL * total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--corpus", default="stablehlo,onnx,zoo")
    parser.add_argument("--language", default="py,cpp")
    parser.add_argument("--sample", type=int, default=48, help="so many programs of a corpus, chosen by their names")
    parser.add_argument("--only", default="", help="programs with this in their names")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--go-on", action="store_true", help="with --full: judge only what no other build judged, or found wrong")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing after so long")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="print refusals too")
    parser.add_argument("--page", action="store_true", help="write docs/reference/generated-code.md from what --full kept")
    options = parser.parse_args()
    cupel, ends = options.bin.resolve() / "cupel", time.monotonic() + options.seconds
    kept = Kept(options.build / "codegen-coverage.json", state_of(options.bin))
    totals: collections.Counter[str] = collections.Counter()
    unfinished = False
    for corpus in filter(None, options.corpus.split(",")):
        whole = options.full or options.only
        cases = [case for case in corpora.CORPORA[corpus](cupel, options.build.resolve(), None if whole else options.sample) if options.only in case.name]
        if not cases:
            print(f"FAILED: no program of {corpus} was found")
            totals["wrong"] += 1
            continue
        for language in options.language.split(","):
            outcomes = kept.of(corpus, language) if options.full else {}
            if options.full and options.go_on:
                for name, one in kept.known_right(corpus, language).items():
                    outcomes.setdefault(name, one)
            todo, size = [case for case in cases if case.name not in outcomes], BATCH[corpus, language]

            def took(batch: list[Outcome], outcomes: dict[str, dict] = outcomes) -> None:
                for one in batch:
                    outcomes[one.name] = dataclasses.asdict(one)
                    if one.verdict == "wrong" or (options.list and one.verdict == "refused"):
                        print(f"{one.verdict}: {one.name}: {one.why}", flush=True)
                if options.full:
                    kept.write()

            if options.full and not options.only:
                kept.totals[f"{corpus} {language}"] = len(cases)

            batches = [todo[at : at + size] for at in range(0, len(todo), size)]
            unfinished |= not run_batches(str(cupel), language, batches, kept.known(corpus, language) if options.full else {}, options.jobs, ends, took)
            line, enough = said(corpus, language, [outcomes[case.name] for case in cases if case.name in outcomes])
            print(line + ("" if len(outcomes) >= len(cases) else f" ({len(outcomes)} of {len(cases)} so far)"), flush=True)
            totals.update(outcomes[case.name]["verdict"] for case in cases if case.name in outcomes)
            if not enough:
                print(f"FAILED: less than {100 * GOAL:.0f} % were generated")
                totals["wrong"] += 1
    if options.page:
        kept.write()
        coverage_page.write(ROOT / "docs/reference/generated-code.md", kept.of_all_builds(), kept.totals)
    print(f"{totals['right'] + totals['near']} passed, {totals['wrong']} failed, {totals['refused']} refused" + (", not all were judged" if unfinished else ""))
    return int(totals["wrong"] > 0 or unfinished)


if __name__ == "__main__":
    sys.exit(main())
