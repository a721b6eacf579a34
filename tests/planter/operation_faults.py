"""The faults that the planter of operations is given for check_explain.py: a rule each, the operation that is guilty of it, and what an explanation may
answer; the models that they are planted in, and the small set for every day."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent


class Fault(NamedTuple):
    rule: str
    guilty: str
    answers: tuple[str, ...] = ()
    outcome: str = "incorrect"
    otherwise: str = ""
    """How it ends in some models."""

    @property
    def is_seldom(self) -> bool:
        return any(word in self.rule for word in ("now_and_then", "seldom", "flaky"))


ALONE = ("operation alone", "these values", "these shapes")
FAULTS = {
    "tanh is scaled": Fault("op=stablehlo.tanh&effect=scale", "stablehlo.tanh", ALONE),
    "division is swapped": Fault("op=stablehlo.divide&effect=swap", "stablehlo.divide", ALONE),
    "exponential is NaN": Fault("op=stablehlo.exponential&effect=nan", "stablehlo.exponential", ALONE),
    "convolution padding off by one": Fault("op=stablehlo.convolution&effect=padding", "stablehlo.convolution", ALONE),
    "reductions begin with one more": Fault("op=stablehlo.reduce&effect=init", "stablehlo.reduce", ALONE),
    "transposes of rank 3 are reversed": Fault("op=stablehlo.transpose&rank=3&effect=reverse", "stablehlo.transpose", ALONE),
    "products forget their last rows": Fault("op=stablehlo.dot_general&effect=zero_last", "stablehlo.dot_general", ALONE),
    "products lose precision": Fault("op=stablehlo.dot_general&effect=narrow", "stablehlo.dot_general", ALONE),
    "large values are halved": Fault("op=stablehlo.multiply&effect=large", "stablehlo.multiply", ALONE),
    "an add in front of a multiply is negated": Fault("op=stablehlo.add&user=stablehlo.multiply&effect=negate", "stablehlo.add", ("neighbours",)),
    "an add behind a product is scaled": Fault("op=stablehlo.add&producer=stablehlo.dot_general&effect=scale", "stablehlo.add", ("neighbours",)),
    "an add behind a multiply is scaled": Fault("op=stablehlo.add&producer=stablehlo.multiply&effect=scale", "stablehlo.add", ("neighbours",)),
    "a maximum behind an add is negated": Fault("op=stablehlo.maximum&producer=stablehlo.add&effect=negate", "stablehlo.maximum", ("neighbours",)),
    "broadcasts of many elements are scaled": Fault("op=stablehlo.broadcast_in_dim&least=100&effect=scale", "stablehlo.broadcast_in_dim", ALONE),
    "compiler refuses gather": Fault("op=stablehlo.gather&effect=refuse", "stablehlo.gather", ALONE, "failed"),
    "compiler refuses tanh": Fault("op=stablehlo.tanh&effect=refuse", "stablehlo.tanh", ALONE, "failed"),
    "compiler crashes on sort": Fault("op=stablehlo.sort&effect=crash_compile", "stablehlo.sort", ALONE, "crashed"),
    "compiler crashes on a maximum behind an add": Fault("op=stablehlo.maximum&producer=stablehlo.add&effect=crash_compile", "stablehlo.maximum", ("neighbours",), "crashed"),
    "execution crashes in exponential": Fault("op=stablehlo.exponential&effect=crash_run", "stablehlo.exponential", ALONE, "crashed"),
    "compiler hangs on scatter": Fault("op=stablehlo.scatter&effect=hang_compile", "stablehlo.scatter", ALONE, "timed out"),
    "execution hangs in fft": Fault("op=stablehlo.fft&effect=hang_run", "stablehlo.fft", ALONE, "timed out"),
    "convolution runs out of memory": Fault("op=stablehlo.convolution&effect=memory", "stablehlo.convolution", ALONE, "failed"),
    "tanh is scaled now and then": Fault("op=stablehlo.tanh&effect=now_and_then", "stablehlo.tanh", ("not deterministic",)),
    "compiler crashes on tanh now and then": Fault("op=stablehlo.tanh&effect=crash_now_and_then", "stablehlo.tanh", (), "crashed"),
    "loops with a multiply are wrong": Fault("op=stablehlo.multiply&effect=negate", "stablehlo.multiply", ALONE),
    "all_reduce is scaled": Fault("op=stablehlo.all_reduce&effect=scale", "stablehlo.all_reduce", ALONE),
    "constants are scaled": Fault("op=stablehlo.constant&least=2&element=f32&effect=scale", "stablehlo.constant", ALONE),
    "iota counts from one": Fault("op=stablehlo.iota&effect=scale", "stablehlo.iota", ALONE),
    "a multiply by a constant is negated": Fault("op=stablehlo.multiply&constant=1&effect=negate", "stablehlo.multiply", ("neighbours",)),
    "gather forgets its last rows": Fault("op=stablehlo.gather&effect=zero_last", "stablehlo.gather", ALONE),
    "scatter forgets its last rows": Fault("op=stablehlo.scatter&effect=zero_last", "stablehlo.scatter", ALONE),
    "scatter is scaled behind an add": Fault("op=stablehlo.scatter&producer=stablehlo.add&effect=scale", "stablehlo.scatter", ("neighbours",)),
    "windows begin one element later": Fault("op=stablehlo.reduce_window&effect=reverse", "stablehlo.reduce_window", ALONE),
    "select_and_scatter begins with one more": Fault("op=stablehlo.select_and_scatter&effect=init", "stablehlo.select_and_scatter", ALONE),
    "the second result of sort is wrong": Fault("op=stablehlo.sort&result=1&effect=reverse", "stablehlo.sort", ALONE),
    "the second result of reduce is wrong": Fault("op=stablehlo.reduce&result=1&effect=scale", "stablehlo.reduce", ALONE),
    "random bits are wrong": Fault("op=stablehlo.rng_bit_generator&result=1&effect=scale", "stablehlo.rng_bit_generator", ALONE),
    "conversions of f32 are wrong": Fault("op=stablehlo.convert&element=f32&effect=scale", "stablehlo.convert", ALONE),
    "conversions of i1 are wrong": Fault("op=stablehlo.convert&element=i1&effect=scale", "stablehlo.convert", ALONE),
    "products of int8 are wrong": Fault("op=stablehlo.dot_general&element=i8&effect=scale", "stablehlo.dot_general", ALONE),
    "batched products are transposed": Fault("op=stablehlo.dot_general&rank=3&effect=reverse", "stablehlo.dot_general", ALONE),
    "sizes that are no multiple of 8 lose their tail": Fault("op=stablehlo.add&uneven=8&effect=zero_last", "stablehlo.add", ALONE),
    "differences below zero lose their sign": Fault("op=stablehlo.subtract&element=f32&effect=below_zero", "stablehlo.subtract", ALONE),
    "dynamic slices are shifted": Fault("op=stablehlo.dynamic_slice&effect=reverse", "stablehlo.dynamic_slice", ALONE),
    "updates of slices are lost": Fault("op=stablehlo.dynamic_update_slice&effect=zero_last", "stablehlo.dynamic_update_slice", ALONE),
    "padding is not zero": Fault("op=stablehlo.pad&effect=init", "stablehlo.pad", ALONE),
    "selections are turned round": Fault("op=stablehlo.select&effect=negate", "stablehlo.select", ALONE),
    "triangular_solve is scaled": Fault("op=stablehlo.triangular_solve&effect=scale", "stablehlo.triangular_solve", ALONE),
    "cosine is wrong in branches only": Fault("op=stablehlo.cosine&inside=stablehlo.case&effect=scale", "stablehlo.cosine", ("in context",)),
    "products are wrong in loops only": Fault("op=stablehlo.dot_general&inside=stablehlo.while&effect=scale", "stablehlo.dot_general", ("in context",)),
    "tanh is wrong in branches only": Fault("op=stablehlo.tanh&inside=stablehlo.if&effect=scale", "stablehlo.tanh", ("in context",)),
    "compiler crashes on products in loops": Fault("op=stablehlo.dot_general&inside=stablehlo.while&effect=crash_compile", "stablehlo.dot_general", (), "crashed"),
    "products are wrong where arguments are donated": Fault("op=stablehlo.triangular_solve&donates=1&effect=scale", "stablehlo.triangular_solve", ("in context",)),
    "the third add is wrong": Fault("op=stablehlo.add&occurrence=2&effect=scale", "stablehlo.add", ("neighbours", "in context")),
    "all_gather is wrong on the second device": Fault("op=stablehlo.all_gather&effect=second_device", "stablehlo.all_gather", ALONE),
    "collective_permute is wrong on the second device": Fault("op=stablehlo.collective_permute&effect=second_device", "stablehlo.collective_permute", ALONE),
    "execution hangs in reduce_scatter": Fault("op=stablehlo.reduce_scatter&effect=hang_run", "stablehlo.reduce_scatter", ALONE, "timed out"),
    "execution crashes in while": Fault("op=stablehlo.while&effect=crash_run", "stablehlo.while", (), "crashed"),
    "compiler refuses convolutions of bf16": Fault("op=stablehlo.convolution&element=bf16&effect=refuse", "stablehlo.convolution", ALONE, "failed"),
    "execution runs out of memory in sort": Fault("op=stablehlo.sort&effect=memory", "stablehlo.sort", ALONE, "failed"),
    "a tanh of an argument is scaled": Fault("op=stablehlo.tanh&takes=argument&effect=scale", "stablehlo.tanh", (*ALONE, "in context")),
    "a tanh of a computed value is scaled": Fault("op=stablehlo.tanh&takes=computed&effect=scale", "stablehlo.tanh", ("neighbours",)),
    "squares are scaled": Fault("op=stablehlo.multiply&twice=1&effect=scale", "stablehlo.multiply", ALONE),
    "sine is wrong in called functions only": Fault("op=stablehlo.sine&called=1&effect=scale", "stablehlo.sine", ("in context",)),
    "sums add up wrongly": Fault("op=stablehlo.add&inside=stablehlo.reduce&effect=scale", "stablehlo.reduce", ALONE),
    "largest elements are the smallest": Fault("op=stablehlo.maximum&inside=stablehlo.reduce&effect=negate", "stablehlo.reduce", ALONE),
    "sorts run the other way": Fault("op=stablehlo.compare&inside=stablehlo.sort&effect=scale", "stablehlo.sort", ALONE),
    "updates of a scatter are scaled": Fault("op=stablehlo.add&inside=stablehlo.scatter&effect=scale", "stablehlo.scatter", ALONE),
    "compiler crashes on tanh beside a product": Fault("op=stablehlo.tanh&beside=stablehlo.dot_general&effect=crash_compile", "stablehlo.tanh", ("neighbours",), "crashed"),
    "subtract is negated beside a maximum": Fault("op=stablehlo.subtract&beside=stablehlo.maximum&effect=negate", "stablehlo.subtract", ("neighbours",)),
    "the second tile of a sum is lost": Fault("op=stablehlo.add&element=f32&effect=second_tile", "stablehlo.add", ALONE),
    "zeros of a maximum become ones": Fault("op=stablehlo.maximum&effect=of_zero", "stablehlo.maximum", ALONE),
    "tanh is scaled one time in five": Fault("op=stablehlo.tanh&effect=seldom", "stablehlo.tanh", ("not deterministic",)),
    "compiler crashes on a maximum one time in five": Fault("op=stablehlo.maximum&effect=crash_seldom", "stablehlo.maximum", (), "crashed"),
    "execution crashes in tanh one time in four": Fault("op=stablehlo.tanh&effect=flaky_run", "stablehlo.tanh", (), "crashed"),
    "products are wrong on several devices only": Fault("op=stablehlo.multiply&processes=2&effect=scale", "stablehlo.multiply", ALONE),
    "execution hangs in a product behind a transpose": Fault("op=stablehlo.dot_general&producer=stablehlo.transpose&effect=hang_run", "stablehlo.dot_general", ("neighbours",), "timed out"),
    "a transpose in front of a product is shifted": Fault("op=stablehlo.transpose&user=stablehlo.dot_general&effect=shifted", "stablehlo.transpose", ("neighbours",)),
    "an add between a multiply and a tanh is scaled": Fault("op=stablehlo.add&producer=stablehlo.multiply&user=stablehlo.tanh&effect=scale", "stablehlo.add", ("neighbours",)),
    "an add behind a multiply runs out of memory": Fault("op=stablehlo.add&producer=stablehlo.multiply&effect=memory", "stablehlo.add", ("neighbours",), "failed"),
    "counters of loops run backwards": Fault("op=stablehlo.add&element=i32&inside=stablehlo.while&effect=negate", "stablehlo.add", (), "timed out", "incorrect"),
    "counters run backwards": Fault("op=stablehlo.add&element=i32&effect=negate", "stablehlo.add", (), "timed out", "incorrect"),
    "conditions of loops are turned round": Fault("op=stablehlo.compare&inside=stablehlo.while&effect=scale", "stablehlo.compare", ("in context",)),
    "small multiplies are scaled": Fault("op=stablehlo.multiply&most=48&effect=scale", "stablehlo.multiply", ALONE),
    "rows of more than eight are shifted": Fault("op=stablehlo.multiply&larger=8&effect=shifted", "stablehlo.multiply", ALONE),
    "only large programs have a wrong tanh": Fault("op=stablehlo.tanh&operations=40&effect=scale", "stablehlo.tanh", ("in context", "neighbours", "accumulates")),
}
MODELS = [*(ROOT / f"zoo/programs/{name}.mlir" for name in ("attention", "collectives", "conv_net", "mlp", "scatter", "sort", "while_loop", "random_and_fft", "composite_rms_norm")),
          *(ROOT / f"tests/planter/models/{name}.mlir" for name in ("algebra", "data_movement", "lstm_cell", "residual_block", "train_step", "windows_and_types")),
          *(ROOT / f"tests/planter/explained/{name}.mlir" for name in ("nested_loops", "shared_parts"))]
# Kind and model, for every day.
SMALL = [("tanh is scaled", "lstm_cell"), ("convolution padding off by one", "conv_net"), ("reductions begin with one more", "train_step"),
         ("an add behind a multiply is scaled", "deep"), ("large values are halved", "deep"), ("compiler refuses gather", "scatter"),
         ("compiler crashes on sort", "sort"), ("execution crashes in exponential", "attention"), ("loops with a multiply are wrong", "while_loop"),
         ("all_reduce is scaled", "collectives"), ("tanh is scaled now and then", "lstm_cell"), ("execution hangs in fft", "random_and_fft"),
         ("only large programs have a wrong tanh", "deep"), ("products lose precision", "mlp"), ("a tanh of an argument is scaled", "shared_parts"),
         ("sine is wrong in called functions only", "shared_parts"), ("sorts run the other way", "shared_parts"), ("counters run backwards", "nested_loops"),
         ("compiler crashes on tanh beside a product", "shared_parts"), ("compiler crashes on a maximum one time in five", "shared_parts")]


def deep_model(blocks: int = 46) -> str:
    """About 500 operations, one after another, whose values neither grow nor vanish and whose noise stays small."""
    lines = ["func.func @main(%x0: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> (RESULTS) {",
             "  %zero = stablehlo.constant dense<0.0> : tensor<f32>", "  %half = stablehlo.constant dense<0.5> : tensor<8x16xf32>",
             "  %ten = stablehlo.constant dense<20.0> : tensor<8x16xf32>", "  %tenth = stablehlo.constant dense<0.05> : tensor<8x16xf32>"]
    t = "tensor<8x16xf32>"
    for i in range(blocks):
        x = f"%x{i}"
        function = "logistic" if i == blocks // 2 else "tanh" if i % 7 == 3 else "cosine"
        lines += [f"  %d{i} = stablehlo.dot_general {x}, %w, contracting_dims = [1] x [0] : ({t}, tensor<16x16xf32>) -> {t}",
                  f"  %t{i} = stablehlo.multiply %d{i}, %tenth : {t}",
                  f"  %a{i} = stablehlo.add %t{i}, {x} : {t}",
                  f"  %f{i} = stablehlo.{function} %a{i} : {t}",
                  f"  %s{i} = stablehlo.reduce(%f{i} init: %zero) applies stablehlo.maximum across dimensions = [1] : ({t}, tensor<f32>) -> tensor<8xf32>",
                  f"  %b{i} = stablehlo.broadcast_in_dim %s{i}, dims = [0] : (tensor<8xf32>) -> {t}",
                  f"  %m{i} = stablehlo.multiply %b{i}, %half : {t}",
                  f"  %u{i} = stablehlo.subtract %f{i}, %m{i} : {t}",
                  f"  %l{i} = stablehlo.multiply %u{i}, %ten : {t}",
                  f"  %g{i} = stablehlo.multiply %l{i}, %tenth : {t}",
                  f"  %x{i + 1} = stablehlo.minimum %g{i}, %u{i} : {t}"]
    # Some on the way too: what is wrong early is forgotten late.
    shown = [f"%x{i}" for i in range(5, blocks + 1, 5)]
    types = ", ".join([t] * len(shown))
    return "\n".join([*lines, f"  return {', '.join(shown)} : {types}", "}", ""]).replace("RESULTS", types)
