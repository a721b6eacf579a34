"""Programs of the calls that torch makes: what becomes of draws, of sizes that depend on data, and of operators of others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from cupel.torch.captured import Capture, capture
from cupel.torch.graphs import Graph, NotCaptured
from cupel.torch.structure import Flat
from cupel.torch.traced import traced
from cupel.worker.model_files import lower
from cupel.worker.model_golden import golden_inference, golden_training


class Loader:
    @staticmethod
    def unpack_forward_output(output: torch.Tensor) -> torch.Tensor:
        return output


def trace(model: nn.Module, *args: torch.Tensor, seed: int = 0) -> Capture:
    golden = golden_inference(None, model, args, {}, seed)
    given = [(name, tensor.clone()) for name, tensor in golden.flat.inputs]
    return traced(golden.flat, lambda: list(golden.flat(*(tensor for _, tensor in given))), given, golden.expected, seed, "")


def run(capture: Capture) -> list[torch.Tensor]:
    from cupel.torch.arrays import from_array, to_array
    from cupel.torch.backend import open_device
    from cupel.torch.options import parse

    (graph,) = capture.graphs
    device = open_device(parse({}))
    executable = device.compile(lower(graph).portable(device.stablehlo_version))
    results = [from_array(result) for result in executable.run([to_array(tensor) for tensor in graph.inputs])]
    assert len(results) == len(graph.expected) or graph.gives_more
    for actual, expected in zip(results, graph.expected, strict=False):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    return results


class Picks(nn.Module):
    """Rows that a mask chooses, in a loop with a break."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(5):
            x = torch.tanh(self.layer(x))
            if float(x.abs().max()) < 0.5:
                break
        return torch.exp(x[x[:, 0] > 0])


def test_a_mask_is_torchs_word_and_the_rest_the_programs() -> None:
    torch.manual_seed(3)
    result = trace(Picks(), torch.randn(6, 4))
    assert result.method == "trace" and result.outside == {"nonzero": 1}
    run(result)


class Routed(nn.Module):
    """Rows go to the experts that a gate names."""

    def __init__(self, places: Callable[[torch.Tensor], tuple[torch.Tensor, ...]]):
        super().__init__()
        self.gate, self.experts, self.places = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 4) for _ in range(3)), places

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        result = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            row, which = self.places(chosen == index)
            if row.numel():
                result.index_add_(0, row, expert(x[row]) * weights[row, which, None])
        return result


@pytest.mark.parametrize("places", [torch.where, lambda mask: mask.nonzero(as_tuple=True), lambda mask: torch.argwhere(mask).unbind(1)], ids=["where", "nonzero", "argwhere"])
def test_where_something_holds_is_torchs_word(places: Callable[[torch.Tensor], tuple[torch.Tensor, ...]]) -> None:
    torch.manual_seed(4)
    result = trace(Routed(places), torch.randn(5, 4))
    assert result.outside == {"nonzero": 3}
    run(result)


def test_what_a_mask_selects_is_the_programs() -> None:
    class Selects(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.masked_select(torch.exp(x), x[:, :1] > 0) * 2

    result = trace(Selects(), torch.tensor([[1.0, 2.0], [-1.0, 3.0], [0.5, -2.0]]))
    assert result.outside == {"nonzero": 1} and result.graphs[0].expected[0].shape == (4,)
    run(result)


@pytest.mark.parametrize("classes", [-1, 7])
def test_one_of_many_is_the_programs(classes: int) -> None:
    class Chooses(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.one_hot(x.argmax(-1), classes) * x.sum()

    result = trace(Chooses(), torch.tensor([[1.0, 2.0, 0.0], [-1.0, 3.0, 5.0]]))
    assert not result.outside, result.outside
    run(result)


def test_arguments_are_as_they_were_before_the_call() -> None:
    class Writes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x[0].mul_(3)
            return x + 1

    given = torch.ones(2, 3)
    result = trace(Writes(), given)
    assert torch.equal(result.graphs[0].inputs[0], torch.ones(2, 3))
    run(result)


@pytest.mark.parametrize("training", [False, True])
def test_only_masks_of_dropout_are_drawn(training: bool) -> None:
    torch.manual_seed(5)
    model, x = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.Linear(6, 2)).train(training), torch.randn(4, 6)
    result = trace(model, x, seed=9)
    assert bool(result.outside) == training
    run(result)


def test_gradients_come_from_the_calls_of_backward() -> None:
    class Branching(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows, self.norm, self.out = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Linear(12, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.norm(self.rows(x))
            x = x[:, [2, 0, 1]] if float(x.detach().sum()) > -1e9 else x
            return self.out(nn.functional.dropout(torch.relu(x), 0.3, True).flatten(1))

    torch.manual_seed(7)
    model = Branching().train()
    moved = model.norm.running_mean.clone()
    golden = golden_training(Loader, model, (torch.randn(3, 2, 4, 4),), {}, seed=1)
    flat: Flat = golden.flat
    from cupel.torch.captured_training import _Stepping

    given = [(name, tensor.clone()) for name, tensor in flat.inputs]
    torch.manual_seed(1)
    flat(*(tensor for _, tensor in given))
    model.norm.running_mean.copy_(moved)
    gradient = torch.randn(golden.expected[-1].shape)  # As golden_training drew it: after what forward draws.
    step = _Stepping(flat, gradient, golden.result_names[:-1], nn.Identity())
    with step.restored(), torch.enable_grad():
        result = traced(flat, lambda: step(flat, [tensor for _, tensor in given]), [*given, ("output gradient", gradient)], golden.expected, 1, "", True)
    assert torch.equal(model.norm.running_mean, moved)
    run(result)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("method", ["export", "trace"])
def test_gradients_of_recurrent_layers_are_single_calls(method: str, kind: type[nn.RNNBase], dropout: float) -> None:
    """oneDNN computes those of LSTMs with one call that has no lowering, and torch's way of taking layers apart forgets the dropout between them."""

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = kind(6, 3, 3, batch_first=True, bidirectional=True, dropout=dropout)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.layers(x)[0]
            return y * 2 if method == "export" or float(y.detach().sum()) > -1e9 else y

    torch.manual_seed(3)
    golden = golden_training(Loader, Recurrent().train(), (torch.randn(2, 4, 6),), {}, seed=0)
    made = golden.capture()
    drawn = {"bernoulli_": 2} if method == "trace" and dropout else {}  # In a graph they are inputs by themselves.
    assert (made.method, made.outside) == (method, drawn)
    run(made)


def test_what_a_program_cannot_hold_is_no_pass() -> None:
    class Counts(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nonzero(x)

    with pytest.raises(NotCaptured, match="a program can hold"):
        trace(Counts(), torch.tensor([0.0, 1.0]))


class Packed(nn.Module):
    """Sequences of several lengths, of words."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.layer = nn.Embedding(9, 4), nn.LSTM(4, 3, batch_first=True, bidirectional=True)

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(self.words(words), lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0]


def test_lengths_of_sequences_are_torchs_word_and_what_stands_in_them_the_programs() -> None:
    torch.manual_seed(3)
    words, lengths = torch.randint(0, 9, (3, 5)), torch.tensor([2, 5, 3])
    result = trace(Packed().eval(), words, lengths)
    assert result.outside["_pack_padded_sequence"] == 1
    run(result)


def test_lengths_that_come_back_are_those_that_went_in() -> None:
    """torch's kernel writes them to memory that a call for an empty tensor gave: the program said 0."""

    class Unpacks(Packed):
        def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            packed = nn.utils.rnn.pack_padded_sequence(self.words(words), lengths, batch_first=True, enforce_sorted=False)
            return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], batch_first=True)

    torch.manual_seed(3)
    result = trace(Unpacks().eval(), torch.randint(0, 9, (3, 5)), torch.tensor([2, 5, 3]))
    assert run(result)[1].tolist() == [2, 5, 3]


def test_nested_tensors_stay_with_torch_in_training() -> None:
    class Ragged(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rows = torch.nested.nested_tensor([x[0], x[1, :2]])
            return torch.tanh(self.layer(x) + torch.nested.to_padded_tensor(rows, 0.0, x.shape))

    torch.manual_seed(3)
    made = golden_training(Loader(), Ragged().train(), (torch.randn(2, 3, 4),), {}, 0).capture()
    assert made.method == "trace"
    run(made)


def test_experts_that_tokens_are_sent_to_are_no_static_graph() -> None:
    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.experts = nn.Linear(4, 2), nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            chosen, result = self.gate(x).argmax(-1), torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                (rows,) = torch.where(chosen == i)
                result.index_add_(0, rows, expert(x[rows]))
            return result

    torch.manual_seed(3)
    golden = golden_inference(None, Experts().eval(), (torch.randn(6, 4),), {}, 0)
    result = golden.capture()
    assert result.method in ("compile", "trace")


def test_tensors_that_are_not_dense_stay_with_torch() -> None:
    class Sparse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.edges = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.ones(2), (2, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(torch.tanh(torch.sparse.mm(self.edges, self.layer(x))))

    golden = golden_inference(None, Sparse().eval(), (torch.randn(2, 4),), {}, 0)
    result = traced(golden.flat, lambda: list(golden.flat(*(tensor for _, tensor in golden.flat.inputs))), golden.flat.inputs, golden.expected, 0, "")
    assert result.method == "trace" and result.outside == {"to_dense": 1}, "the product is the program's"
    run(result)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_products_of_sparse_matrices_are_the_programs_even_where_nothing_else_is(layout: torch.layout) -> None:
    class Neighbours(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.eye(4).roll(1, 0).to_sparse(layout=layout) @ x

    golden = golden_inference(None, Neighbours().eval(), (torch.randn(4, 3),), {}, 0)
    result = golden.capture()
    assert result.method == "trace" and "to_dense" in result.outside, "a graph that makes an identity matrix computes nothing"
    run(result)


@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated")
@pytest.mark.parametrize("setting", ["default_dynamic_qconfig", "per_channel_dynamic_qconfig", "float16_dynamic_qconfig"])
def test_layers_quantized_dynamically_are_the_programs(setting: str) -> None:
    """Between graphs of torch.compile, which have the activation alone, nobody would test them."""
    torch.manual_seed(0)
    quantization = torch.ao.quantization
    model = quantization.quantize_dynamic(nn.Sequential(nn.Linear(24, 16), nn.Tanh(), nn.Linear(16, 4, bias=False)), {nn.Linear: getattr(quantization, setting)})
    golden = golden_inference(None, model, (torch.randn(5, 24) + 1,), {}, 0)
    made = capture(golden.flat, golden.expected)
    assert made.method == "trace" and not made.outside, (made.method, made.outside)
    run(made)


def test_places_between_pixels_are_rounded_once() -> None:
    """As torch's kernels are compiled: rounded twice, some are off by 4e-5 of the distance between neighbours."""

    class Stretches(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.interpolate(x, scale_factor=3.3, mode="linear")

    torch.manual_seed(0)
    made = trace(Stretches(), torch.randn(1, 1, 3000))
    (result,) = run(made)
    torch.testing.assert_close(result, made.graphs[0].expected[0], rtol=0, atol=2e-6)
