"""An operator of its own: torch runs and captures it, and no compiler knows it."""

from __future__ import annotations

import torch
from torch import nn

from ....base import ForgeModel, normal
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


@torch.library.custom_op("cupel_zoo::mystery", mutates_args=())
def mystery(x: torch.Tensor) -> torch.Tensor:
    return x.sort(-1).values.flip(-1)


@mystery.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Mysterious(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return mystery(x) + 1


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("UnsupportedOp", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Mysterious()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, max(batch_size, 4), 8)
