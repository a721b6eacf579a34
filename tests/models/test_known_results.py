"""What calls give that torch is not asked about is what torch would say, and what is not plain is left to it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cupel.torch.known_results import known_result

_ATEN = torch.ops.aten
_X, _IMAGE = torch.randn(2, 5, 8), torch.randn(2, 3, 4, 6)
_NARROW = _X.to(torch.bfloat16)


def _norm(x: torch.Tensor, training: bool = False, dtype: torch.dtype = torch.float32) -> tuple[Any, tuple[Any, ...]]:
    one = torch.ones(x.shape[1], dtype=dtype)
    return _ATEN.batch_norm.default, (x, one, one, one, one, training, 0.1, 1e-5, False)


def _layer(x: torch.Tensor, shape: list[int]) -> tuple[Any, tuple[Any, ...]]:
    return _ATEN.layer_norm.default, (x, shape, torch.ones(shape, dtype=x.dtype), torch.ones(shape, dtype=x.dtype))


def _linear(x: torch.Tensor, out: int = 3, bias: bool = True) -> tuple[Any, tuple[Any, ...]]:
    return _ATEN.linear.default, (x, torch.randn(out, x.shape[-1], dtype=x.dtype), *([torch.randn(out, dtype=x.dtype)] if bias else []))


def _matmul(x: torch.Tensor, y: torch.Tensor) -> tuple[Any, tuple[Any, ...]]:
    return _ATEN.matmul.default, (x, y)


_PLAIN = [_norm(_IMAGE), _norm(_IMAGE.to(torch.bfloat16)), _norm(_IMAGE.to(torch.bfloat16), dtype=torch.bfloat16), _norm(_X), _norm(_X[:, :, 0].contiguous()),
          _layer(_X, [8]), _layer(_X, [5, 8]), _layer(_NARROW, [8]), _layer(_IMAGE, [4, 6]),
          _linear(_X), _linear(_X, bias=False), _linear(_NARROW), _linear(_X[0]), _linear(_X[0, 0]), _linear(_X.transpose(0, 1)), _linear(_X[:, 1:3]), _linear(_X.transpose(0, 1), bias=False), _linear(_X[:1], 1),
          _linear(_X[:, :, None].expand(2, 5, 3, 8)), _linear(_X[:0]),
          _matmul(_X, _X.mT), _matmul(_X.mT, _X), _matmul(_NARROW, _NARROW.mT), _matmul(_IMAGE.transpose(1, 2), _IMAGE.permute(0, 2, 3, 1)), _matmul(_X[:1], _X[1:].mT), _matmul(_X[:, :1], _X.mT)]
_TORCHS = [_norm(_IMAGE, training=True), _norm(_IMAGE.contiguous(memory_format=torch.channels_last)), _norm(_IMAGE[:, :, 1:]),
           _layer(_X.transpose(0, 1), [8]), _matmul(_X, _X[0].T), _matmul(_X[:1], _X.mT), _matmul(_X[0], _X[0].T), (_ATEN.linear.default, (_NARROW, torch.randn(3, 8, dtype=torch.float32))), (_ATEN.relu.default, (_X,))]


def _asked(func: Any, args: tuple[Any, ...]) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    fake = torch._subclasses.FakeTensorMode()
    args = tuple(fake.from_tensor(one) if isinstance(one, torch.Tensor) else one for one in args)
    with torch.no_grad(), torch._C._AutoDispatchBelowAutograd(), fake:
        known = known_result(func, args, {})
        return known, None if known is None else func(*args)


@pytest.mark.parametrize("number", range(len(_PLAIN)))
def test_it_is_what_torch_says(number: int) -> None:
    known, torchs = _asked(*_PLAIN[number])
    assert isinstance(known, torch._subclasses.FakeTensor) and torchs is not None
    assert (known.dtype, known.shape, known.stride(), known.storage_offset(), known.device, known.layout) == \
        (torchs.dtype, torchs.shape, torchs.stride(), torchs.storage_offset(), torchs.device, torchs.layout)


@pytest.mark.parametrize("number", range(len(_TORCHS)))
def test_what_is_not_plain_is_torchs(number: int) -> None:
    assert _asked(*_TORCHS[number])[0] is None


def test_what_is_given_by_name_is_torchs() -> None:
    assert known_result(_ATEN.linear.default, (_X,), {"weight": torch.randn(3, 8)}) is None
