#include "cupel/cli/TraceProgram.h"

#include "cupel/cli/ModelRequest.h"
#include "cupel/compiler/Compile.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/support/Files.h"
#include "cupel/support/Sha256.h"
#include "cupel/tensor/Fill.h"

#include <algorithm>
#include <chrono>
#include <llvm/Support/Format.h>
#include <llvm/Support/raw_ostream.h>

namespace cupel::cli {

using tensor::Tensor;
using Tensors = std::vector<Tensor>;

namespace {

constexpr uint64_t kSeed = 0;
constexpr const char *kVerb = "show";

Result<Tensors> inputsFor(const runtime::ProgramInfo &info, uint64_t seed) {
  Tensors all;
  for (const runtime::ValueInfo &value : info.arguments) {
    Result<Tensor> made = tensor::randomTensor(value.type, value.shape, tensor::defaultFill(value.type),
                                               {seed, uint64_t(all.size())});
    if (!made)
      return made.error();
    all.push_back(std::move(*made));
  }
  return all;
}

std::vector<std::string> digestsOf(const Tensors &results) {
  std::vector<std::string> digests;
  for (const Tensor &one : results)
    digests.push_back(sha256({reinterpret_cast<const char *>(one.data()), size_t(one.byteSize())}));
  return digests;
}

/// Runs it; results are dropped before the next run, so that slots stay where they are.
struct Runs {
  const runtime::Executable &executable;
  Tensors inputs;
  double seconds = 0; // Of the last.

  Result<std::vector<std::string>> once() {
    auto begin = std::chrono::steady_clock::now();
    Result<runtime::ProcessTensors> results = executable.execute({inputs});
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!results)
      return results.error();
    return digestsOf((*results)[0]);
  }
};

Error unequal(const char *what) {
  return Error{ErrorCode::Internal, std::string("the results of ") + what + " are other bits than those of a run without a trace"};
}

} // namespace

Result<runtime::TraceFile> recordTrace(mlir::ModuleOp module, const GraphOptions &options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo();
  ir::printProgram(module, os, flags);
  compiler::CompileOptions compile;
  compile.backend = "cpu";
  compile.level = options.level;
  compile.sramBytes = options.sramBytes;
  compile.enablesTrace = true;
  compile.isStrict = true;
  compile.traceRegion = std::make_shared<runtime::TraceRegion>(options.traceRegionBytes);
  auto made = compiler::compile(text, compile);
  if (!made)
    return made.error();
  Result<Tensors> inputs = inputsFor((*made)->info(), kSeed);
  if (!inputs)
    return inputs.error();
  Runs runs{**made, std::move(*inputs)};
  Result<std::vector<std::string>> first = runs.once(), second = runs.once(), third = runs.once();
  for (auto *one : {&first, &second, &third})
    if (!*one)
      return one->error();
  if (*first != *second || *first != *third)
    return unequal("a replay");
  std::optional<runtime::TraceRecord> record = (*made)->trace();
  if (!record)
    return Error{ErrorCode::Internal, "nothing was recorded"};
  return runtime::TraceFile{std::move(*record), kSeed, std::move(*first), (*made)->serialize()};
}

int runReplayTrace(const char *text) {
  Result<llvm::json::Object> request = workerRequest(text);
  if (!request)
    return reportError(kVerb, request.message(), kExitUsage);
  std::string path = request->getString("file").value_or("").str();
  int64_t times = request->getInteger("times").value_or(1);
  Result<FileContents> contents = readInput(path);
  if (!contents)
    return reportError(kVerb, contents.message(), kExitUsage);
  Result<runtime::TraceFile> file = runtime::parseTraceFile(contents->bytes());
  if (!file)
    return reportError(kVerb, path + ": " + file.message(), kExitUsage);
  auto region = std::make_shared<runtime::TraceRegion>(
      std::max(file->record.commandBytes * 2, runtime::TraceRegion::kDefaultBytes));
  auto loaded = compiler::deserialize(file->executable, region);
  if (!loaded)
    return reportError(kVerb, path + ": " + loaded.message(), kExitFailure);
  Result<Tensors> inputs = inputsFor((*loaded)->info(), file->seed);
  if (!inputs)
    return reportError(kVerb, path + ": " + inputs.message(), kExitFailure);
  Runs runs{**loaded, std::move(*inputs)};
  Result<std::vector<std::string>> first = runs.once();
  if (!first)
    return reportError(kVerb, path + ": " + first.message(), kExitFailure);
  std::vector<double> seconds;
  for (int64_t i = 0; i < times; ++i) {
    Result<std::vector<std::string>> next = runs.once();
    if (next && *next != *first)
      next = unequal("a replay");
    if (!next)
      return reportError(kVerb, path + ": " + next.message(), kExitFailure);
    seconds.push_back(runs.seconds);
  }
  runtime::TraceCounts counts = (*loaded)->traceCounts();
  std::ranges::sort(seconds);
  llvm::outs() << "Replayed " << counts.replayed << " times, recorded " << counts.recorded
               << " times; a replay takes " << llvm::format("%.1f", seconds[seconds.size() / 2] * 1e6)
               << " us (median). Results are the bits of a run without a trace";
  std::optional<runtime::TraceRecord> record = (*loaded)->trace();
  bool isSame = record && record->commands.size() == file->record.commands.size();
  if (*first == file->results && isSame) {
    llvm::outs() << " and of the file.\n";
    return kExitSuccess;
  }
  llvm::outs() << ".\n";
  llvm::outs().flush();
  auto saved = (*loaded)->info().notes.find("processor");
  return reportError(kVerb,
                     path + (isSame ? ": results are other bits than the file says"
                                    : ": other commands are recorded now than the file says") +
                         (saved == (*loaded)->info().notes.end() ? "" : " (" + saved->second + ")"),
                     kExitFailure);
}

} // namespace cupel::cli
