"""What the networks of bench/models share: how one is made, and a convolution with its normalisation."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

Built = tuple[nn.Module, tuple[torch.Tensor, ...]]


def seeded(build: Callable[[], Built]) -> Callable[[], Built]:
    def make() -> Built:
        torch.manual_seed(0)
        module, inputs = build()
        return module.eval(), inputs

    make.__name__ = build.__name__
    return make


def conv(inner: int, outer: int, size: int = 1, stride: int = 1, groups: int = 1, act: nn.Module | None = None) -> nn.Sequential:
    made = nn.Conv2d(inner, outer, size, stride, size // 2, groups=groups, bias=False)
    # As large as what goes in: with PyTorch's own numbers fifty layers leave nothing but the last bias, and every result is right.
    nn.init.kaiming_normal_(made.weight, nonlinearity="relu" if act else "linear")
    return nn.Sequential(made, nn.BatchNorm2d(outer), *([act] if act else []))
