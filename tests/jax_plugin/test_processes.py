"""What needs a process of its own: architectures, dumps, growth, exits, loading order."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import children
from conftest import PLUGIN, ROOT


@pytest.mark.parametrize("arch, count, gigabytes", [("n150", 1, 12), ("p150", 1, 32), ("n300", 2, 12), ("n300-llmbox", 8, 12), ("galaxy-wh-6u", 32, 12)])
def test_architectures(arch, count, gigabytes):
    out = children.check("""
        devices = jax.devices()
        print(len(devices), devices[0].device_kind, devices[-1].coords, devices[0].memory_stats()["bytes_limit"] >> 30)
        print(sum(float(jax.device_put(np.float32(i), d) + 1) for i, d in enumerate(devices)))
    """, arch=arch)
    first, second = out.splitlines()
    assert first.split()[:2] == [str(count), arch] and first.endswith(f" {gigabytes}")
    assert float(second) == sum(i + 1 for i in range(count))


@pytest.mark.parametrize("count", [1, 2, 8, 32])
def test_number_of_devices(count):
    out = children.check("print(len(jax.devices()))", num_devices=count)
    assert out.strip() == str(count)
    assert children.check("print(len(jax.devices()))", env={"CUPEL_NUM_DEVICES": str(count)}).strip() == str(count)


def test_architectures_compute_in_their_number_formats():
    """n300 has neither f64 nor i64: a double has the precision of a float there, unless the program's own types are asked for."""
    program = """
        jax.config.update("jax_enable_x64", True)
        third, big = np.float64(1) / 3, np.int64(2**40)
        own = jax.jit(lambda x: x + 0.0, compiler_options={"number_formats": "program"})
        print(float(jnp.add(third, 0.0)) == third, int(jnp.add(big, 7)), float(own(third)) == third)
    """
    assert children.check(program, arch="n300").split() == ["False", "7", "True"]
    assert children.check(program, arch="n300", number_formats="program").split() == ["True", str(2**40 + 7), "True"]
    assert children.check(program).split() == ["True", str(2**40 + 7), "True"]
    assert "it takes architecture or program" in children.run("jax.devices()", number_formats="exact").stderr


def test_architecture_from_environment():
    assert children.check("print(len(jax.devices()))", env={"CUPEL_ARCH": "n300"}).strip() == "2"


def test_option_wins_over_environment():
    assert children.check("print(len(jax.devices()))", env={"CUPEL_ARCH": "n300"}, arch="n300-llmbox").strip() == "8"


def test_jax_client_create_options():
    assert children.check("print(len(jax.devices()))", env={"JAX_PJRT_CLIENT_CREATE_OPTIONS": "num_devices:8"}).strip() == "8"


def test_descriptor_of_ones_own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nchips: 6\nmesh: [2, 3]\ndram_bytes: 1_000_000\n")
    out = children.check("d = jax.devices(); print(len(d), d[5].coords, d[0].memory_stats()['bytes_limit'])", arch=str(path))
    assert out.strip() == "6 [1, 2] 1000000"


def test_stages_are_written(tmp_path):
    children.check("jax.jit(lambda x: jnp.sin(x) + 1)(1.0)", env={"CUPEL_DUMP_DIR": str(tmp_path)})
    folders = sorted((tmp_path / "irs").iterdir())
    assert folders and folders[0].name.startswith("0000-jit_")
    assert "vhlo.func_v1" in (folders[-1] / "vhlo.mlir").read_text()
    assert "stablehlo.sine" in (folders[-1] / "shlo.mlir").read_text()


def test_stages_by_compile_option(tmp_path):
    children.check(f"jax.jit(lambda x: x * 3, compiler_options={{'export_path': {str(tmp_path)!r}}})(jnp.ones(2))")
    assert any(path.name == "shlo.mlir" for path in tmp_path.rglob("*.mlir"))


def test_ten_thousand_cycles_without_growth():
    out = children.check("""
        import gc, os
        def rss():
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        f = jax.jit(lambda x: x + 1)
        data = np.zeros(10_000, np.float32)
        def cycles(count):
            for _ in range(count):
                array = jax.device_put(data)
                result = f(array)
                np.asarray(result)
                del array, result
            gc.collect()
        cycles(1000)
        before = rss()
        cycles(10_000)
        print(rss() - before)
    """)
    assert float(out) < 20, out


def test_compiling_again_and_again_does_not_grow():
    out = children.check("""
        import gc, os
        def rss():
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        low = jax.jit(lambda x: jnp.sin(x) @ jnp.cos(x) + 1).lower(jnp.ones(4))
        def cycles(count):
            for _ in range(count):
                low.compile()
            gc.collect()
        cycles(300)
        before = rss()
        cycles(1500)
        print(rss() - before)
    """, timeout=300)
    assert float(out) < 60, out


def test_exit_with_work_in_flight():
    done = children.run("""
        import sys
        f = jax.jit(lambda x: jax.lax.fori_loop(0, 200_000, lambda i, v: v * 0.99 + 1, x))
        results = [f(jnp.full(4, float(i))) for i in range(20)]
        print("leaving")
        sys.exit(3)
    """, timeout=60)
    assert done.returncode == 3, done.stderr
    assert "leaving" in done.stdout


def test_exit_from_an_endless_loop():
    done = children.run("""
        result = jax.jit(lambda x: jax.lax.while_loop(lambda v: v[0] >= 0, lambda v: v * 0.5, x))(jnp.ones(4))
        print("leaving")
    """, timeout=60)
    assert done.returncode == 0 and "leaving" in done.stdout, done.stderr


def test_uncaught_exception_with_work_in_flight():
    done = children.run("""
        f = jax.jit(lambda x: jax.lax.fori_loop(0, 200_000, lambda i, v: v * 0.99 + 1, x))
        results = [f(jnp.full(4, float(i))) for i in range(20)]
        raise RuntimeError("enough")
    """, timeout=60)
    assert done.returncode == 1 and done.stderr.rstrip().endswith("RuntimeError: enough"), done.stderr


def test_only_one_symbol_is_exported():
    out = subprocess.run(["nm", "-D", "--defined-only", PLUGIN], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in out.splitlines()] == ["GetPjrtApi"]


def test_named_libraries_only():
    out = subprocess.run(["readelf", "-d", PLUGIN], capture_output=True, text=True, check=True).stdout
    needed = [line.split("[")[1].rstrip("]") for line in out.splitlines() if "NEEDED" in line]
    assert not [name for name in needed if "protobuf" in name or "python" in name], needed


def test_loads_without_a_python_package():
    out = subprocess.run([children.sys.executable, "-c", "import jax; print(jax.numpy.ones(3) + 1)"], capture_output=True, text=True, timeout=120,
                         env={**children.os.environ, "JAX_PLATFORMS": "cupel", "PJRT_NAMES_AND_LIBRARY_PATHS": f"cupel:{PLUGIN}"})
    assert "[2. 2. 2.]" in out.stdout, out.stderr


def test_after_fork_and_exec():
    out = children.check("""
        import os, subprocess, sys
        print((jnp.ones(2) + 1).tolist(), flush=True)
        if len(sys.argv) < 2 and not os.environ.get("CHILD"):
            pid = os.fork()
            if pid == 0:
                os.environ["CHILD"] = "1"
                os.execv(sys.executable, [sys.executable, "-c", "print('child is fine')"])
            os.waitpid(pid, 0)
        print((jnp.ones(2) + 2).tolist())
    """)
    assert "[2.0, 2.0]" in out and "child is fine" in out and "[3.0, 3.0]" in out


def test_a_forked_child_execs_into_the_plugin():
    """Fork from a process with plugin threads, then load the plugin afresh in what the child becomes."""
    out = children.check("""
        import os
        code = "import jax; print('child has', (jax.numpy.ones(2) + 4).tolist())"
        print((jnp.ones((64, 64)) @ jnp.ones((64, 64)))[0, 0], flush=True)
        pid = os.fork()
        if pid == 0:
            os.execve(sys.executable, [sys.executable, "-c", code], {**os.environ, "PJRT_NAMES_AND_LIBRARY_PATHS": "cupel:" + os.environ["PLUGIN"]})
        print("child ended with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), (jnp.ones(2) + 2).tolist())
    """, env={"PLUGIN": str(PLUGIN)})
    assert "child has [5.0, 5.0]" in out and "child ended with 0 [3.0, 3.0]" in out


# Torch brings an LLVM, protobuf and OpenMP of its own; none of them may meet the plugin's.
ORDERS = ["torch jaxlib plugin", "jaxlib torch plugin", "jaxlib plugin torch", "plugin torch jaxlib", "torch plugin jaxlib", "plugin jaxlib torch"]


@pytest.mark.parametrize("order", ORDERS)
def test_beside_torch(order):
    """The three in one process, in any order of loading, all computing afterwards."""
    pytest.importorskip("torch")
    code = f"""
import ctypes, os, sys
sys.path.insert(0, {str(children.HERE)!r})
for part in {order.split()!r}:
    if part == "torch":
        import torch
    elif part == "jaxlib":
        import jaxlib.xla_client
    else:
        ctypes.CDLL({str(PLUGIN)!r}).GetPjrtApi
from cupel_setup import register
register({str(PLUGIN)!r})
import jax, jax.numpy as jnp
import concurrent.futures
def work(i):
    ours = jnp.linalg.inv(jnp.eye(4) * (i + 1.0)).sum() * (i + 1)
    theirs = torch.linalg.inv(torch.eye(4) * (i + 1.0)).sum() * (i + 1)
    return round(float(ours), 3) == 4.0 and round(float(theirs), 3) == 4.0
with concurrent.futures.ThreadPoolExecutor(20) as pool:
    print(all(pool.map(work, range(40))))
x = torch.arange(4.0, requires_grad=True)
(x * x).sum().backward()
print(x.grad.tolist() == jax.grad(lambda x: (x * x).sum())(jnp.arange(4.0)).tolist())
print(torch.compiler.is_compiling(), jax.jit(lambda x: x + 1)(jnp.asarray(x.detach().numpy())).tolist())
"""
    done = subprocess.run([children.sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env={**children.os.environ, "JAX_PLATFORMS": "cupel"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == ["True", "True", "False [1.0, 2.0, 3.0, 4.0]"], done.stdout + done.stderr


def test_arrays_go_to_torch_and_numpy():
    pytest.importorskip("torch")
    out = children.check("""
        import torch
        x = jnp.arange(6.0).reshape(2, 3)
        tensor = torch.from_dlpack(x)
        tensor += 1
        print(tensor.sum().item(), float(x.sum()), np.from_dlpack(x).tolist())
        back = jax.device_put(jax.dlpack.from_dlpack(tensor), jax.devices("cupel")[0])
        print((back * 2).tolist())
        try:
            x.__dlpack__(copy=False)
        except BufferError as error:
            print("copy=False" in str(error))
    """)
    assert out.splitlines() == ["21.0 15.0 [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]", "[[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]", "True"]


def test_the_cpu_backend_is_there_for_callbacks():
    """JAX gives operands of callbacks to its CPU backend, also where JAX_PLATFORMS names ours alone."""
    out = children.check("""
        x = jnp.arange(3.0)
        jax.debug.print("eager {}", x)
        f = jax.jit(lambda x: (jax.debug.print("jit {}", x), jax.pure_callback(lambda v: np.asarray(v) * 2, x, x))[1])
        print(f(x).tolist(), jax.default_backend(), [d.platform for d in x.devices()])
    """)
    assert out.splitlines() == ["eager [0. 1. 2.]", "jit [0. 1. 2.]", "[0.0, 2.0, 4.0] cupel ['cupel']"]


def test_callbacks_of_another_process_are_refused(tmp_path):
    """Never another function that happens to have the same number."""
    code = """
        import pickle
        from jax.experimental.serialize_executable import serialize, deserialize_and_load
        x = jnp.arange(3.0)
        f = jax.jit(lambda x: jax.pure_callback(lambda v: np.asarray(v) * SIGN, x, x))
        compiled = f.lower(x).compile()
    """
    file = str(tmp_path / "saved")
    children.check(code.replace("SIGN", "2") + f"""
        pickle.dump(serialize(compiled), open({file!r}, "wb"))
    """)
    out = children.check(code.replace("SIGN", "-7") + f"""
        print(compiled(x).tolist())
        try:
            print(deserialize_and_load(*pickle.load(open({file!r}, "rb")))(x))
        except jax.errors.JaxRuntimeError as error:
            print("a Python function of the process that compiled it" in str(error))
    """)
    assert out.splitlines() == ["[-0.0, -7.0, -14.0]", "True"]


@pytest.mark.parametrize("platforms", ["cupel", ""])
def test_a_missing_library_is_named_to_who_asks(tmp_path, platforms):
    """The error that ends the program says what to install, and users of the CPU are not troubled."""
    broken = tmp_path / "libMLIR.so.19.1.so"
    broken.write_text("no library")
    code = f"""
import sys
sys.path.insert(0, {str(ROOT / "python")!r})
import jax
from cupel.jax import initialize
initialize()
if not {platforms!r}:
    print(jax.numpy.ones(2).tolist())
jax.devices("cupel")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "JAX_PLATFORMS": platforms, "CUPEL_PLUGIN": str(broken)})
    assert done.returncode != 0 and done.stdout == ("" if platforms else "[1.0, 1.0]\n"), done
    last = done.stderr.strip().splitlines()[-1]
    assert "Cupel is not available" in last and "apt-get install libmlir-19" in last, done.stderr


def test_a_wrong_option_is_told_to_who_asks():
    code = """
        print(jax.numpy.ones(2).tolist(), jax.default_backend())
        jax.devices("cupel")
    """
    done = children.run(code, env={"JAX_PLATFORMS": ""}, arch="n151")
    assert done.stdout == "[1.0, 1.0] cpu\n", done
    assert "there is no architecture 'n151'" in done.stderr.strip().splitlines()[-1], done.stderr
    done = children.run(code, arch="n151")
    assert done.stdout == "" and "there is no architecture 'n151'" in done.stderr, done


def test_beside_the_cpu_backend():
    out = children.check("""
        cpu, ours = jax.devices("cpu")[0], jax.devices("cupel")[0]
        x = jax.device_put(np.arange(4.0), cpu)
        y = jax.device_put(x, ours)
        print((y + 1).tolist(), jax.device_put(y * 2, cpu).tolist())
    """, env={"JAX_PLATFORMS": "cupel,cpu"})
    assert out.strip() == "[1.0, 2.0, 3.0, 4.0] [0.0, 2.0, 4.0, 6.0]"


@pytest.mark.parametrize("order", ["torch, jax", "jax, torch", "plugin, torch"])
def test_beside_torch(order):
    """PyTorch brings a protobuf and an LLVM of its own; jaxlib brings others."""
    first = {"torch, jax": "import torch; import jax", "jax, torch": "import jax, jaxlib; import torch",
             "plugin, torch": f"import ctypes; ctypes.CDLL({str(PLUGIN)!r}).GetPjrtApi(); import torch"}[order]
    code = f"""
        {first}
        import sys; sys.path.insert(0, {str(children.HERE)!r})
        from cupel_setup import register
        register({str(PLUGIN)!r})
        import jax, jax.numpy as jnp, numpy as np, torch
        a = torch.arange(6, dtype=torch.float32).reshape(2, 3)
        with jax.default_device(jax.devices("cupel")[0]):
            ours = jnp.asarray(a.numpy()) @ jnp.asarray(a.numpy()).T
            assert list(ours.devices())[0].platform == "cupel"
        assert np.array_equal(np.asarray(ours), (a @ a.T).numpy())
        assert float(torch.linalg.eigvalsh(a @ a.T)[1]) > 0  # Its LAPACK beside ours.
        assert float(jnp.linalg.eigvalsh(ours)[1]) > 0
        print("fine")
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUPEL_")}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=dict(environment, JAX_PLATFORMS="cupel,cpu"),
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.strip() == "fine", done.stdout + done.stderr


def test_twenty_threads_load_and_use():
    out = children.check("""
        import concurrent.futures
        def work(i):
            return float((jnp.full(3, float(i)) + 1).sum())
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            print(sorted(pool.map(work, range(20))) == [3.0 * (i + 1) for i in range(20)])
    """)
    assert out.strip() == "True"


def test_descriptors_are_those_of_the_repository():
    names = {path.stem for path in (ROOT / "zoo/archs").glob("*.yaml") if "\ndescribed: false" not in path.read_text()}
    assert names == {"cpu", "n150", "p150", "n300", "n300-llmbox", "galaxy-wh-6u"}
    done = children.run("jax.devices()", arch="nothing")
    assert all(name in done.stderr for name in names)
    assert isinstance(ROOT, pathlib.Path)
