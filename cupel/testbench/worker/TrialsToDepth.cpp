// Trials that end elsewhere than in a verdict on the whole: behind the frontends, behind the device's
// compiler, or op by op. What was not judged is left unjudged, whatever depth it reached.

#include "cupel/testbench/worker/DeviceProgram.h"
#include "cupel/testbench/worker/Rule.h"
#include "cupel/testbench/worker/Trials.h"

#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/runtime/DeviceName.h"
#include "cupel/support/Files.h"
#include "cupel/support/TemporaryFolder.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cupel::testbench::worker {

namespace fs = std::filesystem;
using results::OpRecord;
using results::OpStatus;
using results::OpTable;
using results::Outcome;
using results::Stage;
using results::TestRecord;
using tensor::Tensor;

using Clock = std::chrono::steady_clock;

namespace {

/// So many operations are named where a test failed.
constexpr size_t kNamedOps = 3;
/// With less than this left of a test's time no operation is begun.
constexpr double kLeastSeconds = 1;

bool isReference(const std::string &device) {
  return device.empty() || runtime::withoutPrecision(device) == "reference";
}

/// Whether it is our own plugin on this machine, which takes compile options that we know.
bool isOurs(const std::string &device) {
  return !namesRemoteDevice(device) &&
         runtime::DeviceName::parse(runtime::withoutPrecision(device)).plugin == "cupel";
}

/// What the stages of one compilation left below a folder: the newest text of a stage whose name has
/// this word.
std::string stageBelow(const fs::path &folder, std::string_view word) {
  std::string found, text;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".mlir"))
      continue;
    name.resize(name.size() - 5);
    bool hasWord = false;
    for (size_t at = 0; at <= name.size();) {
      size_t end = std::min(name.find_first_of("-._", at), name.size());
      hasWord |= std::string_view(name).substr(at, end - at) == word;
      at = end + 1;
    }
    if (!hasWord || entry.path().string() < found)
      continue;
    found = entry.path().string();
    if (Result<FileContents> file = readInput(found))
      text = std::string(file->bytes());
  }
  return text;
}

std::string lineOf(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text.substr(0, 400);
}

/// "stablehlo.tanh (4x8xf32): crashed: ...".
std::string describeOp(const OpRecord &op) {
  std::vector<std::string> types;
  for (const results::OpTensor &input : op.inputs)
    types.push_back(input.shape.empty() ? input.type : input.shapeText() + "x" + input.type);
  std::string name = op.frameworkName.empty() ? op.name : op.frameworkName;
  std::string why = op.passed == false ? "wrong: " + op.sentence
                    : op.error.empty() ? std::string(results::name(op.status))
                                       : op.failure + ": " + op.error;
  return fmt::format("{} ({}): {}", name, fmt::join(types, ", "), lineOf(why));
}

/// "not judged: the reference's kernel computed both sides": each reason of an operation that ran.
std::string whyNotJudged(const OpTable &table) {
  std::vector<std::string> reasons;
  for (const OpRecord &op : table.ops) {
    std::string reason = op.remark.empty() ? "nobody knows what it should give" : op.remark;
    constexpr std::string_view kPrefix = "not judged: ";
    if (reason.starts_with(kPrefix))
      reason.erase(0, kPrefix.size());
    if (!op.passed && std::ranges::find(reasons, reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  return fmt::format("not judged: {}", fmt::join(reasons, "; "));
}

/// What is said of a table in the record of its test.
void describe(const OpByOp &ops, TestRecord &record) {
  const OpTable &table = ops.table();
  std::array<size_t, results::kOpStatusCount> counts = {};
  for (const OpRecord &op : table.ops)
    ++counts[size_t(op.status)];
  std::vector<std::string> parts;
  for (size_t i = counts.size(); i-- > 0;)
    if (counts[i])
      parts.push_back(fmt::format("{} {}", counts[i], results::name(OpStatus(i))));
  record.notes["operations"] = fmt::format("{} unique of {}: {}", table.ops.size(), table.total(),
                                           fmt::join(parts, ", "));
  record.notes["op table"] = ops.path();
}

} // namespace

void Trials::runToDepth(const Request &request, Progress &progress, Prepared &prepared,
                        TestRecord &record) {
  record.notes["depth"] = request.depth;
  if (request.depth == "stablehlo")
    return leaveUnjudged(record, "taken to StableHLO, and not compiled (--depth stablehlo)");
  if (request.isOpByOp())
    return runOpByOp(request, progress, prepared, record);
  if (request.depth != "device-ir")
    return fail(record, name(ErrorCode::InvalidArgument),
                "there is no depth '" + request.depth + "'");
  progress.enter(Stage::Compile);
  if (namesRemoteDevice(request.device)) {
    // What a device elsewhere thinks of a program is known when it gets it.
    Result<DeviceProcess *> device = deviceProcess(request.device);
    Result<DeviceProgram> program =
        device ? prepareForDevice(prepared.program(), (*device)->versions()) : device.error();
    if (!program)
      return fail(record, program.error());
    Attempt attempt =
        (*device)->attempt(program->workload, std::max(1.0, prepared.budget.secondsLeft()), true);
    if (!attempt.isDone())
      return fail(record, attempt.kind, attempt.message);
  } else {
    Result<Device *> device = this->device(request.device);
    if (!device)
      return fail(record, name(ErrorCode::DeviceLost), device.message());
    if (Result<RunWorkload> compiled = makeReady(**device, prepared); !compiled)
      return fail(record, compiled.error());
  }
  leaveUnjudged(record, "compiled for the device, and not run (--depth device-ir)");
}

//===----------------------------------------------------------------------===//
// Op by op
//===----------------------------------------------------------------------===//

Result<DeviceProcess *> Trials::deviceProcess(const std::string &name) {
  std::unique_ptr<DeviceProcess> &open = processes[name];
  if (!open) {
    Result<std::unique_ptr<DeviceProcess>> opened = openDeviceProcess(name);
    if (!opened)
      return opened.error().as(ErrorCode::DeviceLost);
    open = std::move(*opened);
  }
  return open.get();
}

OpByOp &Trials::opsOf(const Request &request) {
  if (!ops || opsNumber != request.number) {
    OpTable table;
    table.model = request.item.id;
    table.group = request.item.group.empty() ? "generality" : request.item.group;
    table.backend = request.opByOpBackend.empty() ? "stablehlo" : request.opByOpBackend;
    table.device = request.device.empty() ? "reference" : request.device;
    table.depth = request.depth;
    const std::string &folder = request.opTables;
    ops = std::make_unique<OpByOp>(
        std::move(table), folder.empty() ? "" : folder + "/" + results::opTableFile(request.item.id),
        folder.empty() ? "" : folder + "/.done");
    opsNumber = request.number;
  }
  return *ops;
}

void Trials::judgeOp(const Request &request, Prepared &piece, const std::vector<Tensor> &outputs,
                     OpRecord &op) {
  if (piece.workload.expected.empty())
    return;
  const std::vector<Tensor> &expected = piece.workload.expected.front();
  auto wrong = [&](std::string sentence) {
    if (op.passed != false)
      op.sentence = std::move(sentence);
    op.passed = false;
  };
  // Devices that hold different copies of results give them twice.
  const bool differ = piece.program().spreadOver > 1 && outputs.size() == 2 * expected.size();
  if (outputs.size() != expected.size() && !differ)
    return wrong(fmt::format("there are {} results, and {} are expected", outputs.size(),
                             expected.size()));
  piece.workload.provenance.expectation = kReferencesWord;
  Result<TestNoise> noise = noiseOf(request, piece, nullptr);
  if (!noise) {
    op.remark = "not judged: " + noise.message();
    return;
  }
  op.passed = true;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const size_t i = k % expected.size();
    if (outputs[k].dtype() != expected[i].dtype()) {
      wrong(fmt::format("result {} is {}, and {} is expected", i,
                        tensor::describe(outputs[k].elementType(), outputs[k].shape()),
                        tensor::describe(expected[i].elementType(), expected[i].shape())));
      continue;
    }
    auto comparison =
        judgeOutput(uint32_t(i), 0, i, outputs[k], expected[i], Rule{{}, "strict"}, *noise);
    if (!comparison) {
      wrong(comparison.message());
      continue;
    }
    if (comparison->pcc && (!op.pcc || !(*comparison->pcc >= *op.pcc)))
      op.pcc = comparison->pcc;
    if (comparison->maxAbsolute && (!op.atol || !(*comparison->maxAbsolute <= *op.atol)))
      op.atol = comparison->maxAbsolute;
    if (!comparison->passed)
      wrong(comparison->sentence);
    else if (op.sentence.empty())
      op.sentence = comparison->sentence;
  }
}

void Trials::attemptOp(const Request &request, double seconds, Prepared &piece, OpRecord &op) {
  const bool compilesOnly = request.depth == "compile-op-by-op";
  auto stop = [&](std::string failure, const std::string &message) {
    op.failure = std::move(failure);
    op.error = lineOf(message);
    op.dump = message;
  };
  auto within = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(seconds));
  piece.budget.deadline = std::min(piece.budget.deadline, within);
  if (isReference(request.device)) {
    Result<Device *> device = this->device("reference");
    Clock::time_point began = Clock::now();
    Result<RunWorkload> run = device ? makeReady(**device, piece) : device.error();
    op.compileSeconds = std::chrono::duration<double>(Clock::now() - began).count();
    if (!run)
      return stop("failed", run.message());
    op.status = OpStatus::Compiled;
    if (compilesOnly)
      return;
    began = Clock::now();
    Result<TensorLists> outputs = (*run)(piece.workload.inputs, piece.budget);
    op.executeSeconds = std::chrono::duration<double>(Clock::now() - began).count();
    if (!outputs)
      return stop(outputs.error().code == ErrorCode::TimedOut ? "timed out" : "failed",
                  outputs.message());
    // Its own word is no verdict.
    op.status = OpStatus::Executed;
    return;
  }
  Result<DeviceProcess *> device = deviceProcess(request.device);
  if (!device)
    return stop("device lost", device.message());
  Result<DeviceProgram> program = prepareForDevice(piece.program(), (*device)->versions());
  if (!program)
    return stop("failed", program.message());
  Result<workload::Workload> sent = program->complete(piece.workload);
  if (!sent)
    return stop("failed", sent.message());
  sent->expected.clear(); // It is judged here.
  TemporaryFolder stages("cupel-stages");
  if (!stages.path.empty() && isOurs(request.device))
    sent->options.flags.emplace_back("export_path", stages.path.string());
  Attempt attempt = (*device)->attempt(*sent, seconds, compilesOnly);
  op.compileSeconds = attempt.compileSeconds;
  op.executeSeconds = attempt.executeSeconds;
  op.tensorGraph = stageBelow(stages.path, "tensor");
  op.deviceGraph = stageBelow(stages.path, "device");
  op.status = attempt.hasCompiled()      ? OpStatus::Compiled
              : !op.tensorGraph.empty()  ? OpStatus::ConvertedToTensorIr
                                         : OpStatus::ConvertedToStablehlo;
  if (!attempt.isDone())
    return stop(attempt.outcome, attempt.message.empty() ? attempt.outcome : attempt.message);
  if (compilesOnly)
    return;
  op.status = OpStatus::Executed;
  Result<std::vector<Tensor>> outputs =
      program->resultsFrom(attempt.results, piece.program().results);
  if (!outputs) {
    op.passed = false;
    op.sentence = outputs.message();
    return;
  }
  judgeOp(request, piece, *outputs, op);
  if (op.passed == true && sharedWorkOf(attempt.notes).isAll) {
    op.passed.reset();
    op.remark = "not judged: the reference's kernel computed both sides";
  }
}

void Trials::runOpByOp(const Request &request, Progress &progress, Prepared &prepared,
                       TestRecord &record) {
  progress.enter(Stage::Compile);
  OpByOp &ops = opsOf(request);
  Result<Device *> reference = this->device("reference");
  if (!reference)
    return fail(record, name(ErrorCode::Internal), reference.message());
  if (!isReference(request.device))
    if (Result<DeviceProcess *> device = deviceProcess(request.device); !device)
      return fail(record, device.error());
  auto secondsLeft = [&] {
    double left = prepared.budget.secondsLeft(); // 0: nobody set a limit.
    return left > 0 ? left : 1e9;
  };
  OpByOpSeams seams;
  seams.evaluate = [&](Prepared &piece) { return runOn(**reference, piece, nullptr); };
  seams.attempt = [&](Prepared &piece, OpRecord &op) {
    // A process that hangs is ended a little later than it should, and the table is to be written.
    double limit = std::max(kLeastSeconds / 2, 0.8 * secondsLeft() - kLeastSeconds);
    if (request.opTimeoutSeconds > 0)
      limit = std::min(limit, request.opTimeoutSeconds);
    attemptOp(request, limit, piece, op);
  };
  seams.hasTime = [&] { return secondsLeft() > kLeastSeconds; };
  if (Status done = ops.add(prepared, seams); !done) {
    describe(ops, record);
    return fail(record, name(done.error().code),
                "it cannot be taken apart into operations: " + done.message());
  }
  describe(ops, record);

  const OpTable &table = ops.table();
  if (size_t waiting = ops.waiting()) {
    fail(record, name(ErrorCode::TimedOut),
         fmt::format("{} of {} unique operations had no turn: no time is left for them", waiting,
                     table.ops.size()));
    record.outcome = Outcome::TimedOut;
    return;
  }
  std::vector<std::string> named;
  const OpRecord *first = nullptr;
  size_t stopping = 0, judged = 0;
  for (const OpRecord &op : table.ops) {
    judged += op.passed.has_value();
    if (!op.stops())
      continue;
    if (!first || op.status < first->status)
      first = &op;
    if (++stopping <= kNamedOps)
      named.push_back(describeOp(op));
  }
  if (first) {
    // What stops the model first is what the test is remembered for.
    if (first->status >= OpStatus::Compiled)
      progress.enter(first->status == OpStatus::Compiled ? Stage::Execute : Stage::Compare);
    fail(record, first->passed == false ? "wrong_result" : "op_by_op",
         fmt::format("{} of {} unique operations stop it: {}{}", stopping, table.ops.size(),
                     fmt::join(named, "; "),
                     stopping > kNamedOps ? fmt::format("; and {} more", stopping - kNamedOps)
                                          : ""));
    return;
  }
  if (!table.isExecuted())
    return leaveUnjudged(record, "every operation compiles, and none was run");
  progress.enter(Stage::Compare);
  bool sharesKernels = isReference(request.device);
  if (!sharesKernels && isOurs(request.device))
    if (Result<Device *> open = this->device(request.device); open)
      sharesKernels = (*open)->sharesKernels();
  if (sharesKernels)
    return leaveUnjudged(record, "every operation executes, and the reference's kernels computed "
                                 "both sides");
  if (judged < table.ops.size())
    return leaveUnjudged(record, fmt::format("every operation executes; {} of {} are {}",
                                             table.ops.size() - judged, table.ops.size(),
                                             whyNotJudged(table)));
  record.outcome = Outcome::Passed;
  record.notes["judged by"] = "the strict rule, operation by operation";
}

void Trials::serveSurvey(const Request &request, const frontends::ModelSurvey &survey,
                         TestRecord &record) {
  OpByOp &ops = opsOf(request);
  ops.add(survey);
  if (Status saved = ops.save(); !saved)
    record.notes["no op table"] = saved.message();
  record.notes["depth"] = request.depth;
  describe(ops, record);
}

} // namespace cupel::testbench::worker
