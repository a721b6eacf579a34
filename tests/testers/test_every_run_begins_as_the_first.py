"""Testers of models that write to their inputs or keep something: the device begins as the framework did, and what it writes is never taken for what was expected."""

from __future__ import annotations

import pytest
import torch

from cupel.testing import ComparisonError, ModelTester, NotAsserted, RunMode, TorchModelTester, run_op_test


def factor() -> float:
    """Wrong on the device: 2 where it should be 1."""
    return 2.0 if torch.compiler.is_compiling() else 1.0


class WritesToItsInput(torch.nn.Module):
    def forward(self, x):
        return x.add_(1.0)


class WritesWrongly(torch.nn.Module):
    def forward(self, x):
        return x.mul_(factor())


class GivesItsBuffer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(3, 8))

    def forward(self, x):
        return self.kept.copy_(x * factor())


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x * self.calls


class RunsElsewhere(torch.nn.Module):
    @torch.compiler.disable
    def forward(self, x):
        return x + 1


class LosesHalf(torch.nn.Module):
    def forward(self, x):
        return torch.where(torch.arange(8) < 4, x * float("nan"), x) if torch.compiler.is_compiling() else x * 1


def of_tt_torch(model: type[torch.nn.Module], **how) -> ModelTester:
    class Tester(ModelTester):
        __test__ = False

        def _load_model(self):
            return model()

        def _load_inputs(self):
            return torch.linspace(1, 2, 24).reshape(3, 8)

    return Tester("model", "eval", **how)


def run_tt_torch(model: type[torch.nn.Module], **how) -> None:
    tester = of_tt_torch(model, **how)
    tester.test_model()
    tester.finalize()


def run_tt_xla(model: type[torch.nn.Module], mode: RunMode = RunMode.INFERENCE) -> None:
    class Tester(TorchModelTester):
        __test__ = False

        def _get_model(self):
            return model()

        def _get_input_activations(self):
            return torch.linspace(1, 2, 24).reshape(3, 8)

    Tester(run_mode=mode).test()


class CountsAndLearns(Counts):
    """Its gradient counts too."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.layer(super().forward(x))


RUNS = pytest.mark.parametrize("run", [run_tt_torch, run_tt_xla])


@RUNS
@pytest.mark.parametrize("model", [WritesToItsInput, Counts])
def test_what_is_right_passes(run, model) -> None:
    run(model)


def test_gradients_too() -> None:
    run_tt_xla(CountsAndLearns, RunMode.TRAINING)


@RUNS
@pytest.mark.parametrize("model", [WritesWrongly, GivesItsBuffer])
def test_what_is_wrong_fails(run, model) -> None:
    with pytest.raises((ComparisonError, AssertionError)):
        run(model)


@RUNS
def test_what_no_device_ran_is_no_pass(run) -> None:
    with pytest.raises(RuntimeError, match="nothing of the model ran on the device"):
        run(RunsElsewhere)


def test_of_operators_too() -> None:
    kept = torch.zeros(3, 8)
    with pytest.raises(ComparisonError):
        run_op_test(lambda x: kept.copy_(x * factor()), [torch.linspace(1, 2, 24).reshape(3, 8)])


def test_what_was_not_run_is_no_pass() -> None:
    with pytest.raises(AssertionError, match="test_model\\(\\) was not called"):
        of_tt_torch(Counts).finalize()
    tester = of_tt_torch(Counts)
    tester.test_model(on_device=False)
    with pytest.warns(NotAsserted, match="nothing ran on the device"):
        tester.finalize()


def test_a_correlation_does_not_speak_for_what_is_no_number() -> None:
    run_tt_torch(WritesToItsInput, required_pcc=0.99, assert_atol=False)
    with pytest.raises(ComparisonError, match="NaN or infinity stands where it is not expected"):
        run_tt_torch(LosesHalf, required_pcc=0.99, assert_atol=False)
