"""A helper gives float32, whatever is asked for."""

import torch
from torch import nn

from ...base import ForgeModel, narrowed
from ...config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


def table():
    return torch.ones(4, 2)



class ModelVariant(StrEnum):
    BASE = "Base"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x, values):
        return self.layer(x) @ values


class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.BASE: ModelConfig("Base")}
    DEFAULT_VARIANT = ModelVariant.BASE

    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Helper", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.GITHUB, Framework.TORCH)

    def load_model(self, dtype_override=None):
        torch.manual_seed(0)
        return narrowed(Model(), dtype_override)

    def load_inputs(self, dtype_override=None, batch_size=1):
        x = torch.randn(batch_size, 8, generator=torch.Generator().manual_seed(0)).to(dtype_override or torch.float32)
        values = table()
        return {"x": x, "values": values}
