#!/usr/bin/env python3
"""Explains workload folders on a device and writes a table: which operation makes each of them fail.

  scripts/explain_workloads.py FOLDER... --device PLUGIN.so[?OPTIONS] [--launcher 'ssh gpu'] [--bin build/bin] [-o table.md] [--json why.json]

`cupel` and `cupel-worker` run here and need no accelerator; the plugin is loaded by `cupel-device`, here or behind the launcher (which needs that one file and the
plugin alone). A machine that has `cupel-device` and nothing else of Cupel can run folders but not take them apart: the reference is needed for that. Folders that run as
expected are left out. What was explained before is remembered, so the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path


def explain(options: argparse.Namespace, folder: Path) -> dict:
    launcher = ["--device-launcher", options.launcher] if options.launcher else []
    result = subprocess.run([options.bin / "cupel", "explain", folder, "--device", options.device, *launcher, "--probe-timeout", str(options.probe_timeout), "--json"],
                            capture_output=True, text=True, check=False)
    if result.stdout.startswith("{"):
        return json.loads(result.stdout)
    return {"answer": "not explained", "sentence": result.stderr.strip().splitlines()[-1] if result.stderr.strip() else "no answer", "operations": []}


def row(folder: Path, found: dict) -> str:
    names = ", ".join(dict.fromkeys(f"`{one['name']}`" for one in found["operations"][:4])) or "-"
    how = " ".join(filter(None, [found.get("outcome"), f"({found['stage']})" if found.get("stage") else ""])) or "-"
    why = found.get("picture") or found.get("worst") or found["sentence"]
    return f"| {folder.name} | {how} | {found['answer']} | {names} | {why.replace('|', '/')[:160]} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--device", required=True)
    parser.add_argument("--launcher", default="")
    parser.add_argument("--bin", type=Path, default=Path("build/bin"))
    parser.add_argument("--probe-timeout", type=float, default=60)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--json", type=Path, help="every answer, by the last two names of the folder's path, for scripts/device_reference.py --explained")
    options = parser.parse_args()
    if not (options.bin / "cupel").exists():
        parser.error(f"{options.bin}/cupel is not there: explaining needs cupel and cupel-worker (./run builds them), cupel-device alone cannot")
    lines = ["| workload | how it fails | answer | operation | what it looks like |", "|---|---|---|---|---|"]
    unexplained = 0
    answers: dict[str, dict] = {}
    for folder in sorted(options.folders):
        found = explain(options, folder)
        answers[f"{folder.resolve().parent.name}/{folder.name}"] = found
        if found["answer"] == "passes":
            continue
        unexplained += not found["operations"]
        lines.append(row(folder, found))
        print(lines[-1], flush=True)
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")
    if options.json:
        options.json.write_text(json.dumps(answers, indent=1) + "\n")
    print(f"{len(lines) - 2} workloads fail, {unexplained} of them without an operation to blame")
    return 0


if __name__ == "__main__":
    sys.exit(main())
