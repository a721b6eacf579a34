"""Checks that a layer becomes the same composite whether it comes as ONNX or as an exported PyTorch program.

usage: .venv/bin/python tests/torch/check_composites.py BUILD/bin. Ends with `N passed, N failed`.

Each layer is written in both forms and compiled by `cupel compile`; the composites (name, operands' and results' types, attributes) and
their decompositions must be the same text. The table of composites has no name that no layer here shows.
"""

from __future__ import annotations

import argparse
import logging
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parent.parent.parent
COMPOSITE = re.compile(r'stablehlo\.composite ("[^"]+")[^{]*\{(?:composite_attributes = (\{.*\}), )?decomposition[^}]*\} : (.*)$', re.MULTILINE)
DECOMPOSITION = re.compile(r"^  func\.func private @.*?^  \}$", re.MULTILINE | re.DOTALL)

# name -> (shapes of the operands, ONNX's operator, its opset, its attributes, the same in torch)
LAYERS: dict[str, tuple[list[tuple[int, ...]], str, int, dict[str, Any], Callable[..., torch.Tensor]]] = {
    "gelu": ([(3, 4)], "Gelu", 20, {}, F.gelu),
    "gelu by tanh": ([(3, 4)], "Gelu", 20, {"approximate": "tanh"}, lambda x: F.gelu(x, approximate="tanh")),
    "softmax": ([(2, 3, 4)], "Softmax", 13, {"axis": -1}, lambda x: F.softmax(x, -1)),
    "softmax of the first dimension": ([(2, 3, 4)], "Softmax", 13, {"axis": 0}, lambda x: F.softmax(x, 0)),
    "logarithm of softmax": ([(2, 3, 4)], "LogSoftmax", 13, {"axis": 1}, lambda x: F.log_softmax(x, 1)),
    "layer norm": ([(2, 3, 8), (8,), (8,)], "LayerNormalization", 17, {"epsilon": 1e-5}, lambda x, w, b: F.layer_norm(x, (8,), w, b)),
    "layer norm of two dimensions": ([(2, 3, 8), (3, 8), (3, 8)], "LayerNormalization", 17, {"axis": 1, "epsilon": 1e-3}, lambda x, w, b: F.layer_norm(x, (3, 8), w, b, 1e-3)),
    "layer norm without bias": ([(2, 3, 8), (8,)], "LayerNormalization", 17, {"epsilon": 1e-5}, lambda x, w: F.layer_norm(x, (8,), w)),
    "root-mean-square norm": ([(2, 3, 8), (8,)], "RMSNormalization", 23, {"epsilon": 1e-6}, lambda x, w: F.rms_norm(x, (8,), w, 1e-6)),
    "group norm": ([(2, 6, 4, 5), (6,), (6,)], "GroupNormalization", 21, {"num_groups": 3, "epsilon": 1e-5}, lambda x, w, b: F.group_norm(x, 3, w, b)),
    "attention": ([(1, 2, 5, 8)] * 3, "Attention", 23, {}, F.scaled_dot_product_attention),
    "causal attention with a scale": ([(1, 2, 5, 8)] * 3, "Attention", 23, {"is_causal": 1, "scale": 0.5}, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.5)),
    "attention with a mask": ([(1, 2, 5, 8), (1, 2, 6, 8), (1, 2, 6, 8), (5, 6)], "Attention", 23, {}, F.scaled_dot_product_attention),
    "attention of shared heads": ([(1, 4, 5, 8), (1, 2, 5, 8), (1, 2, 5, 8)], "Attention", 23, {}, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)),
}
# Forms that one format alone has.
ONNX_ONLY = {"cupel.attention": ([(1, 2, 5, 8)] * 3, "Attention", 23, {"softcap": 2.0})}


def onnx_model(path: Path, shapes: list[tuple[int, ...]], op: str, opset: int, attributes: dict[str, Any]) -> Path:
    names = [f"x{i}" for i in range(len(shapes))]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in zip(names, shapes, strict=True)]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "layer", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), path)
    return path


def torch_program(path: Path, shapes: list[tuple[int, ...]], function: Callable[..., torch.Tensor]) -> Path:
    class Layer(torch.nn.Module):
        def forward(self, *given: torch.Tensor) -> torch.Tensor:
            return function(*given)

    torch.export.save(torch.export.export(Layer(), tuple(torch.randn(shape) for shape in shapes), strict=False), path)
    return path


def composites_of(cupel: Path, model: Path) -> tuple[list[tuple[str, ...]], list[str]]:
    """Name, attributes and types of each composite, and the decompositions, without places."""
    result = subprocess.run([cupel, "compile", model], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise AssertionError(result.stderr.strip())
    text = re.sub(r' loc\((?:"[^"]*"(?::\d+:\d+|\(#loc\d*\))?|#loc\d*)\)', "", result.stdout)
    found = [match.groups(default="") for match in COMPOSITE.finditer(text)]
    return found, DECOMPOSITION.findall(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    cupel = parser.parse_args().bin.resolve() / "cupel"
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    passed, failures, seen = 0, [], set()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, (shapes, op, opset, attributes, function) in LAYERS.items():
            try:
                one = composites_of(cupel, onnx_model(folder / "layer.onnx", shapes, op, opset, attributes))
                other = composites_of(cupel, torch_program(folder / "layer.pt2", shapes, function))
                if len(one[0]) != 1 or len(one[1]) != 1 or one != other:
                    raise AssertionError(f"ONNX gives {one}\n  torch gives {other}")
                seen.add(one[0][0][0].strip('"'))
                passed += 1
            except AssertionError as error:
                failures.append(f"{name}: {error}")
        for name, form in ONNX_ONLY.items():
            found = composites_of(cupel, onnx_model(folder / "layer.onnx", *form))[0]
            if [one[0] for one in found] == [f'"{name}"']:
                seen.add(name)
                passed += 1
            else:
                failures.append(f"{name}: ONNX gives {found}")
    table = set(re.findall(r'CUPEL_COMPOSITE\(\w+, "([^"]+)"', (ROOT / "cupel/ir/stablehlo/Composites.def").read_text()))
    if table == seen:
        passed += 1
    else:
        failures.append(f"the table and what is shown here differ in {sorted(table ^ seen)}")
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
