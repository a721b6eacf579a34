#include "cupel/cli/Eval.h"

#include "cupel/cli/EvalDevice.h"
#include "cupel/cli/EvalProgram.h"
#include "cupel/ir/Dialects.h"
#include "cupel/support/Files.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <unistd.h>

namespace cupel::cli {
namespace {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using testbench::worker::Progress;
using testbench::worker::Request;

class Evaluations {
public:
  explicit Evaluations(EvalSettings given) : settings(std::move(given)) {
    ir::registerAllDialects(registry);
    if (settings.usesDevice())
      device = std::make_unique<DeviceEvaluator>(settings);
  }

  TestRecord operator()(const Request &request, Progress &progress) {
    TestRecord record;
    // Files are named from where the user is.
    if (chdir(request.folder.c_str()) != 0 && request.kind == Request::Kind::Test)
      return failed(record, "internal", "the folder " + request.folder + " cannot be entered");
    if (request.kind == Request::Kind::Health) {
      Status opened = device ? device->open() : Status();
      record.outcome = Outcome::Passed;
      return opened ? record
                    : failed(record, testbench::worker::kNoDevice, opened.message());
    }
    const std::string &file = request.item.file;
    std::string name = displayName(file == settings.standardInput ? "-" : file);
    std::string output;
    Status status = evaluate(file, name, request.item.part, progress, output);
    std::fwrite(output.data(), 1, output.size(), stdout);
    std::fflush(stdout);
    record.outcome = Outcome::Passed;
    if (status)
      return record;
    // Locations may name other files than the program: the source it was made from.
    bool isNamed = status.message().starts_with(name);
    return failed(record, cupel::name(status.error().code),
                  isNamed ? status.message() : name + ": " + status.message());
  }

private:
  Status evaluate(const std::string &file, const std::string &name, uint32_t part,
                  Progress &progress, std::string &output) {
    Result<std::string> bytes = reader.load(file, part, name);
    if (!bytes)
      return bytes.error();
    progress.enter(Stage::Frontend);
    if (device)
      return device->evaluate(*bytes, file, part, progress, output);
    // Constants stay in a context for good: a new one before they come to much.
    if (!evaluator || (seen += bytes->size()) > kContextBytes) {
      evaluator = std::make_unique<ProgramEvaluator>(settings, registry);
      seen = bytes->size();
    }
    return evaluator->evaluate({*bytes, name}, part, progress, output);
  }

  static TestRecord failed(TestRecord &record, std::string_view errorClass, std::string message) {
    record.outcome = Outcome::Failed;
    record.errorClass = errorClass;
    record.message = std::move(message);
    return record;
  }

  static constexpr size_t kContextBytes = size_t(64) << 20;
  EvalSettings settings;
  mlir::DialectRegistry registry;
  testbench::worker::ProgramReader reader;
  std::unique_ptr<ProgramEvaluator> evaluator;
  std::unique_ptr<DeviceEvaluator> device;
  size_t seen = 0;
};

} // namespace

int serveEval(const std::vector<std::string> &arguments) {
  auto json = nlohmann::json::parse(arguments.front(), nullptr, /*allow_exceptions=*/false);
  auto options = testbench::worker::ServeOptions::parse({arguments.begin() + 1, arguments.end()});
  if (!json.is_object() || !options)
    return reportError("", options ? "cupel eval asks in another way" : options.message(),
                       kExitUsage);
  options->name = "cupel-worker eval";
  Evaluations evaluations(json.get<EvalSettings>());
  return serve(*options, std::ref(evaluations));
}

} // namespace cupel::cli
