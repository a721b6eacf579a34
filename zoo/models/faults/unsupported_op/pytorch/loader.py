"""An operator of its own: torch runs and captures it, and no compiler knows it."""

from __future__ import annotations

import torch
from torch import nn

from ....base import ForgeModel, normal
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


# Not by `custom_op`, which says what it is made of. Torch keeps it; a second import finds it.
if not hasattr(torch.ops.cupel_zoo, "mystery"):
    torch.library.define("cupel_zoo::mystery", "(Tensor x) -> Tensor")
    torch.library.impl("cupel_zoo::mystery", "cpu", lambda x: x.sort(-1).values.flip(-1))
    torch.library.register_fake("cupel_zoo::mystery", torch.empty_like)


class Mysterious(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.cupel_zoo.mystery(x) + 1


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("UnsupportedOp", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Mysterious()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, max(batch_size, 4), 8)
