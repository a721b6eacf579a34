"""Calls that torch's own CPU kernels get wrong, made so that they get them right; used wherever torch computes what is expected of a device.

grid_sample in 16-bit floats counts elements in 16-bit integers: where a picture's strides take it further than those reach, it reads foreign
memory, and gives other values at each run or dies. The same kernel is given a dense copy, which has small strides, and where even that is too
large the call is computed in float32. Backward kernels that add up one by one in the type of their result lose a tenth of it in bfloat16
after some hundred terms: they are given the next wider type. Attention's backward works with what the forward kept: its output, rounded to its type, and logarithms
of sums in float32. Where values are much alike, all that decides is less than that rounding; and where a logarithm is large, float32 has no room for its fraction:
of a row that a mask fills with the least number of its type nothing is left of how many keys there are, and its gradient is that many times too large. Such
a backward is computed from the scores, and graphs get logarithms that are as good as their type. The gradient of a kernel over volumes in bfloat16 holds memory that nothing
wrote for some sizes (3 x 1 x 1 over two images of 2 x 8 x 8): it is computed in float32. Statistics of a batch are rounded to the type of the parameters before
they are used, and the variance is taken about the rounded mean: of a spread that is small beside the mean nothing is left in bfloat16. Batches are normalised in float32. `matrix_exp` of 16-bit floats is NaN from some sizes on (16 x 16, whatever is in it): it is computed in float32. Every such call is counted, for the record.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

_NARROW = (torch.bfloat16, torch.float16)
_LARGEST = 2**15 - 1


def _reaches_too_far(picture: torch.Tensor) -> bool:
    rows, columns = picture.shape[-2:]
    return (rows - 1) * picture.stride(-2) + (columns - 1) * picture.stride(-1) > _LARGEST


def sound_grid_sampler(original: Callable[..., torch.Tensor], replaced: list[str]) -> Callable[..., torch.Tensor]:
    """`original` is torch's call (picture, grid, ...); `replaced` gets a line for each call that could not be made as it was."""

    def call(picture: torch.Tensor, grid: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        if picture.dtype not in _NARROW or picture.dim() != 4 or picture.device.type != "cpu" or not _reaches_too_far(picture):
            return original(picture, grid, *rest, **named)
        picture = picture.contiguous()
        if not _reaches_too_far(picture):
            replaced.append("grid_sampler_2d on a dense copy")
            return original(picture, grid, *rest, **named)
        replaced.append("grid_sampler_2d in float32")
        return original(picture.float(), grid.float(), *rest, **named).to(picture.dtype)

    return call


def sound_normalization(original: Callable[..., torch.Tensor], name: str, replaced: list[str]) -> Callable[..., torch.Tensor]:
    """torch.batch_norm or torch.instance_norm (picture, weight, bias, running mean, running variance, whether statistics are the batch's, ...); so is its gradient."""

    def call(picture: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        given = dict(zip(("weight", "bias", "running_mean", "running_var", "of_batch"), rest)) | named
        of_batch = given.get("of_batch", given.get("training", given.get("use_input_stats")))
        tensors = [one for one in (picture, *rest, *named.values()) if isinstance(one, torch.Tensor)]
        if not of_batch or picture.dtype not in _NARROW or any(type(one) not in (torch.Tensor, torch.nn.Parameter) or one.device.type != "cpu" for one in tensors):
            return original(picture, *rest, **named)
        replaced.append(f"{name} in float32")
        running = [one for one in (given.get("running_mean"), given.get("running_var")) if one is not None]
        wide = {id(one): one.float() for one in tensors}
        result = original(*(wide.get(id(one), one) for one in (picture, *rest)), **{key: wide.get(id(one), one) for key, one in named.items()})
        for one in running:
            if one.dtype in _NARROW:
                one.copy_(wide[id(one)])
        return result.to(picture.dtype)

    return call


def sound_matrix_exp(original: Callable[..., torch.Tensor], replaced: list[str]) -> Callable[..., torch.Tensor]:
    """torch's call on matrices of narrow floats, in float32; so is its gradient."""

    def call(matrix: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        if matrix.dtype not in _NARROW or matrix.device.type != "cpu":
            return original(matrix, *rest, **named)
        replaced.append("matrix_exp in float32")
        return original(matrix.float(), *rest, **named).to(matrix.dtype)

    return call


@contextlib.contextmanager
def sound_kernels() -> Iterator[list[str]]:
    """Inside, what Python calls is sound; the list tells which calls were made otherwise."""
    replaced: list[str] = []
    places = [(torch, "grid_sampler"), (torch, "batch_norm"), (torch, "instance_norm"), (torch, "matrix_exp"), (torch.linalg, "matrix_exp")]
    before = [(place, name, getattr(place, name)) for place, name in places]
    for place, name, original in before:
        sound = (sound_grid_sampler(original, replaced) if name == "grid_sampler" else sound_matrix_exp(original, replaced) if name == "matrix_exp"
                 else sound_normalization(original, name, replaced))
        setattr(place, name, sound)
    try:
        yield replaced
    finally:
        for place, name, original in before:
            setattr(place, name, original)


# --- sums --------------------------------------------------------------------------------------------------------------------------------

_aten = torch.ops.aten
# Kernels that add up in the type of their result, and the arguments that their results have the types of.
_SUMMING: dict[Any, tuple[int, ...]] = {
    _aten.native_layer_norm_backward.default: (1, 5, 6),
    _aten.embedding_dense_backward.default: (0,),
    _aten._embedding_bag_backward.default: (0,),
    _aten._embedding_bag_dense_backward.default: (0,),
    _aten.index_put.default: (0,),
    _aten._unsafe_index_put.default: (0,),
    _aten.grid_sampler_2d_backward.default: (1, 2),
    _aten.grid_sampler_3d_backward.default: (1, 2),
    **{getattr(_aten, f"{kind}_pad{rank}d_backward").default: (0,) for kind in ("replication", "reflection") for rank in (1, 2, 3)},
    _aten.avg_pool2d_backward.default: (0,),
    _aten.avg_pool3d_backward.default: (0,),
    _aten._adaptive_avg_pool2d_backward.default: (0,),
    _aten._adaptive_avg_pool3d_backward.default: (0,),
    _aten.col2im.default: (0,),
}
_IN_PLACE = (_aten._index_put_impl_.default, _aten.index_put_.default)
_WIDER = {torch.bfloat16: torch.float32, torch.float16: torch.float32, torch.float32: torch.float64}


def _wider(values: Any) -> torch.dtype | None:
    """What all floats among the arguments fit in with room to spare."""
    found = {_WIDER[value.dtype] for value in values if isinstance(value, torch.Tensor) and value.dtype in _WIDER}
    return (torch.float64 if torch.float64 in found else torch.float32) if found else None


def sound_sum(func: Any, replaced: list[str]) -> Callable[..., Any]:
    """torch's call `func`, its sums in a wider type; `replaced` gets a line for each call."""
    is_put, in_place = "index_put" in str(func), func in _IN_PLACE

    def call(*args: Any, **named: Any) -> Any:
        wide = _wider(args)
        accumulates = not is_put or (args[3] if len(args) > 3 else named.get("accumulate", False))
        if wide is None or not accumulates or any(isinstance(value, torch.Tensor) and value.device.type != "cpu" for value in args):
            return func(*args, **named)
        replaced.append(f"{func._schema.name.removeprefix('aten::')} in {str(wide).removeprefix('torch.')}")
        widened = tree_map(lambda value: value.to(wide) if isinstance(value, torch.Tensor) and value.is_floating_point() else value, args)
        if in_place:
            return args[0].copy_(_aten.index_put.default(*widened[:3], True))
        result = func(*widened, **named)
        if isinstance(result, torch.Tensor):
            return result.to(args[_SUMMING[func][0]].dtype)
        return tuple(one if one is None or args[like] is None else one.to(args[like].dtype) for one, like in zip(result, _SUMMING[func], strict=True))

    return call


# --- gradients of attention --------------------------------------------------------------------------------------------------------------

_ATTENTION_BACKWARD = _aten._scaled_dot_product_flash_attention_for_cpu_backward.default
# Of float32: in logarithms beyond this a step is 2**-16, the least error of all weights of a row.
_LARGEST_LOGARITHM = 2**7


def _needs_scores(query: torch.Tensor, logsumexp: torch.Tensor) -> bool:
    """In 16-bit floats the rounded output is always too coarse: each score of a row is off by the same, which sums over the row do not forgive."""
    return query.dtype in _NARROW or (query.dtype == torch.float32 and bool((logsumexp.isfinite() & (logsumexp.abs() > _LARGEST_LOGARITHM)).any()))


def sound_attention_backward(replaced: list[str]) -> Callable[..., Any]:
    """torch's call, from the scores where what the forward kept is not good enough."""

    def call(gradient: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, out: torch.Tensor, logsumexp: torch.Tensor, dropout_p: float, is_causal: bool, *,
             attn_mask: torch.Tensor | None = None, scale: float | None = None) -> tuple[torch.Tensor, ...]:
        if dropout_p or query.device.type != "cpu" or not _needs_scores(query, logsumexp):
            return _ATTENTION_BACKWARD(gradient, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
        wide = _WIDER[query.dtype]
        replaced.append(f"scaled_dot_product_attention_backward in {str(wide).removeprefix('torch.')}")
        batch, heads, rows = query.shape[:3]
        mask = None if attn_mask is None else attn_mask.expand(batch, heads, rows, key.shape[-2])
        by_query, by_key, by_value = (torch.zeros_like(one, dtype=wide) for one in (query, key, value))
        for i in range(batch):
            for j in range(heads):  # One head's scores at a time.
                own = (i, j * key.shape[1] // heads)  # Several heads may share keys.
                found = _gradients_of_head(gradient[i, j].to(wide), query[i, j].to(wide), key[own].to(wide), value[own].to(wide), None if mask is None else mask[i, j].to(wide), is_causal, scale)
                by_query[i, j] = found[0]
                by_key[own] += found[1]
                by_value[own] += found[2]
        return by_query.to(query.dtype), by_key.to(key.dtype), by_value.to(value.dtype)

    return call


def _gradients_of_head(gradient: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, is_causal: bool, scale: float | None) -> tuple[torch.Tensor, ...]:
    """Of query, key and value."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.T * scale
    if mask is not None:
        scores = scores + mask
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape, dtype=torch.bool).triu(1), float("-inf"))
    weights = torch._safe_softmax(scores, -1)
    by_weight = gradient @ value.T
    by_score = weights * (by_weight - (by_weight * weights).sum(-1, keepdim=True)) * scale
    return by_score @ key, by_score.T @ query, weights.T @ gradient


# --- gradients of convolutions ---------------------------------------------------------------------------------------------------------------

_CONVOLUTION_BACKWARD = _aten.convolution_backward.default


def sound_convolution_backward(replaced: list[str]) -> Callable[..., Any]:
    """torch's call, over volumes of bfloat16 in float32."""

    def call(gradient: torch.Tensor, image: torch.Tensor, kernel: torch.Tensor, *rest: Any) -> tuple[torch.Tensor | None, ...]:
        if image.dtype != torch.bfloat16 or image.dim() != 5 or image.device.type != "cpu":
            return _CONVOLUTION_BACKWARD(gradient, image, kernel, *rest)
        replaced.append("convolution_backward in float32")
        found = _CONVOLUTION_BACKWARD(gradient.float(), image.float(), kernel.float(), *rest)
        return tuple(None if one is None else one.to(image.dtype) for one in found)

    return call


# --- statistics of batches ---------------------------------------------------------------------------------------------------------------

_NORMALIZING = (_aten.native_batch_norm.default, _aten._native_batch_norm_legit.default, _aten._native_batch_norm_legit.no_stats, _aten._native_batch_norm_legit_functional.default)
_NORMALIZATION_BACKWARD = _aten.native_batch_norm_backward.default
_MATRIX_EXP = _aten.linalg_matrix_exp.default


def sound_batch_statistics(func: Any, replaced: list[str]) -> Callable[..., Any]:
    """torch's call in float32; the statistics it gives have the type that torch's would have."""
    training = [argument.name for argument in func._schema.arguments].index("training")

    def call(*args: Any, **named: Any) -> Any:
        if named or args[0].dtype not in _NARROW or args[0].device.type != "cpu" or not args[training]:
            return func(*args, **named)
        replaced.append("batch_norm in float32")
        wide = [one.float() if isinstance(one, torch.Tensor) else one for one in args]
        result = func(*wide)
        kept = next((one.dtype for one in args[1:5] if isinstance(one, torch.Tensor)), args[0].dtype)
        if func in _NORMALIZING[:2]:  # The first writes without saying so.
            for one, written in zip(args[3:5], wide[3:5], strict=True):
                if isinstance(one, torch.Tensor):
                    one.copy_(written)
        return (result[0].to(args[0].dtype), *(one.to(kept) for one in result[1:]))

    return call


def sound_normalization_backward(replaced: list[str]) -> Callable[..., Any]:
    """torch's call in float32, with statistics of what was normalised in the place of rounded ones."""

    def call(gradient: torch.Tensor, picture: torch.Tensor, weight: Any, mean: Any, variance: Any, saved_mean: Any, saved: Any, training: bool, eps: float, mask: Any) -> tuple[Any, ...]:
        if not training or picture.dtype not in _NARROW or picture.device.type != "cpu" or saved_mean is None or saved_mean.dtype not in _NARROW:
            return _NORMALIZATION_BACKWARD(gradient, picture, weight, mean, variance, saved_mean, saved, training, eps, mask)
        replaced.append("batch_norm_backward in float32")
        wide = [None if one is None else one.float() for one in (gradient, picture, weight, mean, variance)]
        found, places = wide[1], [0, *range(2, picture.dim())]
        spread, center = torch.var_mean(found, places, correction=0)
        result = _NORMALIZATION_BACKWARD(*wide, center, (spread + eps).rsqrt(), training, eps, mask)
        return tuple(None if one is None else one.to((weight if i and weight is not None else picture).dtype) for i, one in enumerate(result))

    return call


def sound_call(func: Any, replaced: list[str]) -> Callable[..., Any]:
    """The call itself, or a sound one in its place."""
    if func is _ATTENTION_BACKWARD:
        return sound_attention_backward(replaced)
    if func is _CONVOLUTION_BACKWARD:
        return sound_convolution_backward(replaced)
    if func is _NORMALIZATION_BACKWARD:
        return sound_normalization_backward(replaced)
    if func in _NORMALIZING:
        return sound_batch_statistics(func, replaced)
    if func is _MATRIX_EXP:
        return sound_matrix_exp(func, replaced)
    return sound_sum(func, replaced) if func in _SUMMING or func in _IN_PLACE else func


class _Sums(TorchDispatchMode):
    supports_higher_order_operators = True  # `torch.cond`: what is called inside comes by as well.

    def __init__(self, replaced: list[str]):
        super().__init__()
        self._replaced = replaced

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return sound_call(func, self._replaced)(*args, **(kwargs or {}))


def sound_sums(replaced: list[str]) -> TorchDispatchMode:
    """For backward, which Python does not call one by one."""
    return _Sums(replaced)


# --- graphs ------------------------------------------------------------------------------------------------------------------------------

_LARGEST_SCORES = 2**27


def sound_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout_p: float = 0.0, is_causal: bool = False, *,
                    attn_mask: torch.Tensor | None = None, scale: float | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """torch's call, with logarithms of sums that are as good as their type."""
    result, logsumexp = _aten._scaled_dot_product_flash_attention_for_cpu.default(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
    rows, columns = query.shape[-2], key.shape[-2]
    if query.dtype not in _NARROW or query.shape[:2] != key.shape[:2] or query.shape[:2].numel() * rows * columns > _LARGEST_SCORES:
        return result, logsumexp
    scores = torch.matmul(query.float(), key.float().transpose(-1, -2)) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is not None:
        scores = scores + attn_mask.float()  # One of booleans has become numbers before.
    if is_causal:
        scores = scores.masked_fill(torch.ones(rows, columns, dtype=torch.bool).triu(1), float("-inf"))
    exact = torch.logsumexp(scores, -1)
    logsumexp.copy_(torch.where(torch.isfinite(exact), exact, logsumexp))
    return result, logsumexp


def with_sound_kernels(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The same graph for torch to run, or a copy of it whose calls are sound."""
    sound = {_aten.grid_sampler_2d.default: lambda func: sound_grid_sampler(func, []), _aten._scaled_dot_product_flash_attention_for_cpu.default: lambda func: sound_attention,
             **dict.fromkeys((*_SUMMING, *_NORMALIZING, _ATTENTION_BACKWARD, _CONVOLUTION_BACKWARD, _NORMALIZATION_BACKWARD, _MATRIX_EXP), lambda func: sound_call(func, []))}
    if not any(node.op == "call_function" and node.target in sound for node in module.graph.nodes):
        return module
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    for node in graph.nodes:
        if node.op == "call_function" and node.target in sound:
            node.target = sound[node.target](node.target)
    return torch.fx.GraphModule(module, graph)
