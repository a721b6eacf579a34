// What was handed to Slurm, written down before it is done: whoever goes on after a kill knows which
// arrays there are, and submits none of them a second time. A file that is only ever appended to.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::testbench::slurm {

struct Submission {
  std::string name;        ///< Of the job: no other has it.
  uint32_t resources = 0;  ///< Class of the plan.
  std::string tasks;       ///< `0-11`.
  std::string job;         ///< Slurm's number; empty: it is not known whether sbatch was reached.
};

/// Whether the error says that there was no room to write it down: it passes.
bool isFullDisk(const Error &error);

class Submissions {
public:
  /// Reads what is there; a line that was cut off does not count.
  static Result<Submissions> open(const std::string &path);

  /// It is about to be submitted: safe on the disk when this returns.
  Status intend(const Submission &submission);
  /// It was submitted as `job`.
  Status submitted(const std::string &name, const std::string &job);
  /// Slurm refused it: there is no such array.
  Status refused(const std::string &name);

  const std::vector<Submission> &all() const { return list; }

private:
  explicit Submissions(std::string path) : path(std::move(path)) {}
  Status append(const std::string &line) const;
  void take(const std::string &line);

  std::string path;
  std::vector<Submission> list;
};

} // namespace cupel::testbench::slurm
