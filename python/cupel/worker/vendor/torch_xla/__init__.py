"""Stands for torch_xla, as far as model loaders import it while they make a model: Cupel's devices are not torch's."""

from __future__ import annotations

from typing import Any

custom_compile_options: dict[str, Any] = {}


def set_custom_compile_options(options: dict[str, Any]) -> None:
    """Kept for whoever asks."""
    custom_compile_options.update(options)


def device(*_: Any, **__: Any) -> Any:
    raise RuntimeError("the model's loader asks torch_xla for a device; Cupel runs the model itself, in graphs it captures")


def sync(*_: Any, **__: Any) -> None:
    """Nothing is ever pending."""
