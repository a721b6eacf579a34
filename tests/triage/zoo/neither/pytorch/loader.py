"""Nothing is wrong with it: its entry is stale."""

import torch
from torch import nn

from ...base import ForgeModel, narrowed
from ...config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class ModelVariant(StrEnum):
    BASE = "Base"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x):
        return self.layer(x)


class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.BASE: ModelConfig("Base")}
    DEFAULT_VARIANT = ModelVariant.BASE

    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Neither", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.GITHUB, Framework.TORCH)

    def load_model(self, dtype_override=None):
        torch.manual_seed(0)
        return narrowed(Model(), dtype_override)

    def load_inputs(self, dtype_override=None, batch_size=1):
        return torch.randn(batch_size, 8, generator=torch.Generator().manual_seed(0)).to(dtype_override or torch.float32)
