// Slurm as its own commands show it: sbatch, squeue, scancel, scontrol, found through PATH and
// pointed at a cluster by SLURM_CONF as for everybody. One function a question; every failure is one
// line that says what to do. Nothing here remembers anything, and no password is handed on.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/scale/Plan.h"
#include "cupel/testbench/slurm/Profile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::testbench::slurm {

/// A task of an array that Slurm has not done with.
struct LiveTask {
  std::string job;    ///< Of the array.
  std::string number; ///< Within it.
  std::string name, state, reason, node;

  bool isRunning() const { return state == "RUNNING" || state == "COMPLETING"; }
  /// Slurm gave up starting it (a controller that lost its memory) and waits for somebody.
  bool isHeldByAccident() const;
  /// Held by its user, or by accident before the controller was started again: Slurm forgets which.
  bool isHeldByUser() const;
};

/// Nodes that take no jobs, and why.
struct NodesOut {
  std::vector<std::string> nodes;
  std::string reason;
};

/// One call of sbatch.
struct JobRequest {
  std::string name;
  std::string tasks;       ///< `0-11`, `0,4,7`.
  uint32_t firstChunk = 0; ///< That task 0 is made for.
  scale::Resources needs;
  std::string arch;
  std::string script, logs, folder; ///< By their paths; `folder` is where it begins.
  std::string excludedNodes;        ///< Comma-separated.
};

/// Whether there is a cluster to talk to.
Status findCluster();
/// How many tasks an array may have.
Result<uint32_t> largestArray();
/// The words of sbatch for it, without the program; an error where the profile cannot be followed.
Result<std::vector<std::string>> submitWords(const Profile &profile, const JobRequest &request);
/// Hands an array to Slurm; its job number.
Result<std::string> submit(const Profile &profile, const JobRequest &request);
/// The array of that name, whatever became of it; empty: Slurm knows none.
Result<std::string> findArray(const std::string &name);
/// What is left of the arrays of these names.
Result<std::vector<LiveTask>> liveTasks(const std::vector<std::string> &names);
std::vector<LiveTask> parseLiveTasks(std::string_view text);
/// What takes no jobs at present, by reason.
Result<std::vector<NodesOut>> nodesOut();
std::vector<NodesOut> parseNodesOut(std::string_view text);
/// Of all of them in one line, and what puts them back; empty: none is out.
std::string explain(const std::vector<NodesOut> &out);
Status cancelArrays(const std::vector<std::string> &jobs);
Status release(const LiveTask &task);
Status drainNode(const std::string &node, const std::string &reason);

/// Whether the error says that Slurm cannot be reached now, rather than that it refuses.
bool isAway(const Error &error);

/// What Slurm complained of in one line, and what to do about it.
std::string explain(std::string_view said, const Profile &profile);

} // namespace cupel::testbench::slurm
