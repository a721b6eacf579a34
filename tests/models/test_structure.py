"""Tensors inside whatever models take and give."""

from __future__ import annotations

import collections
import itertools
import threading
import types
from dataclasses import dataclass

import numpy
import pytest
import torch

from cupel.torch.structure import Flat, describe, realized, replaced, results_of, tensors_of


class Layer:
    def __init__(self, keys: torch.Tensor, values: torch.Tensor):
        self.keys, self.values = keys, values
        self.bookkeeping = torch.zeros(3)


class Cache:
    def __init__(self, layers: list[Layer]):
        self.layers, self.length = layers, 4


@dataclass
class Output:
    logits: torch.Tensor
    past: Cache | None = None
    loss: torch.Tensor | None = None


class Encoding(collections.UserDict):
    """A mapping that is no dict, as tokenizers give."""


Pair = collections.namedtuple("Pair", "left right")


def paths(value: object) -> list[str]:
    return [path for path, _ in results_of(value)]


@pytest.mark.parametrize(("value", "expected"), [
    (torch.ones(2), [""]),
    ([torch.ones(1), None, 3, "text", (torch.ones(1), {"a": torch.ones(1)})], ["0", "4.0", "4.1.a"]),
    (Encoding(input_ids=torch.ones(1), flag=True), ["input_ids"]),
    (Pair(torch.ones(1), [torch.ones(1)]), ["0", "1.0"]),
    (Output(torch.ones(1), Cache([Layer(torch.ones(1), torch.ones(1))])), ["logits", "past.layers.0.keys", "past.layers.0.values"]),
    ({"module": torch.nn.Linear(1, 1), "function": len, "kind": Output}, []),
    (collections.deque([torch.ones(1), [torch.ones(1)]]), ["0", "1.0"]),
    ({torch.ones(1)}, ["0"]),
    ({torch.ones(1), torch.ones(2)}, []),  # In no order.
    ([numpy.ones(2), "text", numpy.array(["text"])], ["0"]),
    ([numpy.ones(2), torch.ones(1)], ["1"]),
])
def test_every_tensor_is_found_by_its_path(value: object, expected: list[str]) -> None:
    assert paths(value) == expected


def test_an_object_that_holds_itself_ends() -> None:
    cache = Cache([])
    cache.owner, cache.tensor = cache, torch.ones(1)
    assert paths(cache) == ["tensor"]


def test_containers_may_be_deeper_than_pythons_stack() -> None:
    deep = [torch.ones(1)]
    for _ in range(3000):
        deep = [deep]
    assert paths(deep) == ["0.0.0.0. 2993 more .0.0.0.0"]
    deep[0].append(deep)  # Once is enough.
    assert len(paths(deep)) == 1
    same = [torch.ones(1)]
    assert paths([same, same]) == ["0.0", "1.0"]


def test_what_can_be_gone_through_once_is_gone_through_once() -> None:
    found = realized({"all": (torch.full((1,), float(i)) for i in range(3)), "flag": True})
    assert paths(found) == paths(found) == ["all.0", "all.1", "all.2"] and found["flag"]
    plain = [torch.ones(1)]
    assert realized(plain) is plain
    with pytest.raises(ValueError, match="a repeat, gives more than"):
        realized(itertools.repeat(torch.ones(1)))


def test_a_copy_of_a_deque_is_one() -> None:
    copy = replaced(collections.deque([torch.ones(1)], 3), lambda tensor: tensor + 1)
    assert type(copy) is collections.deque and copy.maxlen == 3 and copy[0].item() == 2


def test_a_copy_keeps_types_aliases_and_the_original() -> None:
    shared = torch.ones(2)
    cache = Cache([Layer(shared, torch.ones(2))])
    given = Encoding(first=shared, second=[shared, 7], cache=cache, pair=Pair(shared, None), static=object())
    copy = replaced(given, lambda tensor: tensor + 1)
    assert type(copy) is Encoding and type(copy["pair"]) is Pair and type(copy["cache"]) is Cache
    assert copy["static"] is given["static"] and copy["second"][1] == 7
    assert copy["first"] is copy["second"][0] is copy["cache"].layers[0].keys, "one tensor in three places became several"
    assert torch.equal(copy["first"], torch.full((2,), 2.0))
    assert cache.layers[0].keys is shared and torch.equal(shared, torch.ones(2)), "the original was changed"


def test_a_flat_model_starts_each_call_from_the_same_cache() -> None:
    class Writes(torch.nn.Module):
        def forward(self, x: torch.Tensor, cache: Cache, scale: int) -> Output:
            cache.layers[0].keys.add_(x)
            return Output(cache.layers[0].keys * scale, cache)

    cache = Cache([Layer(torch.zeros(2), torch.ones(2))])
    flat = Flat(Writes(), (), {"x": torch.ones(2), "cache": cache, "scale": 3}, lambda output: [tensor for _, tensor in results_of(output)])
    assert [name for name, _ in flat.inputs] == ["x", "cache.layers.0.keys", "cache.layers.0.values", "cache.layers.0.bookkeeping"]
    for _ in range(2):
        results = flat(*[tensor.clone() for _, tensor in flat.inputs])
        assert [result.tolist() for result in results] == [[3, 3], [1, 1], [1, 1]]
    assert cache.layers[0].keys.tolist() == [0, 0]


class Boxes(list):
    """Of a picture."""

    def __init__(self, boxes: list[torch.Tensor], size: tuple[int, int]):
        super().__init__(boxes)
        self.size = size


class Range(tuple):
    def __new__(cls, low: torch.Tensor, high: torch.Tensor) -> Range:
        return super().__new__(cls, (low, high))


def test_a_copy_of_a_list_or_a_tuple_is_of_its_type() -> None:
    boxes = Boxes([torch.ones(1)], (4, 5))
    span = Range(torch.ones(1), torch.zeros(1))
    span.unit = "m"
    largest = torch.ones(2).max(0)
    given = {"boxes": boxes, "span": span, "pair": Pair(torch.ones(1), 2), "largest": largest, "size": torch.Size([2])}
    copy = replaced(given, lambda tensor: tensor + 1)
    assert type(copy["boxes"]) is Boxes and copy["boxes"].size == (4, 5) and [one.item() for one in copy["boxes"]] == [2] and boxes[0].item() == 1
    assert type(copy["span"]) is Range and copy["span"].unit == "m" and copy["span"][1].item() == 1
    assert copy["pair"] == Pair(torch.tensor([2.0]), 2) and copy["largest"].indices.item() == largest.indices.item() + 1 and copy["size"] == torch.Size([2])


class Filled(torch.nn.Module):
    """Puts what it computes into the caches that it is given, and goes by what is in them."""

    def forward(self, x: torch.Tensor, cache: Cache, other: types.SimpleNamespace) -> torch.Tensor:
        past = sum((layer.keys for layer in cache.layers), torch.zeros(2)) + getattr(other, "last", 0)
        cache.layers.append(Layer(x, x))
        cache.length += 1
        other.last = x
        return x + past + cache.length


def test_a_flat_model_starts_each_call_from_the_same_empty_cache() -> None:
    empty, nothing = Cache([]), types.SimpleNamespace()
    flat = Flat(Filled(), (torch.ones(2), empty, nothing), {}, lambda result: [result])
    for _ in range(2):
        assert flat(torch.ones(2))[0].tolist() == [6, 6]
    assert not empty.layers and empty.length == 4 and not vars(nothing)
    # One that has tensors somewhere else is filled as little.
    half = Cache([Layer(torch.ones(2), torch.ones(2))])
    half.more = Cache([])
    replaced(half, torch.clone).more.layers.append(1)
    assert not half.more.layers


class Mark:
    """Known by being itself."""


class Counted:
    """Says itself how it is copied."""

    def __init__(self) -> None:
        self.copies = 0

    def __copy__(self) -> Counted:
        raise AssertionError("copied")


def test_what_is_no_record_stays_itself() -> None:
    mark, counted, lock = Mark(), Counted(), threading.Lock()
    generator = numpy.random.default_rng(0)
    given = [mark, counted, lock, generator, torch.nn.Linear(1, 1), torch.float32, len, torch.ones(1)]
    assert all(one is other for one, other in zip(given[:-1], replaced(given, torch.clone)))


def test_descriptions_are_short() -> None:
    assert describe({"ids": torch.ones(1, 4, dtype=torch.int64), "flag": True, "cache": Cache([])}) == "{ids: int64[1x4], flag: True, cache: Cache}"
