"""flex_attention as the calls that torch's own plain form of it makes, wherever a model is captured.

torch keeps it whole in its graphs, as an operator that takes functions (what to do to a score, which places to mask): no program of calls can hold that. Its plain form
is what computes it on the CPU, where it has no backward pass.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def flexible_attention_taken_apart() -> Iterator[None]:
    from torch._higher_order_ops.flex_attention import FlexAttentionHOP, math_attention

    def plain(operator: Any, *args: Any, **kwargs: Any) -> Any:
        return math_attention(*args, **kwargs)

    before = FlexAttentionHOP.__call__
    FlexAttentionHOP.__call__ = plain
    try:
        yield
    finally:
        FlexAttentionHOP.__call__ = before
