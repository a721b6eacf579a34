"""Computes something else when it is captured than when it is called: no device can give what the CPU gave."""

from __future__ import annotations

import torch
from torch import nn

from ....base import ForgeModel, normal
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class TwoFaced(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        return y.flip(1) * 3 if torch.compiler.is_compiling() else y


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("WrongGolden", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return TwoFaced()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, max(batch_size, 4), 8)
