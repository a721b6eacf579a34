// A run on Slurm that has not ended, as it stands: what its tasks wrote so far, in a store of its own
// that goes with this object. For whoever looks on (`cupel show`) without following the run; it reads
// the run's folder and never writes there.
#pragma once

#include "cupel/results/store/Store.h"

#include <memory>
#include <string>
#include <vector>

namespace cupel::testbench::session {

class RunGoingOn {
public:
  /// Names of those in a results folder, newest first.
  static std::vector<std::string> namesIn(const std::string &results);
  static Result<RunGoingOn> look(const std::string &results, const std::string &run);

  results::Store &store() { return *seen; }

private:
  struct Folder {
    explicit Folder(std::string path) : path(std::move(path)) {}
    Folder(const Folder &) = delete;
    ~Folder();
    std::string path;
  };
  std::unique_ptr<Folder> folder; ///< Outlives the store in it.
  std::unique_ptr<results::Store> seen;
};

} // namespace cupel::testbench::session
