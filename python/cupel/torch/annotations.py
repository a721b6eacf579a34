"""Operators that hand a tensor through and say something of it, which the C++ frontend reads (ops/Annotations.cpp)."""

from __future__ import annotations

import torch


def annotation(name: str) -> torch.library.CustomOpDef:
    """The operator cupel::NAME(x, word); how gradients go through it is for whoever makes it to say."""

    @torch.library.custom_op(f"cupel::{name}", mutates_args=(), schema="(Tensor x, str word) -> Tensor")
    def operator(x: torch.Tensor, word: str) -> torch.Tensor:
        return x.clone()

    @operator.register_fake
    def _(x: torch.Tensor, word: str) -> torch.Tensor:
        return torch.empty_like(x)

    return operator
