"""Two variants share the failing line, a third does not come to it, a fourth fails otherwise as well."""

import torch
from torch import nn

from ...base import ForgeModel, narrowed
from ...config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class ModelVariant(StrEnum):
    SMALL = "Small"
    LARGE = "Large"
    PLAIN = "Plain"
    STUBBORN = "Stubborn"


class Model(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.layer = nn.Linear(8, 4)

    def forward(self, x, values):
        if self.kind == "Plain":
            return self.layer(x)
        if self.kind == "Stubborn":
            return self.layer(x) @ torch.ones(4, 2)
        return self.layer(x) @ values


class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.SMALL: ModelConfig("Small"), ModelVariant.LARGE: ModelConfig("Large"), ModelVariant.PLAIN: ModelConfig("Plain"), ModelVariant.STUBBORN: ModelConfig("Stubborn")}
    DEFAULT_VARIANT = ModelVariant.SMALL

    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Variants", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.GITHUB, Framework.TORCH)

    def load_model(self, dtype_override=None):
        torch.manual_seed(0)
        return narrowed(Model(str(self._variant)), dtype_override)

    def load_inputs(self, dtype_override=None, batch_size=1):
        x = torch.randn(batch_size, 8, generator=torch.Generator().manual_seed(0)).to(dtype_override or torch.float32)
        values = torch.ones(4, 2)
        return {"x": x, "values": values}
