"""A number taken out of a tensor decides which branch runs: two graphs with Python between them."""

from __future__ import annotations

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class Branching(nn.Module):
    def __init__(self, width: int = 16):
        super().__init__()
        self.enter, self.left, self.right = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(self.enter(x))
        if float(x.sum()) > 0:
            return self.left(x)
        return self.right(x) - 1


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("TwoGraphs", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Branching()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, max(batch_size, 4), 16)
