"""Generated C++ from outside: it builds without a warning, everywhere, and gives what the program gives. check_cpp.py BIN [--full]

--full: also what takes minutes to build.
The last line is `N passed, N failed`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from check_codegen import ADD, LAYERS, ROOT, cupel, layers
from running import run_all, sum_of_arguments

WARNINGS = ["-Wall", "-Wextra", "-Werror"]

# Products and convolutions that are large enough for blocks, borders, strides, groups, windows, reductions, sorts, loops and bf16.
# The loop behind the first convolution and that behind the product finish them; the one behind the second looks at less than a plane, and stays a loop.
KERNELS = """
func.func @main(%x: tensor<2x12x17x19xf32>, %w: tensor<10x6x3x3xf32>, %d: tensor<10x1x3x3xf32>, %m: tensor<81x37xf32>) -> (tensor<2x10x1x1xf32>, tensor<37xf32>, tensor<2x37xbf16>, tensor<i32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x12x17x19xf32>, tensor<10x6x3x3xf32>) -> tensor<2x10x9x17xf32>
  %sw = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [1, 2, 3] : (tensor<10x6x3x3xf32>, tensor<f32>) -> tensor<10xf32>
  %bw = stablehlo.broadcast_in_dim %sw, dims = [1] : (tensor<10xf32>) -> tensor<2x10x9x17xf32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x10x9x17xf32>
  %cb = stablehlo.add %c, %bw : tensor<2x10x9x17xf32>
  %cr = stablehlo.maximum %cb, %zeros : tensor<2x10x9x17xf32>
  %e0 = stablehlo.convolution(%cr, %d) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 10 : i64} : (tensor<2x10x9x17xf32>, tensor<10x1x3x3xf32>) -> tensor<2x10x9x9xf32>
  %row = stablehlo.slice %m [0:9, 0:1] : (tensor<81x37xf32>) -> tensor<9x1xf32>
  %line = stablehlo.reshape %row : (tensor<9x1xf32>) -> tensor<9xf32>
  %be = stablehlo.broadcast_in_dim %line, dims = [2] : (tensor<9xf32>) -> tensor<2x10x9x9xf32>
  %e = stablehlo.multiply %e0, %be : tensor<2x10x9x9xf32>
  %p = "stablehlo.reduce_window"(%e, %low) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>, padding = dense<[[0, 0], [0, 0], [1, 1], [1, 1]]> : tensor<4x2xi64>} : (tensor<2x10x9x9xf32>, tensor<f32>) -> tensor<2x10x5x5xf32>
  %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [2, 3] : (tensor<2x10x5x5xf32>, tensor<f32>) -> tensor<2x10xf32>
  %r = stablehlo.reshape %s : (tensor<2x10xf32>) -> tensor<2x10x1x1xf32>
  %f = stablehlo.reshape %e : (tensor<2x10x9x9xf32>) -> tensor<20x81xf32>
  %g = stablehlo.dot_general %f, %m, contracting_dims = [1] x [0] : (tensor<20x81xf32>, tensor<81x37xf32>) -> tensor<20x37xf32>
  %t = stablehlo.tanh %g : tensor<20x37xf32>
  %h = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<20x37xf32>, tensor<f32>) -> tensor<37xf32>
  %o = "stablehlo.sort"(%h) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<37xf32>) -> tensor<37xf32>
  %q = stablehlo.slice %m [0:2, 0:37] : (tensor<81x37xf32>) -> tensor<2x37xf32>
  %k = stablehlo.convert %q : (tensor<2x37xf32>) -> tensor<2x37xbf16>
  %kk = stablehlo.multiply %k, %k : tensor<2x37xbf16>
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %n = stablehlo.while(%i = %i0) : tensor<i32>
  cond {
    %1 = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }
  return %r, %o, %kk, %n : tensor<2x10x1x1xf32>, tensor<37xf32>, tensor<2x37xbf16>, tensor<i32>
}
"""


def generate(program: str, folder: Path, *options: str) -> subprocess.CompletedProcess:
    file = folder / "program.mlir"
    file.write_text(program)
    return cupel("codegen", "cpp", file, "-o", folder / "out", *options)


def generated(program: str, folder: Path, *options: str) -> Path:
    done = generate(program, folder, *options)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def build(out: Path, *flags: str, compiler: str = "g++") -> None:
    done = subprocess.run([compiler, "-std=c++17", *WARNINGS, *flags, "-o", out / "model", out / "main.cpp", "-pthread"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]


def check(out: Path, tolerance: str = "1e-5", **environment: str) -> None:
    """What the binary gives is what the program gives."""
    os.utime(out / "model")
    code = (f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r})\nfrom cupel.codegen import load_codegen_cpp\n"
            f"print(load_codegen_cpp({str(out)!r}).check({tolerance}))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=dict(os.environ, CUPEL_COMMAND=str(Path(sys.argv[1]) / "cupel"), **environment))  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def repeated_blocks_are_one_function(folder: Path) -> None:
    out = generated(layers(), folder)
    text = (out / "main.cpp").read_text()
    assert len(re.findall(r"^static Tensor<float> block\(", text, re.M)) == 1 and len(re.findall(r"= block\(", text)) == LAYERS, text
    assert "layers_0_weight" in text and '"layers.0.weight"' in text and "f32[8,8]" in text, text
    # What follows a sum element by element is one loop, which the product calls for rows of its results.
    assert text.count("ops::parallel_for") == 1 and text.count("Dims{0}, [&](float *__restrict to, int64_t begin, int64_t end) {") == 1, text
    build(out, "-O0")
    check(out)


def bounds_of_repeated_blocks_are_numbers(folder: Path) -> None:
    """What is the same number at every call is no tensor that a block is given."""
    shape, square = "tensor<4x8xf32>", "tensor<8x8xf32>"
    lines = [f"func.func @main(%x0: {shape}, {', '.join(f'%w{i}: {square}' for i in range(LAYERS))}) -> {shape} {{",
             f"  %low = stablehlo.constant dense<-0.5> : {shape}", "  %six = stablehlo.constant dense<6.0> : tensor<f32>",
             f"  %high = stablehlo.broadcast_in_dim %six, dims = [] : (tensor<f32>) -> {shape}"]  # fmt: skip
    for i in range(LAYERS):
        lines += [f"  %d{i} = stablehlo.dot_general %x{i}, %w{i}, contracting_dims = [1] x [0] : ({shape}, {square}) -> {shape}",
                  f"  %m{i} = stablehlo.maximum %d{i}, %low : {shape}", f"  %n{i} = stablehlo.minimum %m{i}, %high : {shape}", f"  %t{i} = stablehlo.tanh %n{i} : {shape}",
                  f"  %s{i} = stablehlo.multiply %t{i}, %n{i} : {shape}", f"  %x{i + 1} = stablehlo.add %s{i}, %x{i} : {shape}"]  # fmt: skip
    out = generated("\n".join([*lines, f"  return %x{LAYERS} : {shape}", "}"]), folder)
    text = (out / "main.cpp").read_text()
    assert text.count("-0.5f") == 1 and text.count("6.0f") == 1 and "ops::full" not in text and len(re.findall(r"= block\(", text)) == LAYERS, text
    build(out, "-O0")
    check(out)


def kernels_are_right_with_every_instruction_set(folder: Path) -> None:
    out = generated(KERNELS, folder)
    assert (out / "main.cpp").read_text().count("float *__restrict to, int64_t begin") == 2, (out / "main.cpp").read_text()
    build(out, "-O2", "-march=native")
    check(out, OPS_THREADS="3")
    assert (out / "model").stat().st_size < 1_000_000
    # What reads too far reads beyond a vector: sanitizers look at the narrowest.
    build(out, "-O0", "-march=x86-64", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    check(out, OPS_THREADS="2")


def clang_builds_it_too(folder: Path) -> None:
    compiler = next((name for name in ("clang++-19", "clang++") if shutil.which(name)), None)
    if compiler is None:
        return
    out = generated(KERNELS, folder)
    build(out, "-O0", "-march=x86-64-v3", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", compiler=compiler)
    check(out, OPS_THREADS="2")


def it_needs_nothing_but_a_compiler(folder: Path) -> None:
    out = generated(layers(), folder)
    place = folder / "elsewhere"
    shutil.copytree(out, place)
    shutil.rmtree(out)
    done = subprocess.run([place / "run"], capture_output=True, text=True, cwd="/", env={"PATH": "/usr/bin:/bin", "CXXFLAGS": "-O0"})
    assert done.returncode == 0 and "output0: [4,8]" in done.stdout, done
    needed = subprocess.run(["ldd", place / "model"], capture_output=True, text=True).stdout
    libraries = {line.split()[0].split(".so")[0].rsplit("/")[-1] for line in needed.splitlines()}
    assert libraries <= {"linux-vdso", "libstdc++", "libm", "libgcc_s", "libc", "ld-linux-x86-64", "libpthread"}, libraries


def it_runs_where_there_is_nothing_else(folder: Path) -> None:
    """In a root that holds the binary, its tensors and the C++ runtime, and not even /proc."""
    out = generated(layers(), folder)
    build(out, "-O0")
    root = folder / "root"
    shutil.copytree(out / "tensors", root / "tensors")
    shutil.copy(out / "model", root / "model")
    for line in subprocess.run(["ldd", out / "model"], capture_output=True, text=True, check=True).stdout.splitlines():
        path = next((word for word in line.split() if word.startswith("/")), None)
        if path:
            (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / path[1:])
    command = ["chroot", root, "/model", "--save", "/results.safetensors"]
    bare = subprocess.run(command if os.geteuid() == 0 else ["unshare", "-r", *command], capture_output=True, text=True,
                          env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"))  # fmt: skip
    assert bare.returncode == 0 and "output0: [4,8]" in bare.stdout, bare
    done = subprocess.run([out / "model", "--save", folder / "results.safetensors"], capture_output=True, text=True)
    assert done.returncode == 0 and (folder / "results.safetensors").read_bytes() == (root / "results.safetensors").read_bytes(), done


def cmake_builds_it_too(folder: Path) -> None:
    out = generated(layers(), folder)
    for command in (["cmake", "-S", out, "-B", out / "build", "-DNATIVE=OFF", "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Werror"], ["cmake", "--build", out / "build"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    done = subprocess.run([out / "build/model"], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0 and "output0: [4,8]" in done.stdout, done


def onednn_multiplies_where_it_is_asked_to(folder: Path) -> None:
    """That of PyPI, which lies beside Python's packages. That it is what multiplies shows in what it says itself."""
    out = generated(KERNELS, folder)
    configure = ["cmake", "-S", out, "-B", out / "build", "-DCUPEL_ONEDNN=ON", f"-DCMAKE_CXX_FLAGS={' '.join(WARNINGS)}"]
    done = subprocess.run([*configure, "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF"], capture_output=True, text=True)
    assert done.returncode != 0 and "oneDNN was not found: say -DCMAKE_PREFIX_PATH" in done.stderr, done
    for command in ([*configure, f"-DCMAKE_PREFIX_PATH={sys.prefix}"], ["cmake", "--build", out / "build"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    done = subprocess.run([out / "build/model"], capture_output=True, text=True, env=dict(os.environ, ONEDNN_VERBOSE="1"))
    assert done.returncode == 0 and len(re.findall("exec,cpu,convolution", done.stdout)) == 2 and "exec,cpu,matmul" in done.stdout, done
    shutil.copy(out / "build/model", out / "model")
    check(out)


def what_nobody_uses_is_not_written(folder: Path) -> None:
    program = ("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %u = stablehlo.cosine %a : tensor<4xf32>\n  %v = stablehlo.compare GT, %u, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
               "  %w = stablehlo.not %v : tensor<4xi1>\n  %r = stablehlo.tanh %a : tensor<4xf32>\n  return %r : tensor<4xf32>\n}")  # fmt: skip
    out = generated(program, folder)
    assert "cos" not in (out / "main.cpp").read_text(), (out / "main.cpp").read_text()
    build(out, "-O0")
    check(out)


def numbers_are_compared_with_themselves(folder: Path) -> None:
    """As argmax does to find NaN, of integers too."""
    program = ("func.func @main(%a: tensor<4xi32>, %b: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>) {\n  %0 = stablehlo.compare NE, %a, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>\n"
               "  %1 = stablehlo.compare NE, %b, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n  return %0, %1 : tensor<4xi1>, tensor<4xi1>\n}")  # fmt: skip
    out = generated(program, folder)
    build(out, "-O0")
    check(out)


def ten_thousand_arguments(folder: Path) -> None:
    out = generated(sum_of_arguments(10_000), folder, "--no-tensors")
    build(out, "-O0")
    assert "output0: [] 10000" in subprocess.run([out / "model"], capture_output=True, text=True).stdout


def paths_that_cannot_be_written_and_full_disks(folder: Path) -> None:
    """The folder of C++ is written by what writes that of Python, and headers of its own."""
    file = folder / "program.mlir"
    file.write_text(layers())
    (folder / "file").write_text("")
    done = cupel("codegen", "cpp", file, "-o", folder / "file/below")
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, done
    done = subprocess.run(["bash", "-c", f"trap '' XFSZ; ulimit -f 4; exec {Path(sys.argv[1]) / 'cupel'} codegen cpp {file} -o {folder}/out"], capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1 and not list(folder.glob("out*")), done


def names_that_are_no_identifiers(folder: Path) -> None:
    names = ["class", "a b", "1x", "é\\22", "forward", "x/y", "a.b", "a_b", "int", "main", "std"]
    arguments = ", ".join(f'%a{i}: tensor<2xf32> loc("{name}")' for i, name in enumerate(names))
    sums = [f"  %s{i} = stablehlo.add %{f's{i - 1}' if i else 'a0'}, %a{i + 1} : tensor<2xf32>" for i in range(len(names) - 1)]
    out = generated("\n".join([f"func.func @main({arguments}) -> tensor<2xf32> {{", *sums, f"  return %s{len(names) - 2} : tensor<2xf32>", "}"]), folder)
    build(out, "-O0")
    check(out)


def without_tensors_inputs_are_ones(folder: Path) -> None:
    out = generated(ADD.format(op="add"), folder, "--option", "export_tensors=false", "--option", "backend=codegen_cpp")
    assert not (out / "tensors").exists()
    build(out, "-O0")
    assert "[2] 2 2" in subprocess.run([out / "model"], capture_output=True, text=True).stdout


def what_cannot_be_written_is_refused_by_name(folder: Path) -> None:
    call = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.custom_call @foreign(%a) : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}"
    done = generate(call, folder)
    assert done.returncode == 1 and "custom call of @foreign" in done.stderr and not (folder / "out").exists(), done


def files_that_do_not_fit_are_said(folder: Path) -> None:
    out = generated(ADD.format(op="add"), folder)
    build(out, "-O0")
    other = folder / "other.safetensors"
    other.write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    for arguments, word in ((["--inputs", other], "has no tensor arg0"), (["--inputs", folder / "none"], "cannot be read"), (["--speed"], "usage")):
        done = subprocess.run([out / "model", *arguments], capture_output=True, text=True)
        assert done.returncode == 1 and word in done.stderr and len(done.stderr.splitlines()) == 1, done
    inputs = out / "tensors/inputs.safetensors"
    inputs.write_bytes(inputs.read_bytes()[:-4])
    done = subprocess.run([out / "model"], capture_output=True, text=True)
    assert done.returncode == 1 and "has another size" in done.stderr, done


def main() -> int:
    tests = [repeated_blocks_are_one_function, bounds_of_repeated_blocks_are_numbers, kernels_are_right_with_every_instruction_set, clang_builds_it_too, it_runs_where_there_is_nothing_else, cmake_builds_it_too,
             onednn_multiplies_where_it_is_asked_to,
             it_needs_nothing_but_a_compiler, what_nobody_uses_is_not_written, numbers_are_compared_with_themselves, paths_that_cannot_be_written_and_full_disks, names_that_are_no_identifiers,
             without_tensors_inputs_are_ones, what_cannot_be_written_is_refused_by_name, files_that_do_not_fit_are_said]
    return run_all([*tests, ten_thousand_arguments] if "--full" in sys.argv else tests)


if __name__ == "__main__":
    sys.exit(main())
