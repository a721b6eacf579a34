// What a compiled program is to whoever runs it: it takes arguments and gives results, and says
// what it takes and costs. Made by backends of the compiler, used by the PJRT plugin. Nothing of
// PJRT may appear here, and no MLIR.

#pragma once

#include "cupel/runtime/Trace.h"
#include "cupel/support/Error.h"
#include "cupel/tensor/Shards.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace cupel::runtime {

/// One argument or result of a program.
struct ValueInfo {
  bool isToken = false;
  tensor::ElementType type = tensor::DType::F32;
  tensor::Shape shape; // Of the whole tensor; -1 where known at run time only.
  /// How it lies on the devices of one replica.
  tensor::Shards shards;
  /// Whether the program or its compiler says so; otherwise it lies whole on every device.
  bool hasShards = false;
  std::string memoryKind; // Empty: the device's own.
  std::string layoutMode; // As the program gives it; empty: row-major.
  /// Of an argument: the result that takes its place, or -1; whether its memory is given up.
  int64_t aliasedResult = -1;
  bool isDonor = false;

  bool isDynamic() const;
  /// The sizes of what each device holds.
  tensor::Shape shardShape() const { return shards.shardShape(shape); }
  int64_t shardBytes() const;
};

/// What one run of a program takes, estimated from its operations; loops count once.
struct CostEstimate {
  double flops = 0, transcendentals = 0, bytesAccessed = 0;
  int64_t temporaryBytes = 0; // Of each device at the worst moment, beside arguments and results.
  int64_t operations = 0;
  bool hasLoop = false;
  bool hasSideEffect = false; // Calls to the outside.
  bool callsPython = false;
};

struct ProgramInfo {
  std::string name;
  std::string fingerprint;
  int64_t replicas = 1, partitions = 1;
  std::vector<ValueInfo> arguments, results;
  CostEstimate cost;
  int64_t codeBytes = 0;
  /// What the compiler has to say of what it made, for users: `partition` is `whole (reason)`.
  std::map<std::string, std::string> notes;
  /// The run is over so soon that handing it to another thread would cost more.
  bool isBrief = false;

  int64_t processCount() const { return replicas * partitions; }
};

/// What a run does with an argument.
enum class Reading {
  Whole,  // Anything.
  Sparse, // Looks at a small part, or packs it: wherever the elements lie is good enough.
  Packed, // Asks for forms of it and for nothing else: its elements may be deferred (tensor/Deferred.h).
};

/// The tensors of each process (replica-major), in the order of the program's arguments or results.
/// What devices hold: pieces where the program's values are split. Tokens are empty tensors.
using ProcessTensors = std::vector<std::vector<tensor::Tensor>>;

class Executable {
public:
  virtual ~Executable() = default;

  virtual const ProgramInfo &info() const = 0;

  /// Runs the program; may be called from many threads at once. The memory of arguments that
  /// nobody else holds may be used again. Results are contiguous and outlive the executable. A run
  /// ends soon after `stop` (if given) becomes true.
  virtual Result<ProcessTensors> execute(ProcessTensors arguments,
                                          const std::atomic<bool> *stop = nullptr) const = 0;

  /// Only an argument that is `Packed` may come with deferred elements.
  virtual Reading readingOf(size_t argument) const { return Reading::Whole; }

  /// The program as text, after what compilation made of it.
  virtual std::string text() const = 0;

  /// Bytes from which `deserialize` makes this executable again.
  virtual std::string serialize() const = 0;

  /// What was recorded of it; nothing where nothing was.
  virtual std::optional<TraceRecord> trace() const { return std::nullopt; }
  virtual TraceCounts traceCounts() const { return {}; }
};

} // namespace cupel::runtime
