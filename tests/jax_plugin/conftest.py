"""Loads the plugin into JAX, eight plain devices, before any test touches a backend."""

from __future__ import annotations

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLUGIN = pathlib.Path(os.environ.get("CUPEL_PLUGIN", ROOT / "build/lib/pjrt_plugin_cupel.so"))

os.environ["JAX_PLATFORMS"] = "cupel,cpu"  # Callbacks get their operands on a CPU device.
os.environ.setdefault("CUPEL_NUM_DEVICES", "8")

from cupel_setup import register  # noqa: E402

register(PLUGIN)

import jax  # noqa: E402


@pytest.fixture(autouse=True)
def keep_configuration():
    """Tests that switch 64-bit types on must not leave them on."""
    before = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def devices() -> list[jax.Device]:
    return jax.devices()
