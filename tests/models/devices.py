"""Workload folders on our device, through the same binary that a lab uses."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cupel._files import command_path, plugin_path


def verdicts(folders: list[str | Path]) -> dict[str, tuple[str, str]]:
    """By folder: the outcome's word and the whole report of `cupel-device run`."""
    done = subprocess.run([command_path("cupel-device"), "run", plugin_path(), *map(str, folders)], capture_output=True, text=True, check=False)
    found: dict[str, tuple[str, str]] = {}
    folder = ""
    for line in done.stdout.splitlines():
        named = next((str(one) for one in folders if str(one) in line.split()), "")
        if named:
            folder = named
            found[folder] = (line.split("  ")[0].strip(), line)
        elif folder:
            found[folder] = (found[folder][0], found[folder][1] + "\n" + line)
    assert set(found) == {str(one) for one in folders}, done.stdout + done.stderr
    return found
