"""Programs of export_programs.py that write: through views, into inputs and into buffers."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import nn

from program_cases import CASES, case, forward_of, r

# ---------------------------------------------------------------------------------------------------------------------
# Views that are written through
# ---------------------------------------------------------------------------------------------------------------------


def written(name: str, function: Callable[[torch.Tensor], Any], shape: tuple[int, ...] = (3, 4, 5)) -> None:
    """The function writes into views of y, a copy of its input; y itself and what it returns are the results."""

    def run(x: torch.Tensor) -> Any:
        y = x.clone()
        rest = function(y)
        return (y, *rest) if isinstance(rest, tuple) else (y,) if rest is None else (y, rest)

    CASES[f"write_{name}"] = lambda: (torch.manual_seed(7), (forward_of(run), (r(*shape),), {}))[1]


def _loop(y: torch.Tensor) -> None:
    for i, part in enumerate(y.unbind(1)):
        part.mul_(i + 1)


written("select", lambda y: y[1].fill_(2.0))
written("select_dim", lambda y: y.select(1, -1).zero_())
written("slice", lambda y: y[:, 1:3].add_(10))
written("slice_step", lambda y: y[:, ::2, 1::3].mul_(3))
written("slice_of_select_of_slice", lambda y: y[1:][0][:, 1:4][2:].copy_(torch.arange(6.0).view(2, 3)))
written("permute", lambda y: y.permute(2, 0, 1)[1:3].sub_(5))
written("transpose_view", lambda y: y.transpose(0, 1)[1].add_(1))
written("t", lambda y: y.t()[2].exp_(), (3, 4))
written("T", lambda y: y.T[1].neg_(), (3, 4))
written("mT", lambda y: y.mT[..., 0, :].neg_())
written("view", lambda y: y.view(12, 5)[7].fill_(1))
written("view_of_view", lambda y: y.view(60)[10:20].view(2, 5)[1].fill_(9))
written("reshape_copy", lambda y: y.transpose(0, 1).reshape(60).add_(1))
written("reshape_alias", lambda y: y.reshape(60).add_(1))
written("flatten", lambda y: y.flatten(1)[:, 2].fill_(4))
written("unsqueeze", lambda y: y.unsqueeze(1)[:, :, 2].fill_(4))
written("squeeze", lambda y: y[:, 1:2].squeeze(1).fill_(4))
written("unbind", lambda y: y.unbind(1)[2].fill_(-1))
written("unbind_loop", _loop)
written("split", lambda y: y.split(2, 1)[1].mul_(2), (3, 5, 2))
written("split_sizes", lambda y: y.split([1, 3, 1], 2)[1].mul_(2))
written("chunk", lambda y: y.chunk(3, 2)[2].mul_(2), (2, 3, 8))
written("tensor_split", lambda y: y.tensor_split([1, 3], 1)[1].mul_(2))
written("narrow", lambda y: y.narrow(2, 1, 3).abs_())
written("diagonal", lambda y: y.diagonal(0, 1, 2).fill_(0))
written("diagonal_offset", lambda y: y.diagonal(1, 0, 2).add_(7))
written("unfold", lambda y: y.unfold(1, 2, 2)[..., 1].fill_(3))
written("movedim", lambda y: y.movedim(0, 2)[1].fill_(3))
written("as_strided", lambda y: y.as_strided((2, 3), (7, 2), 3).fill_(3))
written("as_strided_of_view", lambda y: y[1:].as_strided((2, 3), (7, 2), 3).fill_(3))
written("as_strided_own_offset", lambda y: y[1:, 1:].as_strided((2, 2), (3, 1)).mul_(2))
written("expand_column", lambda y: y[:, :1].expand(3, 1, 5).add_(1))
written("swapaxes", lambda y: y.swapaxes(0, 2)[4].fill_(3))
written("unflatten", lambda y: y.unflatten(1, (2, 2))[:, 1, 0].fill_(3))
written("detach", lambda y: y.detach().add_(1))
written("index_put", lambda y: y[1:].index_put_((torch.tensor([0, 1]), torch.tensor([2, 0])), torch.tensor(9.0)))
written("setitem_mask", lambda y: y.__setitem__(y > 0, 0.0))
written("setitem_ellipsis", lambda y: y.__setitem__((..., slice(1, None)), 5.0))
written("setitem_tensor", lambda y: y.__setitem__(torch.tensor([0, 2]), torch.ones(4, 5)))
written("masked_fill", lambda y: y[0].masked_fill_(y[0] > 0, -1))
written("scatter", lambda y: y[2].scatter_(1, torch.tensor([[0, 1], [1, 2], [3, 4], [0, 4]]), 1.5))
written("index_add", lambda y: y.index_add_(1, torch.tensor([0, 2, 0]), torch.ones(3, 3, 5)))
written("clamp", lambda y: y[..., 1:3].clamp_(-0.2, 0.2))
written("relu_chain", lambda y: y.relu_().add_(1).mul_(y))
written("two_views", lambda y: (y[0].add_(1), y[:, 0].mul_(2))[0:0] or None)
written("copy_between_views", lambda y: y[0].copy_(y[1]))
written("copy_broadcast", lambda y: y[:, 1].copy_(torch.arange(5.0)))
written("dropout_eval", lambda y: torch.nn.functional.dropout(y, 0.5, False).add_(1))
written("contiguous_alias", lambda y: y.contiguous().add_(1))
written("contiguous_copy", lambda y: y.transpose(0, 1).contiguous().add_(1))
written("to_alias", lambda y: y.to(torch.float32).add_(1))
written("to_copy", lambda y: y.to(torch.float64).add_(1))
written("unsqueeze_in_place", lambda y: y.unsqueeze_(0).add_(1).squeeze_(0).sum())
written("view_read_after_write", lambda y: (y[1], y.add_(1), y.view(60)[3:9])[0])


@case
def views_read_later():
    def run(x):
        y = x.clone()
        a, b = y[0], y.view(-1)[2:5]
        c = y.t()
        before = a * 1
        y.add_(1)
        b.mul_(10)
        return before, a, b, c, y

    return forward_of(run), (r(3, 4),)


@case
def write_complex_views():
    def run(x):
        y = torch.complex(x, x * 2)
        y.real.add_(1)
        torch.view_as_real(y)[0, :, 1].fill_(3)
        y.imag[1].mul_(2)
        return y, y.abs()

    return forward_of(run), (r(3, 4),)


@case
def write_int_views():
    def run(x):
        y = x.clone()
        y[1:].floor_divide_(3)
        y[0].bitwise_or_(8)
        y.view(-1)[::2] = 1
        y[..., -1].pow_(2)
        return y

    return forward_of(run), (torch.randint(-20, 20, (3, 5)),)


@case
def write_in_place_comparison():
    def run(x):
        y = x.clone()
        y.gt_(0)
        z = x.clone()
        z[0].eq_(z[1])
        return y, z

    return forward_of(run), (r(3, 4),)


@case
def write_foreach():
    def run(x, z):
        a, b = x.clone(), z.clone()
        torch._foreach_add_([a, b[1]], [z[0, :4] * 0 + 1, b[0]])
        torch._foreach_mul_([a, b], 2.0)
        return a, b

    return forward_of(run), (r(4), r(3, 5))


@case
def write_out_argument():
    def run(x):
        y = torch.empty(3, 4)
        torch.add(x, 1, out=y)
        z = torch.zeros(2, 3, 4)
        torch.mul(x, 2, out=z[1])
        return y, z

    return forward_of(run), (r(3, 4),)


@case
def write_kv_cache():
    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("keys", torch.zeros(2, 8, 4))

        def forward(self, new: torch.Tensor, position: torch.Tensor) -> Any:
            self.keys.index_copy_(1, position, new)
            self.keys[:, 0].add_(1)
            return (self.keys @ new.transpose(1, 2)).sum(1)

    return Cache(), (r(2, 3, 4), torch.tensor([1, 4, 5]))


# ---------------------------------------------------------------------------------------------------------------------
# Mutation of inputs and buffers
# ---------------------------------------------------------------------------------------------------------------------


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2, dtype=torch.int64))
        self.register_buffer("hidden", torch.ones(3), persistent=False)

    def forward(self, x: torch.Tensor) -> Any:
        self.count[1].add_(1)
        self.hidden.mul_(2)
        x.add_(1)
        return x * self.hidden + self.count.sum()


@case
def mutate_buffers_and_input():
    return Counter(), (r(2, 3),)


class Tied(nn.Module):
    """Two names of one buffer: a write to one is seen through the other."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("first", torch.zeros(2000))
        self.register_buffer("second", self.first)

    def forward(self, x: torch.Tensor) -> Any:
        self.first.add_(x)
        return self.second * 2


@case
def mutate_tied_buffers():
    return Tied(), (r(2000),)


@case
def mutate_decomposed():
    return Counter(), (r(2, 3),), {"decompose": True}


@case
def mutate_batch_norm():
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(inplace=True)).train(), (r(2, 2, 5, 5),)


@case
def mutate_batch_norm_decomposed():
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(inplace=True)).train(), (r(2, 2, 5, 5),), {"decompose": True}
