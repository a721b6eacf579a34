"""Which attribute of an output training goes back from, by the output's class."""

from __future__ import annotations

from typing import Any

import torch

_ATTRIBUTES: dict[str, str] = {}


def _register_attr(name: str, attribute: str) -> None:
    _ATTRIBUTES[name] = attribute


_register_attr("Captioned", "logits")
_register_attr("Pyramid", "levels")
_register_attr("Segmented", "logits")


def unpack(output: Any) -> Any:
    if isinstance(output, torch.Tensor):
        return output
    name = type(output).__name__
    if name not in _ATTRIBUTES:
        raise ValueError(f"No handler for class {name} exists in unpack_forward_output. Register a handler.")
    return getattr(output, _ATTRIBUTES[name])
