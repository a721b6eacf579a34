"""What a test's entry in the configuration asks for beyond its verdict: what reaches the device's compiler, and what is heeded by nobody. Used by model.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def compile_options_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a test's configuration asks of the device's compiler."""
    given = {"optimization_level": body.get("optimization_level"), "experimental_weight_dtype": "bfp_bf8" if body.get("enable_weight_bfp8_conversion") else None}
    return {name: value for name, value in given.items() if value is not None}


def not_heeded(body: Mapping[str, Any]) -> str:
    """Fields of the test's entry in the configuration that ask for something nobody does here: who reads that the test passed must not take them for checked."""
    said = {"inject_custom_moe": "experts are computed as the model writes them", "emitpy_assert_exact": "no code is generated (cupel codegen writes it, cupel run FOLDER compares it)",
            "filechecks": "no stage of the compiler is written (testers in pytest check patterns: docs/pytorch.md)"}
    return "; ".join(f"{name}: {why}" for name, why in said.items() if body.get(name))
