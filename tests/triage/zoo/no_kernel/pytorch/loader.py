"""An operation that has no kernel for bfloat16."""

import torch
from torch import nn

from ...base import ForgeModel, narrowed
from ...config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class ModelVariant(StrEnum):
    BASE = "Base"


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        if x.dtype == torch.bfloat16:
            raise RuntimeError("'deformable_im2col' not implemented for 'BFloat16'")
        return x

    @staticmethod
    def backward(context, gradient):
        return gradient


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x):
        return Counted.apply(self.layer(x))


class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.BASE: ModelConfig("Base")}
    DEFAULT_VARIANT = ModelVariant.BASE

    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("NoKernel", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.GITHUB, Framework.TORCH)

    def load_model(self, dtype_override=None):
        torch.manual_seed(0)
        return narrowed(Model(), dtype_override)

    def load_inputs(self, dtype_override=None, batch_size=1):
        return torch.randn(batch_size, 8, generator=torch.Generator().manual_seed(0)).to(dtype_override or torch.float32)
