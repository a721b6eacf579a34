"""Models taken apart into operations by `cupel run`: from captured graphs or a file to the table of unique operations."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cupel._files import command_path
from cupel._native import comparator_default, spelled
from cupel.testing.arguments import correlation
from cupel.testing.comparison import POLICY
from cupel.testing.compiler_config import CompileDepth, CompilerConfig, OpByOpBackend


class OpByOpError(RuntimeError):
    """No table could be made."""


def current_test() -> str:
    """The test that pytest is running, as it names it; empty outside."""
    return re.sub(r" \((setup|call|teardown)\)$", "", os.environ.get("PYTEST_CURRENT_TEST", ""))


def table_file(config: CompilerConfig, name: str) -> Path:
    """Where tt-torch would put it."""
    return Path(config.results_path + re.sub(r"[^A-Za-z0-9_/]", "_", current_test() or name) + "_unique_ops.json")


def _merged(tables: Sequence[dict[str, Any]], model: str, group: str) -> dict[str, Any]:
    """Over graphs, in their order: what stands twice is counted, places go on."""
    merged: dict[str, Any] = {}
    before = 0
    for table in tables:
        for key, record in table.items():
            if key in merged:
                merged[key]["num_ops"] += record["num_ops"]
            else:
                merged[key] = record | {"model_name": model, "model_group": group, "global_op_idx": record["global_op_idx"] + before}
        before += sum(record["num_ops"] for record in table.values())
    return merged


def _chosen(table: dict[str, Any]) -> dict[str, Any]:
    """With RUN_GLOBAL_OP_IDX, the operation that stands first at that place, and no other."""
    wanted = os.environ.get("RUN_GLOBAL_OP_IDX", "")
    if not wanted:
        return table
    found = {key: record for key, record in table.items() if str(record["global_op_idx"]) == wanted}
    if not found:
        places = ", ".join(str(record["global_op_idx"]) for record in table.values())
        raise OpByOpError(f"RUN_GLOBAL_OP_IDX={wanted}: no operation stands there for the first time; there are {places}")
    return found


def make_table(source: Path, config: CompilerConfig, model: str, group: str) -> dict[str, Any]:
    """Runs `cupel run --depth ...` on a model's file, or on a folder with a workload or an archive a graph, and gives the table of all. Operations that
    fail are rows of it."""
    depth = "execute-op-by-op" if config.compile_depth is not CompileDepth.COMPILE_OP_BY_OP else "compile-op-by-op"
    backend = "torch" if config.op_by_op_backend is OpByOpBackend.TORCH else "stablehlo"
    with tempfile.TemporaryDirectory(prefix="cupel-op-by-op-") as folder:
        where = Path(folder) / "tables"
        done = subprocess.run(
            [command_path("cupel"), "run", str(source), "--depth", depth, "--op-by-op-backend", backend, "--op-by-op-dir", str(where), "--device", POLICY.device,
             "--op-timeout", str(config.single_op_timeout), "--timeout", "0", "-j", "1", "--keep-failed", "none", "--results", f"{folder}/results",
             *(part for name, value in config.compile_options.items() for part in ("--option", f"{name}={spelled(value)}"))],
            capture_output=True, text=True, check=False)
        tables = [json.loads(found.read_text()) for found in sorted(where.rglob("*_unique_ops.json"))]
    if not any(tables):
        raise OpByOpError(f"{model} gave no table of operations:\n{done.stdout}{done.stderr}")
    merged = _chosen(_merged(tables, model, group))
    target = table_file(config, model)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(merged, indent=1) + "\n")
    config.unique_ops = merged
    return merged


def not_executing(table: dict[str, Any]) -> list[str]:
    """A line for each operation that did not come to its end."""
    return [f"{key}: {record['compilation_status']} {record['status']}" + (f": {record['error']}" if record.get("error") else "") for key, record in table.items()
            if record["compilation_status"] != 7]


def _threshold() -> float:
    given = os.environ.get("RTI_PCC_FAIL_THRESH", "")
    try:
        return correlation("RTI_PCC_FAIL_THRESH", float(given) if given else comparator_default("required_pcc"))
    except ValueError:
        raise ValueError(f"RTI_PCC_FAIL_THRESH={given}: it is a correlation, above -1 and up to 1") from None


def csv_of(table: dict[str, Any]) -> str:
    """Results of calls as tt-torch prints them, with the last row and the first one under the threshold."""
    limit = _threshold()
    rows = [f"{key},{record['pcc']},{record['atol']},{json.dumps(record.get('error', ''))},{record['pcc']},{record['atol']},{json.dumps(record.get('error', ''))}"
            for key, record in table.items()]
    low = next((row for row, record in zip(rows, table.values(), strict=True) if record["pcc"] and not float(record["pcc"]) >= limit), "none")
    return "\n".join(["NodeName,PCC,ATOL,ErrorMessage,FlattenedPCC,FlattenedATOL,FlattenedErrorMessage", *rows, f"last: {rows[-1]}", f"first below {limit}: {low}"])
