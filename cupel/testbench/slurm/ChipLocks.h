// One task a chip: a lock on a file of the node for each, held as long as the process lives. Slurm
// alone is not enough: a task whose slurmd died runs on while the next one is given its chips. Used
// by tasks before they touch a device; knows no device itself.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cupel::testbench::slurm {

class ChipLocks {
public:
  ChipLocks() = default;
  ~ChipLocks();
  ChipLocks(ChipLocks &&other) noexcept : chips(std::move(other.chips)), files(std::move(other.files)) {
    other.files.clear();
  }
  ChipLocks &operator=(ChipLocks &&) = delete;

  /// Locks the chips with these numbers in `folder` on behalf of `node`; where there are none, the
  /// first `count` that are free. Waits while others hold them, as long as `keepWaiting` says so.
  static Result<ChipLocks> take(const std::string &folder, const std::string &node,
                                std::vector<uint32_t> numbers, uint32_t count,
                                const std::function<bool()> &keepWaiting);

  const std::vector<uint32_t> &numbers() const { return chips; }

private:
  std::vector<uint32_t> chips;
  std::vector<int> files;
};

/// The chips that Slurm gave a job: from its environment (gres `gpu`) or from what `scontrol -d show
/// job` says; empty where Slurm only counts them.
std::vector<uint32_t> chipsOfJob(const std::string &visible, std::string_view details);

} // namespace cupel::testbench::slurm
