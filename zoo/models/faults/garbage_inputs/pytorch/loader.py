"""Gives inputs that nobody can call a model with."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ....base import ForgeModel, normal
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("GarbageInputs", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return nn.Identity()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, max(batch_size, 4), 8)

    def load_inputs(self, dtype_override: torch.dtype | None = None, batch_size: int = 1) -> Any:
        return object()
