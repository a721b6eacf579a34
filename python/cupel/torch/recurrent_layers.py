"""Recurrent layers in training, as single calls of which each has a gradient that a program can say."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch


@contextlib.contextmanager
def plain_lstm() -> Iterator[None]:
    """LSTMs of single calls: oneDNN's has a gradient that is one call, which no program can say."""
    before = torch._VF.lstm

    def plain(*args: Any) -> Any:
        with torch.backends.mkldnn.flags(enabled=False):
            return before(*args)

    torch._VF.lstm = plain
    try:
        yield
    finally:
        torch._VF.lstm = before


@contextlib.contextmanager
def dropout_between_layers() -> Iterator[None]:
    """Recurrent layers are taken apart with the dropout between them: torch's own way of taking them apart forgets it, so that a right device would be called wrong."""
    from torch._decomp import decompositions as torchs

    before = torchs._rnn_helper

    def layered(x: torch.Tensor, hidden: Any, params: Any, has_biases: bool, layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, layer: Any) -> Any:
        directions, ends = 2 if bidirectional else 1, []
        x = x.transpose(0, 1) if batch_first else x
        for i in range(layers):
            if i > 0 and train and dropout:
                x = torch.dropout(x, dropout, True)
            own = slice(i * directions, (i + 1) * directions)
            x, last = before(x, hidden[own], params[own], has_biases, 1, 0.0, train, bidirectional, False, layer)
            ends += last
        return x.transpose(0, 1) if batch_first else x, ends

    torchs._rnn_helper = layered
    try:
        yield
    finally:
        torchs._rnn_helper = before
