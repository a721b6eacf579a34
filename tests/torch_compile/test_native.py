"""Results of devices through the C functions: where they lie, if the plugin lends them, else copied. Nobody asks whose plugin it is."""

from __future__ import annotations

import pathlib

import pytest
import torch
from cupel._files import plugin_path
from cupel._native import Device, NativeError
from cupel.torch.arrays import from_array, to_array

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOREIGN = str(ROOT / "build/lib/fault_plugin.so")
X = torch.arange(6, dtype=torch.float32).reshape(2, 3)


def echoed(fault: str, x: torch.Tensor = X) -> torch.Tensor:
    """What a plugin that is not ours gives back."""
    result, = Device(FOREIGN, {"fault": fault} if fault else {}).compile(b"echo 1").run([to_array(x)])
    return from_array(result)


@pytest.mark.parametrize("fault", ["", "lends", "lends-columns", "lends-nothing"])
def test_a_foreign_plugin_with_and_without_the_capability(fault):
    assert torch.equal(echoed(fault), X)


def test_what_a_foreign_plugin_lends_is_not_copied():
    """This one refuses copies: elements of whole bytes come all the same, others cannot."""
    assert torch.equal(echoed("lends", X.to(torch.int8)), X.to(torch.int8))
    with pytest.raises(NativeError, match="PJRT_Buffer_ToHostBuffer"):
        echoed("lends", X > 2)


def test_a_foreign_plugin_that_lends_no_address():
    with pytest.raises(NativeError, match="answered no address"):
        echoed("lends-no-address")


PROGRAM = b"""
func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.add %x, %x : tensor<2x3xf32>
  %1 = stablehlo.constant dense<7.0> : tensor<2x3xf32>
  return %x, %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}"""


@pytest.mark.parametrize("reads", ["in_place", "copied"])
def test_our_own(reads):
    """Results are the caller's to write to: neither its input nor the next run sees it."""
    program = Device(plugin_path(), {"host_reads": reads}).compile(PROGRAM)
    x = X.clone()
    for _ in range(2):
        same, double, seven = (from_array(array) for array in program.run([to_array(x)]))
        assert torch.equal(same, X) and torch.equal(double, 2 * X) and torch.equal(seven, torch.full((2, 3), 7.0))
        for result in (same, double, seven):
            result.fill_(-1)
        assert torch.equal(x, X)
