"""torchvision's own operators as calls of ATen, so that a device computes them: graphs hold them as calls that no compiler knows.

Everything is computed in float32, as torchvision's kernels do it for narrower floats, and rounded once. Which boxes `nms` keeps is nobody's fixed size, and stays torch's word.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor


def _corners(y: torch.Tensor, x: torch.Tensor, height: int, width: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The four places around each point, counted row by row, and what each weighs: nothing outside of the picture."""
    low_y, low_x = y.floor(), x.floor()
    found = []
    for down in (0, 1):
        for right in (0, 1):
            row, column = low_y + down, low_x + right
            weight = (1 - (y - row).abs()) * (1 - (x - column).abs())
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            place = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).long()
            found.append((place, torch.where(inside, weight, torch.zeros_like(weight))))
    return found


def _roi_align(input: torch.Tensor, rois: torch.Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int, aligned: bool) -> Any:
    batch, channels, height, width = input.shape
    boxes = rois.float()
    begin = boxes[:, 1:3] * spatial_scale - (0.5 if aligned else 0.0)  # x, y
    size = boxes[:, 3:5] * spatial_scale - (0.5 if aligned else 0.0) - begin
    if not aligned:
        size = size.clamp(min=1.0)
    if sampling_ratio > 0:
        counts, most = torch.full_like(size, float(sampling_ratio)), (sampling_ratio, sampling_ratio)
    elif isinstance(rois, FakeTensor) or rois.shape[0] == 0:
        return NotImplemented  # As many samples as boxes are large.
    else:
        counts = torch.stack((size[:, 0] / pooled_width, size[:, 1] / pooled_height), 1).ceil().clamp(min=1.0)
        most = int(counts[:, 0].max()), int(counts[:, 1].max())

    def samples(axis: int, cells: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Where they lie, by box, cell and number, and which of them a box has."""
        number = torch.arange(most[axis], dtype=torch.float32)[None, None]
        count = counts[:, axis, None, None]
        cell = torch.arange(cells, dtype=torch.float32)[None, :, None]
        place = begin[:, axis, None, None] + (cell + (number + 0.5) / count) * (size[:, axis, None, None] / cells)
        return place.flatten(1), (number < count).expand(-1, cells, -1).flatten(1)

    (x, x_counts), (y, y_counts) = samples(0, pooled_width), samples(1, pooled_height)
    y, x = y[:, :, None].expand(-1, -1, x.shape[1]), x[:, None, :].expand(-1, y.shape[1], -1)
    counted = y_counts[:, :, None] & x_counts[:, None, :] & (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    picture = input.float().transpose(0, 1).reshape(channels, batch * height * width)
    first = boxes[:, 0].long()[:, None, None] * (height * width)
    total: Any = 0
    for place, weight in _corners(y.clamp(0, height - 1), x.clamp(0, width - 1), height, width):
        weight = torch.where(counted, weight, torch.zeros_like(weight))
        total = total + picture.index_select(1, (place + first).flatten()).view(channels, *place.shape) * weight
    cells = total.view(channels, rois.shape[0], pooled_height, most[1], pooled_width, most[0]).sum((3, 5))
    return (cells / (counts[:, 0] * counts[:, 1])[None, :, None, None]).transpose(0, 1).contiguous().to(input.dtype)


def _deform_conv2d(input: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor, mask: torch.Tensor, bias: torch.Tensor, stride_h: int, stride_w: int, pad_h: int, pad_w: int,
                   dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool) -> torch.Tensor:
    batch, channels, height, width = input.shape
    kernels, _, rows, columns = weight.shape
    out_h, out_w = offset.shape[-2:]
    moved = offset.float().reshape(batch * offset_groups, rows, columns, 2, out_h, out_w)

    def along(axis: int, sizes: tuple[int, int], stride: int, pad: int, dilation: int) -> torch.Tensor:
        """Where the kernel's elements reach, before they are moved."""
        taps = torch.arange(sizes[0], dtype=torch.float32) * dilation
        outs = torch.arange(sizes[1], dtype=torch.float32) * stride - pad
        return taps[:, None, None, None] + outs[None, None, :, None] if axis == 0 else taps[None, :, None, None] + outs[None, None, None, :]

    y = (moved[:, :, :, 0] + along(0, (rows, out_h), stride_h, pad_h, dilation_h)).flatten(1)
    x = (moved[:, :, :, 1] + along(1, (columns, out_w), stride_w, pad_w, dilation_w)).flatten(1)
    each = channels // offset_groups
    picture = input.float().reshape(batch * offset_groups, each, height * width)
    total: Any = 0
    for place, share in _corners(y, x, height, width):
        total = total + picture.gather(2, place[:, None].expand(-1, each, -1)) * share[:, None]
    if use_mask:
        total = total * mask.float().reshape(batch * offset_groups, 1, -1)
    taken = total.view(batch, groups, channels // groups * rows * columns, out_h * out_w)
    result = torch.matmul(weight.float().view(1, groups, kernels // groups, -1), taken).view(batch, kernels, out_h, out_w)
    return (result + bias.float().view(1, -1, 1, 1)).to(input.dtype)


_KNOWN: dict[str, Callable[..., Any]] = {"roi_align": _roi_align, "deform_conv2d": _deform_conv2d}


def vision_decompositions() -> dict[Any, Callable[..., Any]]:
    """By operator; nothing where nobody has imported torchvision."""
    if "torchvision" not in sys.modules:
        return {}
    return {getattr(torch.ops.torchvision, name).default: taken_apart for name, taken_apart in _KNOWN.items() if hasattr(torch.ops.torchvision, name)}
