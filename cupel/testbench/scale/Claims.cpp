#include "cupel/testbench/scale/Claims.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::testbench::scale {
namespace {

namespace fs = std::filesystem;

Error failedAt(const std::string &path) { return Error{path + ": " + std::strerror(errno)}; }

double secondsOf(const timespec &time) { return double(time.tv_sec) + 1e-9 * double(time.tv_nsec); }

} // namespace

std::string Claim::name() const {
  return fmt::format("{}.{}.{}", place.chunk, place.block, generation);
}

Claims::Claims(std::string folder, const Plan &plan, double staleSeconds)
    : folder(std::move(folder)), plan(plan), staleSeconds(staleSeconds), state(plan) {
  // Processes of two machines may have the same number.
  std::random_device random;
  self = fmt::format("{:08x}{:08x}", random(), random());
}

Status Claims::prepare() {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return Error{folder + ": " + error.message()};
  return {};
}

Status Claims::refresh() {
  // The clock that counts is the one of the disk: machines of a lab need not agree on the time.
  std::string clock = path(".clock." + self);
  int file = ::open(clock.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0)
    return failedAt(clock);
  struct stat now {};
  bool isTold = ::futimens(file, nullptr) == 0 && ::fstat(file, &now) == 0;
  ::close(file);
  if (!isTold)
    return failedAt(clock);
  DIR *listing = ::opendir(folder.c_str());
  if (!listing)
    return failedAt(folder);
  std::set<BlockPlace> finished;
  generations.clear();
  while (dirent *entry = ::readdir(listing)) {
    BlockPlace place;
    unsigned generation = 0;
    char tail[8] = "";
    int read = std::sscanf(entry->d_name, "%u.%u.%7s", &place.chunk, &place.block, tail);
    if (read != 3 || place.chunk >= plan.chunks.size() ||
        place.block >= plan.chunks[place.chunk].blocks.size())
      continue;
    if (std::strcmp(tail, "done") == 0)
      finished.insert(place);
    else if (std::sscanf(tail, "%u", &generation) == 1)
      if (auto [it, isNew] = generations.try_emplace(place, generation); !isNew)
        it->second = std::max(it->second, generation);
  }
  ::closedir(listing);
  holders.clear();
  for (const auto &[place, generation] : generations) {
    if (finished.contains(place))
      continue;
    std::string name = Claim{place, generation}.name();
    struct stat last {};
    // Gone means given back; the next one gets the next number.
    bool isAlive = ::stat(path(name).c_str(), &last) == 0 && last.st_size > 0 &&
                   secondsOf(now.st_mtim) - secondsOf(last.st_mtim) < staleSeconds;
    state.set(place, isAlive ? Progress::State::Claimed : Progress::State::Free);
    if (isAlive) {
      std::ifstream in(path(name));
      std::getline(in, holders[name]);
    }
  }
  for (const BlockPlace &place : finished)
    state.set(place, Progress::State::Done);
  return {};
}

Result<std::optional<Claim>> Claims::claim(uint32_t own, const std::string &owner) {
  if (Status status = refresh(); !status)
    return status.error();
  while (std::optional<BlockPlace> place = state.next(own)) {
    Claim claim{*place, 0};
    if (auto before = generations.find(*place); before != generations.end())
      claim.generation = before->second + 1;
    // Written beside and linked to its name: whoever sees it sees who made it, and the link fails
    // where somebody was quicker, on network file systems too.
    std::string draft = path(".draft." + self);
    std::string text = owner + "\n";
    int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0)
      return failedAt(draft);
    bool isWritten = ::write(file, text.data(), text.size()) == ssize_t(text.size());
    ::close(file);
    if (!isWritten) {
      Error error = failedAt(draft);
      ::unlink(draft.c_str());
      return error;
    }
    bool isOurs = ::link(draft.c_str(), path(claim.name()).c_str()) == 0;
    int why = errno;
    ::unlink(draft.c_str());
    if (isOurs) {
      generations[*place] = claim.generation;
      state.set(*place, Progress::State::Claimed);
      return std::optional(claim);
    }
    if (why != EEXIST) {
      errno = why;
      return failedAt(path(claim.name()));
    }
    if (Status status = refresh(); !status)
      return status.error();
  }
  return std::optional<Claim>();
}

Status Claims::beat(const Claim &claim) {
  std::string name = path(claim.name());
  if (::utimensat(AT_FDCWD, name.c_str(), nullptr, 0) != 0)
    return failedAt(name);
  return {};
}

Status Claims::done(const Claim &claim) {
  std::string name = path(fmt::format("{}.{}.done", claim.place.chunk, claim.place.block));
  int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0)
    return failedAt(name);
  ::close(file);
  state.set(claim.place, Progress::State::Done);
  return {};
}

Status Claims::reopen(BlockPlace place) {
  std::string name = path(fmt::format("{}.{}.done", place.chunk, place.block));
  if (::unlink(name.c_str()) != 0 && errno != ENOENT)
    return failedAt(name);
  state.set(place, Progress::State::Free);
  return {};
}

Status Claims::giveBack(const Claim &claim) {
  // Emptied, not removed: its number is used up.
  std::string name = path(claim.name());
  if (::truncate(name.c_str(), 0) != 0)
    return failedAt(name);
  state.set(claim.place, Progress::State::Free);
  return {};
}

} // namespace cupel::testbench::scale
