"""Graphs and overlays of a program, as the `cupel` command writes them for Model Explorer: JSON made into plain dictionaries."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from cupel._files import command_path

Graphs = list[dict[str, Any]]


class CupelError(RuntimeError):
    """What the command said when it failed, in one line."""


def run_cupel(*words: str, also_good: tuple[int, ...] = ()) -> str:
    """Standard output of `cupel WORDS`; an error says what the command did."""
    ended = subprocess.run([command_path(), *words], capture_output=True, text=True, check=False)
    if ended.returncode != 0 and ended.returncode not in also_good:
        said = (ended.stderr or ended.stdout).strip().splitlines()
        raise CupelError(said[-1] if said else f"cupel {words[0]} ended with {ended.returncode}")
    return ended.stdout


def graphs_of(model: str) -> Graphs:
    """The graphs of a model or program at every stage that it has."""
    with tempfile.TemporaryDirectory(prefix="cupel-explorer-") as folder:
        output = Path(folder) / "graph.json"
        run_cupel("explore", model, "--format=model-explorer", "-o", str(output))
        return json.loads(output.read_text())["graphs"]


def overlay_of(model: str, overlay: str, *words: str) -> dict[str, Any]:
    """Node data by graph of one overlay, from `cupel explore` with these options; empty where it has none."""
    with tempfile.TemporaryDirectory(prefix="cupel-explorer-") as folder:
        output = Path(folder) / "graph.json"
        run_cupel("explore", model, "--format=model-explorer", "-o", str(output), *words)
        file = output.with_suffix("." + overlay.replace(" ", "-") + ".json")
        return json.loads(file.read_text()) if file.is_file() else {}


def time_on_device(model: str, runs: int) -> dict[str, Any]:
    """How long each launch of our own device takes."""
    return overlay_of(model, "time", f"--runs={runs}")


def values_of(model: str, seed: int) -> dict[str, Any]:
    """The largest magnitude of every value, on the golden reference."""
    return overlay_of(model, "largest magnitude", f"--values={seed}")


def error_on_device(model: str, device: str, seed: int) -> dict[str, Any]:
    """How far a device is from the golden reference, operation after operation."""
    with tempfile.TemporaryDirectory(prefix="cupel-explorer-") as folder:
        found = Path(folder) / "explanation.json"
        found.write_text(run_cupel("explain", model, f"--device={device}", f"--seed={seed}", "--json", f"--keep={folder}/values",
                                   f"--output={folder}/smallest", f"--results={folder}/results", also_good=(1,)))  # fmt: skip
        return overlay_of(model, "error against the reference", f"--explanation={found}")


def op_by_op(model: str, device: str, executes: bool) -> dict[str, Any]:
    """How far each operation comes alone: whether the device takes it and, if it executes, whether it is right."""
    depth = "execute-op-by-op" if executes else "compile-op-by-op"
    with tempfile.TemporaryDirectory(prefix="cupel-explorer-") as folder:
        run_cupel("run", model, f"--device={device}", f"--depth={depth}", f"--op-by-op-dir={folder}/ops", f"--results={folder}/results", also_good=(1,))
        tables = sorted(Path(folder, "ops").rglob("*_unique_ops.json"))
        if not tables:
            raise CupelError("no table of operations was made; cupel run --depth=" + depth + " says why")
        return overlay_of(model, "op by op" if executes else "coverage of the device", f"--op-table={tables[0]}")
