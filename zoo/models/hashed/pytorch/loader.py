"""Words by hashes of their numbers, as recommenders with huge vocabularies have them: the products need 64 bits, which not every device has."""

from __future__ import annotations

import torch
from torch import nn

from ...base import ForgeModel, tokens
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum

_PRIME = (1 << 31) - 1


class Hashed(nn.Module):
    def __init__(self, buckets: int = 97, width: int = 16, hashes: int = 2):
        super().__init__()
        self.table = nn.Embedding(buckets, width)
        self.head = nn.Linear(width, 4)
        self.register_buffer("factors", torch.tensor([1103515245, 1566083941][:hashes]), persistent=False)

    def forward(self, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        buckets = words[..., None] * self.factors % _PRIME % self.table.num_embeddings
        return self.head(self.table(buckets).mean((1, 2))), buckets


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Hashed", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Hashed()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return tokens(generator, batch_size, 12, 100_000)

    def unpack_forward_output(self, fwd_output: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return fwd_output[0]
