"""A constant without a dtype meets weights in bfloat16: fails there, runs in float32."""

from __future__ import annotations

import torch
from torch import nn

from ....base import ForgeModel, normal
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) @ torch.eye(8)


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("DtypeBug", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Mixed()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, max(batch_size, 4), 8)
