"""Every example under examples/jax runs and checks itself."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import PLUGIN, ROOT

EXAMPLES = sorted((ROOT / "examples/jax").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: pathlib.Path):
    env = {key: value for key, value in os.environ.items() if not key.startswith(("CUPEL_", "JAX_"))}
    env.update(PYTHONPATH=str(ROOT / "python"), CUPEL_PLUGIN=str(PLUGIN))
    done = subprocess.run([sys.executable, path], env=env, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
