"""Exports PyTorch's own operator samples (OpInfo) as `.pt2` cases: a program, its inputs, and what torch computes from them.

usage: .venv/bin/python tests/torch/export_opinfo.py FOLDER [--dtype float32] [--jobs 2] [-k NAME...] [--decompose] [--core]

Sample `i` of operator `name` (OpInfo's name and, after a dot, its variant) becomes FOLDER/DTYPE/name/i.pt2 with
i.inputs.safetensors, i.expected.safetensors and i.case.json (tolerances) beside it. Only the half whose first hex digit of
sha256("name/i") is 0 to 7 is made: the other half is kept to judge by. What cannot be a case is listed in
FOLDER/DTYPE/left-out.tsv with the reason: memory that nobody wrote, not deterministic, a shape that depends on values, not exportable, no tensor.
A folder that this script finished before is left alone (--again makes it anew).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import logging
import multiprocessing
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cupel.worker import instructions  # noqa: E402

SAMPLES = 6
FINISHED = "finished"


def stamp(options: argparse.Namespace) -> str:
    """What a finished folder must say to be taken as it is; torch's results depend on what it computes with."""
    import torch
    from cupel.worker import uninitialised

    scripts = hashlib.sha256(b"".join(Path(file).read_bytes() for file in (__file__, uninitialised.__file__))).hexdigest()
    processor = f"{torch.backends.cpu.get_cpu_capability()} {os.environ.get(instructions.VARIABLE, '')}"
    return f"{scripts} torch {torch.__version__} {processor} {options.dtype} {options.decompose} {options.core} {sorted(options.k or [])}\n"


def full_name(op: Any) -> str:
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def is_dev(name: str, sample: int) -> bool:
    return hashlib.sha256(f"{name}/{sample}".encode()).hexdigest()[0] in "01234567"


def operators(dtype: Any, wanted: list[str] | None) -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    found = [op for op in op_db if dtype in op.supported_dtypes("cpu")]
    if wanted:
        found = [op for op in found if full_name(op) in wanted or op.name in wanted]
    return found


def tolerance_of(op: Any, dtype: Any) -> tuple[float, float]:
    """rtol and atol: assert_close's for the type, widened by what OpInfo itself says of the operator."""
    import torch
    from torch.testing._comparison import default_tolerances
    from torch.testing._internal.common_device_type import toleranceOverride

    rtol, atol = default_tolerances(dtype)
    for decoration in op.decorators:
        for decorator in getattr(decoration, "decorators", [decoration]):
            if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
                rtol, atol = max(rtol, decorator.d[dtype].rtol), max(atol, decorator.d[dtype].atol)
    del torch
    return rtol, atol


class LeftOut(Exception):
    """A sample that cannot be a case, and why."""


def flat_tensors(value: Any) -> list[Any]:
    import torch
    from torch.utils import _pytree as pytree

    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def same(first: Any, second: Any) -> bool:
    """Bit for bit, but for NaNs."""
    import torch

    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if first.dtype.is_complex:
        return same(torch.view_as_real(first.resolve_conj()), torch.view_as_real(second.resolve_conj()))
    return torch.equal(first.nan_to_num(), second.nan_to_num())


def export_sample(op: Any, sample: Any, dtype: Any, stem: Path, options: argparse.Namespace) -> None:
    import safetensors.torch
    import torch
    from cupel.worker.uninitialised import depends_on_uninitialised_memory
    from torch.utils import _pytree as pytree

    leaves, tree = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    # Clones: an exporter given one tensor twice confuses the two.
    tensors = [leaf.detach().clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if any(t.layout != torch.strided or t.is_quantized or t.is_nested for t in tensors):
        raise LeftOut("sparse, nested or quantized tensors")

    class Call(torch.nn.Module):
        def forward(self, *given: Any) -> Any:
            given_iterator = iter(given)
            filled = [next(given_iterator) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            input, args, kwargs = pytree.tree_unflatten(filled, tree)
            return tuple(flat_tensors(op.op(input, *args, **kwargs)))

    def run() -> list[Any]:
        return [t.detach().clone() for t in Call()(*(t.clone() for t in tensors))]

    def run_seeded() -> list[Any]:
        torch.manual_seed(1)
        return run()

    expected = run_seeded()
    if not expected:
        raise LeftOut("no tensor as result")
    if any(t.layout != torch.strided or t.is_quantized for t in expected):
        raise LeftOut("sparse or quantized results")
    if depends_on_uninitialised_memory(run_seeded):
        raise LeftOut("memory that nobody wrote: there is no expected value")
    torch.manual_seed(2)
    if not all(same(first, second) for first, second in zip(expected, run(), strict=True)):
        raise LeftOut("not deterministic")
    try:
        program = torch.export.export(Call(), tuple(tensors), strict=False)
        core = False
        if options.decompose or options.core:
            decomposed = program.run_decompositions()
            core = all(torch.Tag.core in node.target.tags for node in decomposed.graph.nodes
                       if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload))
            program = decomposed if options.decompose else program
    except Exception as error:  # noqa: BLE001: whatever the exporter says is the reason
        text = str(error).strip().splitlines()
        kind = "a shape depends on values" if "unbacked" in str(error).lower() or "data-dependent" in str(error).lower() else "not exportable"
        raise LeftOut(f"{kind}: {type(error).__name__}: {text[0][:160] if text else ''}") from None
    if any(torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for node in program.graph.nodes):
        # Operators that seed themselves in OpInfo are random all the same: the program alone shows it.
        call, outcomes = program.module(), []
        for seed in (1, 2):
            torch.manual_seed(seed)
            outcomes.append(flat_tensors(call(*(t.clone() for t in tensors))))
        if not all(same(first, second) for first, second in zip(*outcomes, strict=True)):
            raise LeftOut("random")
    for node in program.graph.nodes:
        for value in flat_tensors(node.meta.get("val")):
            if any(not isinstance(size, int) for size in value.shape):
                raise LeftOut("a shape depends on values")
    try:
        torch.export.save(program, f"{stem}.pt2")
    except Exception as error:  # noqa: BLE001
        raise LeftOut(f"not saveable: {type(error).__name__}: {str(error).strip().splitlines()[0][:160]}") from None
    # safetensors has no complex32; complex64 holds its values.
    storable = lambda t: t.to(torch.complex64) if t.dtype is torch.complex32 else t  # noqa: E731
    dense = lambda ts: {str(i): storable(t).resolve_conj().resolve_neg().contiguous().clone() for i, t in enumerate(ts)}  # noqa: E731
    safetensors.torch.save_file(dense(tensors), f"{stem}.inputs.safetensors")
    safetensors.torch.save_file(dense(expected), f"{stem}.expected.safetensors")
    rtol, atol = tolerance_of(op, dtype)
    case = {"rtol": rtol, "atol": atol}
    if options.core or options.decompose:
        case["core"] = core
    Path(f"{stem}.case.json").write_text(json.dumps(case) + "\n")


def export_operator(name: str, options: argparse.Namespace) -> list[tuple[str, str]]:
    """(sample, reason) for each one left out."""
    import torch

    dtype = getattr(torch, options.dtype)
    left_out = []
    for op in operators(dtype, [name]):
        if full_name(op) != name:
            continue
        torch.manual_seed(0)
        try:
            samples = iter(op.sample_inputs("cpu", dtype, requires_grad=False))
            for i in range(SAMPLES):
                sample = next(samples, None)
                if sample is None:
                    break
                if not is_dev(name, i):
                    continue
                stem = options.folder / options.dtype / name / str(i)
                stem.parent.mkdir(parents=True, exist_ok=True)
                state = torch.get_rng_state()
                try:
                    export_sample(op, sample, dtype, stem, options)
                except LeftOut as reason:
                    left_out.append((f"{name}/{i}", str(reason)))
                except Exception as error:  # noqa: BLE001
                    left_out.append((f"{name}/{i}", f"fails in torch: {type(error).__name__}: {str(error).strip()[:160]!r}"))
                torch.set_rng_state(state)
                if not Path(f"{stem}.case.json").exists():
                    for rest in stem.parent.glob(f"{i}.*"):
                        rest.unlink()
        except Exception as error:  # noqa: BLE001
            left_out.append((f"{name}/*", f"makes no samples: {type(error).__name__}: {str(error).strip()[:160]!r}"))
    return left_out


def prepare() -> None:
    """In each process: quiet, one thread, no instructions that torch dies of."""
    instructions.settle()
    os.environ.setdefault("PYTORCH_TEST_WITH_SLOW", "0")
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import torch

    torch.set_num_threads(1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-k", action="append", metavar="NAME", help="only this operator (OpInfo's name, with or without variant)")
    parser.add_argument("--decompose", action="store_true", help="decompose to core ATen before saving")
    parser.add_argument("--core", action="store_true", help="note in case.json whether core ATen is all a sample needs (slow)")
    parser.add_argument("--again", action="store_true", help="make the folder anew")
    options = parser.parse_args()

    prepare()
    import torch

    target = options.folder / options.dtype
    finished = target / FINISHED
    if not options.again and finished.exists() and finished.read_text() == stamp(options):
        print(f"{target} is there already")
        return 0
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    names = sorted({full_name(op) for op in operators(getattr(torch, options.dtype), options.k)})
    left_out: list[tuple[str, str]] = []
    with concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn"), initializer=prepare) as pool:
        for done, part in enumerate(pool.map(export_operator, names, [options] * len(names), chunksize=4), 1):
            left_out += part
            if sys.stderr.isatty() or done % 50 == 0:
                print(f"\r{done}/{len(names)} operators", end="" if sys.stderr.isatty() else "\n", file=sys.stderr)
    (target / "left-out.tsv").write_text("".join(f"{name}\t{reason}\n" for name, reason in sorted(left_out)))
    finished.write_text(stamp(options))
    cases = sum(1 for _ in target.glob("*/*.pt2"))
    print(f"{cases} cases of {len(names)} operators in {target}, {len(left_out)} samples left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
