"""A decoder without ids, in a mapping."""

import torch
from torch import nn

from ...base import ForgeModel, narrowed
from ...config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class ModelVariant(StrEnum):
    BASE = "Base"


class Configuration:
    decoder_start_token_id = 3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Configuration()
        self.layer = nn.Linear(8, 4)
        self.table = nn.Embedding(5, 4)

    def forward(self, x, mask=None, decoder_input_ids=None):
        if decoder_input_ids is None:
            raise ValueError("You have to specify either decoder_input_ids or decoder_inputs_embeds.")
        return self.layer(x) + self.table(decoder_input_ids).sum(dim=1)


class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.BASE: ModelConfig("Base")}
    DEFAULT_VARIANT = ModelVariant.BASE

    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Decoder", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.GITHUB, Framework.TORCH)

    def load_model(self, dtype_override=None):
        torch.manual_seed(0)
        return narrowed(Model(), dtype_override)

    def load_inputs(self, dtype_override=None, batch_size=1):
        return {"x": torch.randn(batch_size, 8, generator=torch.Generator().manual_seed(0)).to(dtype_override or torch.float32)}
