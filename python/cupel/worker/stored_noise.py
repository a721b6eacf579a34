"""Adds the noise of a program to a workload folder: on a machine that has nothing but a plugin, rounding could not be told from errors.

The reference evaluates the program with its roundings moved, in a `cupel-worker` of its own, which writes the folder anew as it does with tests that failed. Used by
`cupel compile ID`; in a run the worker measures what it needs. Where it cannot be had the folder stays as it is, and the reason is told.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from cupel._files import command_path
from cupel.worker.protocol import Connection

SECONDS = 300


def add_noise(folder: Path, seconds: int = SECONDS) -> str:
    """Why there is none; empty where it is in the folder now."""
    if not (folder / "expected.safetensors").exists():
        return "nothing is expected of its results"
    made = folder.with_name(f".{folder.name}.noise")
    shutil.rmtree(made, ignore_errors=True)
    to_worker, from_worker = os.pipe(), os.pipe()
    try:
        command = [command_path("cupel-worker"), "serve", f"--requests={to_worker[0]}", f"--replies={from_worker[1]}"]
        with subprocess.Popen(command, pass_fds=(to_worker[0], from_worker[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as worker:
            for descriptor in (to_worker[0], from_worker[1]):
                os.close(descriptor)
            connection = Connection(from_worker[0], to_worker[1])
            connection.send("keep 1", {"suite": "workloads", "id": str(folder), "file": str(folder), "device": "reference", "save": True, "keep_folder": str(made), "timeout_seconds": seconds})
            answer: dict[str, Any] = {"message": "its worker ended"}
            while (reply := connection.receive()) is not None:
                if reply[0][0] == "result":
                    answer = reply[1]
                    break
            os.close(to_worker[1])
            worker.wait()
        found = sorted(made.glob("noise-*.safetensors"))
        if answer.get("outcome") != "passed" or not found:
            return answer.get("message") or "the reference does not evaluate it"
        for file in found:
            file.replace(folder / file.name)
        # What the folder says of itself stays; what the noise was measured for is new.
        options = json.loads((made / "options.json").read_text()) | json.loads((folder / "options.json").read_text())
        (folder / "options.json").write_text(json.dumps(options, indent=1) + "\n")
        return ""
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(made, ignore_errors=True)
