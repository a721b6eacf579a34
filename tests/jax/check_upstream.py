"""Checks that the StableHLO inside JAX reads what Cupel writes, and understands it as Cupel does.

usage: .venv/bin/python check_upstream.py BUILD/bin FILE.mlir... Ends with `N passed, N failed`.

Each program is written as an artifact of several versions; upstream's reader must accept it, and what upstream then prints must be, to Cupel,
the same program that Cupel reads from the artifact. A version that cannot express a program is refused by Cupel and not counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
from jax._src.interpreters import mlir as jax_mlir  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402

CUPEL = Path(sys.argv[1]).resolve() / "cupel"
VERSIONS = ["0.9.0", "0.12.0", "0.14.0", "0.16.0", "0.18.0", "1.0.0", "1.4.0", "1.6.0", "1.9.0", "1.12.0"]


def opt(*arguments, stdin: str | None = None) -> subprocess.CompletedProcess:
    return subprocess.run([str(CUPEL), "opt", *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=120)


def problem_with(artifact: Path) -> str:
    """How upstream's understanding of an artifact differs from Cupel's; empty if it does not."""
    with jax_mlir.make_ir_context() as context:
        try:
            text = stablehlo.deserialize_portable_artifact(context, artifact.read_bytes()).operation.get_asm()
        except Exception as error:  # whatever the bindings throw is a refusal
            return f"is refused by upstream: {str(error).strip()[:300]}"
    ours, theirs = opt(artifact), opt("-", stdin=text)
    if ours.returncode != 0:
        return f"is not read by Cupel: {ours.stderr.strip()}"
    if theirs.returncode != 0:
        return f"is printed by upstream in a way that Cupel does not read: {theirs.stderr.strip()}"
    return "" if ours.stdout == theirs.stdout else "is another program to upstream than to Cupel"


def main() -> int:
    passed, problems = 0, []
    with tempfile.TemporaryDirectory(prefix="cupel-upstream-") as folder:
        artifact = Path(folder) / "program.mlirbc"
        for program in map(Path, sys.argv[2:]):
            written = 0
            for version in [*VERSIONS, stablehlo.get_current_version()]:
                if opt(program, "--emit=portable", f"--target-version={version}", "-o", artifact).returncode != 0:
                    continue
                written += 1
                problem = problem_with(artifact)
                if problem:
                    problems.append(f"FAILED {program.name} at {version} {problem}")
                else:
                    passed += 1
            if not written:
                problems.append(f"FAILED {program.name} cannot be written at any version that upstream reads")
    print(*problems, sep="\n")
    print(f"{passed} passed, {len(problems)} failed")
    return 1 if problems or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
