"""Linear layers of `torch.ao.quantization.quantize_dynamic` as calls of ATen: their weights are packed in objects that no program holds, and their kernels are others' than ATen's.

Arguments are quantized as the kernels do it: one scale and zero point for the whole tensor, from its least and greatest element. Products of the integers are then computed in
float32, in which the kernels' sums of int32 end, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

# Steps are never smaller than this.
_LEAST_STEP = 6.1e-5


def _quantized(x: torch.Tensor, greatest: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Integers less the zero point, as float32, and what one of them is worth."""
    low = x.amin().double().clamp(max=0.0)
    high = x.amax().double().clamp(min=0.0)
    step = (high - low) / greatest
    zero = torch.where(step > 0, -low / step, torch.zeros_like(step)).clamp(0.0, greatest).round().float()
    step = step.clamp(min=_LEAST_STEP).float()
    return (x * (1.0 / step) + zero).round().clamp(0.0, greatest) - zero, step


@dataclass
class DynamicLinear:
    """One such layer, with what is in its packed object."""

    weight: torch.Tensor
    """Integers as float32; the numbers themselves where arguments stay as they are."""
    step: torch.Tensor | None
    """What one of them is worth, in all rows or in each."""
    bias: torch.Tensor | None
    greatest: int
    """Of the arguments' integers."""
    has_relu: bool

    @classmethod
    def of(cls, func: Any, args: tuple[Any, ...]) -> DynamicLinear | None:
        """None if the call is none of such a layer."""
        name, has_relu = func._schema.name, "relu" in func._schema.name
        if name in ("quantized::linear_dynamic_fp16", "quantized::linear_relu_dynamic_fp16"):
            weight, bias = torch.ops.quantized.linear_unpack_fp16(args[1])
            return cls(weight.float(), None, bias, 0, has_relu)
        if name not in ("quantized::linear_dynamic", "quantized::linear_relu_dynamic"):
            return None
        weight, bias = torch.ops.quantized.linear_unpack(args[1])
        if weight.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric):
            step, zero = weight.q_per_channel_scales().float(), weight.q_per_channel_zero_points().float()[:, None]
        else:
            step, zero = torch.tensor([weight.q_scale()]), torch.tensor([[float(weight.q_zero_point())]])
        is_reduced = args[2] if len(args) > 2 else next(one.default_value for one in func._schema.arguments if one.name == "reduce_range")
        # The kernels of QNNPACK have all eight bits, whatever they are told.
        return cls(weight.int_repr().float() - zero, step, bias, 127 if is_reduced and torch.backends.quantized.engine != "qnnpack" else 255, has_relu)

    def tensors(self) -> list[torch.Tensor]:
        return [tensor for tensor in (self.weight, self.step, self.bias) if tensor is not None]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self.step is None:
            result = torch.nn.functional.linear(x, self.weight)
        else:
            values, step = _quantized(x, self.greatest)
            result = torch.nn.functional.linear(values, self.weight) * (self.step * step)
        result = result if self.bias is None else result + self.bias
        return result.relu() if self.has_relu else result
