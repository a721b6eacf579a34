// The extension through which hosts register authors of custom calls who split their calls over
// devices themselves (JAX's custom_partitioning). They join one table (CallPartitioners), which the
// compiler asks.

#include "cupel/calls/CallPartitioners.h"
#include "cupel/pjrt/plugin/Handles.h"
#include "cupel/pjrt/plugin/Layouts.h"
#include "cupel/pjrt/plugin/Proto.h"

#include <cstring>

namespace cupel::pjrt {

namespace {

using calls::CallPartitioner;
using calls::PartitionedCall;
using calls::PlacedValue;
using tensor::Shards;
using Text = JAX_CustomCallPartitioner_string;
using Values = CallPartitioner::Values;

Text lend(std::string_view text) { return {text.data(), text.size()}; }
std::string_view viewOf(Text text) {
  return text.data ? std::string_view(text.data, text.size) : "";
}

std::string shapesOf(Values values) {
  std::vector<TypedShape> shapes;
  for (const PlacedValue &value : values)
    shapes.emplace_back(value.type, value.shape);
  return serializeShapes(shapes);
}

std::string shardingsOf(Values values) {
  std::vector<Shards> shards;
  for (const PlacedValue &value : values)
    shards.push_back(value.shards);
  return serializeShardings(shards);
}

std::vector<size_t> ranksOf(Values values) {
  std::vector<size_t> ranks;
  for (const PlacedValue &value : values)
    ranks.push_back(value.shape.size());
  return ranks;
}

/// Values as callbacks take them, with the bytes that they point at.
class Lent {
public:
  explicit Lent(Values values) {
    bytes.reserve(2 * values.size());
    for (const PlacedValue &value : values)
      add(shapesOf({&value, 1}), shardingsOf({&value, 1}));
  }
  /// Several values as one tuple.
  static Lent together(Values values) {
    Lent lent({});
    lent.bytes.reserve(2);
    lent.add(shapesOf(values), shardingsOf(values));
    return lent;
  }

  std::vector<JAX_CustomCallPartitioner_aval> values;

private:
  void add(std::string shape, std::string sharding) {
    Text first = lend(bytes.emplace_back(std::move(shape)));
    values.push_back({first, true, lend(bytes.emplace_back(std::move(sharding)))});
  }

  std::vector<std::string> bytes; // Never grows beyond what it has room for.
};

/// Calls a callback, and gives its results back to it in the end.
template <typename Args> class Asked {
public:
  using Callbacks = JAX_CustomCallPartitioner_Callbacks;

  Asked() { std::memset(&args, 0, sizeof args); }
  ~Asked() {
    if (args.header.cleanup_fn)
      args.header.cleanup_fn(args.header.data);
  }
  Asked(const Asked &) = delete;
  Asked &operator=(const Asked &) = delete;

  Status call(Callbacks *callbacks, void (*function)(Callbacks *, Args *)) {
    if (!function)
      return Error{"there is no such callback"};
    function(callbacks, &args);
    if (args.header.has_error)
      return Error{errorCodeOf(args.header.code), std::string(viewOf(args.header.error_msg))};
    return {};
  }

  Args args;
};

Result<PartitionedCall> partition(JAX_CustomCallPartitioner_Callbacks *callbacks, Values operands,
                                  Values results, std::string_view config) {
  Lent given(operands), wanted = Lent::together(results);
  Asked<JAX_CustomCallPartitioner_Partition_Args> asked;
  asked.args.num_args = given.values.size();
  asked.args.op_args = given.values.data();
  asked.args.op_result = wanted.values[0];
  asked.args.backend_config = lend(config);
  if (Status status = asked.call(callbacks, callbacks->partition); !status)
    return status.error();
  PartitionedCall answer;
  answer.program = viewOf(asked.args.mlir_module);
  for (size_t i = 0; i < operands.size(); ++i) {
    size_t rank = operands[i].shape.size();
    Result<std::vector<Shards>> shards =
        parseShardings(viewOf(asked.args.args_sharding[i]), {&rank, 1});
    if (!shards)
      return shards.error().within("operand " + std::to_string(i));
    answer.operands.push_back(std::move((*shards)[0]));
  }
  Result<std::vector<Shards>> shards =
      parseShardings(viewOf(asked.args.result_sharding), ranksOf(results));
  if (!shards)
    return shards.error().within("results");
  answer.results = std::move(*shards);
  return answer;
}

CallPartitioner::Placement fromOperands(JAX_CustomCallPartitioner_Callbacks *callbacks,
                                        Values operands, Values results, std::string_view config) {
  Lent given(operands);
  std::string shapes = shapesOf(results);
  Asked<JAX_CustomCallPartitioner_InferShardingFromOperands_Args> asked;
  asked.args.num_args = given.values.size();
  asked.args.op_args = given.values.data();
  asked.args.result_shape = lend(shapes);
  asked.args.backend_config = lend(config);
  if (Status status = asked.call(callbacks, callbacks->infer_sharding); !status)
    return status.error();
  if (!asked.args.has_result_sharding)
    return CallPartitioner::Placement(std::nullopt);
  Result<std::vector<Shards>> shards =
      parseShardings(viewOf(asked.args.result_sharding), ranksOf(results));
  if (!shards)
    return shards.error();
  return std::optional(std::move(*shards));
}

CallPartitioner::Placement fromUsers(JAX_CustomCallPartitioner_Callbacks *callbacks, Values results,
                                     std::string_view config) {
  std::string shapes = shapesOf(results), shardings = shardingsOf(results);
  Asked<JAX_CustomCallPartitioner_PropagateUserSharding_Args> asked;
  asked.args.backend_config = lend(config);
  asked.args.result_shape = lend(shapes);
  asked.args.result_sharding = lend(shardings);
  if (Status status = asked.call(callbacks, callbacks->propagate_user_sharding); !status)
    return status.error();
  Result<std::vector<Shards>> shards =
      parseShardings(viewOf(asked.args.result_sharding), ranksOf(results));
  if (!shards)
    return shards.error();
  return std::optional(std::move(*shards));
}

PJRT_Error *registerPartitioner(PJRT_Register_Custom_Partitioner_Args *args) {
  if (!args->name || !args->name_size || !args->callbacks || !args->callbacks->partition)
    return invalid("a custom partitioner needs a name and callbacks");
  if (args->callbacks->version != 0)
    return makeError(ErrorCode::Unsupported, "callbacks of custom partitioners of version " +
                                                   std::to_string(args->callbacks->version) +
                                                   " are not known, only 0 is");
  // They live as long as the last compilation that asks them.
  std::shared_ptr<JAX_CustomCallPartitioner_Callbacks> callbacks(
      args->callbacks, [](JAX_CustomCallPartitioner_Callbacks *last) {
        if (last->dtor)
          last->dtor(last);
      });
  calls::CallPartitioners::get().set(
      std::string(args->name, args->name_size),
      {[callbacks](Values operands, Values results, std::string_view config) {
         return partition(callbacks.get(), operands, results, config);
       },
       [callbacks](Values operands, Values results, std::string_view config) {
         return fromOperands(callbacks.get(), operands, results, config);
       },
       [callbacks](Values results, std::string_view config) {
         return fromUsers(callbacks.get(), results, config);
       }});
  return nullptr;
}

/// Calls say themselves how many of their dimensions are batches, and are split along these whether
/// they are registered or not.
PJRT_Error *registerBatch(PJRT_Register_Batch_Partitionable_Args *args) {
  return args->name && args->name_size ? nullptr : invalid("a custom call needs a name");
}

} // namespace

PJRT_Extension_Base *partitionerExtension() {
  static PJRT_Custom_Partitioner_Extension extension = [] {
    PJRT_Custom_Partitioner_Extension made = {};
    made.base = {sizeof made, PJRT_Extension_Type_Custom_Partitioner, nullptr};
    bind<registerPartitioner>(made.register_custom_partitioner);
    bind<registerBatch>(made.register_batch_partitionable);
    return made;
  }();
  return &extension.base;
}

} // namespace cupel::pjrt
