// Authors of custom calls who say themselves how their calls are split over devices: target name ->
// partitioner. Filled by the PJRT plugin's extension, asked by the compiler before it splits
// anything. Knows nothing of MLIR or PJRT; partitioners may call into Python, so whoever asks them
// must hold no lock that Python's other threads may wait for.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Shards.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace cupel::calls {

/// An operand or result of a call as a whole, and how devices hold it.
struct PlacedValue {
  tensor::DType type = tensor::DType::F32;
  tensor::Shape shape;
  tensor::Shards shards;
};

/// What every device runs in place of a call, and how it takes the operands and leaves the results.
struct PartitionedCall {
  std::string program; // In any of the forms that programs have; its `main` takes pieces.
  std::vector<tensor::Shards> operands, results;
};

struct CallPartitioner {
  using Values = std::span<const PlacedValue>;
  using Placement = Result<std::optional<std::vector<tensor::Shards>>>;

  std::function<Result<PartitionedCall>(Values operands, Values results, std::string_view config)>
      partition;
  /// How results should lie, seen from the operands or from who uses the results; nothing where the
  /// author has no opinion. Asked only where no sharding rule stands at the call.
  std::function<Placement(Values operands, Values results, std::string_view config)> fromOperands;
  std::function<Placement(Values results, std::string_view config)> fromUsers;
};

/// Safe to use from many threads.
class CallPartitioners {
public:
  /// One for each process.
  static CallPartitioners &get();

  /// Null if the target has none.
  std::shared_ptr<const CallPartitioner> find(std::string_view target) const;
  /// A target that has one gets another: a host that starts anew registers again.
  void set(std::string target, CallPartitioner partitioner);

private:
  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<const CallPartitioner>, std::less<>> partitioners;
};

} // namespace cupel::calls
