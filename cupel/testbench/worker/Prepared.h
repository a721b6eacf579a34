// A test that a frontend has made ready: the workload with its program as a module beside it.
// Whatever a test is made from (a program, a model, an operator case, a saved workload), it is this
// that the worker compiles, runs, judges and saves.
#pragma once

#include "cupel/testbench/worker/ProgramReader.h"
#include "cupel/testbench/worker/Protocol.h"
#include "cupel/workload/Workload.h"

namespace cupel::testbench::worker {

struct Prepared {
  std::unique_ptr<ProgramReader::Read> read;
  /// Its inputs are those of the program, and expected results of several processes lie one after
  /// another, unless it is complete; artifacts are written when somebody asks for them.
  workload::Workload workload;
  Budget budget;
  /// How many arguments, from the first on, are inputs; the others are weights.
  size_t ownInputs = SIZE_MAX;
  /// Where the inputs are made up: others of their kind, for another look at the test.
  std::function<Result<TensorLists>(uint32_t look)> otherInputs = {};
  /// How long the device took to execute it, and the reference to evaluate it as it is and moved; 0:
  /// nobody knows.
  double executeSeconds = 0, plainSeconds = 0, movedSeconds = 0;
  /// As it was saved: by device, with artifacts, and with its checks outside of the program.
  bool isComplete = false;
  /// Whether what the reference gives for it is kept for another run.
  bool isRemembered = true;
  /// Until when a device may end what it has begun, where that is later than the end of `budget`: one
  /// that is stopped in the middle answers nothing more.
  std::optional<std::chrono::steady_clock::time_point> deviceDeadline = {};
  /// Hashes of the program and of the inputs that were asked for last, for GoldenCache alone: a test
  /// asks for its golden results and for its noise, and both go by them.
  struct Hashed {
    const void *module = nullptr;
    std::string program;
    std::vector<std::pair<tensor::Tensor, std::string>> inputs;
  };
  mutable Hashed hashed = {};

  const Program &program() const { return read->program; }
  /// The same once more, with a program of its own.
  Prepared clone() const;
};

/// A workload that says of which test it is, without program and values.
workload::Workload workloadFor(const Request &request, std::string frontend);

/// Takes away what the test asks of the device's compiler and the device's name says as well: whoever
/// names an option for a run means it for every test. Gives what was taken away, as NAME=VALUE.
std::string overrule(Prepared &prepared, std::string_view device);

/// Where the test's file lies; messages name it as the user did.
std::string placeOf(const Request &request);

/// What a request allows its test.
Budget budgetOf(const Request &request);

/// The workload as a folder holds it: complete, or, where a device could not run that, with the
/// program as text and everything else as it is.
workload::Workload portableForm(const Prepared &prepared);

} // namespace cupel::testbench::worker
