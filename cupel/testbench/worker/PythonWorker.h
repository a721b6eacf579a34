// The Python worker as cupel-worker sees it: a process that is started once, asked for one case at
// a time over the frames of the worker protocol, and hands tensors over in memory that both have
// mapped. Used for tests that need torch. Never runs anything but its own script in the
// interpreter it is given. Links no MLIR.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/tensor/Tensor.h"
#include "cupel/testbench/worker/PipeProcess.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cupel::testbench::worker {

class PythonWorker {
public:
  using Deadline = PipeProcess::Deadline;

  /// `backend`: what the cases will test. Where it is `cupel`, torch's own compiler is not needed,
  /// and the worker starts without it.
  PythonWorker(std::string python, std::string backend)
      : python(std::move(python)), backend(std::move(backend)) {}
  ~PythonWorker();
  PythonWorker(const PythonWorker &) = delete;

  /// What a request came to, where it came to nothing.
  struct Failure {
    enum class Kind : uint8_t {
      CannotStart, ///< No such interpreter, or it lacks a package; the message says which.
      Died,
      TimedOut,
    } kind;
    std::string message;
  };

  /// Sends `test NUMBER` with this body and waits for its result; stages are passed on. After a
  /// failure the next request starts a new process.
  std::optional<nlohmann::json> ask(uint64_t number, const nlohmann::json &body, Deadline deadline,
                                    const std::function<void(results::Stage)> &enterStage,
                                    Failure &failure);

  /// The tensors that a list of a result describes. They share the memory, which the next request
  /// overwrites.
  Result<std::vector<tensor::Tensor>> tensors(const nlohmann::json &list);

  const std::string &interpreter() const { return python; }
  /// Of torch there, once it has said hello.
  const std::string &torchVersion() const { return torch; }

private:
  bool start(Deadline deadline, Failure &failure);
  Status map();
  Result<std::string> readFrame(Deadline deadline);
  void end();

  std::string python, backend, torch;
  PipeProcess process;
  int memory = -1; ///< The file in memory.
  std::shared_ptr<const std::byte> mapped;
  size_t mappedBytes = 0;
};

/// The interpreter for tests that need torch: the one given, else $CUPEL_PYTHON, else `.venv` here,
/// above or in the source tree of this build, else python3 of PATH.
std::string findPython(const std::string &given);

/// The Python worker's script: in the source tree, or where it was installed; empty if it is
/// nowhere. `instructions` as its only argument makes it say what torch there can be trusted with.
std::string findPythonWorker();

} // namespace cupel::testbench::worker
