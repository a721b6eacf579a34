#include "cupel/cli/OptOptions.h"
#include "cupel/compiler/device/Passes.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/support/Error.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/AsmState.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Support/Timing.h>
#include <mlir/Transforms/Passes.h>
#include <unistd.h>

namespace cupel::cli {

namespace cl = llvm::cl;

namespace {

constexpr const char *kOverview =
    "Reads StableHLO programs (text, MLIR bytecode or portable artifact, told apart by content),\n"
    "verifies them, runs passes over them and writes them in the form asked for.\n";

constexpr const char *kExamples =
    "\nExamples:\n"
    "  cupel opt model.mlir\n"
    "      read, verify and print\n"
    "  cupel opt model.mlirbc --emit=text -o model.mlir\n"
    "      the text of a portable artifact or of MLIR bytecode\n"
    "  cupel opt model.mlir --emit=portable --target-version=1.0.0 -o model.mlirbc\n"
    "      an artifact that readers of StableHLO 1.0.0 and later understand\n"
    "  cupel opt model.mlir --canonicalize --cse --symbol-dce\n"
    "      passes, in the order given\n"
    "  cupel opt model.mlir --pass-pipeline='builtin.module(func.func(canonicalize,cse))'\n"
    "      the same as a pipeline\n"
    "  python3 export.py | cupel opt - --mlir-print-debuginfo\n"
    "      a program from standard input, printed with its locations\n";

} // namespace

OptOptions::Registration::Registration() {
  // LLVM has one of that name for its own passes, of which none run here.
  auto &options = cl::getRegisteredOptions();
  if (auto known = options.find("opt-bisect-limit"); known != options.end())
    known->second->removeArgument();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
  mlir::registerInlinerPass();
  mlir::registerStripDebugInfoPass();
  compiler::registerPasses();
  dev::registerPasses();
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
}

OptOptions::OptOptions()
    : category("Options"), mlirCategory("Printing, timing and passes, as MLIR has them"),
      inputs(cl::Positional, cl::desc("FILE..."), cl::cat(category)),
      output("o", cl::desc("Where to write; - is standard output"), cl::value_desc("file"),
             cl::init("-"), cl::cat(category)),
      emit("emit", cl::desc("What to write"), cl::init(Emit::Text),
           cl::values(clEnumValN(Emit::Text, "text", "MLIR text"),
                      clEnumValN(Emit::Generic, "generic", "MLIR text in generic form"),
                      clEnumValN(Emit::Bytecode, "bytecode", "MLIR bytecode of MLIR 19"),
                      clEnumValN(Emit::Portable, "portable", "a StableHLO portable artifact"),
                      clEnumValN(Emit::Vhlo, "vhlo", "the text of that artifact's versioned ops")),
           cl::cat(category)),
      targetVersion("target-version",
                    cl::desc("StableHLO version of portable and vhlo output (the newest)"),
                    cl::value_desc("X.Y.Z"), cl::cat(category)),
      splitInputFile("split-input-file",
                     cl::desc("Treat the parts between '// -----' lines as programs of their own"),
                     cl::cat(category)),
      verifyDiagnostics("verify-diagnostics",
                        cl::desc("Check the diagnostics against expected-* comments"),
                        cl::cat(category)),
      verifyEach("verify-each", cl::desc("Verify after each pass"), cl::init(true),
                 cl::cat(category)),
      allowUnregisteredDialects("allow-unregistered-dialect",
                                cl::desc("Accept operations of unknown dialects"),
                                cl::cat(category)),
      allowPartial("allow-partial",
                   cl::desc("Does nothing: there are no types left for which functions of an "
                            "artifact would have to be left out"),
                   cl::Hidden, cl::cat(category)),
      rewriteLimit("opt-bisect-limit",
                   cl::desc("Do only the first N of the rewrites that passes may leave, and say on "
                            "standard error which was the last"),
                   cl::value_desc("N"), cl::init(-1), cl::cat(category)),
      printRewrites("print-rewrites",
                    cl::desc("List the rewrites that passes may leave on standard error"),
                    cl::cat(category)),
      passes("", "Passes to run, in the order given") {}

bool OptOptions::parse(int argc, char **argv) {
  // LLVM's shared library brings hundreds of options of its own; only those that act here are
  // shown. The option without a name is the one whose values are the passes.
  for (auto &[name, option] : cl::getRegisteredOptions()) {
    if (llvm::is_contained(option->Categories, &category))
      continue;
    if (name.starts_with("mlir-") || name == "pass-pipeline" || option->ArgStr.empty())
      option->addCategory(mlirCategory);
    else if (name != "help")
      option->setHiddenFlag(cl::ReallyHidden);
  }
  cl::extrahelp examples(kExamples);
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  std::string program = "cupel opt";
  std::vector<const char *> words(argv, argv + argc);
  words[0] = program.c_str();
  if (!cl::ParseCommandLineOptions(argc, words.data(), kOverview, &stream)) {
    // LLVM reports in several lines, each starting with the program's name; ours is one.
    std::string message;
    for (llvm::StringRef line : llvm::split(stream.str(), '\n')) {
      line.consume_front(program + ":");
      if (!line.trim().empty())
        message += (message.empty() ? "" : " ") + line.trim().str();
    }
    // A wrong value has been reported already, by the option itself.
    if (!message.empty())
      reportError("opt", message, kExitUsage);
    return false;
  }
  if (std::string complaint = findContradiction(); !complaint.empty()) {
    reportError("opt", complaint, kExitUsage);
    return false;
  }
  return true;
}

std::string OptOptions::findContradiction() {
  if (inputs.empty())
    return "no FILE was given; - reads standard input (cupel opt --help explains)";
  if (targetVersion.getNumOccurrences()) {
    if (emit != Emit::Portable && emit != Emit::Vhlo)
      return "--target-version goes with --emit=portable or --emit=vhlo";
    std::string error;
    std::optional<vhlo::Version> version = vhlo::parseTargetVersion(targetVersion, error);
    if (!version)
      return "--target-version: " + error;
    target = *version;
  }
  if (!isBinary(emit))
    return {};
  if (inputs.size() > 1)
    return "binary output of several files cannot share one output; give one file at a time";
  if (splitInputFile)
    return "binary output of several programs cannot share one output; leave out "
           "--split-input-file";
  if (output == "-" && ::isatty(STDOUT_FILENO))
    return "will not write binary output to a terminal; use -o FILE or a pipe";
  return {};
}

} // namespace cupel::cli
