#include "cupel/testbench/worker/PythonWorker.h"

#include "cupel/support/Process.h"
#include "cupel/testbench/worker/Protocol.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::testbench::worker {

namespace {

using Json = nlohmann::json;

/// Importing torch on a busy machine.
constexpr std::chrono::seconds kStartLimit(120);

std::string textOf(const Json &json, const char *key) {
  auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<tensor::DType> dtypeOf(const std::string &name) {
  using tensor::DType;
  static const std::pair<std::string_view, DType> kTypes[] = {
      {"float32", DType::F32},
      {"float16", DType::F16},
      {"bfloat16", DType::BF16},
      {"float64", DType::F64},
      {"int64", DType::I64},
      {"int32", DType::I32},
      {"int16", DType::I16},
      {"int8", DType::I8},
      {"uint8", DType::U8},
      {"uint16", DType::U16},
      {"uint32", DType::U32},
      {"uint64", DType::U64},
      {"bool", DType::I1},
      {"complex64", DType::C64},
      {"complex128", DType::C128},
      {"float8_e4m3fn", DType::F8E4M3FN},
      {"float8_e5m2", DType::F8E5M2},
      {"float8_e4m3fnuz", DType::F8E4M3FNUZ},
      {"float8_e5m2fnuz", DType::F8E5M2FNUZ},
  };
  for (const auto &[spelt, type] : kTypes)
    if (spelt == name)
      return type;
  return std::nullopt;
}

} // namespace

std::string findPython(const std::string &given) {
  if (!given.empty())
    return given;
  if (const char *named = std::getenv("CUPEL_PYTHON"); named && *named)
    return named;
  char here[4096];
  std::string folder = getcwd(here, sizeof here) ? here : "";
  std::vector<std::string> places;
  for (; folder.size() > 1; folder = folder.substr(0, folder.rfind('/')))
    places.push_back(folder);
  places.push_back(executableFolder() + "/../..");
  for (const std::string &place : places)
    if (std::string path = place + "/.venv/bin/python"; access(path.c_str(), X_OK) == 0)
      return path;
  return "python3";
}

std::string findPythonWorker() {
  // Of a source tree, of a wheel, of an installation.
  for (const char *place : {"/../../python/cupel", "/..", "/../share/cupel/python/cupel"}) {
    std::string path = executableFolder() + place + "/worker/__main__.py";
    if (access(path.c_str(), R_OK) == 0)
      return path;
  }
  return "";
}

PythonWorker::~PythonWorker() {
  process.stop();
  mapped.reset();
  if (memory >= 0)
    close(memory);
}

void PythonWorker::end() { process.stop(); }

Result<std::string> PythonWorker::readFrame(Deadline deadline) {
  Result<std::string> header = process.readBytes(4, deadline);
  if (!header)
    return header;
  uint32_t size = 0;
  for (int i = 3; i >= 0; --i)
    size = size << 8 | uint8_t((*header)[i]);
  if (size > kMaxFrameBytes)
    return Error{fmt::format("it sent a frame of {} bytes, which cannot be one of ours", size)};
  return process.readBytes(size, deadline);
}

bool PythonWorker::start(Deadline deadline, Failure &failure) {
  auto fail = [&](Failure::Kind kind, std::string message) {
    failure = {kind, std::move(message)};
    end();
    return false;
  };
  std::string script = findPythonWorker();
  if (script.empty())
    return fail(Failure::Kind::CannotStart,
                "python/cupel/worker is not where this build expects it");
  if (memory < 0) {
    memory = memfd_create("cupel-tensors", MFD_CLOEXEC);
    if (memory < 0)
      return fail(Failure::Kind::CannotStart,
                  std::string("no file in memory can be made: ") + std::strerror(errno));
  }
  // The other side opens the same file through /proc; nothing is left behind, whoever is killed.
  if (Status started =
          process.start({python, "-u", script, "--stdio", "--compile-backend=" + backend,
                         fmt::format("--tensors=/proc/{}/fd/{}", getpid(), memory)});
      !started)
    return fail(Failure::Kind::CannotStart,
                started.message() + " (--python or CUPEL_PYTHON names another interpreter)");
  deadline = std::min(deadline, std::chrono::steady_clock::now() + kStartLimit);
  Result<std::string> hello = readFrame(deadline);
  if (!hello)
    return fail(std::chrono::steady_clock::now() >= deadline ? Failure::Kind::TimedOut
                                                             : Failure::Kind::CannotStart,
                fmt::format("{}: the Python worker does not start: {}", python, hello.message()));
  Json json =
      Json::parse(hello->substr(std::min(hello->find('\n'), hello->size())), nullptr, false);
  if (!json.is_object() || !hello->starts_with("hello") ||
      json.value("protocol", 0) != kProtocolVersion)
    return fail(Failure::Kind::CannotStart,
                fmt::format("{}: what answers is no Python worker of this version", python));
  if (std::string package = textOf(json, "missing"); !package.empty())
    return fail(Failure::Kind::CannotStart,
                fmt::format("needs the Python package '{0}', which {1} lacks ({2}): install it "
                            "with '{1} -m pip install {0}', or name another interpreter with "
                            "--python or CUPEL_PYTHON",
                            package, python, textOf(json, "why")));
  torch = textOf(json, "torch");
  return true;
}

std::optional<Json> PythonWorker::ask(uint64_t number, const Json &body, Deadline deadline,
                                      const std::function<void(results::Stage)> &enterStage,
                                      Failure &failure) {
  if (!process.isRunning() && !start(deadline, failure))
    return std::nullopt;
  auto lost = [&](const std::string &why) {
    bool isLate = std::chrono::steady_clock::now() >= deadline;
    failure = {isLate ? Failure::Kind::TimedOut : Failure::Kind::Died,
               isLate ? "no end in time in the Python worker"
                      : "the Python worker ended before its result: " + why};
    end();
    return std::nullopt;
  };
  std::string payload =
      fmt::format("test {}\n", number) + body.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (Status sent = process.write(framed(payload), deadline); !sent)
    return lost(sent.message());
  while (true) {
    Result<std::string> reply = readFrame(deadline);
    if (!reply)
      return lost(reply.message());
    size_t lineEnd = std::min(reply->find('\n'), reply->size());
    std::string_view line = std::string_view(*reply).substr(0, lineEnd);
    if (line.starts_with("stage ")) {
      if (auto stage = results::parseStage(line.substr(line.rfind(' ') + 1)))
        enterStage(*stage);
      continue;
    }
    Json json = Json::parse(std::string_view(*reply).substr(lineEnd), nullptr, false);
    if (line != fmt::format("result {}", number) || !json.is_object())
      return lost("it answered with something else");
    return json;
  }
}

/// Maps the file in memory as far as it goes now.
Status PythonWorker::map() {
  struct stat info = {};
  if (fstat(memory, &info) != 0)
    return Error{std::string("the shared memory: ") + std::strerror(errno)};
  auto size = size_t(info.st_size);
  if (size == mappedBytes)
    return {};
  mapped.reset();
  mappedBytes = 0;
  void *address = mmap(nullptr, size, PROT_READ, MAP_SHARED, memory, 0);
  if (address == MAP_FAILED)
    return Error{std::string("the shared memory cannot be mapped: ") + std::strerror(errno)};
  mapped = std::shared_ptr<const std::byte>(
      static_cast<const std::byte *>(address),
      [size](const std::byte *at) { munmap(const_cast<std::byte *>(at), size); });
  mappedBytes = size;
  return {};
}

Result<std::vector<tensor::Tensor>> PythonWorker::tensors(const Json &list) {
  std::vector<tensor::Tensor> all;
  if (!list.is_array())
    return Error{"the Python worker describes no tensors"};
  if (Status status = map(); !status)
    return status.error();
  for (const Json &one : list) {
    if (!one.is_object() || !one.contains("shape") || !one["shape"].is_array() ||
        !one.contains("offset") || !one["offset"].is_number_unsigned())
      return Error{"the Python worker describes a tensor in a form that is not known"};
    std::optional<tensor::DType> type = dtypeOf(textOf(one, "dtype"));
    if (!type)
      return Error{"tensors of the type " + textOf(one, "dtype") + " are not known here"};
    tensor::Shape shape;
    for (const Json &size : one["shape"]) {
      if (!size.is_number_integer())
        return Error{"the Python worker describes a tensor in a form that is not known"};
      shape.push_back(size.get<int64_t>());
    }
    std::optional<int64_t> bytes = tensor::byteCount(*type, shape);
    auto offset = one["offset"].get<uint64_t>();
    if (!bytes || offset > mappedBytes || uint64_t(*bytes) > mappedBytes - offset)
      return Error{"the Python worker describes a tensor outside the shared memory"};
    Result<tensor::Tensor> made = tensor::Tensor::borrow(
        *type, std::move(shape), {mapped.get() + offset, size_t(*bytes)}, mapped);
    if (!made)
      return made.error();
    all.push_back(std::move(*made));
  }
  return all;
}

} // namespace cupel::testbench::worker
