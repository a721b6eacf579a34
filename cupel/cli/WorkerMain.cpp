// `cupel-worker`: the part of Cupel that links MLIR. Started by `cupel`, one command a
// process; `serve` and `eval` stay and serve the runner.

#include "cupel/cli/BenchPrepare.h"
#include "cupel/cli/Codegen.h"
#include "cupel/cli/Compile.h"
#include "cupel/cli/Eval.h"
#include "cupel/cli/Graph.h"
#include "cupel/cli/Ops.h"
#include "cupel/cli/Opt.h"
#include "cupel/cli/TorchCases.h"
#include "cupel/cli/TraceProgram.h"
#include "cupel/cli/TuneFormats.h"
#include "cupel/support/Error.h"
#include "cupel/support/Version.h"
#include "cupel/testbench/worker/Programs.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/Support/raw_ostream.h>

using namespace cupel;

int main(int argc, char **argv) {
  llvm::StringRef command = argc > 1 ? argv[1] : "";
  if (command == "opt")
    return cli::runOpt(argc - 1, argv + 1);
  if (command == "eval" && argc > 2)
    return cli::serveEval({argv + 2, argv + argc});
  if (command == "serve")
    return testbench::worker::runServe({argv + 2, argv + argc});
  if (command == "compile" && argc == 3)
    return cli::runCompile(argv[2]);
  if (command == "bench-prepare" && argc == 3)
    return cli::runBenchPrepare(argv[2]);
  if (command == "bench-limits" && argc == 3)
    return cli::runBenchLimits(argv[2]);
  if (command == "graph" && argc == 3)
    return cli::runGraph(argv[2]);
  if (command == "codegen" && argc == 3)
    return cli::runCodegen(argv[2]);
  if (command == "replay-trace" && argc == 3)
    return cli::runReplayTrace(argv[2]);
  if (command == "tune-formats" && argc == 3)
    return cli::runTuneFormats(argv[2]);
  if (command == "ops" && argc == 3)
    return cli::runOps(argv[2]);
  if (command == "ops-extract" && argc == 3)
    return cli::runOpsExtractOnnx(argv[2]);
  if (command == "pt2-cases")
    return cli::runTorchCases({argv + 2, argv + argc});
  if (command == "version") {
    llvm::outs() << "cupel-worker " << llvm::StringRef(version()) << " on MLIR "
                 << LLVM_VERSION_STRING << "\n";
    return kExitSuccess;
  }
  return reportError("", "cupel-worker serves cupel and is not meant to be started by hand",
                     kExitUsage);
}
