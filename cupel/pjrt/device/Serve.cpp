#include "cupel/pjrt/device/Serve.h"
#include "cupel/support/TemporaryFolder.h"

#include "cupel/support/Files.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

using namespace cupel;
using namespace cupel::device;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr size_t kLongestLine = 1 << 20;

/// Reads a line without its end; false at the end of input or where a line has no end.
bool readLine(std::string &line) {
  line.clear();
  for (int c; (c = std::getc(stdin)) != EOF;) {
    if (c == '\n')
      return true;
    if (line.size() == kLongestLine)
      return false;
    line += static_cast<char>(c);
  }
  return false;
}

void send(const ordered_json &json) {
  std::string line = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

/// Names that stay inside the folder they are put in.
bool isPlainName(const std::string &name) {
  if (name.empty() || name.size() > 100 || name.starts_with('.'))
    return false;
  for (char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_')
      return false;
  return true;
}

ordered_json refuse(const std::string &message) {
  return {
      {"done", {{"outcome", "failed"}, {"failure", {{"class", "usage"}, {"message", message}}}}}};
}

/// Takes the files of a request off the pipe. False: the pipe cannot be followed any more.
bool receiveFiles(const ordered_json &files, const fs::path &folder, std::string &problem) {
  if (!files.is_object()) {
    problem = "'files' must be an object of names and sizes";
    return false;
  }
  for (const auto &[name, size] : files.items()) {
    if (!isPlainName(name) || !size.is_number_unsigned() || size.get<uint64_t>() > kMaxInputBytes) {
      problem = fmt::format("'{}' of {} bytes is not a file that can be sent", name, size.dump());
      return false;
    }
    auto left = size.get<uint64_t>();
    std::FILE *file = std::fopen((folder / name).c_str(), "wb");
    char chunk[1 << 16];
    while (left > 0) {
      size_t got = std::fread(chunk, 1, std::min<uint64_t>(left, sizeof chunk), stdin);
      if (got == 0) {
        problem = fmt::format("input ended inside '{}'", name);
        if (file)
          std::fclose(file);
        return false;
      }
      // A full disk is noticed, but the pipe is read on so that the next request is found.
      if (file && std::fwrite(chunk, 1, got, file) != got)
        problem = fmt::format("'{}' cannot be written", name);
      left -= got;
    }
    if (!file || std::fclose(file) != 0)
      problem = fmt::format("'{}' cannot be written", name);
  }
  return true;
}

} // namespace

int cupel::device::serve(Supervisor &supervisor, double defaultTimeout) {
  std::string line;
  while (!std::ferror(stdout) && readLine(line)) { // Nobody listens any more after an error.
    if (line.empty())
      continue;
    ordered_json request = ordered_json::parse(line, nullptr, false);
    if (!request.is_object()) {
      send(refuse("a request must be a line with a JSON object"));
      return 2;
    }
    TemporaryFolder folder("cupel-device");
    if (folder.path.empty()) {
      send(refuse("no temporary folder can be made"));
      return 2;
    }
    std::string problem;
    if (request.contains("files") && !receiveFiles(request["files"], folder.path, problem)) {
      send(refuse(problem));
      return 2;
    }
    double timeout = defaultTimeout;
    if (auto found = request.find("timeout"); found != request.end() && found->is_number())
      timeout = found->get<double>();
    uint64_t repeat = 1;
    if (auto found = request.find("repeat"); found != request.end() && found->is_number_unsigned())
      repeat = found->get<uint64_t>();
    std::string what;
    if (auto found = request.find("do"); found != request.end() && found->is_string())
      what = found->get<std::string>();
    if (what != "run" && what != "info")
      problem = fmt::format("cannot do '{}' (run, info)", what);
    if (!problem.empty()) {
      send(refuse(problem));
      continue;
    }
    ordered_json forwarded = {{"do", what},
                              {"folder", folder.path.string()},
                              {"out", (folder.path / "out").string()},
                              {"timeout", timeout},
                              {"repeat", repeat},
                              {"compile_only", request.value("compile_only", ordered_json()) == true}};
    ordered_json answer = supervisor.ask(forwarded, timeout,
                                         [](std::string_view stage) { send({{"stage", stage}}); });
    ordered_json reply = {{"done", std::move(answer)}};
    fs::path results = folder.path / "out" / "results.safetensors";
    std::error_code error;
    if (!fs::exists(results, error)) {
      send(reply);
      continue;
    }
    Result<FileContents> bytes = readInput(results.string(), UINT64_MAX);
    if (!bytes) {
      send(refuse(bytes.message()));
      continue;
    }
    reply["files"] = {{"results.safetensors", bytes->bytes().size()}};
    send(reply);
    std::fwrite(bytes->bytes().data(), 1, bytes->bytes().size(), stdout);
    std::fflush(stdout);
  }
  return 0;
}
