#include "cupel/testbench/runner/Journal.h"

#include "cupel/results/RecordJson.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

namespace cupel::testbench::runner {

namespace {

using Json = nlohmann::json;

constexpr size_t kNamesPerLine = 256;

/// With the line break.
std::string lineOf(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Error failed(const std::string &path, const char *what) {
  return Error{path + ": " + what + ": " + std::strerror(errno)};
}

/// One run at a time; the lock goes with the process.
Status lock(int file, const std::string &path) {
  if (flock(file, LOCK_EX | LOCK_NB) == 0)
    return {};
  if (errno == EWOULDBLOCK)
    return Error{path + ": this run is still going on in another process"};
  return failed(path, "cannot be locked");
}

Status writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return Error{std::strerror(errno)};
    bytes.remove_prefix(size_t(written));
  }
  return {};
}

/// A new name in a folder is safe only once the folder is.
void syncFolder(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path();
  int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  fsync(descriptor);
  close(descriptor);
}

} // namespace

Journal::Journal(std::string path, int file, int event)
    : name(std::move(path)), file(file), event(event), writer([this] { write(); }) {}

Result<std::unique_ptr<Journal>> Journal::create(const std::string &path,
                                                 const results::RunInfo &run,
                                                 const std::vector<std::string> &selection) {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    return failed(path, "cannot be made");
  if (Status status = lock(file, path); !status) {
    close(file);
    return status.error();
  }
  int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  std::unique_ptr<Journal> journal(new Journal(path, file, event));
  journal->append("{\"cupel_journal\":1,\"run\":" + results::toJson(run) + "}\n", false);
  for (size_t i = 0; i < selection.size(); i += kNamesPerLine) {
    Json names = Json::array();
    for (size_t j = i; j < std::min(i + kNamesPerLine, selection.size()); ++j)
      names.push_back(selection[j]);
    journal->append(lineOf({{"select", std::move(names)}}), false);
  }
  journal->append(lineOf({{"selected", selection.size()}}), false);
  if (Status status = journal->flush(); !status)
    return status.error();
  syncFolder(path);
  return journal;
}

Result<std::unique_ptr<Journal>> Journal::reopen(const std::string &path) {
  int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0)
    return failed(path, "cannot be opened");
  if (Status status = lock(file, path); !status) {
    close(file);
    return status.error();
  }
  int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return std::unique_ptr<Journal>(new Journal(path, file, event));
}

Status Journal::cutAt(uint64_t validBytes) {
  if (ftruncate(file, off_t(validBytes)) != 0)
    return failed(name, "cannot be cut at its last whole line");
  return {};
}

void Journal::resumed() { append(lineOf({{"resume", now()}}), false); }

Journal::~Journal() {
  {
    std::lock_guard guard(mutex);
    closing = true;
  }
  wake.notify_all();
  writer.join();
  close(file);
  close(event);
}

void Journal::append(std::string_view line, bool counts) {
  {
    std::lock_guard guard(mutex);
    if (error.empty())
      pending += line;
    appended += counts;
  }
  wake.notify_one();
}

void Journal::started(const std::string &fullName, uint32_t attempt) {
  // Not waited for: where it is lost, the test is run again as if it had never begun.
  std::lock_guard guard(mutex);
  pending += lineOf({{"start", fullName}, {"try", attempt}, {"at", now()}});
}

uint64_t Journal::record(const results::TestRecord &record) {
  append("{\"record\":" + results::toJson(record) + "}\n", true);
  std::lock_guard guard(mutex);
  return appended;
}

void Journal::ended(const results::RunInfo &run) {
  append("{\"end\":" + results::toJson(run) + "}\n", false);
}

uint64_t Journal::durable() {
  std::lock_guard guard(mutex);
  return written;
}

void Journal::acknowledge() {
  eventfd_t value;
  eventfd_read(event, &value);
}

Status Journal::flush() {
  std::unique_lock guard(mutex);
  hurry = true;
  wake.notify_one();
  done.wait(guard, [&] { return !error.empty() || (pending.empty() && !busy); });
  hurry = false;
  return error.empty() ? Status() : Status(Error{error});
}

Status Journal::failure() {
  std::lock_guard guard(mutex);
  return error.empty() ? Status() : Status(Error{error});
}

void Journal::write() {
  std::unique_lock guard(mutex);
  while (true) {
    // Beginnings of tests are written along with something else, or soon.
    wake.wait_for(guard, std::chrono::milliseconds(50),
                  [&] { return closing || hurry || written < appended; });
    if (pending.empty()) {
      if (closing)
        return;
      if (hurry)
        wake.wait_for(guard, std::chrono::milliseconds(1));
      continue;
    }
    std::string batch = std::exchange(pending, {});
    uint64_t upTo = appended;
    busy = true;
    guard.unlock();
    Status status = writeAll(file, batch);
    if (status && fdatasync(file) != 0)
      status = Error{std::strerror(errno)};
    guard.lock();
    busy = false;
    if (status)
      written = upTo;
    else
      error = name + ": the journal cannot be written: " + status.message() +
              "; what it holds so far is kept, and 'cupel run --resume' goes on from there";
    bool over = !error.empty();
    guard.unlock();
    eventfd_write(event, 1);
    done.notify_all();
    if (over)
      return; // Nothing is written after a hole.
    guard.lock();
  }
}

} // namespace cupel::testbench::runner
