"""Exports small programs, each about one thing an importer can get wrong, as `.pt2` cases with torch's own results.

usage: .venv/bin/python tests/torch/export_programs.py FOLDER [-k NAME...]

FOLDER/NAME/case.pt2 comes with case.inputs.safetensors, case.expected.safetensors (results by position, and what the program
writes to as `mutated:NAME`) and case.case.json. Views that are written through, tied and strided weights, sizes that are
symbols, higher-order operators, constants as inputs and outputs, several dialects, old layouts of the archive.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import logging
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import nn
from torch.utils import _pytree as pytree

import written_views  # noqa: F401  (its cases come first)
from program_cases import CASES, Case, case, forward_of, r

# ---------------------------------------------------------------------------------------------------------------------
# Weights
# ---------------------------------------------------------------------------------------------------------------------


class Weights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.b.weight = self.a.weight
        base = torch.arange(24.0).view(4, 6)
        self.register_buffer("base", base)
        self.register_buffer("view_of_base", base[1:3, 2:])
        self.register_buffer("transposed", torch.arange(12.0).view(3, 4).t())
        self.register_buffer("expanded", torch.arange(4.0).expand(3, 4))
        self.register_buffer("cut", torch.arange(100.0)[10:16].view(2, 3))
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("scalar", torch.tensor(2.5))
        self.register_buffer("channels", torch.randn(1, 2, 3, 4).contiguous(memory_format=torch.channels_last))
        self.register_buffer("halfs", torch.randn(4).half())
        self.register_buffer("brain", torch.randn(4).bfloat16())
        self.register_buffer("flags", torch.tensor([True, False, True, True]))
        self.register_buffer("octets", torch.arange(4, dtype=torch.uint8))
        self.register_buffer("small", torch.arange(4, dtype=torch.int8) - 2)
        self.register_buffer("shorts", torch.arange(4, dtype=torch.int16) - 2)
        self.register_buffer("doubles", torch.arange(4, dtype=torch.float64) / 3)
        self.register_buffer("complexes", torch.randn(4, dtype=torch.complex64))
        self.register_buffer("word", torch.arange(4).to(torch.uint16))
        self.register_buffer("f8", torch.randn(4).to(torch.float8_e4m3fn))
        self.constant = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x: torch.Tensor) -> Any:
        y = self.b(self.a(x)) * self.constant + self.expanded.sum(0) * self.scalar
        return (
            y + self.transposed.sum(1),
            self.view_of_base @ x.t(),
            self.cut * 2,
            torch.cat([self.empty, self.cut]),
            self.channels + 1,
            self.halfs * 2,
            self.brain * 2,
            self.flags & (x[0] > 0),
            self.octets + 1,
            self.small * 2 + self.shorts,
            self.doubles * 2,
            torch.view_as_real(self.complexes * 2),
            self.word.to(torch.int32),
            self.f8.to(torch.float32),
            self.base + self.base,
        )


@case
def weights_every_kind():
    return Weights(), (r(3, 4),)


@case
def weights_every_kind_decomposed():
    return Weights(), (r(3, 4),), {"decompose": True}


# ---------------------------------------------------------------------------------------------------------------------
# Sizes that are symbols
# ---------------------------------------------------------------------------------------------------------------------


def dynamic(module: nn.Module, at_export: tuple[Any, ...], run: tuple[Any, ...], shapes: Any) -> Case:
    return module, at_export, {"dynamic_shapes": shapes, "run": run}


@case
def dynamic_batch():
    batch = torch.export.Dim("batch", min=2, max=64)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    return dynamic(model, (r(3, 4),), (r(9, 4),), ({0: batch},))


@case
def dynamic_arithmetic():
    def run(x, y):
        n, m = x.shape[0], y.shape[1]
        z = torch.cat([x.view(n // 2, 2, -1).sum(1), torch.zeros(m, x.shape[1])])
        return z, x.new_full((n + m,), n * m - 1), y.t().reshape(m * 2)[1:], torch.arange(n * 2) * m, x[1:] / n

    n, m = torch.export.Dim("n", min=2, max=128), torch.export.Dim("m", min=2, max=128)
    return dynamic(forward_of(run), (r(4, 3), r(2, 5)), (r(10, 3), r(2, 7)), (({0: 2 * n}, {1: m}),))


@case
def dynamic_sizes_as_results():
    def run(x):
        n = x.shape[0]
        return x * n, n, n * 2, x.sum() / n

    return dynamic(forward_of(run), (r(4, 3),), (r(7, 3),), (({0: torch.export.Dim("n", min=2, max=99)},),))


@case
def dynamic_integer_input():
    class Program(nn.Module):
        def forward(self, x: torch.Tensor, k: int) -> torch.Tensor:
            return x * k + x.shape[0]

    return dynamic(Program(), (r(4, 3), 5), (r(4, 3), 5), {"x": None, "k": torch.export.Dim.DYNAMIC})


@case
def dynamic_attention():
    def run(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    s = torch.export.Dim("s", min=2, max=64)
    shape = {2: s}
    make = lambda n: tuple(r(1, 2, n, 8) for _ in range(3))  # noqa: E731
    return dynamic(forward_of(run), make(5), make(11), ((shape, shape, shape),))


# ---------------------------------------------------------------------------------------------------------------------
# Higher-order operators
# ---------------------------------------------------------------------------------------------------------------------


@case
def hop_cond():
    def run(x, y):
        return torch.cond(x.sum() > 0, lambda a, b: (a + b, a * 2), lambda a, b: (a - b, b.sin()), (x, y))

    return forward_of(run), (r(3), r(3))


@case
def hop_cond_on_size():
    def run(x):
        return torch.cond(x.shape[0] > 5, lambda a: a + 1, lambda a: a - 1, (x,))

    return dynamic(forward_of(run), (r(4, 3),), (r(8, 3),), (({0: torch.export.Dim("n", min=2, max=99)},),))


@case
def hop_while_loop():
    from torch._higher_order_ops.while_loop import while_loop

    def run(x, i):
        return while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 1.5 + i), (i, x))

    return forward_of(run), (r(3), torch.tensor(0))


@case
def hop_scan():
    from torch._higher_order_ops.scan import scan

    def run(init, xs):
        return scan(lambda carry, x: (carry * 0.5 + x, carry + 1), init, xs, dim=0)

    return forward_of(run), (r(3), r(5, 3))


@case
def hop_scan_reverse_dim():
    from torch._higher_order_ops.scan import scan

    def run(init, xs):
        return scan(lambda carry, x: (carry + x, carry * x), init, xs, dim=1, reverse=True)

    return forward_of(run), (r(3), r(3, 5))


@case
def hop_map():
    from torch._higher_order_ops.map import map as torch_map

    def run(xs, y):
        return torch_map(lambda x, y: x.cos() + y, xs, y)

    return forward_of(run), (r(5, 3), r(3))


@case
def hop_associative_scan():
    from torch._higher_order_ops.associative_scan import associative_scan

    def run(xs):
        return associative_scan(lambda a, b: a + b, xs, 0, combine_mode="generic")

    return forward_of(run), (r(5, 3),)


@case
def vmap():
    def run(x, y):
        return torch.vmap(lambda a, b: a @ b + b.sum(), in_dims=(0, 1))(x, y)

    return forward_of(run), (r(4, 2, 3), r(3, 4))


class NoGrad(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = x.clone()
        with torch.no_grad():
            y.add_(1)
            z = y * 2
        return y, z + x


@case
def hop_no_grad():
    return NoGrad(), (r(3),)


class Autocast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.l(x)
            z = y @ x.t()
            w = torch.nn.functional.softmax(z, -1) + torch.cat([z, z * 2])[:4]
        return y, z, w


@case
def hop_autocast():
    return Autocast(), (r(4, 8),), {"rtol": 1.6e-2, "atol": 1e-2}


@case
def hop_autocast_decomposed():
    return Autocast(), (r(4, 8),), {"decompose": True, "rtol": 1.6e-2, "atol": 1e-2}


@case
def hop_tokens():
    def run(x):
        return torch.linalg.inv(x @ x.t() + 3 * torch.eye(3))

    return forward_of(run), (r(3, 3),), {"decompose": True, "rtol": 1e-4, "atol": 1e-4}


# ---------------------------------------------------------------------------------------------------------------------
# Inputs, outputs, constants
# ---------------------------------------------------------------------------------------------------------------------


@case
def constants_as_inputs_and_outputs():
    class Program(nn.Module):
        def forward(self, x, none, k: int, scale: float, name: str, flag: bool, y):
            z = x * k + (y if flag else x) * scale
            return {"z": z, "none": none, "k": k, "name": name, "pair": (z.sum(), 3.5, True)}

    return Program(), (r(2, 3), None, 3, 0.5, "word", True, r(2, 3))


@case
def same_result_twice():
    def run(x):
        y = x + 1
        return y, y, x, [y, {"a": x}]

    return forward_of(run), (r(2),)


@case
def keyword_and_nested_inputs():
    class Program(nn.Module):
        def forward(self, pair, *, scale, extra):
            return pair[0] * scale + pair[1]["a"] - extra[1]

    return Program(), ((r(2), {"a": r(2)}),), {"kwargs": {"extra": [r(2), r(2)], "scale": r(2)}}


@case
def constants_lifted():
    def run(x):
        t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        t[0] += 1
        return x @ t + torch.tensor(2.0), torch.tensor([1, 2, 3])[1:] * 2, torch.arange(2000)[torch.tensor([5, 7])]

    return forward_of(run), (r(2, 2),)


@case
def mask_of_constant():
    def run(x):
        mask = torch.tensor([True, False, True, True])
        pairs = torch.tensor([[True, False, False, True], [False] * 4, [True] * 4, [False, False, True, False]])
        return x[mask], x[:, mask].sum(), x[pairs]

    return forward_of(run), (r(4, 4),)


@case
def strict_export():
    def run(x):
        y = x.clone()
        y[0, 1:] = 5
        return y

    return forward_of(run), (r(2, 3),), {"strict": True}


@case
def lstm():
    return nn.LSTM(4, 5, num_layers=2, bidirectional=True), (r(6, 2, 4),), {"rtol": 1e-4}


@case
def lstm_layer_of_batches_first():
    """The layer that `nn.LSTM` calls on CPUs is told that batches come first, and gets time first. Five of both: nothing but the numbers can tell."""
    weights = (r(16, 3), r(16, 4), r(16), r(16))
    layer = torch.ops.aten.mkldnn_rnn_layer.default
    return forward_of(lambda x, h, c, *w: layer(x, *w, h, c, False, [], 2, 4, 1, True, False, True, False)[:3]), (r(5, 5, 3), r(5, 4), r(5, 4), *weights)


@case
def chance_that_nobody_reads():
    """Speech models draw for each layer whether training leaves it out."""
    return forward_of(lambda x: (torch.rand([]), torch.randn_like(x), x * 2)[2]), (r(3),)


@case
def legacy_zip_of_pickles():
    """torch <= 2.7: files at the top level, weights as pickles."""
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), (r(5, 3),), {"layout": "old"}


@case
def legacy_pickled_weights():
    """An archive with whole dictionaries of weights as pickles."""
    return Weights(), (r(3, 4),), {"layout": "pickled"}


# ---------------------------------------------------------------------------------------------------------------------
# Operators whose calls say more than their arguments' shapes
# ---------------------------------------------------------------------------------------------------------------------


@case
def grouped_products():
    """Groups of rows, of columns, of the inner dimension (an empty one among them), and none; a group's infinity stays in it."""

    def run(x, w, y, ends):
        rows = torch._grouped_mm(x, w, offs=ends)
        columns = torch._grouped_mm(w, y, offs=ends)
        inner = torch._grouped_mm(y.t().contiguous().t(), x, offs=ends)
        return rows, columns, inner, torch._grouped_mm(w, w.transpose(1, 2).contiguous())

    x, w, y = r(16, 8).bfloat16(), r(4, 8, 8).bfloat16(), r(8, 16).bfloat16()
    w[2, 1, 3] = float("inf")
    return forward_of(run), (x, w, y, torch.tensor([3, 3, 11, 16], dtype=torch.int32)), {"rtol": 2e-2, "atol": 1e-2}


@case
def sampled_where_there_is_no_number():
    """A grid that holds NaN and infinity: torch shows it in a picture with nothing around it, and nowhere else."""

    def run(x, grid, volume, points):
        sample = torch.nn.functional.grid_sample
        return (*(sample(x, grid, mode=mode, padding_mode=border, align_corners=False) for mode in ("bilinear", "bicubic", "nearest") for border in ("zeros", "border")
                  if (mode, border) != ("bicubic", "border")), sample(volume, points, align_corners=True))

    odd = torch.tensor([0.3, 4.0, float("nan"), float("inf"), -float("inf")])
    grid = torch.stack([torch.cat([odd, odd * 0 + 0.1]), torch.cat([odd.flip(0), odd])], -1).view(1, 2, 5, 2)
    points = torch.stack([odd, odd, odd.flip(0)], -1).view(1, 1, 1, 5, 3)
    return forward_of(run), (r(1, 2, 4, 5), grid, r(1, 2, 3, 4, 5), points)


# ---------------------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------------------


def pickled(value: Any) -> bytes:
    memory = io.BytesIO()
    torch.save(value, memory)
    return memory.getvalue()


def rewrite(path: Path, program: Any, layout: str) -> None:
    """The archive in one of the layouts that older versions of PyTorch wrote."""
    with zipfile.ZipFile(path) as archive:
        records = {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}
    state = {k: v for k, v in program.state_dict.items()}
    constants = {k: v for k, v in program.constants.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        if layout == "old":
            archive.writestr("version", "8.2")
            archive.writestr("serialized_exported_program.json", records["models/model.json"])
            archive.writestr("serialized_state_dict.pt", pickled(state))
            archive.writestr("serialized_constants.pt", pickled(constants))
            archive.writestr("serialized_example_inputs.pt", pickled(program.example_inputs))
            return
        for name, contents in records.items():
            if not name.startswith(("data/weights/", "data/constants/")):
                archive.writestr(f"root/{name}", contents)
        archive.writestr("root/data/weights/model.pt", pickled(state))
        archive.writestr("root/data/constants/model.pt", pickled(constants))


def tensors_of(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def export(name: str, folder: Path) -> None:
    module, inputs, options = CASES[name]()
    kwargs = options.get("kwargs", {})
    if not any(isinstance(m, nn.BatchNorm2d) for m in module.modules()):
        module = module.eval()
    keep = lambda value: pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, value)  # noqa: E731
    program = torch.export.export(copy.deepcopy(module), keep(inputs), keep(kwargs), dynamic_shapes=options.get("dynamic_shapes"),
                                  strict=options.get("strict", False))
    if options.get("decompose"):
        program = program.run_decompositions()
    target = folder / name / "case.pt2"
    target.parent.mkdir(parents=True, exist_ok=True)
    torch.export.save(program, str(target))
    if layout := options.get("layout"):
        rewrite(target, program, layout)

    given = options.get("run", inputs)
    fresh, args = copy.deepcopy(module), keep(given)
    given_kwargs = keep(kwargs)
    before = {k: v.clone() for k, v in fresh.named_buffers()}
    results = fresh(*args, **given_kwargs)
    expected = {str(i): t for i, t in enumerate(tensors_of(results))}
    for key, value in fresh.named_buffers():
        if not torch.equal(value, before[key]):
            expected[f"mutated:{key}"] = value
    dense = lambda tensors: {k: t.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)  # noqa: E731
                             for k, t in tensors.items()}
    stem = str(target)[:-4]
    flat_inputs = {str(i): t for i, t in enumerate(tensors_of((given, kwargs)))}
    safetensors.torch.save_file(dense(flat_inputs), f"{stem}.inputs.safetensors")
    safetensors.torch.save_file(dense(expected), f"{stem}.expected.safetensors")
    Path(f"{stem}.case.json").write_text(json.dumps({"rtol": options.get("rtol", 1e-5), "atol": options.get("atol", 1e-5)}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-k", action="append", metavar="NAME", help="only cases whose name contains this")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    failed = 0
    for name in CASES:
        if options.k and not any(part in name for part in options.k):
            continue
        try:
            export(name, options.folder)
        except Exception as error:  # noqa: BLE001: whatever the exporter says is shown
            failed += 1
            print(f"not exported: {name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200]}")
    print(f"{len(CASES)} programs, {failed} not exported")
    return 0


if __name__ == "__main__":
    sys.exit(main())
