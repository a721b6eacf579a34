"""The list of small programs that export_programs.py writes, and how one is put on it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cupel.worker.instructions import settle  # noqa: E402

settle()  # Before torch computes anything.

Case = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]
CASES: dict[str, Callable[[], Case]] = {}


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    """Registers a case: (module, inputs) or (module, inputs, options)."""

    def made() -> Case:
        torch.manual_seed(7)
        result = function()
        return (*result, {}) if len(result) == 2 else result

    CASES[function.__name__] = made
    return function


def forward_of(function: Callable[..., Any]) -> nn.Module:
    class Program(nn.Module):
        def forward(self, *inputs: Any) -> Any:
            return function(*inputs)

    return Program()


def r(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)
