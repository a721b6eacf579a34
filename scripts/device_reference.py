#!/usr/bin/env python3
"""Writes a page of what a vendor's plugin does with saved workloads, from the reports of `cupel-device run --json`.

Each report is one row of the first table, named after its file; what did not end as expected is listed below it by the
reason that the plugin or the comparison gave. Numbers and names in a reason are made alike to group it, one example of each
is told in full.

Examples:
  scripts/device_reference.py --title "XLA's CUDA plugin" interpret.json.gz testdata.json.gz > page.md
  cupel-device run plugin.so cases/* --json cases.json; scripts/device_reference.py --title mine cases.json
  scripts/explain_workloads.py cases/* --device plugin.so --json why.json; scripts/device_reference.py --title mine cases.json --explained why.json
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import re
import sys
from pathlib import Path

# In the order of the table's columns: a workload is counted in the first one that fits it.
KINDS = ("as expected", "needs more devices", "not compiled", "incorrect", "failed later", "crashed or exited", "timed out")


def read(path: Path) -> list[dict]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        return json.load(file)["runs"]


def kind(run: dict) -> str:
    outcome = run["outcome"]
    if outcome in ("passed", "ran"):
        return "as expected"
    if outcome == "incorrect":
        return "incorrect"
    if outcome == "timed out":
        return "timed out"
    if outcome == "failed":
        # The host's own refusal, before the plugin is asked.
        if run["failure"].get("class") == "needs_more_devices":
            return "needs more devices"
        return "not compiled" if run.get("last_stage") == "compile" else "failed later"
    return "crashed or exited"


def reason(run: dict) -> str:
    if run["outcome"] == "incorrect":
        text = next(one["sentence"] for one in run["comparisons"] if not one["passed"])
    else:
        text = run["failure"]["message"]
    return re.sub(r"\S*/(\S+\.mlir)", r"\1", " ".join(text.split()))


def alike(text: str) -> str:
    """What two reasons must share to be one."""
    return re.sub(r"[-+]?\d[\d.e+-]*", "N", re.sub(r"\S+\.mlir\S*", "", text))[:90]


def cell(text: str, most: int = 220) -> str:
    text = text if len(text) <= most else text[: most - 3] + "..."
    return text.replace("|", "\\|").replace("<", "&lt;")


def blame(found: dict | None) -> str:
    """What `cupel explain` answers of a workload, in a few words."""
    if found is None:
        return "-"
    names = " + ".join(dict.fromkeys(f"`{one['name']}`" for one in found["operations"][:4])) or "-"
    return names if found["answer"] == "operation alone" else f"{names} ({found['answer']})"


def page(title: str, facts: list[str], reports: dict[str, list[dict]], explained: dict[str, dict]) -> str:
    lines = [f"# {title} on saved workloads", "", "Made by `scripts/device_reference.py` from the reports of `cupel-device run --json`; see [running on a device](../running-on-a-device.md).", ""]
    lines += [f"* {fact}" for fact in facts] + ([""] if facts else [])
    lines += ["| programs | workloads | " + " | ".join(KINDS) + " |", "|---|" + "---:|" * (len(KINDS) + 1)]
    everything: collections.Counter[str] = collections.Counter()
    for name, runs in reports.items():
        kinds = collections.Counter(kind(run) for run in runs)
        everything += kinds
        lines.append(f"| {name} | {len(runs)} | " + " | ".join(str(kinds[one]) for one in KINDS) + " |")
    lines.append(f"| **all** | {sum(everything.values())} | " + " | ".join(str(everything[one]) for one in KINDS) + " |")
    for wanted in KINDS[1:]:
        groups: dict[tuple[str, str], list[tuple[str, str]]] = collections.defaultdict(list)
        for name, runs in reports.items():
            for run in runs:
                if kind(run) == wanted:
                    workload = f"{name}/{Path(run['workload']).name}"
                    groups[alike(reason(run)), blame(explained.get(workload))].append((workload, reason(run)))
        if not groups:
            continue
        has_blame = any(to_blame != "-" for _, to_blame in groups)
        columns = ["count", "for example", *(["to blame"] if has_blame else []), "what was said"]
        lines += ["", f"## {wanted[0].upper()}{wanted[1:]}", "", f"| {' | '.join(columns)} |", "|---:|" + "---|" * (len(columns) - 1)]
        for (_, to_blame), members in sorted(groups.items(), key=lambda one: (-len(one[1]), one[1][0])):
            lines.append(f"| {len(members)} | {members[0][0]} | " + (f"{to_blame} | " if has_blame else "") + f"{cell(members[0][1])} |")
    if explained:
        lines += ["", "*To blame* is what `cupel explain` found on the same device: the operation that fails alone, or (in brackets) the kind of answer where it is another: "
                  "*neighbours* fail only together, *these values* only for the values of the test, *own checks* are failed while the device is right within the noise of its precision."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path, help="files of cupel-device run --json; .gz is understood")
    parser.add_argument("--title", required=True, help="what the plugin is called")
    parser.add_argument("--fact", action="append", default=[], help="a line about the plugin, the machine or the day; may be given several times")
    parser.add_argument("--explained", type=Path, help="what scripts/explain_workloads.py --json wrote: adds which operation is to blame")
    options = parser.parse_args()
    explained = json.loads(options.explained.read_text()) if options.explained else {}
    reports = {path.name.partition(".")[0]: read(path) for path in options.reports}
    sys.stdout.write(page(options.title, options.fact, reports, explained))
    return 0


if __name__ == "__main__":
    sys.exit(main())
