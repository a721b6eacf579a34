"""An input of the wrong type, and behind it an operation without a kernel for bfloat16: the fix moves the failure."""

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

    def forward(self, x, values):
        y = self.layer(x) @ values
        if y.dtype == torch.bfloat16:
            raise RuntimeError("this model wants a wider type")
        return y


class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.BASE: ModelConfig("Base")}
    DEFAULT_VARIANT = ModelVariant.BASE

    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Both", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.GITHUB, Framework.TORCH)

    def load_model(self, dtype_override=None):
        torch.manual_seed(0)
        return narrowed(Model(), dtype_override)

    def load_inputs(self, dtype_override=None, batch_size=1):
        x = torch.randn(batch_size, 8, generator=torch.Generator().manual_seed(0)).to(dtype_override or torch.float32)
        values = torch.ones(4, 2)
        return {"x": x, "values": values}
