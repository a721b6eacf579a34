"""One-operator models of the com.microsoft operators, to be run by ONNX Runtime and by Cupel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import onnx
from numpy import float32, int8, int32, int64, uint8
from onnx import helper

Case = tuple[str, onnx.ModelProto, list[numpy.ndarray]]


class Builder:
    """Random operands by a seed of their own for each case, so that cases do not depend on their order."""

    def __init__(self, name: str) -> None:
        self.generator = numpy.random.default_rng(sum(name.encode()))

    def real(self, *shape: int) -> numpy.ndarray:
        return self.generator.standard_normal(shape).astype(float32)

    def positive(self, *shape: int) -> numpy.ndarray:
        return self.generator.uniform(0.01, 0.1, shape).astype(float32)

    def integers(self, dtype: type, *shape: int, low: int | None = None, high: int | None = None) -> numpy.ndarray:
        bounds = numpy.iinfo(dtype)
        return self.generator.integers(bounds.min if low is None else low, (bounds.max if high is None else high) + 1, shape, dtype)


def model_of(op: str, operands: list[numpy.ndarray | None], outputs: list[str], domain: str = "com.microsoft",
             attributes: dict[str, object] | None = None) -> tuple[onnx.ModelProto, list[numpy.ndarray]]:
    """All operands are inputs; results have no declared shape."""
    names = [f"x{i}" if operand is not None else "" for i, operand in enumerate(operands)]
    given = [(name, operand) for name, operand in zip(names, operands) if operand is not None]
    node = helper.make_node(op, names, outputs, domain=domain, name="only", **(attributes or {}))
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in given]
    results = [helper.make_value_info(name, onnx.TypeProto()) for name in outputs if name]
    graph = helper.make_graph([node], "one", inputs, results)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), [value for _, value in given]


def cases() -> Iterator[Case]:
    for name, op, operands, outputs, attributes in rows():
        domain = "" if op == "SimplifiedLayerNormalization" else "com.microsoft"
        yield name, *model_of(op, operands, outputs, domain, attributes)


Row = tuple[str, str, list[numpy.ndarray | None], list[str], dict[str, object]]


def rows() -> Iterator[Row]:
    yield from fused_rows()
    yield from attention_rows()
    yield from group_query_rows()
    yield from quantized_rows()
    yield from product_rows()


def fused_rows() -> Iterator[Row]:
    b = Builder("fused")
    x, image, kernel = b.real(2, 3, 8), b.real(1, 4, 6, 6), b.real(6, 2, 3, 3)
    yield "fused_matmul", "FusedMatMul", [b.real(2, 5, 3), b.real(2, 4, 5)], ["y"], {"transA": 1, "transB": 1, "alpha": 0.5}
    yield "fused_matmul_batch", "FusedMatMul", [b.real(3, 2, 5), b.real(2, 5, 4)], ["y"], {"transBatchA": 1}
    yield "fused_gemm", "FusedGemm", [b.real(3, 4), b.real(4, 5), b.real(5)], ["y"], {"activation": "LeakyRelu", "activation_alpha": 0.2, "alpha": 0.7}
    for activation, parameters in (("Relu", []), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.6]), ("HardSigmoid", [0.3, 0.4]), ("Tanh", [])):
        attributes: dict[str, object] = {"activation": activation, "group": 2, "pads": [1, 1, 1, 1], "strides": [2, 1]}
        if parameters:
            attributes["activation_params"] = parameters
        yield f"fused_conv_{activation.lower()}", "FusedConv", [image, kernel, b.real(6)], ["y"], attributes
    yield "fused_conv_sum", "FusedConv", [image, kernel, b.real(6), b.real(1, 6, 4, 4)], ["y"], {"activation": "Relu", "group": 2}
    yield "gelu", "Gelu", [x], ["y"], {}
    yield "fast_gelu", "FastGelu", [x, b.real(8)], ["y"], {}
    yield "bias_gelu", "BiasGelu", [x, b.real(8)], ["y"], {}
    yield "quick_gelu", "QuickGelu", [x], ["y"], {"alpha": 1.5}
    yield "skip_layer_norm", "SkipLayerNormalization", [x, b.real(2, 3, 8), b.real(8), b.real(8), b.real(8)], ["y", "", "", "sum"], {"epsilon": 1e-5}
    yield "skip_layer_norm_broadcast", "SkipLayerNormalization", [x, b.real(3, 8), b.real(8)], ["y"], {}
    yield "skip_simplified_norm", "SkipSimplifiedLayerNormalization", [x, b.real(2, 3, 8), b.real(8), b.real(8)], ["y", "", "", "sum"], {"epsilon": 1e-6}
    yield "simplified_norm", "SimplifiedLayerNormalization", [x, b.real(8)], ["y"], {"axis": -1, "epsilon": 1e-6}
    ids, segments = b.integers(int32, 2, 5, low=0, high=9), b.integers(int32, 2, 5, low=0, high=1)
    tables = [b.real(10, 8), b.real(7, 8), b.real(2, 8), b.real(8), b.real(8)]
    mask = numpy.array([[1, 1, 1, 0, 0], [1] * 5], int32)
    yield "embed_layer_norm", "EmbedLayerNormalization", [ids, segments, *tables, mask], ["y", "count", "sum"], {}
    yield "embed_layer_norm_plain", "EmbedLayerNormalization", [ids, None, tables[0], tables[1], None, tables[3], tables[4]], ["y", "count"], {}


def attention_rows() -> Iterator[Row]:
    b = Builder("attention")
    x, weights, bias = b.real(2, 5, 8), b.real(8, 24), b.real(24)
    yield "attention", "Attention", [x, weights, bias], ["y"], {"num_heads": 2}
    yield "attention_causal", "Attention", [x, weights, bias], ["y"], {"num_heads": 2, "unidirectional": 1}
    masks = {"raw": numpy.array([[1, 1, 1, 0, 0], [1] * 5], int32), "lengths": numpy.array([3, 5], int32),
             "ends": numpy.array([4, 5, 1, 0], int32), "square": b.integers(int32, 2, 5, 5, low=0, high=1)}
    for name, mask in masks.items():
        yield f"attention_mask_{name}", "Attention", [x, weights, bias, mask], ["y"], {"num_heads": 2}
    yield "attention_past", "Attention", [x, weights, bias, None, b.real(2, 2, 2, 3, 4)], ["y", "present"], {"num_heads": 2, "unidirectional": 1}
    yield "attention_bias", "Attention", [x, weights, bias, None, None, b.real(1, 2, 5, 5)], ["y"], {"num_heads": 2, "scale": 0.3}
    yield "attention_sizes", "Attention", [x, b.real(8, 28), b.real(28)], ["y"], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 12]}
    q, k, v = b.real(2, 5, 8), b.real(2, 6, 8), b.real(2, 6, 8)
    yield "mha", "MultiHeadAttention", [q, k, v, bias], ["y"], {"num_heads": 2}
    yield "mha_mask", "MultiHeadAttention", [q, k, v, None, numpy.array([[1] * 6, [1] * 4 + [0] * 2], int32), b.real(1, 1, 5, 6)], ["y"], {"num_heads": 2}
    yield "mha_past", "MultiHeadAttention", [q, b.real(2, 5, 8), b.real(2, 5, 8), None, None, None, b.real(2, 2, 3, 4), b.real(2, 2, 3, 4)], \
        ["y", "k", "v"], {"num_heads": 2, "unidirectional": 1}
    yield "mha_cross", "MultiHeadAttention", [q, b.real(2, 2, 7, 4), b.real(2, 2, 7, 4)], ["y"], {"num_heads": 2}
    cache = [b.real(12, 4), b.real(12, 4)]
    positions = b.integers(int64, 2, 5, low=0, high=11)
    for interleaved in (0, 1):
        yield f"rotary_{interleaved}", "RotaryEmbedding", [b.real(2, 5, 24), positions, *cache], ["y"], {"interleaved": interleaved}
    yield "rotary_offset", "RotaryEmbedding", [b.real(2, 3, 5, 8), numpy.array([2], int64), *cache], ["y"], {}
    yield "rotary_part", "RotaryEmbedding", [b.real(2, 5, 36), positions, *cache], ["y"], {"num_heads": 3, "rotary_embedding_dim": 8}


def group_query_rows() -> Iterator[Row]:
    """GroupQueryAttention: four heads of sixteen on two of keys; prompts, steps with a cache, caches with room, and its attributes."""
    b = Builder("group query")
    op, outputs, heads = "GroupQueryAttention", ["y", "k", "v"], {"num_heads": 4, "kv_num_heads": 2}
    cosines, sines = b.real(12, 8), b.real(12, 8)

    def total(tokens: int) -> numpy.ndarray:
        return numpy.array(tokens, int32)

    def lengths(*tokens: int) -> numpy.ndarray:
        return numpy.array(tokens, int32) - 1

    def fresh(batch: int, tokens: int, size: int = 16) -> list[numpy.ndarray]:
        return [b.real(batch, tokens, 4 * size), b.real(batch, tokens, 2 * size), b.real(batch, tokens, 2 * size)]

    def past(batch: int, tokens: int, size: int = 16) -> list[numpy.ndarray]:
        return [b.real(batch, 2, tokens, size), b.real(batch, 2, tokens, size)]

    prompt = [*fresh(2, 5), None, None, lengths(5, 5), total(5)]
    step = [*fresh(2, 1), *past(2, 6), lengths(7, 7), total(7)]
    ragged = [*fresh(2, 1), *past(2, 6), lengths(4, 7), total(7)]
    chunk = [*fresh(1, 3), *past(1, 4), lengths(7), total(7)]
    roomy = [*fresh(2, 1), *past(2, 9), lengths(3, 6), total(6)]
    forms = {"prompt": prompt, "step": step, "ragged": ragged, "chunk": chunk, "roomy": roomy}
    for name, operands in forms.items():
        yield f"gqa_{name}", op, operands, outputs, heads
        yield f"gqa_{name}_rotary", op, [*operands, cosines, sines], outputs, {**heads, "do_rotary": 1}
        yield f"gqa_{name}_window", op, operands, outputs, {**heads, "local_window_size": 2, "scale": 0.5}
        yield f"gqa_{name}_smooth", op, operands, outputs, {**heads, "smooth_softmax": 1, "softcap": 0.7}
        yield f"gqa_{name}_sink", op, [*operands, None, None, None, None, b.real(4)], outputs, {**heads, "local_window_size": 3}
    yield "gqa_prompt_into_cache", op, [*fresh(2, 4), *past(2, 7), lengths(4, 4), total(4)], outputs, heads
    yield "gqa_packed", op, [b.real(2, 5, 128), None, None, None, None, lengths(5, 5), total(5), cosines, sines], outputs, \
        {**heads, "do_rotary": 1, "rotary_interleaved": 1}
    yield "gqa_positions", op, [*step, cosines, sines, numpy.array([[3], [9]], int64)], outputs, {**heads, "do_rotary": 1}
    yield "gqa_prompt_positions", op, [*prompt, cosines, sines, numpy.array([[2, 3, 4, 5, 6], [2, 3, 4, 5, 6]], int64)], outputs, {**heads, "do_rotary": 1}
    yield "gqa_part_rotary", op, [*fresh(1, 3, 32), *past(1, 4, 32), lengths(7), total(7), cosines, sines], outputs, {**heads, "do_rotary": 1}
    yield "gqa_bias", op, [*prompt, None, None, None, b.real(2, 1, 5, 5)], outputs, {**heads, "softcap": 0.9}
    yield "gqa_step_bias", op, [*step, None, None, None, b.real(1, 4, 1, 7)], outputs, heads
    yield "gqa_multi_query", op, [b.real(1, 4, 64), b.real(1, 4, 16), b.real(1, 4, 16), None, None, lengths(4), total(4)], outputs, {"num_heads": 4, "kv_num_heads": 1}
    yield "gqa_both_ways", op, prompt, outputs, {**heads, "causal": 0}


def quantized_rows() -> Iterator[Row]:
    b = Builder("quantized")

    def scale(value: float) -> numpy.ndarray:
        return numpy.array(value, float32)

    for dtype, zeros in ((uint8, (120, 131, 118)), (int8, (-3, 5, 7))):
        name = numpy.dtype(dtype).name
        zero = [numpy.array(value, dtype) for value in zeros]
        x, y = b.integers(dtype, 2, 3, 4), b.integers(dtype, 3, 1)
        pair = [x, scale(0.031), zero[0], y, scale(0.022), zero[1]]
        yield f"qlinear_add_{name}", "QLinearAdd", [*pair, scale(0.041), zero[2]], ["y"], {}
        yield f"qlinear_mul_{name}", "QLinearMul", [*pair, scale(0.067), zero[2]], ["y"], {}
        around = [scale(0.037), zero[2]]
        yield f"qlinear_leaky_relu_{name}", "QLinearLeakyRelu", [x, scale(0.031), zero[0], *around], ["y"], {"alpha": 0.1}
        yield f"qlinear_sigmoid_{name}", "QLinearSigmoid", [x, scale(0.031), zero[0], scale(1 / 256), numpy.array(numpy.iinfo(dtype).min, dtype)], ["y"], {}
        image = [b.integers(dtype, 1, 3, 7, 6), scale(0.031), zero[0], *around]
        yield f"qlinear_average_pool_{name}", "QLinearAveragePool", image, ["y"], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}
        yield f"qlinear_global_average_pool_{name}", "QLinearGlobalAveragePool", image, ["y"], {}
        yield f"qlinear_global_average_pool_last_{name}", "QLinearGlobalAveragePool", image, ["y"], {"channels_last": 1}
        parts = [x, scale(0.031), zero[0], b.integers(dtype, 2, 2, 4), scale(0.02), zero[1]]
        yield f"qlinear_concat_{name}", "QLinearConcat", [scale(0.043), zero[2], *parts], ["y"], {"axis": 1}
        yield f"qlinear_softmax_{name}", "QLinearSoftmax", [x, scale(0.031), zero[0], scale(1 / 256), numpy.array(numpy.iinfo(dtype).min, dtype)], \
            ["y"], {"axis": -1, "opset": 13}
        condition = b.integers(uint8, 2, 3, 4, low=0, high=1).astype(bool)
        yield f"qlinear_where_{name}", "QLinearWhere", [condition, *pair, *around], ["y"], {}


def product_rows() -> Iterator[Row]:
    b = Builder("products")
    # Weights of seven bits: of more, ONNX Runtime's sums of two products overflow 16 bits on processors without VNNI.
    x, w = b.integers(uint8, 3, 6), b.integers(int8, 6, 5, low=-63, high=63)
    scale, zero = numpy.array(0.02, float32), numpy.array(130, uint8)
    yield "matmul_integer_to_float", "MatMulIntegerToFloat", [x, w, scale, b.positive(5), zero, b.integers(int8, 5, low=-4, high=4), b.real(5)], ["y"], {}
    yield "matmul_integer_to_float_plain", "MatMulIntegerToFloat", [x, w, scale, numpy.array(0.1, float32)], ["y"], {}
    yield "dynamic_quantize_matmul", "DynamicQuantizeMatMul", [b.real(3, 6), w, b.positive(5), b.integers(int8, 5, low=-4, high=4), b.real(5)], ["y"], {}
    yield "dynamic_quantize_matmul_plain", "DynamicQuantizeMatMul", [b.real(2, 3, 6), b.integers(uint8, 6, 5), scale, numpy.array(127, uint8)], ["y"], {}
    gemm = [x, scale, zero, b.integers(int8, 5, 6, low=-63, high=63), b.positive(5), numpy.zeros(5, int8)]
    third = b.integers(int32, 5, low=-500, high=500)
    yield "qgemm", "QGemm", [*gemm, third, numpy.array(0.4, float32), numpy.array(121, uint8)], ["y"], {"transB": 1}
    yield "qgemm_float", "QGemm", [*gemm, third], ["y"], {"transB": 1, "alpha": 0.5}
    for bits, inner, block in ((4, 32, 16), (4, 40, 16), (8, 32, 32)):
        blocks = (inner + block - 1) // block
        packed, scales = b.integers(uint8, 6, blocks, block * bits // 8), b.positive(6, blocks)
        attributes = {"K": inner, "N": 6, "bits": bits, "block_size": block}
        zeros = b.integers(uint8, 6, (blocks * bits + 7) // 8)
        yield f"matmul_nbits_{bits}_{inner}", "MatMulNBits", [b.real(2, 3, inner), packed, scales], ["y"], attributes
        yield f"matmul_nbits_{bits}_{inner}_zero", "MatMulNBits", [b.real(3, inner), packed, scales, zeros], ["y"], attributes
    yield "quantize", "QuantizeLinear", [b.real(2, 3, 4), b.positive(3), b.integers(uint8, 3)], ["y"], {"axis": 1}
    yield "dequantize", "DequantizeLinear", [b.integers(uint8, 2, 3, 4), b.positive(3), b.integers(uint8, 3)], ["y"], {"axis": 1}
