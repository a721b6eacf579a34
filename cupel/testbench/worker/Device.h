// Where a program meets a device: compile once, run with inputs, get outputs or an error that says
// what kind it is. The golden reference is one device, plugins behind the PJRT C API are others;
// the worker knows them through this interface only. An implementation must never throw, and never
// end the process where it can return an error instead. This header needs no MLIR.
#pragma once

#include "cupel/reference/Jitter.h"
#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"
#include "cupel/workload/Workload.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mlir {
class Operation;
} // namespace mlir

namespace cupel::testbench::worker {

/// A size that is known at run time only, in a ValueType's shape.
inline constexpr int64_t kDynamicSize = -1;

/// What a program takes or gives at one position.
struct ValueType {
  bool isTensor = true; ///< Tokens and tuples are not.
  tensor::ElementType element;
  tensor::Shape shape;
  std::string name; ///< Of an argument, where the program has one.
};

/// A program that has been read and verified.
struct Program {
  std::string name;                  ///< For messages: file, and chunk where it has several.
  mlir::Operation *module = nullptr; ///< In StableHLO; lives longer than what is compiled from it.
  std::vector<ValueType> arguments, results; ///< Of its entry function.
  bool selfChecking = false;                 ///< It holds `check` operations.
  uint32_t replicas = 1, partitions = 1;
  /// So many devices hold pieces of its tensors, as its shardings say (Spread.h); its values are whole.
  uint32_t spreadOver = 1;
  /// Flags of the device's own compiler that it is compiled with.
  decltype(workload::CompileOptions::flags) flags = {};

  /// Makes this, a part of `whole`, run on the same devices in the same way.
  void runLike(const Program &whole) {
    replicas = whole.replicas;
    partitions = whole.partitions;
    spreadOver = whole.spreadOver;
    flags = whole.flags;
  }
};

/// What one test may use.
struct Budget {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  uint64_t memoryBytes = 0; ///< 0: no limit.
  uint32_t threads = 0;     ///< 0: as many as there are cores.
  uint64_t seed = 0;        ///< Of random operations whose values the specification leaves open.
  /// The reference sums narrow floats in wider ones, as those did who made the expected values.
  bool wideSums = false;
  /// Where set, outputs of an execution are held until the next one is done, and this is told which
  /// of them have changed meanwhile. Devices that cannot tell never call it.
  std::function<void(const std::string &what)> tellOverwritten = {};
  /// The reference moves what it computes by one rounding of a device's precision.
  reference::Jitter jitter = {};
  /// Seconds left, never below a small positive number; 0 where there is no deadline.
  double secondsLeft() const;
};

/// Tensors by device, then by position.
using TensorLists = std::vector<std::vector<tensor::Tensor>>;

/// A program that one device has compiled. It must not outlive the device.
class Executable {
public:
  virtual ~Executable() = default;
  /// With one list of inputs for all processes or one for each: the outputs of the entry function
  /// by position; those of several processes lie one after another.
  virtual Result<std::vector<tensor::Tensor>> run(TensorLists inputs, const Budget &budget) = 0;
};

/// Runs a workload that a device has made ready, with one list of inputs for all devices or one for
/// each; gives all results, those that checks compare too. It must not outlive the device. Inputs that
/// nobody else holds are gone as soon as the device has them.
using RunWorkload = std::function<Result<TensorLists>(TensorLists inputs, const Budget &)>;

/// What of a program ran on the reference's own kernels, by which it cannot be judged.
struct SharedWork {
  bool isAll = false;
  std::string what; ///< Else the operations that did, in words; empty: none.
};
/// By the notes of our own plugin on an executable; those of others say nothing.
SharedWork sharedWorkOf(const std::map<std::string, std::string> &notes);
/// Those that belong in a test's record: composites, fusions, products in bf16, whether commands were recorded.
std::map<std::string, std::string> notesForRecords(const std::map<std::string, std::string> &notes);

/// By the same notes: the memory of what the program computes on its way.
std::optional<int64_t> arenaOf(const std::map<std::string, std::string> &notes);

class Device {
public:
  virtual ~Device() = default;
  /// As --device names it.
  virtual std::string name() const = 0;
  /// Whether its results are the golden ones, so that comparing them to the reference is idle.
  virtual bool isReference() const { return false; }
  /// Whether it computes with the reference's own kernels, whoever drives them: agreeing with the
  /// reference then says nothing of these.
  virtual bool sharesKernels() const { return isReference(); }
  /// The same of the workload that was loaded last.
  virtual SharedWork sharedWork() const { return {.isAll = sharesKernels(), .what = ""}; }
  /// What its compiler said of the last program, as far as a record keeps it.
  virtual std::map<std::string, std::string> recordNotes() const { return {}; }
  /// What a run of the workload that was loaded last takes in this process beside its arguments and results. Nothing:
  /// it does not say.
  virtual std::optional<int64_t> arenaBytes() const { return std::nullopt; }
  /// Whether it did not answer in time, and so answers nothing more in this process.
  virtual bool isGivenUp() const { return false; }
  virtual Result<std::unique_ptr<Executable>> compile(const Program &program,
                                                      const Budget &budget) = 0;
  /// A workload that is complete: its checks stand outside of its program. `program` is the same
  /// program as a module, for those who run that.
  virtual Result<RunWorkload> load(const workload::Workload &workload, const Program &program,
                                   const Budget &budget) = 0;
};

/// Opens the device that --device names; an error says what is missing.
Result<std::unique_ptr<Device>> openDevice(const std::string &name);

} // namespace cupel::testbench::worker
