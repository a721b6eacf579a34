"""Kills its process while the model runs."""

from __future__ import annotations

import os

import torch
from torch import nn

from ....base import ForgeModel, normal
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class Dying(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        os.abort()


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Crash", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Dying()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, max(batch_size, 4), 8)
