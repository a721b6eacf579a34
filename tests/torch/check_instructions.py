"""Whether torch is held to instructions that its narrow products survive: deaths are planted, since few processors promise too much.

usage: .venv/bin/python tests/torch/check_instructions.py. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python"
sys.path.insert(0, str(PACKAGE))

from cupel.worker import instructions, products  # noqa: E402

CHECKS: list[Callable[[Path], None]] = []
SETTLE = "from cupel.worker import instructions as i; import os; print(i.settle()); print(os.environ.get(i.VARIABLE))"


def check(function: Callable[[Path], None]) -> Callable[[Path], None]:
    CHECKS.append(function)
    return function


def expect(condition: object, message: object) -> None:
    if not condition:
        raise AssertionError(str(message))


def start(folder: Path, **variables: str) -> subprocess.Popen[str]:
    """A process that settles; each try of the products is a line in FOLDER/tries."""
    site = folder / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(
        f"import os, sys\nif any(word.endswith('products.py') for word in sys.orig_argv):\n"
        f"    with open({str(folder / 'tries')!r}, 'a') as file:\n        file.write(os.environ.get('ONEDNN_MAX_CPU_ISA', 'all') + '\\n')\n")
    environment = {name: value for name, value in os.environ.items()
                   if name not in (instructions.VARIABLE, "DNNL_MAX_CPU_ISA", instructions.REASON, instructions.PLANTED)}
    environment |= {"CUPEL_CACHE": str(folder / "cache"), "PYTHONPATH": f"{site}:{PACKAGE}"} | variables
    return subprocess.Popen([sys.executable, "-c", SETTLE], env=environment, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> list[str]:
    output, _ = process.communicate(timeout=300)
    expect(process.returncode == 0, f"ended with {process.returncode}")
    return output.splitlines()


def tries(folder: Path) -> list[str]:
    return (folder / "tries").read_text().split() if (folder / "tries").exists() else []


@check
def the_level_is_lowered_until_products_live(folder: Path) -> None:
    planted = {instructions.PLANTED: "AVX512_CORE_AMX"}
    note = "torch's bfloat16 matmul dies of SIGILL with all that this processor shows"
    for _ in range(2):
        expect(said(start(folder, **planted)) == [f"ONEDNN_MAX_CPU_ISA=AVX512_CORE_AMX: {note}", "AVX512_CORE_AMX"], "it is not lowered")
        # The second time from the cache.
        expect(tries(folder) == ["all", "AVX512_CORE_AMX_FP16", "AVX512_CORE_AMX"], tries(folder))
    # A process that inherits the level also knows why.
    inherited = {instructions.VARIABLE: "AVX512_CORE_AMX", instructions.REASON: f"AVX512_CORE_AMX: {note}"}
    expect(said(start(folder, **planted, **inherited)) == [f"ONEDNN_MAX_CPU_ISA=AVX512_CORE_AMX: {note}", "AVX512_CORE_AMX"], "inherited")


@check
def what_the_environment_gives_is_never_raised(folder: Path) -> None:
    given = {instructions.VARIABLE: "AVX512_CORE"}
    expect(said(start(folder, **given)) == ["ONEDNN_MAX_CPU_ISA=AVX512_CORE, as the environment says", "AVX512_CORE"], "it is not said")
    expect(said(start(folder, **given, **{instructions.PLANTED: "AVX2_VNNI_2"})) ==
           ["ONEDNN_MAX_CPU_ISA=AVX2_VNNI_2: torch's bfloat16 matmul dies of SIGILL with AVX512_CORE", "AVX2_VNNI_2"], "it is not lowered")
    expect(tries(folder) == ["AVX512_CORE", "AVX512_CORE", "AVX2_VNNI_2"], tries(folder))


@check
def products_that_die_everywhere_are_said_to(folder: Path) -> None:
    expect(said(start(folder, **{instructions.VARIABLE: "AVX", instructions.PLANTED: "at every level"})) ==
           ["torch's bfloat16 matmul dies of SIGILL with AVX, and at every level below", "AVX"], "it is not said")
    expect(tries(folder) == ["AVX", "SSE41"], tries(folder))


@check
def processes_that_begin_at_once_try_once(folder: Path) -> None:
    answers = [said(process) for process in [start(folder) for _ in range(4)]]
    expect(all(answer == answers[0] for answer in answers) and len(tries(folder)) == len(set(tries(folder))), (answers, tries(folder)))


@check
def the_cache_may_be_broken_or_missing(folder: Path) -> None:
    given = {instructions.VARIABLE: "AVX2"}
    wanted = said(start(folder, **given))
    kept, = (folder / "cache/torch-products").glob("*.json")
    expect(json.loads(kept.read_text()) == {"level": "", "reason": ""}, kept.read_text())
    kept.write_text("{ half of")
    expect(said(start(folder, **given)) == wanted and len(tries(folder)) == 2, tries(folder))
    expect(said(start(folder, CUPEL_CACHE="/proc/none", **given)) == wanted and len(tries(folder)) == 3, tries(folder))


@check
def every_product_is_computed(folder: Path) -> None:
    instructions.settle()
    done = subprocess.run([sys.executable, products.__file__], capture_output=True, text=True, timeout=300)
    expect(done.returncode == 0 and "passed over" not in done.stderr, done.stderr)
    for kind in ("bfloat16", "float16", "int8"):
        expect(f"{kind} matmul\n" in done.stdout, done.stdout)


@check
def a_wrong_product_is_not_trusted(folder: Path) -> None:
    # A torch of our own, whose bfloat16 sums are off by one.
    spoiled = ("import torch\nright = torch.matmul\n"
               "torch.matmul = lambda a, b: right(a, b) + (1 if a.dtype == torch.bfloat16 else 0)\n"
               "import runpy, sys\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n")
    (folder / "spoiled.py").write_text(spoiled)
    done = subprocess.run([sys.executable, folder / "spoiled.py", products.__file__], capture_output=True, text=True, timeout=300)
    expect((done.returncode, done.stdout) == (products.WRONG_VALUE, "bfloat16 matmul\n"), done)


def main() -> int:
    wanted = sys.argv[1:]
    chosen = [function for function in CHECKS if not wanted or function.__name__ in wanted]
    failed = 0
    for function in chosen:
        with tempfile.TemporaryDirectory(prefix="cupel-instructions-") as folder:
            try:
                function(Path(folder))
            except Exception as error:  # noqa: BLE001
                failed += 1
                print(f"FAILED {function.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
