#include "cupel/cli/BenchPrepare.h"

#include "cupel/compiler/analysis/Cost.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/frontends/ModelImport.h"
#include "cupel/kernels/Product.h"
#include "cupel/support/Files.h"
#include "cupel/testbench/worker/Programs.h"
#include "cupel/workload/Folder.h"

#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {

using namespace testbench::worker;
using nlohmann::json;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

namespace {

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void answer(const json &line) {
  llvm::outs() << line.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
  llvm::outs().flush();
}

/// What a file is, by its name; nothing for what nobody can run.
std::optional<std::string> formOf(const std::string &file) {
  std::error_code error;
  if (fs::is_directory(file, error))
    return workload::isWorkloadFolder(file) ? std::optional<std::string>("workload") : std::nullopt;
  if (const frontends::ModelFormat *format = frontends::modelFormatOf(file))
    return std::string(format->ending.substr(1));
  return "mlir";
}

double bytesOf(const std::vector<tensor::Tensor> &tensors, size_t begin, size_t end) {
  double bytes = 0;
  for (size_t i = begin; i < std::min(end, tensors.size()); ++i)
    bytes += static_cast<double>(tensors[i].byteSize());
  return bytes;
}

/// Whether an element has fewer bits than f32, so that roundings show.
bool isNarrow(const tensor::Tensor &tensor) {
  return tensor::isFloat(tensor.dtype()) && tensor::info(tensor.dtype()).bits < 32;
}

Result<json> prepare(const json &request) {
  const std::string file = request.value("file", "");
  std::error_code error;
  if (!fs::exists(file, error))
    return Error{"there is no such file"};
  std::optional<std::string> form = formOf(file);
  if (!form)
    return Error{"is a folder without a workload in it (program.mlirbc, inputs.safetensors)"};

  Request wanted;
  wanted.item.suite = *form == "mlir" ? "programs" : *form == "workload" ? "workloads" : *form;
  wanted.item.id = wanted.item.file = file;
  wanted.device = "reference";
  wanted.seed = request.value("seed", uint64_t{0});
  wanted.shapes = request.value("shapes", std::vector<std::string>());
  wanted.threads = request.value("threads", 0u);
  Trials trials;
  ProgramTest frontend(trials);
  results::TestRecord record;
  Progress progress(::open("/dev/null", O_WRONLY | O_CLOEXEC), /*number=*/0); // Nobody follows.
  Clock::time_point start = Clock::now();
  std::optional<Prepared> prepared = frontend.prepare(wanted, progress, record);
  double importSeconds = since(start);
  if (!prepared)
    return Error{record.message};
  if (!record.shapesNotTaken.empty())
    return Error{"--shape: " + record.shapesNotTaken};

  const Program &program = prepared->program();
  auto module = mlir::cast<mlir::ModuleOp>(program.module);
  json facts = {{"form", *form}, {"import_seconds", importSeconds}};
  if (mlir::func::FuncOp entry = compiler::entryOf(module)) {
    runtime::CostEstimate cost = compiler::estimateCost(entry);
    facts["flops"] = cost.flops;
    facts["transcendentals"] = cost.transcendentals;
  }
  const std::vector<tensor::Tensor> &inputs = prepared->workload.inputs.front();
  size_t own = std::min(prepared->ownInputs, inputs.size());
  facts["arguments"] = inputs.size();
  facts["inputs"] = own;
  facts["input_names"] = json::array();
  for (size_t i = 0; i < std::min(own, program.arguments.size()); ++i)
    facts["input_names"].push_back(program.arguments[i].name);
  facts["input_shapes"] = json::array();
  for (size_t i = 0; i < own; ++i)
    facts["input_shapes"].push_back(std::vector<int64_t>(inputs[i].shape().begin(), inputs[i].shape().end()));
  facts["input_bytes"] = bytesOf(inputs, 0, own);
  facts["weight_bytes"] = bytesOf(inputs, own, inputs.size());

  // What is expected: the reference's word alone, so that all are held against the same.
  bool checks = request.value("check", true) && !program.selfChecking;
  double resultBytes = 0;
  bool narrow = false;
  for (const ValueType &result : program.results) {
    int64_t count = 1;
    for (int64_t size : result.shape)
      count *= std::max<int64_t>(size, 0);
    if (result.isTensor)
      resultBytes += static_cast<double>(count * tensor::info(result.element.storage).bytes);
  }
  if (checks) {
    Result<std::unique_ptr<Device>> reference = openDevice("reference");
    if (!reference)
      return reference.error();
    Result<RunWorkload> run = makeReady(**reference, *prepared);
    if (!run)
      return run.error();
    Result<TensorLists> expected = (*run)(prepared->workload.inputs, prepared->budget);
    if (!expected)
      return expected.error().within("the golden reference");
    for (const tensor::Tensor &result : expected->front())
      narrow |= isNarrow(result);
    prepared->workload.expected = std::move(*expected);
    prepared->workload.expectsFirst = false;
  } else {
    prepared->workload.expected.clear();
  }
  prepared->workload.noise.clear();
  facts["expected"] = checks;
  facts["narrow"] = narrow;
  facts["result_bytes"] = resultBytes;
  if (Status saved = workload::writeWorkload(request.value("folder", ""), portableForm(*prepared));
      !saved)
    return saved.error();
  return facts;
}

} // namespace

int runBenchPrepare(const char *text) {
  json request = json::parse(text, nullptr, false);
  Result<json> facts = request.is_object() ? prepare(request) : Error{"the request is no JSON"};
  answer(facts ? *facts : json{{"failure", facts.message()}});
  return facts ? kExitSuccess : kExitFailure;
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

namespace {

/// The best of some runs within a tenth of a second: what else the machine does only adds.
template <typename F> double bestSeconds(F &&run) {
  double best = 1e9;
  for (Clock::time_point start = Clock::now(); since(start) < 0.1;) {
    Clock::time_point begin = Clock::now();
    run();
    best = std::min(best, since(begin));
  }
  return best;
}

struct LimitsBench {
  static constexpr int64_t kSide = 1024;
  static constexpr size_t kBytes = size_t{64} << 20, kChunk = size_t{1} << 20;

  explicit LimitsBench(int threads)
      : pool(threads), a(kSide * kSide, 0.5f), c(kSide * kSide), from(kBytes, 1), to(kBytes),
        b(kernels::packMatrix({a.data(), kSide}, kSide, kSide, pool)) {}

  double flopsPerSecond() {
    double seconds = bestSeconds(
        [&] { kernels::multiply(kSide, {a.data(), kSide}, b, c.data(), kSide, {}, pool); });
    return 2.0 * kSide * kSide * kSide / seconds;
  }
  double bytesPerSecond() {
    double seconds = bestSeconds([&] {
      pool.parallelFor(kBytes / kChunk, 50000, [&](int64_t i) {
        std::memcpy(to.data() + size_t(i) * kChunk, from.data() + size_t(i) * kChunk, kChunk);
      });
    });
    return 2.0 * kBytes / seconds;
  }

  kernels::Pool pool;
  std::vector<float> a, c;
  std::vector<char> from, to;
  kernels::PackedMatrix b;
};

} // namespace

compiler::MachineRates measureMachine(int threads) {
  LimitsBench bench(threads);
  return {bench.flopsPerSecond(), bench.bytesPerSecond()};
}

int runBenchLimits(const char *threads) {
  LimitsBench bench(std::atoi(threads));
  for (std::string line; std::getline(std::cin, line);) {
    double flops = bench.flopsPerSecond();
    answer({{"flops_per_second", flops}, {"bytes_per_second", bench.bytesPerSecond()}});
  }
  return kExitSuccess;
}

} // namespace cupel::cli
