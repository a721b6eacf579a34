#include "cupel/cli/CompileModel.h"

#include "cupel/cli/CollectArguments.h"
#include "cupel/cli/CommandLine.h"
#include "cupel/support/Process.h"
#include "cupel/testbench/matrix/Collect.h"
#include "cupel/testbench/session/PythonServer.h"

#include <filesystem>
#include <fmt/format.h>

namespace cupel::cli {

bool isModelId(const std::string &text) {
  std::error_code error;
  return !std::filesystem::exists(text, error) &&
         (text.ends_with("-inference") || text.ends_with("-training"));
}

int compileModel(const ModelCompilation &wanted) {
  if (wanted.output.empty() || wanted.output == "-")
    return reportError("compile", "what a model becomes is a folder: -o DIR says where",
                       kExitUsage);
  std::error_code error;
  if (std::filesystem::exists(wanted.output, error))
    return reportError("compile", wanted.output + " is there already", kExitUsage);
  testbench::matrix::CollectOptions options;
  options.arguments = {wanted.id};
  options.zoo = wanted.zoo;
  options.frameworks = {"pytorch", "jax", "bounty_jax", "onnx"};
  Result<testbench::matrix::Collection> found = testbench::matrix::collect(options);
  if (!found)
    return reportError("compile", found.message(), kExitUsage);
  showRemarks("compile", *found);
  if (found->size() != 1)
    return reportError("compile", fmt::format("{} tests are called '{}'", found->size(), wanted.id),
                       kExitNothingSelected);
  const testbench::TestItem test = found->item(0);
  if (test.modelPath.empty() || !test.phase.empty())
    return reportError("compile",
                       test.fullName() + " is no test of a model as its loader makes it",
                       kExitUsage);
  testbench::runner::ServerSpec python = testbench::session::pythonServer(wanted.python, "cupel");
  Arguments words = {"-u",          testbench::session::findPythonWorker(),
                     "model",       test.file,
                     "--out",       wanted.output,
                     "--run-mode",  test.runMode,
                     "--parallelism", test.parallelism,
                     "--test",      test.fullName()};
  for (auto [option, value] :
       {std::pair("--variant", test.variant), std::pair("--dtype", wanted.dtype)})
    if (!value.empty())
      words.insert(words.end(), {option, value});
  Status status = execute(python.command.front(), words);
  return reportError("compile", status.message() + python.hint, kExitUsage);
}

} // namespace cupel::cli
