#include "cupel/testbench/session/TaskClaims.h"

#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/session/Elapsed.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::session {
namespace {

constexpr double kPatienceSeconds = 600; ///< With a disk that takes nothing.

} // namespace

TaskClaims::TaskClaims(const slurm::RunFolder &folder, const slurm::RunDescription &description,
                       uint32_t chunk, std::string task)
    : folder(folder), description(description), chunk(chunk), task(std::move(task)),
      claims(folder.claims(), description.plan, description.profile.staleSeconds), others(folder),
      heart([this] { beat(); }) {
  others.onRecord = [this](const results::TestRecord &record) {
    if (runner::JournalContents::isFinal(record))
      done.insert(record.fullName());
  };
}

TaskClaims::~TaskClaims() {
  {
    std::lock_guard guard(mutex);
    isOver = true;
  }
  wake.notify_all();
  heart.join();
}

void TaskClaims::beat() {
  auto pause = std::chrono::duration<double>(std::max(0.2, description.profile.staleSeconds / 6));
  std::unique_lock guard(mutex);
  while (!isOver) {
    std::vector<scale::Claim> now = beating;
    guard.unlock();
    // One that is gone shows where it matters: when its block is done, or somebody else's.
    for (const scale::Claim &claim : now)
      (void)claims.beat(claim);
    guard.lock();
    wake.wait_for(guard, pause, [&] { return isOver; });
  }
}

runner::Handout TaskClaims::handOut() {
  if (folder.isCancelled())
    return {.tests = {}, .isLast = true};
  Result<std::optional<scale::Claim>> claim = claims.claim(chunk, task);
  if (!claim) {
    // A full disk passes.
    if (!troubleSince) {
      troubleSince = Clock::now();
      note("cannot claim tests: " + claim.message());
    }
    bool isOver = held.empty() && secondsSince(*troubleSince) > kPatienceSeconds;
    return {.tests = {}, .isLast = isOver};
  }
  troubleSince.reset();
  if (!*claim) {
    if (claims.progress().isDone())
      return {.tests = {}, .isLast = true};
    // The rest is others'. Should they be dead it is free in a while, and who waits is quicker than
    // whom Slurm starts; for longer than that nobody holds a machine without using it.
    if (!held.empty()) {
      idleSince.reset();
      return {};
    }
    if (!idleSince)
      idleSince = Clock::now();
    return {.tests = {}, .isLast = secondsSince(*idleSince) > 1.2 * description.profile.staleSeconds};
  }
  idleSince.reset();
  Held &mine = held[(*claim)->name()];
  mine.claim = **claim;
  {
    std::lock_guard guard(mutex);
    beating.push_back(**claim);
  }
  std::unordered_map<std::string, uint32_t> deaths;
  if ((*claim)->generation > 0) {
    // Somebody had it before: what he finished need not be done again.
    others.read();
    deaths = others.unfinished();
  }
  runner::Handout handout;
  std::vector<std::pair<size_t, results::TestRecord>> withoutTry;
  const scale::Block &block =
      description.plan.chunks[(*claim)->place.chunk].blocks[(*claim)->place.block];
  for (uint32_t test : block.tests) {
    const std::string &name = description.tests[test].name;
    if (done.contains(name))
      continue;
    mine.open.insert(test);
    auto died = deaths.find(name);
    if (auto record = withoutTurn(test, died == deaths.end() ? 0 : died->second))
      withoutTry.emplace_back(test, std::move(*record));
    else
      handout.tests.push_back(test);
  }
  if (mine.open.empty()) {
    settle(held.find((*claim)->name()));
    return handout;
  }
  for (const auto &[test, record] : withoutTry)
    keepRecord(test, record);
  return handout;
}

void TaskClaims::finished(size_t test, const results::TestRecord &record) {
  for (auto it = held.begin(); it != held.end(); ++it) {
    if (!it->second.open.erase(test))
      continue;
    it->second.isWhole &= runner::JournalContents::isFinal(record);
    if (it->second.open.empty())
      settle(it);
    return;
  }
}

void TaskClaims::settle(std::map<std::string, Held>::iterator it) {
  {
    std::lock_guard guard(mutex);
    std::erase_if(beating, [&](const scale::Claim &c) { return c.name() == it->first; });
  }
  Status status = it->second.isWhole && beforeDone ? beforeDone() : Status();
  if (it->second.isWhole && status)
    status = claims.done(it->second.claim);
  if (!it->second.isWhole || !status)
    (void)claims.giveBack(it->second.claim);
  if (!status)
    note("a block of tests is done and cannot be marked so: " + status.message());
  held.erase(it);
}

void TaskClaims::giveBack() {
  {
    std::lock_guard guard(mutex);
    beating.clear();
  }
  for (const auto &[name, mine] : held)
    (void)claims.giveBack(mine.claim);
  held.clear();
}

} // namespace cupel::testbench::session
