"""JAX's persistent compilation cache: programs of one process are found again by the next, and by no other configuration."""

import pathlib

import pytest
from children import check

PROGRAM = """
import logging, os
from jax._src import monitoring
seen = []
monitoring.register_event_listener(lambda event, **_: seen.append(event.rsplit("/", 1)[1]))
jax.config.update("jax_compilation_cache_dir", os.environ["CACHE"])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
jax.config.update("jax_raise_persistent_cache_errors", True)
{body}
print(seen.count("cache_hits"), seen.count("cache_misses"), len([name for name in os.listdir(os.environ["CACHE"]) if name.endswith("-cache")]))
"""
SUM = "assert float(jax.jit(lambda x: (x * x).sum())(np.arange(8, dtype=np.float32))) == 140"


def counts(folder: pathlib.Path, body: str = SUM, env: dict[str, str] | None = None, **options) -> tuple[int, ...]:
    """Hits, misses, and entries that are there in the end."""
    folder.mkdir(exist_ok=True)
    return tuple(int(word) for word in check(PROGRAM.format(body=body), env={"CACHE": str(folder), **(env or {})}, **options).split()[-3:])


def test_found_by_the_next_process(tmp_path):
    assert counts(tmp_path / "cache") == (0, 1, 1)
    assert counts(tmp_path / "cache") == (1, 0, 1)


@pytest.mark.parametrize("options", [{"accumulate": "f64"}, {"backend": "reference"}, {"scatter": "elements"}, {"arch": "n150"}, {"partition": "whole"}], ids=str)
def test_not_found_by_clients_that_compute_otherwise(tmp_path, options):
    assert counts(tmp_path / "cache") == (0, 1, 1)
    assert counts(tmp_path / "cache", **options) == (0, 1, 2)


def test_a_descriptor_that_changed_is_another_device(tmp_path):
    file = tmp_path / "own.yaml"
    shipped = (pathlib.Path(__file__).resolve().parents[2] / "zoo/archs/n150.yaml").read_text()
    file.write_text(shipped)
    assert counts(tmp_path / "cache", arch=str(file)) == (0, 1, 1)
    assert counts(tmp_path / "cache", arch=str(file)) == (1, 0, 1)
    assert "bf16," in shipped
    file.write_text(shipped.replace("bf16,", "bf16, f16,"))
    assert counts(tmp_path / "cache", arch=str(file)) == (0, 1, 2)


def test_several_devices(tmp_path):
    body = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
sharding = NamedSharding(Mesh(np.array(jax.devices()), ("x",)), P("x"))
x = jax.make_array_from_callback((8,), sharding, lambda index: np.arange(8, dtype=np.float32)[index])
y = jax.jit(lambda x: x + x.sum(), out_shardings=sharding)(x)
assert (np.asarray(y) == np.arange(8) + 28).all() and y.sharding == sharding
"""
    assert counts(tmp_path / "cache", body, num_devices=4) == (0, 1, 1)
    assert counts(tmp_path / "cache", body, num_devices=4) == (1, 0, 1)


def test_programs_that_call_python_are_not_kept(tmp_path):
    body = """
import io
log = io.StringIO()
logging.getLogger("jax").addHandler(logging.StreamHandler(log))
jax.config.update("jax_explain_cache_misses", True)
assert float(jax.jit(lambda x: jax.pure_callback(lambda x: np.asarray(x) + 1, x, x))(np.float32(1))) == 2
assert "because it uses host callbacks" in log.getvalue(), log.getvalue()
"""
    assert counts(tmp_path / "cache", body) == (0, 0, 0)


def test_a_damaged_entry_is_refused_and_compiled_again(tmp_path):
    cache = tmp_path / "cache"
    assert counts(cache) == (0, 1, 1)
    damage = """
import zlib
from jax._src import compilation_cache as cc
path, = (os.path.join(os.environ["CACHE"], name) for name in os.listdir(os.environ["CACHE"]) if name.endswith("-cache"))
whole = cc.decompress_executable(open(path, "rb").read())
at = whole.index(b"cupel executable") + 200
open(path, "wb").write(cc.compress_executable(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]))
jax.config.update("jax_raise_persistent_cache_errors", False)
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    exec(os.environ["SUM"])
assert any("saved executable is damaged" in str(one.message) for one in caught), [str(one.message) for one in caught]
"""
    assert counts(cache, damage, env={"SUM": SUM})[0] == 0
