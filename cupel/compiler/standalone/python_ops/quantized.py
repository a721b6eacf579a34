"""Between real numbers and quantized ones: real = (stored - zero point) * scale."""

import numpy as np


class Quantization:
    """How integers stand for numbers: for the whole tensor, or for each slice of an axis."""

    def __init__(self, storage, expressed, scales, zero_points, low, high, axis=None):
        self.storage, self.expressed, self.axis = storage, expressed, axis
        self.scales, self.zero_points, self.low, self.high = scales, zero_points, low, high

    def parameters(self, rank):
        shape = [-1 if d == self.axis else 1 for d in range(rank)] if self.axis is not None else ()
        scales = self.expressed(np.array(self.scales, np.float64)).reshape(shape if self.axis is not None else ())
        return scales, np.array(self.zero_points, np.int64).reshape(shape if self.axis is not None else ())


def dequantize(x, quantization):
    x = np.asarray(x)
    scales, zero_points = quantization.parameters(x.ndim)
    return quantization.expressed(quantization.expressed(x.astype(np.int64) - zero_points) * scales)


def quantize(x, quantization):
    """Rounded to the nearest, ties to even, inside the range."""
    x, expressed = np.asarray(x), quantization.expressed
    scales, zero_points = quantization.parameters(x.ndim)
    value = expressed(expressed(x / scales) + expressed(zero_points))
    value = np.where(np.isnan(value), 0, np.clip(value, quantization.low, quantization.high))
    return np.rint(value).astype(quantization.storage.dtype)


def requantize(x, source, target):
    x = np.asarray(x)
    wide = np.float64 if source.expressed.bits == 64 else np.float32
    (scale, zero), (new_scale, new_zero) = source.parameters(x.ndim), target.parameters(x.ndim)
    ratio = wide(scale) / wide(new_scale) if np.ndim(scale) == 0 and np.ndim(new_scale) == 0 else scale.astype(wide) / new_scale.astype(wide)
    value = x.astype(wide) * ratio + (np.asarray(new_zero).astype(wide) - np.asarray(zero).astype(wide) * ratio)
    return np.rint(np.clip(value, target.low, target.high)).astype(target.storage.dtype)


__all__ = ["Quantization", "dequantize", "quantize", "requantize"]
