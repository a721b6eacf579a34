"""torchvision's operators in models: taken apart into calls that a device computes, equal to a plain loop over what their documentation says."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from cupel.torch.captured import capture
from cupel.torch.vision_ops import _deform_conv2d, _roi_align, vision_decompositions
from cupel.worker.model_golden import golden_inference
from test_captured import operators

_SCHEMAS = (
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, "
    "SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
)


def at(picture: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """All channels at one point between elements; what lies outside is zero."""
    top, left = math.floor(y), math.floor(x)
    total = torch.zeros(picture.shape[0])
    for row in (top, top + 1):
        for column in (left, left + 1):
            if 0 <= row < picture.shape[1] and 0 <= column < picture.shape[2]:
                total += picture[:, row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def plain_roi_align(picture: torch.Tensor, rois: torch.Tensor, scale: float, rows: int, columns: int, ratio: int, aligned: bool) -> torch.Tensor:
    result = torch.zeros(len(rois), picture.shape[1], rows, columns)
    height, width = picture.shape[2:]
    for k, (image, *corners) in enumerate(rois.tolist()):
        x0, y0, x1, y1 = (corner * scale - (0.5 if aligned else 0) for corner in corners)
        w, h = (x1 - x0, y1 - y0) if aligned else (max(x1 - x0, 1.0), max(y1 - y0, 1.0))
        nx, ny = (ratio, ratio) if ratio > 0 else (max(1, math.ceil(w / columns)), max(1, math.ceil(h / rows)))
        for i in range(rows):
            for j in range(columns):
                for a in range(ny):
                    for b in range(nx):
                        y, x = y0 + (i + (a + 0.5) / ny) * h / rows, x0 + (j + (b + 0.5) / nx) * w / columns
                        if -1 <= y <= height and -1 <= x <= width:
                            result[k, :, i, j] += at(picture[int(image)], min(max(y, 0), height - 1), min(max(x, 0), width - 1)) / (nx * ny)
    return result


def plain_deform(x: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor, mask: torch.Tensor, bias: torch.Tensor, sh: int, sw: int, ph: int, pw: int, dh: int, dw: int,
                 groups: int, offset_groups: int, use_mask: bool) -> torch.Tensor:
    rows, columns = weight.shape[2:]
    out_h, out_w = offset.shape[2:]
    each = x.shape[1] // offset_groups
    result = torch.zeros(x.shape[0], weight.shape[0], out_h, out_w)
    for n in range(x.shape[0]):
        for i in range(out_h):
            for j in range(out_w):
                taken = torch.zeros(x.shape[1], rows, columns)
                for g in range(offset_groups):
                    for a in range(rows):
                        for b in range(columns):
                            tap = g * rows * columns + a * columns + b
                            y = i * sh - ph + a * dh + float(offset[n, 2 * tap, i, j])
                            z = j * sw - pw + b * dw + float(offset[n, 2 * tap + 1, i, j])
                            taken[g * each:(g + 1) * each, a, b] = at(x[n, g * each:(g + 1) * each], y, z) * (float(mask[n, tap, i, j]) if use_mask else 1)
                parts = taken.view(groups, -1)
                result[n, :, i, j] = (weight.view(groups, weight.shape[0] // groups, -1) * parts[:, None]).sum(-1).flatten() + bias
    return result


@pytest.fixture
def torchvision(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The operators, where no torchvision defines them."""
    if hasattr(torch.ops.torchvision, "roi_align"):
        yield
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _SCHEMAS:
        library.define(schema)
    library.impl("roi_align", plain_roi_align, "CPU")
    library.impl("roi_align", lambda x, rois, scale, rows, columns, ratio, aligned: x.new_empty(rois.shape[0], x.shape[1], rows, columns), "Meta")
    library.impl("deform_conv2d", plain_deform, "CPU")
    library.impl("deform_conv2d", lambda x, weight, offset, *rest: x.new_empty(x.shape[0], weight.shape[0], *offset.shape[2:]), "Meta")
    monkeypatch.setitem(sys.modules, "torchvision", types.ModuleType("torchvision"))
    yield
    library._destroy()


ROIS = torch.tensor([[0, 0.3, 1.2, 6.0, 7.0], [1, 2.0, 2.0, 12.5, 9.9], [0, 5.0, 5.0, 5.2, 5.1], [1, -3.0, -2.0, 4.0, 20.0]])


@pytest.mark.parametrize("ratio", [1, 2, 0])
@pytest.mark.parametrize("aligned", [True, False])
def test_roi_align_is_that_of_a_plain_loop(ratio: int, aligned: bool) -> None:
    picture = torch.randn(2, 3, 7, 8, generator=torch.Generator().manual_seed(1))
    expected = plain_roi_align(picture, ROIS, 0.5, 3, 2, ratio, aligned)
    torch.testing.assert_close(_roi_align(picture, ROIS, 0.5, 3, 2, ratio, aligned), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("groups", "offset_groups", "use_mask"), [(1, 1, False), (1, 1, True), (2, 3, True)])
def test_deform_conv2d_is_that_of_a_plain_loop(groups: int, offset_groups: int, use_mask: bool) -> None:
    generator = torch.Generator().manual_seed(2)
    x, weight = torch.randn(2, 6, 5, 6, generator=generator), torch.randn(4, 6 // groups, 3, 2, generator=generator)
    offset, mask = torch.randn(2, offset_groups * 12, 3, 3, generator=generator) * 2, torch.rand(2, offset_groups * 6, 3, 3, generator=generator)
    how = (x, weight, offset, mask, torch.randn(4, generator=generator), 2, 2, 1, 1, 1, 2, groups, offset_groups, use_mask)
    torch.testing.assert_close(_deform_conv2d(*how), plain_deform(*how), rtol=1e-5, atol=1e-5)


class Boxes(nn.Module):
    def __init__(self, ratio: int):
        super().__init__()
        self.ratio = ratio

    def forward(self, picture: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
        return torch.ops.torchvision.roi_align(picture * 2, rois, 0.5, 3, 2, self.ratio, True)


class Deformed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.offset, self.weight = nn.Conv2d(3, 18, 3), nn.Parameter(torch.ones(2, 3, 3, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        offset = self.offset(x)
        return torch.ops.torchvision.deform_conv2d(x, self.weight, offset, x.new_zeros(1, 1), x.new_zeros(2), 1, 1, 0, 0, 1, 1, 1, 1, False)


@pytest.mark.parametrize(("model", "given", "method"), [(Boxes(2), (torch.ones(2, 3, 7, 8), ROIS), "export"), (Boxes(0), (torch.ones(2, 3, 7, 8), ROIS), "trace"),
                                                        (Deformed(), (torch.ones(1, 3, 6, 6),), "export")], ids=["boxes", "adaptive", "deformed"])
def test_graphs_hold_none_of_them(torchvision: None, model: nn.Module, given: tuple[torch.Tensor, ...], method: str) -> None:
    golden = golden_inference(None, model, given, {}, 0)
    made = capture(golden.flat, golden.expected)
    assert made.method == method, made.refusal
    # How many samples a box has may depend on its size, which a trace knows.
    assert not made.outside and not [name for graph in made.graphs for name in operators(graph) if "torchvision" in name]


def test_nothing_is_known_without_torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    assert vision_decompositions() == {}
