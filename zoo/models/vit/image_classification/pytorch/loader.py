"""A vision transformer: patches, a class token, learned positions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ....base import ForgeModel, normal
from ....config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ....layers import EncoderBlock, encoder_shard_spec, two_rows


class ModelVariant(StrEnum):
    TINY = "tiny"
    SMALL = "small"


@dataclass
class Config(ModelConfig):
    width: int = 32
    depth: int = 2


class ViT(nn.Module):
    def __init__(self, width: int, depth: int, patch: int = 8, size: int = 32):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.ModuleList(EncoderBlock(width, 4) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
        x = self.patches(pixel_values).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class ModelLoader(ForgeModel):
    _VARIANTS = {
        ModelVariant.TINY: Config("cupel/vit-tiny", width=32, depth=2),
        ModelVariant.SMALL: Config("cupel/vit-small", width=64, depth=4),
    }
    DEFAULT_VARIANT = ModelVariant.TINY

    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("ViT", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return ViT(self._variant_config.width, self._variant_config.depth)

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        return {"pixel_values": normal(generator, batch_size, 3, 32, 32)}

    def get_mesh_config(self, num_devices: int) -> tuple[tuple[int, int], tuple[str, str]]:
        return two_rows(num_devices)

    def load_shard_spec(self, model: nn.Module) -> dict[nn.Parameter, tuple[str | None, ...]]:
        return encoder_shard_spec(model.blocks)
