"""Memory that nobody wrote: zero where a loader makes weights of it, and known by name."""

from __future__ import annotations

import torch
from torch import nn

from cupel.worker.uninitialised import Zeroed


class Weights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bare = nn.Parameter(torch.Tensor(3, 4))
        self.written = nn.Parameter(torch.FloatTensor(5))
        nn.init.normal_(self.written)
        self.zero = nn.Parameter(torch.empty(3))
        self.zero.data.fill_(0)
        self.by_numpy = nn.Parameter(torch.empty(4))
        self.by_numpy.detach().numpy()[:] = 3
        self.register_buffer("statistic", torch.empty_strided((2, 2), (1, 2)))
        self.layer = nn.LSTM(2, 2)


def names_of(model: nn.Module, zeroed: Zeroed) -> list[str]:
    return zeroed.names_of_unwritten([*model.named_parameters(), *model.named_buffers()])


def test_what_no_call_wrote_is_zero_and_has_a_name() -> None:
    used = [torch.full((count,), 1e30) for count in (3, 4, 5, 12) for _ in range(64)]
    del used
    with Zeroed() as zeroed:
        model = Weights()
        known = names_of(model, zeroed)
        narrow = model.to(torch.bfloat16)
    assert known == names_of(narrow, zeroed) == ["bare", "statistic"]
    assert not narrow.bare.any() and narrow.written.any() and narrow.by_numpy.eq(3).all()


def test_memory_that_another_tensor_gets_is_not_taken_for_it() -> None:
    with Zeroed() as zeroed:
        for _ in range(100):
            torch.empty(64)
        model = nn.Module()
        model.weight = nn.Parameter(torch.zeros(64))
        assert names_of(model, zeroed) == []
        grown = torch.ones(4).resize_(8)
    assert grown.tolist() == [1.0] * 4 + [0.0] * 4
