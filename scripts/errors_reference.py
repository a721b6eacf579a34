"""Makes docs/reference/errors.md from the list of error codes and the table of reasons."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r'^CUPEL_ERROR\((\w+), "(\w+)", (\w+), (\w+), "(.*)"\)$', re.MULTILINE)
KINDS = {"Invalid": "the user: what was given is wrong", "Never": "nobody: no static program can say it",
         "NotYet": "whoever implements the frontend or the device", "Limit": "nobody, or whoever sets limits: time, memory or devices do not suffice",
         "Device": "the device or its plugin", "Internal": "Cupel", "Stopped": "nobody: somebody asked for it"}


def reason_of(name: str, reasons: str) -> str:
    """The reason of the shipped table that speaks of this code alone; else the one that is made from the code."""
    for block in re.split(r"(?m)^  - name: ", reasons)[1:]:
        if re.search(rf"\berror: {name}\b", block):
            return block.split(maxsplit=1)[0]
    return name.upper()


def errors_page() -> str:
    rows = ROW.findall((ROOT / "cupel/support/ErrorCodes.def").read_text())
    listed = len(re.findall(r"(?m)^CUPEL_ERROR\(", (ROOT / "cupel/support/ErrorCodes.def").read_text()))
    if not rows or len(rows) != listed:
        raise SystemExit(f"error: {listed} codes stand in cupel/support/ErrorCodes.def, {len(rows)} of them can be read: one line each")
    reasons = (ROOT / "zoo/reasons.yaml").read_text()
    lines = ["# What can go wrong", "",
             "Made by `scripts/docs.py` from [`cupel/support/ErrorCodes.def`](../../cupel/support/ErrorCodes.def), the one list of error codes: change that, not",
             "this page. A test's record carries the name as `error_class` (a Python exception's class stands there instead where a loader raised one).", "",
             "*Told to hosts* is the code that our plugin answers through PJRT; a plugin's own code comes in as the first row that has it. *Reason* is what",
             "[the table of reasons](reasons.md) makes of a failure of which nothing more special is known.", "",
             "| name | meaning | whose turn | told to hosts | reason |", "|---|---|---|---|---|"]
    lines += [f"| `{name}` | {meaning} | {kind_word(kind)} | `{canonical}` | `{reason_of(name, reasons)}` |" for _, name, canonical, kind, meaning in rows]
    lines += ["", "| whose turn | that is |", "|---|---|"]
    lines += [f"| {kind_word(kind)} | {meaning} |" for kind, meaning in KINDS.items()]
    return "\n".join(lines) + "\n"


def kind_word(kind: str) -> str:
    return "not yet" if kind == "NotYet" else kind.lower()
