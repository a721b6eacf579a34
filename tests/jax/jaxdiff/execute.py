"""A bundle of cases as one program: lowered by JAX, evaluated by Cupel, judged by XLA or NumPy."""

from __future__ import annotations

import dataclasses
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from .case import Case
from .verdict import report_of, verdict

MLIR_NAMES = {
    "bool": "i1", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "complex<f32>", "complex128": "complex<f64>",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e3m4": "f8E3M4", "float8_e8m0fnu": "f8E8M0FNU", "float4_e2m1fn": "f4E2M1FN",
    **{f"int{n}": f"i{n}" for n in (2, 4, 8, 16, 32, 64)}, **{f"uint{n}": f"ui{n}" for n in (2, 4, 8, 16, 32, 64)},
}  # fmt: skip


class Refusal(Exception):
    """XLA does not compile or run a case."""


@dataclasses.dataclass
class Outcome:
    passed: int = 0
    families: Counter = dataclasses.field(default_factory=Counter)
    failures: list[tuple[int, str, str, str]] = dataclasses.field(default_factory=list)  # number, family, message, report
    skipped: list[tuple[int, str, str]] = dataclasses.field(default_factory=list)


def mlir_type(dtype, shape) -> str:
    return "tensor<" + "".join(f"{n}x" for n in shape) + MLIR_NAMES[np.dtype(dtype).name] + ">"


def constant(x: np.ndarray) -> str:
    kind = mlir_type(x.dtype, x.shape)
    if x.size == 0:
        return f"dense<> : {kind}"
    if x.dtype == np.bool_ or np.dtype(x.dtype).name in ("int4", "uint4", "int2", "uint2"):
        text = str(x.astype(np.int32).tolist()) if x.dtype != np.bool_ else str(x.tolist()).lower()
        return f"dense<{text}> : {kind}"
    return f'dense<"0x{np.ascontiguousarray(x).tobytes().hex().upper()}"> : {kind}'


def flat_calls(calls: list[Callable], counts: list[int]):
    """One function of all inputs that returns all results."""

    def together(*inputs):
        results, at = [], 0
        for call, count in zip(calls, counts, strict=True):
            results.extend(jax.tree.leaves(call(*inputs[at : at + count])))
            at += count
        return tuple(results)

    return together


def xla_values(cases: list[Case]) -> list[list[np.ndarray]]:
    counts = [len(c.inputs) for c in cases]
    inputs = [x for c in cases for x in c.inputs]
    judged = jax.jit(flat_calls([c.expected or c.call for c in cases], counts), keep_unused=True).lower(*inputs)
    flat = [np.asarray(v) for v in judged.compile()(*inputs)]
    values = []
    for case in cases:
        out = jax.tree.leaves(jax.eval_shape(case.call, *case.inputs))
        with np.errstate(all="ignore"):
            values.append([v.astype(o.dtype) if v.dtype != o.dtype else v for v, o in zip(flat[: len(out)], out, strict=True)])
        flat = flat[len(out) :]
    return values


def expected_values(cases: list[Case]) -> list[list[np.ndarray]]:
    """An error of XLA is a Refusal; one of our own judges is a bug that ends the run."""
    by_xla = [c for c in cases if not c.judge]
    try:
        of_xla = iter(xla_values(by_xla) if by_xla else [])
    except Exception as error:  # noqa: BLE001 - whatever XLA refuses with
        raise Refusal(f"{type(error).__name__}: {str(error).splitlines()[0][:200]}") from error
    with np.errstate(all="ignore"):
        return [[np.asarray(v) for v in c.judge(*c.inputs)] if c.judge else next(of_xla) for c in cases]


def program_of(cases: list[Case]) -> str:
    """All cases as one function, called by a main that holds the inputs."""
    inputs = [x for c in cases for x in c.inputs]
    together = flat_calls([c.call for c in cases], [len(c.inputs) for c in cases])
    lowered = jax.jit(together, keep_unused=True).trace(*inputs).lower(lowering_platforms=(cases[0].platform,))
    outs = [o for c in cases for o in jax.tree.leaves(jax.eval_shape(c.call, *c.inputs))]
    text = lowered.as_text().replace("func.func public @main(", "func.func private @cases(", 1)
    result_types = ", ".join(mlir_type(o.dtype, o.shape) for o in outs)
    input_types = ", ".join(mlir_type(x.dtype, x.shape) for x in inputs)
    lines = [f"  func.func public @main() -> ({result_types}) {{"]
    lines += [f"    %in{i} = stablehlo.constant {constant(x)}" for i, x in enumerate(inputs)]
    names = ", ".join(f"%in{i}" for i in range(len(inputs)))
    lines.append(f"    %out:{len(outs)} = call @cases({names}) : ({input_types}) -> ({result_types})")
    lines.append(f"    return {', '.join(f'%out#{i}' for i in range(len(outs)))} : {result_types}")
    lines.append("  }")
    end = text.rindex("}")
    return text[:end] + "\n".join(lines) + "\n}\n"


def evaluate(cupel: Path, text: str, expected: list[list[np.ndarray]]) -> list[list[np.ndarray]] | str:
    """What Cupel computes, or its message."""
    with tempfile.TemporaryDirectory(prefix="cupel-differential-") as folder:
        path = Path(folder) / "program.mlir"
        path.write_text(text)
        done = subprocess.run([str(cupel), "eval", str(path), "--jobs", "1", "--save", folder + "/out"], capture_output=True, text=True, errors="replace", timeout=300)
        if done.returncode != 0:
            return (done.stderr + done.stdout).replace(folder + "/", "").strip() or f"exit code {done.returncode}"
        results, at = [], 0
        for out in expected:
            row = []
            for like in out:
                value = np.load(f"{folder}/out/result{at}.npy")
                if value.dtype.kind == "V":
                    value = value.view(like.dtype)
                row.append(value if value.dtype == like.dtype else value.astype(like.dtype))
                at += 1
            results.append(row)
        return results


def run_cases(cupel: Path, seed: int, cases: list[Case], outcome: Outcome) -> None:
    """Together, and those that fail again alone."""
    try:
        text, want = program_of(cases), expected_values(cases)
    except Refusal as error:
        if len(cases) > 1:
            halves(cupel, seed, cases, outcome)
        else:
            outcome.skipped.append((cases[0].number, cases[0].family, str(error)))
        return
    got = evaluate(cupel, text, want)
    if isinstance(got, str):
        if len(cases) > 1:
            halves(cupel, seed, cases, outcome)
            return
        outcome.families[cases[0].family] += 1
        outcome.failures.append((cases[0].number, cases[0].family, got.splitlines()[0], report_of(cases[0], seed, got.splitlines()[0], text, None, want[0])))
        return
    for case, g, w in zip(cases, got, want, strict=True):
        message = verdict(case, g, w)
        if message and len(cases) > 1:
            run_cases(cupel, seed, [case], outcome)
            continue
        outcome.families[case.family] += 1
        if message:
            outcome.failures.append((case.number, case.family, message, report_of(case, seed, message, text, g, w)))
        else:
            outcome.passed += 1


def halves(cupel: Path, seed: int, cases: list[Case], outcome: Outcome) -> None:
    middle = len(cases) // 2
    run_cases(cupel, seed, cases[:middle], outcome)
    run_cases(cupel, seed, cases[middle:], outcome)
