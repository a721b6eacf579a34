"""What the outputs of a whole program cannot tell is asked of its pieces, as `cupel run` asks (decisions 0022, 0121).

Where rounding decides an output, or a device computes in less than f32, a wrong result may be within its limits. Then the program is handed to `cupel run`
with its inputs: that cuts it, feeds each piece with the reference's values, and judges what the device makes of it.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

from cupel._files import command_path
from cupel._native import Array, Noise, RanOn, spelled
from cupel.worker.array_file import UnknownType
from cupel.worker.workload_folder import Contents, save


class NotJudgedByPieces(UserWarning):
    """A result that is right as a whole, and whose whole tells little, could not be taken apart."""


def _run(noise: Noise, ran_on: RanOn, program: bytes, inputs: list[Array], folder: Path) -> dict[str, Any]:
    """The record of the program as a test of its own."""
    save(folder / "program", "program", Contents(program, [inputs], []), {}, {}, {})
    done = subprocess.run(
        [command_path("cupel"), "run", str(folder / "program"), "--device", ran_on.device, "--precision", noise.precision, "--timeout", "0", "-j", "1", "--repeat", "1",
         "--keep-failed", "none", "--results", str(folder / "results"), "--json", str(folder / "run.json"),
         *(part for name, value in ran_on.compile_options.items() for part in ("--option", f"{name}={spelled(value)}"))],
        capture_output=True, text=True, check=False)
    try:
        (record,) = json.loads((folder / "run.json").read_text())["tests"]
    except (OSError, ValueError):
        return {"outcome": "not run", "message": f"{done.stdout}{done.stderr}".strip()}
    return record


def complaint(noise: Noise) -> str:
    """What is wrong with a piece of the program behind results that are right as a whole; empty: nothing, or nobody need ask. Warns where it could not be found out."""
    if noise.ran_on is None or not (noise.decided or noise.is_narrow) or (found := noise.program()) is None:
        return ""
    with tempfile.TemporaryDirectory(prefix="cupel-pieces-") as folder:
        try:
            record = _run(noise, noise.ran_on, *found, Path(folder))
        except UnknownType as error:
            record = {"outcome": "not run", "message": str(error)}
    message = str(record.get("message", ""))
    if record["outcome"] == "failed" and record.get("last_stage") == "compare":
        return message
    note = str(record.get("notes", {}).get("by pieces", ""))
    if record["outcome"] not in ("passed", "unjudged") or note.startswith("not judged"):
        warnings.warn(NotJudgedByPieces(f"right as a whole, which tells little ({_why(noise)}), and not judged by pieces: {note or record['outcome'] + ': ' + message}"), stacklevel=4)
    return ""


def _why(noise: Noise) -> str:
    outputs = ", ".join(str(one) for one in sorted(noise.decided))
    return f"rounding decides result {outputs}" if noise.decided else f"the device computes in {noise.precision}"
