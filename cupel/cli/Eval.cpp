#include "cupel/cli/Eval.h"

#include "cupel/cli/EvalOptions.h"
#include "cupel/cli/EvalPool.h"
#include "cupel/cli/EvalProgram.h"
#include "cupel/cli/ProgramText.h"
#include "cupel/ir/Dialects.h"
#include "cupel/support/Error.h"
#include "cupel/support/Files.h"

#include <algorithm>
#include <filesystem>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/raw_ostream.h>
#include <memory>

namespace cupel::cli {
namespace {

using namespace mlir;

/// The files that the command line names, those of folders in order of their paths.
Result<std::vector<std::string>> collectFiles(const std::vector<std::string> &inputs) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string &input : inputs) {
    std::error_code error;
    if (!fs::is_directory(input, error)) {
      files.push_back(input);
      continue;
    }
    std::vector<std::string> found;
    fs::recursive_directory_iterator it(input, fs::directory_options::skip_permission_denied,
                                        error),
        end;
    for (; !error && it != end; it.increment(error)) {
      std::string extension = it->path().extension();
      if (it->is_regular_file(error) &&
          (extension == ".mlir" || extension == ".mlirbc" || extension == ".bc"))
        found.push_back(it->path());
    }
    if (error)
      return Error{input + ": " + error.message()};
    if (found.empty())
      return Error{input + ": no .mlir, .mlirbc or .bc file lies below this folder"};
    llvm::sort(found);
    llvm::append_range(files, found);
  }
  return files;
}

/// Whether there is more than white space and comments.
bool holdsProgram(std::string_view text) {
  for (size_t at = 0; (at = text.find_first_not_of(" \t\r\n\f\v", at)) != std::string_view::npos;) {
    if (!text.substr(at).starts_with("//"))
      return true;
    at = std::min(text.find('\n', at), text.size());
  }
  return false;
}

/// What a child of the pool does.
class FileEvaluator {
public:
  FileEvaluator(const EvalOptions &options, const DialectRegistry &registry)
      : options(options), registry(registry) {}

  void operator()(const std::string &path, size_t first, ProgramChannel &channel) {
    std::string name = displayName(path);
    Result<FileContents> contents = readInput(path);
    Status usable = contents ? checkIsProgram(name, contents->bytes()) : Error{contents.message()};
    if (!usable) {
      channel.programs(1);
      ProgramReport report;
      report.fail(usable.message());
      return channel.done(report);
    }
    std::string_view bytes = contents->bytes();
    // Constants stay in a context for good: a new one before they come to much.
    if (!evaluator || (seen += bytes.size()) > kContextBytes) {
      evaluator = std::make_unique<ProgramEvaluator>(options, registry);
      seen = bytes.size();
    }
    if (isBytecode(bytes) || bytes.find(kProgramSeparator) == std::string_view::npos) {
      channel.programs(1);
      channel.start(name);
      return channel.done(evaluator->evaluate({bytes, name}, 0));
    }
    std::vector<std::string> parts = splitPrograms(bytes);
    std::vector<size_t> programs; // Without the parts that only comment.
    for (size_t i = 0; i < parts.size(); ++i)
      if (holdsProgram(parts[i]))
        programs.push_back(i);
    if (programs.empty())
      programs.push_back(0); // The file is none, which is to be said.
    channel.programs(programs.size());
    for (size_t i = first; i < programs.size(); ++i) {
      const std::string &text = parts[programs[i]];
      size_t line = text.find_first_not_of('\n');
      channel.start(name + ":" + std::to_string(line == std::string::npos ? 1 : line + 1));
      channel.done(evaluator->evaluate({text, name}, programs[i]));
    }
  }

private:
  static constexpr size_t kContextBytes = size_t(64) << 20;
  const EvalOptions &options;
  const DialectRegistry &registry;
  std::unique_ptr<ProgramEvaluator> evaluator;
  size_t seen = 0;
};

} // namespace

int runEval(int argc, char **argv) {
  EvalOptions options;
  if (Status status = options.parse(argc, argv); !status)
    return reportError("eval", status.message(), kExitUsage);
  if (options.showHelp) {
    llvm::outs() << EvalOptions::help();
    return kExitSuccess;
  }
  Result<std::vector<std::string>> files = collectFiles(options.inputs);
  if (!files)
    return reportError("eval", files.message(), kExitUsage);
  if (!options.saveFolder.empty() && files->size() > 1)
    return reportError("eval", "--save goes with one file at a time", kExitUsage);
  for (const std::string &folder : {options.saveFolder, options.run.probeFolder})
    if (!folder.empty()) {
      std::error_code error;
      std::filesystem::create_directories(folder, error);
      if (error)
        return reportError("eval", folder + ": " + error.message(), kExitUsage);
    }

  EvalPool::Options pool;
  for (const std::string &file : *files)
    pool.files.push_back(displayName(file));
  pool.processes = static_cast<unsigned>(std::min<size_t>(options.jobs, files->size()));
  pool.timeoutSeconds = options.run.timeoutSeconds;
  options.divideMemory(pool.processes);
  if (options.run.threads == 0 && pool.processes > 1)
    options.run.threads = 1; // Files side by side use the cores already.
  DialectRegistry registry;
  ir::registerAllDialects(registry);
  FileEvaluator evaluator(options, registry); // Each child has a copy.
  size_t passed = 0, failed = 0;
  Result<size_t> left = EvalPool::run(
      pool,
      [&](size_t file, size_t first, ProgramChannel &channel) {
        evaluator((*files)[file], first, channel);
      },
      [&](const ProgramReport &report) {
        ++(report.failed ? failed : passed);
        llvm::outs() << report.output;
        llvm::outs().flush();
        llvm::errs() << report.errors;
      });
  if (!left)
    return reportError("eval", left.message(), kExitUsage);
  if (*left)
    reportError("eval",
                "interrupted: " + std::to_string(*left) + " of " + std::to_string(files->size()) +
                    " files were not run to their end",
                kExitUnaccounted);
  llvm::outs() << passed << " passed, " << failed << " failed\n";
  return *left ? kExitUnaccounted : failed ? kExitFailure : kExitSuccess;
}

} // namespace cupel::cli
