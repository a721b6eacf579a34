"""Loaders that misbehave, in one run with one that does not: each costs its own test, and the next one meets the process as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from cupel._files import command_path

ROOT = Path(__file__).resolve().parent.parent.parent

BASE = """
import torch
from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask

{before}

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.nn.functional.relu(self.layer(x))

class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Fault", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self):
        {build}
        return Model()

    def make_inputs(self, batch_size, generator):
        return normal(generator, 4, 8)
"""
# Rows that are chosen by scores which are all the same: a rounding picks, and few rows have the large value that torch may have put anywhere.
PICKS = """
class Picks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        rows = torch.randn(2048, 64, generator=torch.Generator().manual_seed(7))
        rows[::41, 3] = -24.0
        self.register_buffer("rows", rows)

    def forward(self, x):
        rows = self.rows + x.sum() * 0.0625
        scores = (rows.abs() + 1).mean(-1) * 0 + 0.5
        return rows[torch.topk(scores, 512).indices]
"""
# The same, and no rounding moves the scores: torch promises no order of what is equal.
TIES = PICKS.replace("(rows.abs() + 1).mean(-1) * 0 + 0.5", "torch.relu(-1 - rows.abs().mean(-1))")
# Weights that only a checkpoint would write: memory that was used before, and holds what it held.
UNWRITTEN = """
class Unwritten(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.scale = torch.nn.Parameter(torch.Tensor(8, 8))
        self.register_buffer("offset", torch.empty(4, 8))
        self.bias = torch.nn.Parameter(torch.empty(8).normal_())

    def forward(self, x):
        return self.layer(x) + x @ self.scale + self.offset + self.bias
"""
# What each does at the top of its file, and while it builds its model. They run one after another, by name, in one worker.
LOADERS = {
    "a_good": ("", "pass"),
    "b_changes_folder": ("import os", "os.makedirs('/tmp/elsewhere', exist_ok=True); os.chdir('/tmp/elsewhere'); os.environ['OMP_NUM_THREADS'] = '77'; os.environ.pop('PATH')"),
    "c_good": ("import os\nassert os.environ['PATH'] and os.environ.get('OMP_NUM_THREADS') != '77' and os.getcwd() != '/tmp/elsewhere'", "pass"),
    "d_patches_torch": ("", "torch.nn.functional.relu = lambda x: x * 0 + 3"),
    "e_good": ("", "assert torch.nn.functional.relu(torch.tensor(2.0)) == 2"),
    "f_forks": ("import os, time", "(os.fork() or time.sleep(1000))"),
    "g_prints": ("import sys", "[sys.stdout.write('x' * (1 << 20)) for _ in range(1024)]"),
    "h_is_killed": ("import os, signal", "os.kill(os.getpid(), signal.SIGKILL)"),
    "i_closes_files": ("import os", "os.closerange(0, 3)"),
    "j_leaves_threads": ("import threading", "threading.Thread(target=threading.Event().wait).start()"),
    "k_good": ("", "pass"),
    # Held by the module, which a warm worker keeps: too much for one that waits.
    "l_leaks": ("LEAK = []", "LEAK.append(bytearray(b'x') * (2300 << 20))"),
    "m_has_room": ("", "assert int(open('/proc/self/statm').read().split()[1]) * 4096 < 2 << 30"),
    "n_gives_garbage": ("", "return object()"),
    "o_gives_no_tensor": ("", "self.make_inputs = lambda batch_size, generator: [None, 'words', {}]"),
    "p_litters": ("", "open('litter', 'wb').write(b'x' * (8 << 20))"),
    "q_finds_no_litter": ("import os", "assert not os.path.exists('litter')"),
    "r_rounding_picks": (PICKS, "return Picks()"),
    "s_ties_are_picked": (TIES, "return Picks()"),
    "t_weights_without_values": (UNWRITTEN, "used = [torch.full((2 * i, 8), 1e30) for i in range(2, 9) for _ in range(64)]; del used; return Unwritten().to(torch.bfloat16)"),
    # What the worker itself needs to tell an outcome, and what the next test is loaded and computed with.
    "u_replaces_python": ("import json, os", "json.dumps = lambda *a, **k: '{}'; os.write = lambda file, data: len(data)"),
    "v_good": ("import json", "assert json.dumps([1]) == '[1]'"),
    "w_replaces_a_kernel": ("", "torch.left_here = torch.library.Library('aten', 'IMPL'); torch.left_here.impl('relu', lambda x: x * 0 + 3, 'CPU')"),
    "x_good": ("", "assert torch.relu(torch.tensor(2.0)) == 2"),
    # What no process can take back once it has no right to.
    "x1_limits_files": ("import resource", "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"),
    "x2_good": ("", "open('written', 'w').write('something')"),
    "x3_limits_descriptors": ("import resource", "resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))"),
    "x4_good": ("", "opened = [open('/dev/null') for _ in range(60)]"),
    "y_raises_without_words": ("class Mute(Exception):\n    def __str__(self): raise RuntimeError('no words')", "raise Mute()"),
    "y_raises_half_characters": ("", "raise ValueError('caf\\udce9')"),
    "y_raises_an_interrupt": ("", "raise KeyboardInterrupt('enough')"),
    "y_sends_an_interrupt": ("import os, signal", "os.kill(os.getpid(), signal.SIGINT)"),
    "z_gives_nan": ("class Numberless(torch.nn.Linear):\n    def forward(self, x): return super().forward(x) * float('nan')", "return Numberless(8, 8)"),
    "z_gives_zeros": ("class Zero(torch.nn.Linear):\n    def forward(self, x): return super().forward(x) * 0", "return Zero(8, 8)"),
    "z_gives_nothing_dense": ("class Sparse(torch.nn.Linear):\n    def forward(self, x): return super().forward(x).float().to_sparse()", "return Sparse(8, 8)"),
    "z_gives_words": ("class Words(torch.nn.Linear):\n    def forward(self, x): return {'said': 'nothing'}", "return Words(8, 8)"),
    "z_gives_no_values": ("class Shapes(torch.nn.Linear):\n    def forward(self, x): return super().forward(x).to('meta')", "return Shapes(8, 8)"),
    "z_fills_the_disk": ("import errno", "raise OSError(errno.ENOSPC, 'No space left on device')"),
    "z_is_two_faced": ("class TwoFaced(torch.nn.Linear):\n    def forward(self, x):\n        y = super().forward(x)\n        return y.flip(1) * 3 if torch.compiler.is_compiling() else y", "return TwoFaced(8, 8)"),
    # It counts as well: two draws may be alike within noise.
    "z_reads_entropy": ("import itertools, os\nCALLS = itertools.count(1)\nclass Drawn(torch.nn.Linear):\n    def forward(self, x): return super().forward(x) + 1000 * next(CALLS) + int.from_bytes(os.urandom(2), 'little') / 256", "return Drawn(8, 8)"),
    "z_says_something": ("print('imported')", "import warnings; print('building'); warnings.warn('careful')"),
}
ENDS = {"h_is_killed": ("crashed", "load"), "n_gives_garbage": ("failed", "load"), "o_gives_no_tensor": ("failed", "reference"),
        "y_raises_without_words": ("failed", "load"), "y_raises_half_characters": ("failed", "load"), "y_raises_an_interrupt": ("failed", "load"), "y_sends_an_interrupt": ("crashed", "load"), "z_gives_nan": ("unjudged", "done"), "z_gives_zeros": ("unjudged", "done"),
        "z_gives_nothing_dense": ("failed", "reference"), "z_gives_words": ("failed", "reference"), "z_gives_no_values": ("failed", "reference"), "z_fills_the_disk": ("failed", "load"), "z_reads_entropy": ("failed", "reference"),
        "u_replaces_python": ("failed", "frontend"), "x1_limits_files": ("failed", "frontend"), "w_replaces_a_kernel": ("failed", "compare")}
# What each of them must say.
WORDS = {"x1_limits_files": "the workload cannot be written: [Errno 27] File too large: a file of this process may have at most 0 bytes (RLIMIT_FSIZE)", "y_raises_without_words": "load_model fails: Mute: (its text cannot be had: RuntimeError)", "y_raises_half_characters": "ValueError: caf", "y_raises_an_interrupt": "load_model fails: KeyboardInterrupt: enough",
         "z_gives_nan": "every expected output is NaN throughout", "z_gives_zeros": "every expected output is zero throughout: memory that nobody wrote would pass",
         "z_gives_nothing_dense": "the model's result is sparse_coo: only dense tensors can be compared", "z_gives_words": "the model's result, dict {said: str}, holds no tensor",
         "z_gives_no_values": "the model's result is on device 'meta'", "z_fills_the_disk": "(TMPDIR names another folder)", "z_reads_entropy": "the model gives another result each time that it runs on the CPU, though all generators of torch, Python and numpy are seeded alike (result 0 is off by "}


def make_zoo(zoo: Path, loaders: dict[str, tuple[str, str]]) -> Path:
    zoo.mkdir(parents=True)
    for name in ("__init__.py", "base.py", "config.py"):
        (zoo / name).write_text((ROOT / "zoo/models" / name).read_text())
    for name, (before, build) in loaders.items():
        loader = zoo / name / "pytorch/loader.py"
        loader.parent.mkdir(parents=True)
        loader.write_text(BASE.format(before=before, build=build))
    return zoo


def command(folder: Path, zoo: Path, *more: str) -> list[str | Path]:
    return [command_path(), "run", "--zoo", zoo, "-k", "single_device and inference", "--suite", "models", "--device", "cupel", "-j", "1", "--python", sys.executable,
            "--results", folder / "results", "--json", folder / "run.json", *more]


def records(folder: Path) -> list[dict]:
    return json.loads((folder / "run.json").read_text())["tests"]


def processes_of(zoo: Path | str) -> list[str]:
    """Those that still have to do with it."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += [process] if str(zoo) in Path(f"/proc/{process}/environ").read_text(errors="replace") + Path(f"/proc/{process}/cmdline").read_text(errors="replace") else []
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict], str]:
    folder = tmp_path_factory.mktemp("faults")
    zoo = make_zoo(folder / "tt_forge_models", LOADERS)
    done = subprocess.run(command(folder, zoo), capture_output=True, text=True, check=False, timeout=900)
    tests = records(folder)
    assert len(tests) == len(LOADERS), "every test once\n" + done.stdout + done.stderr
    return {test["model_path"].split("/")[0]: test for test in tests}, str(zoo)


@pytest.mark.parametrize("name", [name for name in LOADERS if name not in ENDS])
def test_it_passes_whatever_came_before(ran: tuple[dict[str, dict], str], name: str) -> None:
    test = ran[0][name]
    assert test["outcome"] == "passed" and len(test["comparisons"]) == 1, (test["message"], test.get("output", "")[-500:])


@pytest.mark.parametrize(("name", "end"), ENDS.items())
def test_what_cannot_pass_says_where_it_ended(ran: tuple[dict[str, dict], str], name: str, end: tuple[str, str]) -> None:
    test = ran[0][name]
    assert (test["outcome"], test["last_stage"]) == end and WORDS.get(name, "") in test["message"], test
    assert end[0] == "unjudged" or test["reasons"][0]["name"] not in ("UNCLASSIFIED", "INTERNAL"), test
    assert name != "h_is_killed" or test["signal"] == 9, test


@pytest.mark.parametrize("name", ["r_rounding_picks", "s_ties_are_picked"])
def test_what_rounding_picks_is_judged_by_few_evaluations(ran: tuple[dict[str, dict], str], name: str) -> None:
    test = ran[0][name]
    (comparison,) = test["comparisons"]
    assert comparison["pcc"] < 0.5 and "ill-conditioned" in test["notes"], test
    assert int(test["notes"]["reference evaluations"]) <= 6, test


def test_a_graph_that_is_not_the_model_is_no_fault_of_a_device(ran: tuple[dict[str, dict], str]) -> None:
    notes = ran[0]["z_is_two_faced"]["notes"]
    assert notes["captured by"] == "trace" and "compared with the model by torch" in notes["graph compared"], notes
    assert "torch.export: NotCaptured: its graph gives another result than the model, also where torch runs it" in notes["export refused"], notes


def test_a_graph_that_is_the_model_stays_wrong(ran: tuple[dict[str, dict], str]) -> None:
    test = ran[0]["w_replaces_a_kernel"]
    assert test["notes"]["captured by"] == "export" and "graph compared" in test["notes"] and "the reference is off as far" in test["message"], test
    assert all("graph compared" not in one.get("notes", {}) for name, one in ran[0].items() if name not in ("z_is_two_faced", "w_replaces_a_kernel", "z_reads_entropy")), "once more only where the reference is off"


def test_a_model_that_is_another_one_each_time_is_called_so(ran: tuple[dict[str, dict], str]) -> None:
    assert ran[0]["z_reads_entropy"]["reasons"][0]["name"] == "MODEL_NOT_DETERMINISTIC"


def test_what_was_changed_is_told(ran: tuple[dict[str, dict], str]) -> None:
    told = {name: test["notes"]["replaced"] for name, test in ran[0].items() if "replaced" in test.get("notes", {})}
    assert told == {"d_patches_torch": "torch.nn.functional.relu", "u_replaces_python": "json.dumps, os.write", "w_replaces_a_kernel": "aten/relu/CPU"}


def test_weights_that_nothing_wrote_are_zero_and_told(ran: tuple[dict[str, dict], str]) -> None:
    assert ran[0]["t_weights_without_values"]["notes"]["weights without values"] == "2 taken as zero, which nothing ever wrote: scale, offset"
    assert all("weights without values" not in test.get("notes", {}) for name, test in ran[0].items() if name != "t_weights_without_values")


def test_a_full_disk_is_no_fault_of_the_loader(ran: tuple[dict[str, dict], str]) -> None:
    assert ran[0]["z_fills_the_disk"]["reasons"][0]["name"] == "NO_ROOM_ON_DISK"


def test_processes_that_are_left_are_ended(ran: tuple[dict[str, dict], str]) -> None:
    assert "left running and have been ended" in ran[0]["f_forks"]["notes"]["left_running"]
    assert not processes_of(ran[1])


def test_what_is_printed_is_kept_within_bounds(ran: tuple[dict[str, dict], str]) -> None:
    assert 0 < len(ran[0]["g_prints"].get("output", "x")) < 1 << 20


def test_what_is_printed_is_kept_with_its_step(ran: tuple[dict[str, dict], str]) -> None:
    lines = ran[0]["z_says_something"]["output"].splitlines()
    assert lines[:2] == ["[import]", "imported"] and lines[2:4] == ["[model]", "building"] and any("careful" in line for line in lines[4:]), lines
    assert "output" not in ran[0]["a_good"], "nothing of ours, nor of torch"


def test_stages_have_the_times_of_who_was_in_them(ran: tuple[dict[str, dict], str]) -> None:
    for test in (test for test in ran[0].values() if test["outcome"] == "passed"):
        seconds = {one["stage"]: one["seconds"] for one in test["stages"]}
        assert min(seconds[stage] for stage in ("load", "reference", "frontend", "compile", "execute", "compare")) > 1e-5, (test["id"], seconds)


def read_until(lines: Iterable[str], word: str) -> None:
    assert any(word in line for line in lines), f"it ended before it said {word}"


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """Killed while a loader runs that has forked: nothing is lost, nothing doubled, and nobody is left behind."""
    mark = tmp_path / "began"
    zoo = make_zoo(tmp_path / "tt_forge_models", {
        "a_good": ("", "pass"),
        "b_waits": ("import os, time", f"(os.path.exists({str(mark)!r}) or (open({str(mark)!r}, 'w').close(), os.fork() or time.sleep(1000), time.sleep(1000)))"),
        "c_good": ("", "pass")})
    with subprocess.Popen(command(tmp_path, zoo), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as first:
        try:
            assert first.stdout is not None
            read_until(first.stdout, "PASSED")
            while not mark.exists():
                assert first.poll() is None
                time.sleep(0.02)
        finally:
            first.send_signal(signal.SIGKILL)
    again = subprocess.run([command_path(), "run", "--results", tmp_path / "results", "--json", tmp_path / "run.json", "--resume"], capture_output=True, text=True, check=False, timeout=300)
    tests = records(tmp_path)
    assert sorted(test["model_path"].split("/")[0] for test in tests) == ["a_good", "b_waits", "c_good"], again.stdout + again.stderr
    assert [test["outcome"] for test in tests] == ["passed"] * 3, [(test["id"], test["outcome"], test["message"]) for test in tests]
    assert not processes_of(zoo)


def test_a_loader_that_hangs_costs_its_own_test(tmp_path: Path) -> None:
    zoo = make_zoo(tmp_path / "tt_forge_models", {"a_good": ("", "pass"), "b_hangs": ("import time", "time.sleep(1000)"), "c_good": ("", "pass")})
    done = subprocess.run(command(tmp_path, zoo, "--stage-timeout", "load=20"), capture_output=True, text=True, check=False, timeout=300)
    ended = {test["model_path"].split("/")[0]: (test["outcome"], test["last_stage"]) for test in records(tmp_path)}
    assert (ended["b_hangs"], ended["a_good"][0], ended["c_good"][0]) == (("timed out", "load"), "passed", "passed"), done.stdout + done.stderr
    assert not processes_of(zoo)
