"""Makes the source tree's package importable, and its pytest plugin known as an installed wheel would."""

from __future__ import annotations

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ["JAX_PLATFORMS"] = "cpu,cupel"
os.environ["PYTHONPATH"] = f"{ROOT / 'python'}:{os.environ.get('PYTHONPATH', '')}"

os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # Of pytest runs inside tests: an installed wheel must not get in the way.

from cupel.jax import initialize  # noqa: E402

initialize()  # An installed wheel is found by JAX itself; this must come before JAX is first used.

pytest_plugins = ["cupel.testing.pytest_plugin", "pytester"]
