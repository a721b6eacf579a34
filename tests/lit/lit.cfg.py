# Configuration of lit for the IR tests, run by ./test lit. To run one test by hand:
#   /usr/lib/llvm-19/build/utils/lit/lit.py -v tests/lit/cli/emit.mlir
import os

import lit.formats

LLVM_BIN = "/usr/lib/llvm-19/bin"
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.environ.get("CUPEL_BUILD", os.path.join(ROOT, "build"))

config.name = "cupel"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(BUILD, "test-output", "lit")

# Ours first, then FileCheck, not, split-file and count.
config.environment["PATH"] = os.pathsep.join([os.path.join(BUILD, "bin"), LLVM_BIN, "/usr/bin", "/bin"])
for variable in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
config.environment["FILECHECK_OPTS"] = "--dump-input=fail --enable-var-scope"
config.substitutions.append(("%root", ROOT))
config.substitutions.append(("%cupel", os.path.join(BUILD, "bin/cupel")))
