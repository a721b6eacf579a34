#include "cupel/testbench/worker/RemoteDevice.h"

#include "cupel/pjrt/host/PluginErrors.h"
#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/support/CommandWords.h"
#include "cupel/runtime/DeviceName.h"
#include "cupel/support/Files.h"
#include "cupel/support/Process.h"
#include "cupel/support/TemporaryFolder.h"
#include "cupel/testbench/worker/DeviceProgram.h"
#include "cupel/testbench/worker/PipeProcess.h"
#include "cupel/testbench/worker/PjrtDevice.h"
#include "cupel/workload/Folder.h"
#include "cupel/workload/Tensors.h"

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

namespace cupel::testbench::worker {

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr double kLongSeconds = 24 * 3600;

/// The one connection; executables share it.
class Connection {
public:
  explicit Connection(std::vector<std::string> command) : command(std::move(command)) {}

  struct Reply {
    ordered_json answer;
    std::map<std::string, std::string> files;
  };

  /// Sends a request with files and waits. Starts the other side where it is not running.
  Result<Reply> ask(ordered_json request, const fs::path &folder, double timeout) {
    if (!process.isRunning()) {
      if (Status started = process.start(command, /*listens=*/true); !started)
        return started.error();
      hasAnswered = false;
      greetings = 0;
      banner.clear();
    }
    Result<Reply> reply = exchange(std::move(request), folder, timeout);
    if (reply)
      return reply;
    std::string message = reply.message() + process.lastWords();
    if (!hasAnswered) {
      std::istringstream unread(process.takeUnread());
      for (std::string line; std::getline(unread, line);)
        greet(line);
      if (!banner.empty())
        message += "; instead of answers came '" + banner + "'";
    }
    Error error{message};
    process.stop(); // What is in the pipe cannot be followed any more.
    return error;
  }

private:
  Result<Reply> exchange(ordered_json request, const fs::path &folder, double timeout) {
    // The other side keeps the limit itself; this is for a connection that is lost.
    pjrt::Deadline deadline = pjrt::deadlineIn(timeout + 60);
    std::vector<FileContents> contents;
    request["timeout"] = timeout;
    std::error_code error;
    if (!folder.empty()) {
      request["files"] = ordered_json::object();
      for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
        Result<FileContents> file = readInput(entry.path().string());
        if (!file)
          return file.error();
        request["files"][entry.path().filename().string()] = file->bytes().size();
        contents.push_back(std::move(*file));
      }
    }
    std::string line = request.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    if (Status sent = process.write(line, deadline); !sent)
      return sent.error();
    for (const FileContents &file : contents)
      if (Status sent = process.write(file.bytes(), deadline); !sent)
        return sent.error();
    while (true) {
      Result<std::string> text = process.readLine(deadline);
      if (!text)
        return text.error();
      ordered_json json =
          ordered_json::parse(hasAnswered ? *text : behindBanner(*text), nullptr, false);
      if (!json.is_object()) {
        // Login scripts greet before cupel-device begins.
        if (hasAnswered || ++greetings > kMostGreetings)
          return Error{"it answered '" + text->substr(0, 200) + "', which is not JSON"};
        greet(*text);
        continue;
      }
      hasAnswered = true;
      banner.clear();
      if (!json.contains("done"))
        continue; // A stage.
      Reply reply;
      if (json.contains("files") && json["files"].is_object())
        for (const auto &[name, size] : json["files"].items()) {
          if (!size.is_number_unsigned() || size.get<uint64_t>() > kMaxInputBytes)
            return Error{"it announces a file of " + size.dump() + " bytes"};
          Result<std::string> bytes = process.readBytes(size.get<uint64_t>(), deadline);
          if (!bytes)
            return bytes.error();
          reply.files[name] = std::move(*bytes);
        }
      reply.answer = std::move(json["done"]);
      return reply;
    }
  }

  void greet(const std::string &line) {
    if (banner.size() < 200 && line.find_first_not_of(" \t\r") != std::string::npos)
      banner += (banner.empty() ? "" : " | ") + line.substr(0, 200);
  }

  /// An answer in a line that a greeting without an end begins.
  static std::string behindBanner(const std::string &line) {
    for (std::string_view begin : {"{\"stage\":", "{\"done\":"})
      if (size_t at = line.find(begin); at != std::string::npos)
        return line.substr(at);
    return line;
  }

  static constexpr int kMostGreetings = 1000;
  std::vector<std::string> command;
  PipeProcess process;
  bool hasAnswered = false;
  int greetings = 0;
  std::string banner; // What came before the first answer.
};

std::string textOf(const ordered_json &json, const char *key) {
  if (!json.is_object())
    return "";
  auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Error errorIn(const ordered_json &answer) {
  std::string outcome = textOf(answer, "outcome"), stage = textOf(answer, "last_stage");
  ordered_json failure =
      answer.is_object() && answer.contains("failure") ? answer["failure"] : ordered_json::object();
  std::string kind = textOf(failure, "class"), message = textOf(failure, "message");
  Error error{stage == "compile" ? ErrorCode::InvalidProgram : ErrorCode::RuntimeError,
                    message.empty() ? outcome : message};
  if (outcome == "crashed" || outcome == "exited" || stage == "load" || stage == "client" ||
      stage == "initialize")
    error.code = ErrorCode::DeviceLost;
  else if (outcome == "timed out")
    error.code = ErrorCode::TimedOut;
  else if (outcome == "out of memory" || kind == "resource_exhausted")
    error.code = ErrorCode::OutOfMemory;
  else if (kind == "unimplemented" || kind == "function_missing")
    error.code = ErrorCode::Unsupported;
  else if (kind == "invalid_argument" && stage != "compile")
    error.code = ErrorCode::InvalidArgument;
  return error;
}

RemoteFailure failureIn(const ordered_json &answer) {
  std::string stage = textOf(answer, "last_stage");
  // Of an error that the plugin returned, the stages that were done are listed, and the one that
  // failed comes last.
  if (stage.empty() && answer.contains("stages") && answer["stages"].is_array() &&
      !answer["stages"].empty())
    stage = textOf(answer["stages"].back(), "name");
  return {textOf(answer, "outcome"), stage,
          answer.contains("failure") ? textOf(answer["failure"], "class") : ""};
}

/// What our own plugin says of an executable.
std::map<std::string, std::string> notesIn(const ordered_json &answer) {
  std::map<std::string, std::string> all;
  if (auto notes = answer.find("executable_notes"); notes != answer.end() && notes->is_object())
    for (const auto &[key, value] : notes->items())
      if (value.is_string())
        all[key] = value.get<std::string>();
  return all;
}

class RemoteDevice : public PluginDevice {
public:
  const std::shared_ptr<Connection> &line() const { return connection; }
  std::vector<workload::ProgramVersion> programVersions() const { return versions(); }

  RemoteDevice(std::string name, std::shared_ptr<Connection> connection,
               std::optional<workload::ProgramVersion> version)
      : label(std::move(name)), connection(std::move(connection)), version(version) {}

  std::string name() const override { return label; }
  SharedWork sharedWork() const override { return sharedWorkOf(last->notes); }
  std::map<std::string, std::string> recordNotes() const override { return notesForRecords(last->notes); }
  const std::optional<RemoteFailure> &failure() const { return last->failure; }
  const std::map<std::string, std::string> &notes() const { return last->notes; }

  /// What the other side's compiler thinks of it is known when it runs: the program travels with
  /// its inputs. What is expected stays here, where it is judged.
  Result<RunWorkload> load(const workload::Workload &workload, const Program &program,
                           const Budget &) override {
    workload::Workload sent;
    sent.name = workload.name.empty() ? program.name : workload.name;
    sent.programs = workload.programs;
    sent.options = workload.options;
    sent.hasDeviceIds = workload.hasDeviceIds;
    return RunWorkload([connection = connection, last = last, sent = std::move(sent)](
                           const TensorLists &inputs, const Budget &budget) mutable {
      sent.inputs = inputs;
      return run(*connection, sent, budget, *last);
    });
  }

private:
  /// How the execution before went.
  struct Last {
    std::optional<RemoteFailure> failure;
    std::map<std::string, std::string> notes;
  };

  static Result<TensorLists> run(Connection &connection, const workload::Workload &workload,
                                 const Budget &budget, Last &last) {
    last = {RemoteFailure{"lost", "", ""}, {}};
    TemporaryFolder folder("cupel-remote");
    if (folder.path.empty())
      return Error{ErrorCode::Internal, "no temporary folder can be made"};
    if (Status written = workload::writeWorkload(folder.path.string(), workload); !written)
      return written.error().as(ErrorCode::Internal);
    double left = budget.secondsLeft();
    Result<Connection::Reply> reply =
        connection.ask({{"do", "run"}}, folder.path, left > 0 ? left : kLongSeconds);
    if (!reply)
      return reply.error().as(ErrorCode::DeviceLost);
    std::string outcome = textOf(reply->answer, "outcome");
    if (outcome != "passed" && outcome != "ran") {
      last.failure = failureIn(reply->answer);
      return errorIn(reply->answer);
    }
    last.failure.reset();
    last.notes = notesIn(reply->answer);
    std::string path = (folder.path / "results.safetensors").string();
    if (Status written = writeOutput(path, reply->files["results.safetensors"]); !written)
      return written.error().as(ErrorCode::Internal);
    Result<TensorLists> lists = workload::readTensors(path);
    if (!lists)
      return lists.error().as(ErrorCode::RuntimeError);
    return lists;
  }

  std::vector<workload::ProgramVersion> versions() const override { return versionsFor(version); }

  std::string label;
  std::shared_ptr<Connection> connection;
  std::optional<workload::ProgramVersion> version;
  std::shared_ptr<Last> last = std::make_shared<Last>();
};

/// Where the plugin with its options ends and the launcher begins.
size_t launcherAt(const std::string &name) {
  size_t at = name.find('@', name.find(".so"));
  return at == std::string::npos || at + 1 == name.size() ? std::string::npos : at;
}

} // namespace

bool namesRemoteDevice(const std::string &name) {
  return name.find(".so") != std::string::npos && launcherAt(name) != std::string::npos;
}

std::string isolatedName(const std::string &name) {
  runtime::DeviceName device = runtime::DeviceName::parse(name);
  if (namesRemoteDevice(name) || !device.isPlugin())
    return name;
  addOwnDefaults(device);
  return device.str() + "@" + quotedForShell(executableFolder() + "/cupel-device");
}

std::map<std::string, std::string> lastNotes(const Device &device) {
  auto *remote = dynamic_cast<const RemoteDevice *>(&device);
  return remote ? remote->notes() : std::map<std::string, std::string>();
}

std::optional<RemoteFailure> lastFailure(const Device &device) {
  auto *remote = dynamic_cast<const RemoteDevice *>(&device);
  return remote ? remote->failure() : std::nullopt;
}

Result<std::unique_ptr<Device>> openRemoteDevice(const std::string &name) {
  ::signal(SIGPIPE, SIG_IGN); // A connection that is lost is an error, not the end.
  size_t at = launcherAt(name);
  Result<std::vector<std::string>> words = commandWords(name.substr(at + 1));
  if (!words)
    return Error{"device '" + name + "': " + words.message()};
  std::vector<std::string> command = std::move(*words);
  if (command.empty())
    return Error{"device '" + name + "': no command stands behind the @"};
  // ssh hands the words to a shell on the other side; other launchers take them as they are.
  bool toShell = fs::path(command.front()).filename() == "ssh";
  auto add = [&](const std::string &word) {
    command.push_back(toShell ? quotedForShell(word) : word);
  };
  if (fs::path(command.back()).filename() != "cupel-device")
    command.push_back("cupel-device");
  std::string plugin = name.substr(0, at), options;
  if (size_t question = plugin.find('?'); question != std::string::npos) {
    options = plugin.substr(question + 1);
    plugin.resize(question);
  }
  command.push_back("serve");
  add(plugin);
  std::istringstream stream(options);
  for (std::string option; std::getline(stream, option, '&');) {
    command.push_back("--option");
    add(option);
  }

  auto connection = std::make_shared<Connection>(std::move(command));
  Result<Connection::Reply> reply = connection->ask({{"do", "info"}}, {}, 120);
  if (!reply)
    return Error{"device '" + name + "': " + reply.message()};
  const ordered_json &answer = reply->answer;
  if (!answer.is_object() || !answer.contains("client"))
    return Error{"device '" + name + "': " + errorIn(answer).message};
  std::optional<workload::ProgramVersion> version;
  static const ordered_json::json_pointer kVersion("/plugin/attributes/stablehlo_current_version");
  if (answer.contains(kVersion)) {
    const ordered_json &list = answer.at(kVersion);
    if (list.is_array() && list.size() == 3 && list[0].is_number_integer() &&
        list[1].is_number_integer() && list[2].is_number_integer())
      version = {list[0].get<int64_t>(), list[1].get<int64_t>(), list[2].get<int64_t>()};
  }
  return std::unique_ptr<Device>(
      std::make_unique<RemoteDevice>(name, std::move(connection), version));
}

//===----------------------------------------------------------------------===//
// One program at a time, whatever it does
//===----------------------------------------------------------------------===//

namespace {

class IsolatedPlugin : public DeviceProcess {
public:
  explicit IsolatedPlugin(const RemoteDevice &device)
      : connection(device.line()), known(device.programVersions()) {}

  std::vector<workload::ProgramVersion> versions() const override { return known; }

  Attempt attempt(const workload::Workload &workload, double seconds,
                  bool compilesOnly) override {
    TemporaryFolder folder("cupel-attempt");
    if (folder.path.empty())
      return lost("failed", "no temporary folder can be made");
    if (Status written = workload::writeWorkload(folder.path.string(), workload); !written)
      return lost("failed", written.message());
    Result<Connection::Reply> reply = connection->ask(
        {{"do", "run"}, {"compile_only", compilesOnly}}, folder.path, seconds);
    if (!reply)
      return lost("crashed", reply.message());
    const ordered_json &answer = reply->answer;
    Attempt attempt;
    attempt.outcome = textOf(answer, "outcome");
    if (answer.contains("stages") && answer["stages"].is_array())
      for (const ordered_json &stage : answer["stages"]) {
        attempt.stage = textOf(stage, "name");
        double seconds = stage.value("seconds", 0.0);
        attempt.compileSeconds += attempt.stage == "compile" ? seconds : 0;
        attempt.executeSeconds += attempt.stage == "execute" ? seconds : 0;
      }
    attempt.notes = notesIn(answer);
    // Of a process that was lost, which has listed nothing.
    if (std::string stage = textOf(answer, "last_stage"); !stage.empty())
      attempt.stage = stage;
    if (!attempt.isDone()) {
      Error error = errorIn(answer);
      attempt.kind = std::string(name(error.code));
      attempt.message = error.message;
      return attempt;
    }
    if (compilesOnly)
      return attempt;
    std::string path = (folder.path / "results.safetensors").string();
    Status written = writeOutput(path, reply->files["results.safetensors"]);
    Result<TensorLists> lists = written ? workload::readTensors(path) : written.error();
    if (!lists)
      return lost("failed", lists.message());
    attempt.results = std::move(*lists);
    return attempt;
  }

private:
  static Attempt lost(const char *outcome, std::string message) {
    Attempt attempt;
    attempt.outcome = outcome;
    attempt.message = std::move(message);
    return attempt;
  }

  std::shared_ptr<Connection> connection;
  std::vector<workload::ProgramVersion> known;
};

} // namespace

bool Attempt::hasCompiled() const {
  return isDone() || stage == "transfer" || stage == "execute" || stage == "read back" ||
         stage == "write" || stage == "compare";
}

Result<std::unique_ptr<DeviceProcess>> openDeviceProcess(const std::string &name) {
  Result<std::unique_ptr<Device>> device =
      openRemoteDevice(isolatedName(runtime::withoutPrecision(name)));
  if (!device)
    return device.error();
  return std::unique_ptr<DeviceProcess>(
      std::make_unique<IsolatedPlugin>(static_cast<const RemoteDevice &>(**device)));
}

} // namespace cupel::testbench::worker
