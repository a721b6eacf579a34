"""What the checks of generated code share: each is a function of a scratch folder, and each is run whatever became of the one before."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path


def run_all(tests: list[Callable[[Path], None]]) -> int:
    """Ends with `N passed, N failed`; the exit code."""
    passed = failed = 0
    for test in tests:
        with tempfile.TemporaryDirectory(prefix="check-codegen-") as scratch:
            try:
                test(Path(scratch))
                passed += 1
            except Exception:  # noqa: BLE001 - every failure is told, and the others still run
                failed += 1
                print(f"FAILED {test.__name__}\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


def sum_of_arguments(count: int) -> str:
    """A program of so many arguments."""
    arguments = ", ".join(f"%a{i}: tensor<f32>" for i in range(count))
    lines = [f"func.func @main({arguments}) -> tensor<f32> {{", "  %s0 = stablehlo.add %a0, %a1 : tensor<f32>"]
    lines += [f"  %s{i - 1} = stablehlo.add %s{i - 2}, %a{i} : tensor<f32>" for i in range(2, count)]
    return "\n".join([*lines, f"  return %s{count - 2} : tensor<f32>", "}"])
