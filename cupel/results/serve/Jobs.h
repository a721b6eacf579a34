// Work that is started from the pages: compile, run, explain, ... each a job of a few commands with a
// log, progress and an end. Answers /api/v1/jobs; starts nothing that is not one of its kinds with
// values that their fields allow, and no more at once than it may. Who may start one is Site's
// business. What a kind is made of its owner says (cupel/cli/PageJobs.h).
#pragma once

#include "cupel/results/serve/Http.h"
#include "cupel/results/serve/JobProcess.h"
#include "cupel/support/Error.h"
#include "cupel/support/TemporaryFolder.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cupel::results::serve {

/// What may be asked of one node: `12:NAME=CHOICE`, or `12:NAME` where there is nothing to choose.
struct EditOption {
  std::string name, label, help;
  std::vector<std::string> choices = {};
};

/// One entry of a form.
struct JobField {
  /// Nodes: numbers of the graph's nodes. Edits: `12:fusion-barrier, 13:precision=bf16`. File: the
  /// bytes of a small file, in base 64.
  enum class Kind : uint8_t { Choice, Integer, Toggle, Text, Nodes, Edits, File };
  std::string name, label, help;
  Kind kind = Kind::Text;
  std::vector<std::string> choices = {};
  std::string initial = {};
  int64_t least = 0, most = 0; ///< Of integers.
  std::vector<EditOption> edits = {};
};

struct JobKind {
  std::string name, title, summary;
  std::vector<JobField> fields;
  bool needsProgram = true; ///< That is open in the explorer.
};

/// The fields of a job, every one of its kind: those that were not given have their initial values.
using JobValues = std::map<std::string, std::string>;

/// What is to be done in a job's folder.
struct JobPlan {
  std::string title;
  std::vector<JobCommand> commands;
  /// Called when all went well: what came of it, as the members of a JSON object's text.
  std::function<Result<std::string>()> finish;
};

class Jobs {
public:
  struct Limits {
    size_t atOnce = 2, waiting = 16, kept = 32;
    size_t logBytes = 1 << 20;
    std::chrono::seconds time{3600};
  };
  /// `plan` is asked on a request's thread and must be quick; `folder` is the job's own.
  using Planner = std::function<Result<JobPlan>(const JobKind &kind, const std::string &key,
                                                const JobValues &values, const std::string &folder)>;

  Jobs(std::vector<JobKind> kinds, Planner plan, Limits limits);
  Jobs(std::vector<JobKind> kinds, Planner plan) : Jobs(std::move(kinds), std::move(plan), Limits()) {}
  /// Ends what is running.
  ~Jobs();
  Jobs(const Jobs &) = delete;
  Jobs &operator=(const Jobs &) = delete;

  static constexpr std::string_view kRoot = "/api/v1/jobs";
  HttpAnswer answer(const HttpRequest &request);
  /// Its part of the page of documentation.
  static std::string describe();

private:
  struct Job;
  HttpAnswer start(const HttpRequest &request);
  HttpAnswer list();
  HttpAnswer show(const std::shared_ptr<Job> &job, const HttpRequest &request);
  HttpAnswer download(const std::shared_ptr<Job> &job, const HttpRequest &request);
  std::shared_ptr<Job> find(std::string_view number);
  void work();
  void carryOut(Job &job);
  void forgetOldest();

  const std::vector<JobKind> kinds;
  Planner plan;
  const Limits limits;
  TemporaryFolder scratch{"cupel-jobs"};
  std::mutex mutex;
  std::condition_variable changed;
  bool isOver = false;
  uint64_t next = 1;
  std::map<uint64_t, std::shared_ptr<Job>> jobs;
  std::deque<std::shared_ptr<Job>> waiting;
  std::vector<std::thread> workers;
};

/// A value that a field allows, as it is handed on; an error says what is wrong with it.
Result<std::string> checkJobValue(const JobField &field, const std::string &value);
/// The bytes of text in base 64.
Result<std::string> bytesOfBase64(std::string_view text);

} // namespace cupel::results::serve
