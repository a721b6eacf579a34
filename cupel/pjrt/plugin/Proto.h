// The few protobuf messages that cross the PJRT boundary, read and written by field number: compile
// options, device assignments, shardings. Unknown fields are skipped; malformed bytes are an error.

#pragma once

#include "cupel/runtime/Options.h"
#include "cupel/tensor/Shards.h"

namespace cupel::pjrt {

using runtime::OptionValue;

/// Which device runs which replica and partition.
struct DeviceAssignment {
  int64_t replicas = 1, partitions = 1;
  std::vector<int64_t> devices; // Ids, replica-major.
  std::string serialize() const;
};

struct CompileRequest {
  int64_t replicas = 1, partitions = 1;
  int64_t deviceOrdinal = -1;
  bool useSpmd = false; // Partitions hold pieces of a program on whole tensors.
  std::optional<DeviceAssignment> assignment;
  std::vector<bool> propagateToResults, propagateToParameters;
  bool isPortable = false; // Runs on any device, named at each execution.
  std::vector<std::pair<std::string, OptionValue>> options;
};

Result<CompileRequest> parseCompileOptions(std::string_view bytes);

/// A serialized xla.OpSharding; of several values that of a tuple.
std::string serializeSharding(const tensor::Shards &shards);
std::string serializeShardings(std::span<const tensor::Shards> shards);

/// What such bytes say of values of these ranks; devices are numbers of partitions.
Result<std::vector<tensor::Shards>> parseShardings(std::string_view bytes,
                                                   std::span<const size_t> ranks);

/// A serialized xla.ShapeProto; of several values that of a tuple.
using TypedShape = std::pair<tensor::DType, tensor::Shape>;
std::string serializeShapes(std::span<const TypedShape> values);

} // namespace cupel::pjrt
