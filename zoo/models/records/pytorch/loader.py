"""Arguments that are no tensors all through: records with arrays and classes among them, which decide the branch that is taken."""

from __future__ import annotations

from typing import Any

import numpy
import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class Box:
    """As detection libraries have them: a class that the record names."""

    def __init__(self, centre: torch.Tensor):
        self.centre = centre


class Recorded(nn.Module):
    def __init__(self, width: int = 16):
        super().__init__()
        self.enter, self.leave = nn.Linear(width, width), nn.Linear(width, 3)

    def forward(self, features: torch.Tensor, records: list[dict[str, Any]]) -> list[dict[str, torch.Tensor]]:
        found = []
        for row, record in zip(torch.tanh(self.enter(features)), records, strict=True):
            moved = row * torch.as_tensor(record["scale"]).to(row.dtype)
            centre = self.leave(moved)
            if float(centre.sum()) > record["least"]:
                centre = centre + record["box"].centre.to(centre.dtype)
            found.append({"centre": record["kind"](centre).centre})
        return found


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Records", variant, ModelGroup.GENERALITY, ModelTask.CV_OBJECT_DET, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Recorded()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, Any]:
        rows = max(batch_size, 2)
        records = [{"kind": Box, "scale": numpy.float32(1 + i / 2), "least": -100.0 * i, "box": Box(normal(generator, 3))} for i in range(rows)]
        return {"features": normal(generator, rows, 16), "records": records}

    def unpack_forward_output(self, fwd_output: list[dict[str, torch.Tensor]]) -> torch.Tensor:
        return torch.stack([one["centre"] for one in fwd_output])
