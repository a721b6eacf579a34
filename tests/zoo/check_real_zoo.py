"""Checks discovery on the real zoo, where it is at hand: the ids, and what 165 selections choose.

usage: check_real_zoo.py BUILD/bin ZOO [CONFIG]. Ends with `N passed, N failed[, N skipped]`.

ZOO is a checkout of tenstorrent/tt-forge-models at 3d755214, CONFIG the folder tests/runner/test_config of
tenstorrent/tt-xla at 95c1c1ce. real_zoo.json holds, for each framework, the number and a hash of the ids that
upstream's own validator makes, and for each selection those of what pytest 9 chose among upstream's tests (of `-m skip`: what upstream's
conftest gives that mark).
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

EXPECTED = json.loads((Path(__file__).parent / "real_zoo.json").read_text())
FUNCTIONS = {"llm": "test_llms_torch", "op_by_op": "test_all_models_op_by_op", "placeholder": "test_placeholder_models"}


def is_jax(name: str) -> bool:
    return "/jax-" in name


def digest(names: list[str]) -> dict[str, object]:
    return {"tests": len(names), "sha256": hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:32]}


def main() -> int:
    binary = Path(sys.argv[1]).resolve()
    cupel = binary / "cupel" if binary.is_dir() else binary
    zoo = str(Path(sys.argv[2]).resolve())
    config = str(Path(sys.argv[3]).resolve()) if len(sys.argv) > 3 else None
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory(prefix="cupel-zoo-") as scratch:
        def listed(*arguments: str) -> list[list[str]]:
            result = subprocess.run([str(cupel), "list", "--zoo", zoo, "--format", "ids", *arguments], text=True, timeout=120, cwd=scratch,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"CUPEL_CACHE": scratch})
            if result.returncode not in (0, 4):
                print(f"cupel list {' '.join(arguments)} ended with {result.returncode}: {result.stderr[:2000]}")
            return [line.split("::", 1) for line in result.stdout.splitlines()]

        def judge(name: str, found: list[str], expected: dict[str, object]) -> None:
            nonlocal passed, failed
            wanted = {key: expected[key] for key in ("tests", "sha256")}
            if digest(found) == wanted:
                passed += 1
            else:
                print(f"FAILED {name}: {digest(found)} instead of {wanted}")
                failed += 1

        everything = listed()
        by_kind = {"torch": [name for suite, name in everything if suite == "models" and not is_jax(name)],
                   "jax": [name for suite, name in everything if suite == "models" and is_jax(name)],
                   "llm": [name for suite, name in everything if suite == "llm"]}
        for kind, expected in EXPECTED["ids"].items():
            judge(f"ids of {kind}", by_kind[kind], expected)
        for selection in EXPECTED["selections"]:
            if config is None:
                skipped += 1
                print("SKIPPED a selection: the real configuration is not here")
                continue
            options = [word for flag, key in (("-k", "k"), ("-m", "m"), ("--arch", "arch")) if key in selection for word in (flag, selection[key])]
            names = []
            for suite, name in listed("--config", config, *options):
                function = FUNCTIONS.get(suite) or ("test_all_models_jax" if is_jax(name) else "test_all_models_torch")
                names.append(f"{function}[{name}]")
            judge(" ".join(options), names, selection)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
