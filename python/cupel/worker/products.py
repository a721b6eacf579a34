"""Computes each kind of product of narrow numbers that torch has, once: what `instructions` starts as a process of its own, which may die.

Prints the name of each product before it is computed, so that the last line names the one that died. Ends with 0 if all lived and were right, with
WRONG_VALUE if one was not right. A product that this torch does not have is passed over: nobody can ask for it either.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, Callable, Iterator

WRONG_VALUE = 3
# For tests: as its argument, makes the process die as it would on a processor that promises too much.
DIES = "dies"


def _products(torch: Any) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any] | None]]:
    """Name, the product, and the same in float32. Elements are -1, 0 and 1, and sums of at most 144 of their products are exact in every type."""
    functional = torch.nn.functional

    def numbers(*shape: int) -> Any:
        count = torch.Size(shape).numel()
        return ((torch.arange(count) * 7 % 11) % 3 - 1).reshape(shape).float()

    left, right, bias = numbers(48, 64), numbers(64, 80), numbers(80)
    stacked = numbers(2, 48, 64), numbers(2, 64, 80)
    images, filters = numbers(2, 16, 12, 12), numbers(32, 16, 3, 3)
    heads = numbers(1, 2, 48, 64)
    for name in ("bfloat16", "float16"):
        dtype = getattr(torch, name)

        def of(call: Callable[..., Any], *operands: Any, dtype: Any = dtype) -> Callable[[], Any]:
            return lambda: call(*(operand.to(dtype) for operand in operands)).float()

        for what, call, operands in (("matmul", torch.matmul, (left, right)), ("bmm", torch.bmm, stacked),
                                     ("linear", functional.linear, (left, right.t().contiguous(), bias)), ("conv2d", functional.conv2d, (images, filters))):
            yield f"{name} {what}", of(call, *operands), lambda call=call, operands=operands: call(*operands)
        # Softmax rounds: only that it lives is seen.
        yield f"{name} attention", of(functional.scaled_dot_product_attention, heads, heads, heads), None
    yield "int8 matmul", lambda: torch._int_mm(left.to(torch.int8), right.to(torch.int8)).float(), lambda: left @ right

    def quantized() -> Any:
        packed = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(right.t().contiguous(), 1.0, 0, torch.qint8), None)
        return torch.ops.quantized.linear(torch.quantize_per_tensor(left, 1.0, 0, torch.quint8), packed, 1.0, 0)

    yield "int8 quantized linear", quantized, None


def main() -> int:
    # Started by its path: the modules beside it must not be taken for others of the same name.
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != os.path.dirname(os.path.abspath(__file__))]
    import torch

    for name, product, exact in _products(torch):
        print(name, flush=True)
        if DIES in sys.argv:
            os.kill(os.getpid(), signal.SIGILL)
        try:
            result = product()
        except Exception as error:
            print(f"passed over: {name}: {error}", file=sys.stderr)
            continue
        if exact is not None and not torch.equal(result, exact()):
            return WRONG_VALUE
    return 0


if __name__ == "__main__":
    sys.exit(main())
