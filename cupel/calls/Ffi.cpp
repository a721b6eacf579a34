#include "cupel/calls/Ffi.h"

#include "cupel/calls/FfiAbi.h"
#include "cupel/support/Error.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>

namespace cupel::calls::ffi {

using tensor::DType;
using tensor::Tensor;

// The opaque types of the interface.
struct Error {
  int32_t code;
  std::string message;
};

struct Context {
  int64_t runId = 0;
  void *states[4] = {}; // What a handler keeps from one stage to later ones.
};

struct Future {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::unique_ptr<Error> error;

  void finish(std::unique_ptr<Error> with) {
    // Notified under the lock: the waiter destroys this as soon as it sees `done`.
    std::lock_guard lock(mutex);
    done = true;
    error = std::move(with);
    changed.notify_all();
  }
};

namespace {

constexpr int32_t kInvalidArgument = 3, kNotFound = 5, kUnimplemented = 12;

Error *fail(int32_t code, std::string message) { return new Error{code, std::move(message)}; }

/// XLA's number of an element type; 0 if it has none.
int32_t numberOf(DType type) {
  switch (type) {
  case DType::I1:
    return 1;
  case DType::I8:
    return 2;
  case DType::I16:
    return 3;
  case DType::I32:
    return 4;
  case DType::I64:
    return 5;
  case DType::U8:
    return 6;
  case DType::U16:
    return 7;
  case DType::U32:
    return 8;
  case DType::U64:
    return 9;
  case DType::F16:
    return 10;
  case DType::F32:
    return 11;
  case DType::F64:
    return 12;
  case DType::C64:
    return 15;
  case DType::BF16:
    return 16;
  case DType::C128:
    return 18;
  case DType::F8E5M2:
    return 19;
  case DType::F8E4M3FN:
    return 20;
  case DType::I4:
    return 21;
  case DType::U4:
    return 22;
  case DType::F8E4M3B11FNUZ:
    return 23;
  case DType::F8E5M2FNUZ:
    return 24;
  case DType::F8E4M3FNUZ:
    return 25;
  case DType::I2:
    return 26;
  case DType::U2:
    return 27;
  case DType::F8E4M3:
    return 28;
  case DType::F8E3M4:
    return 29;
  case DType::F4E2M1FN:
    return 32;
  case DType::F8E8M0FNU:
    return 33;
  case DType::F6E3M2FN:
    return 35;
  case DType::F6E2M3FN:
    return 36;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// What a handler may call
//===----------------------------------------------------------------------===//

Error *createError(ErrorCreateArgs *args) {
  return fail(args->code, args->message ? args->message : "");
}
void errorMessage(ErrorMessageArgs *args) { args->message = args->error->message.c_str(); }
void destroyError(ErrorArgs *args) { delete args->error; }

Error *registerHandlerFromHandler(void *) {
  return fail(kUnimplemented, "handlers are registered with the PJRT plugin's FFI extension");
}
Error *getStream(StreamArgs *) { return fail(kUnimplemented, "this device has no streams"); }

Error *registerTypeEntry(TypeRegisterArgs *args) {
  *args->typeId = registerType({args->name.data, args->name.size}, *args->typeId);
  return nullptr;
}

Error *getContext(ContextGetArgs *args) {
  args->data = nullptr;
  return fail(kNotFound, "no user data of this type was added to the execution");
}

Error *setState(StateArgs *args) {
  if (args->stage < kInstantiate || args->stage > kExecute)
    return fail(kInvalidArgument, "no such stage");
  args->context->states[args->stage] = args->state;
  return nullptr;
}

Error *getState(StateArgs *args) {
  if (args->stage < kInstantiate || args->stage > kExecute || !args->context->states[args->stage])
    return fail(kNotFound, "the handler keeps no state of this stage");
  args->state = args->context->states[args->stage];
  return nullptr;
}

Error *allocate(AllocateArgs *args) {
  size_t alignment = std::max<size_t>(args->alignment, alignof(std::max_align_t));
  if (alignment & (alignment - 1))
    return fail(kInvalidArgument, "an alignment is a power of two");
  size_t size = (std::max<size_t>(args->size, 1) + alignment - 1) & ~(alignment - 1);
  args->data = size < args->size ? nullptr : std::aligned_alloc(alignment, size);
  return args->data ? nullptr
                    : fail(8, "no memory for " + std::to_string(args->size) + " bytes of scratch");
}
Error *freeMemory(FreeArgs *args) {
  std::free(args->data);
  return nullptr;
}

// A handler's tasks run at once, in the thread that hands them in: as few threads as that.
Error *schedule(ScheduleArgs *args) {
  args->task(args->data);
  return nullptr;
}
Error *threadCount(ThreadCountArgs *args) {
  *args->count = 1;
  return nullptr;
}

Error *createFuture(FutureArgs *args) {
  args->future = new Future;
  return nullptr;
}
Error *setFutureAvailable(FutureArgs *args) {
  args->future->finish(nullptr);
  return nullptr;
}
Error *setFutureError(FutureErrorArgs *args) {
  args->future->finish(std::unique_ptr<Error>(args->error));
  return nullptr;
}

Error *getRunId(RunIdArgs *args) {
  args->id = args->context->runId;
  return nullptr;
}
Error *getDeviceOrdinal(DeviceOrdinalArgs *args) {
  args->ordinal = 0;
  return nullptr;
}

const Api &api() {
  static const Api table = {{sizeof(Api), nullptr},
                            {{sizeof(Version), nullptr}, kMajor, kMinor},
                            nullptr,
                            createError,
                            errorMessage,
                            destroyError,
                            registerHandlerFromHandler,
                            getStream,
                            registerTypeEntry,
                            getContext,
                            setState,
                            getState,
                            allocate,
                            freeMemory,
                            schedule,
                            threadCount,
                            createFuture,
                            setFutureAvailable,
                            setFutureError,
                            getRunId,
                            getDeviceOrdinal};
  return table;
}

//===----------------------------------------------------------------------===//
// One call's frame
//===----------------------------------------------------------------------===//

/// Attributes in the interface's form; everything they point at lives as long as this.
class AttributeFrame {
public:
  explicit AttributeFrame(const CallAttributes &attributes) {
    for (const auto &[name, attribute] : attributes) { // In the order of their names, as asked for.
      spans.push_back({name.data(), name.size()});
      names.push_back(&spans.back());
      if (const auto *scalar = std::get_if<CallScalar>(&attribute.value)) {
        scalars.push_back({numberOf(scalar->type), scalar->bits});
        add(kScalar, &scalars.back());
      } else if (const auto *array = std::get_if<CallArray>(&attribute.value)) {
        arrays.push_back({numberOf(array->type), size_t(array->size), array->bytes.data()});
        add(kArray, &arrays.back());
      } else if (const auto *text = std::get_if<std::string>(&attribute.value)) {
        spans.push_back({text->data(), text->size()});
        add(kString, &spans.back());
      } else {
        children.push_back(std::make_unique<AttributeFrame>(
            *std::get<std::shared_ptr<const CallAttributes>>(attribute.value)));
        add(kDictionary, &children.back()->frame);
      }
    }
    frame = {{sizeof(Attributes), nullptr},
             int64_t(values.size()),
             types.data(),
             names.data(),
             values.data()};
  }

  Attributes frame;

private:
  void add(AttributeType type, void *value) {
    types.push_back(type);
    values.push_back(value);
  }

  std::deque<ByteSpan> spans;
  std::deque<Scalar> scalars;
  std::deque<Array> arrays;
  std::vector<std::unique_ptr<AttributeFrame>> children;
  std::vector<AttributeType> types;
  std::vector<ByteSpan *> names;
  std::vector<void *> values;
};

/// The dimensions from major to minor of a layout given from minor to major; empty: as they are.
Result<std::vector<int64_t>> majorToMinor(std::span<const std::vector<int64_t>> layouts, size_t i,
                                          size_t rank) {
  if (i >= layouts.size() || rank == 0)
    return std::vector<int64_t>();
  std::vector<int64_t> order(layouts[i].rbegin(), layouts[i].rend());
  std::vector<bool> seen(rank);
  for (int64_t dimension : order)
    if (dimension < 0 || size_t(dimension) >= rank || seen[dimension])
      return cupel::Error{"a layout of a custom call is no order of its dimensions"};
    else
      seen[dimension] = true;
  if (order.size() != rank)
    return cupel::Error{"a layout of a custom call is no order of its dimensions"};
  return order;
}

std::vector<int64_t> inverse(const std::vector<int64_t> &order) {
  std::vector<int64_t> result(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    result[order[i]] = i;
  return result;
}

/// Operands or results as buffers in the layouts asked for.
class BufferFrame {
public:
  Status add(Tensor tensor, std::span<const int64_t> shape) {
    int32_t number = numberOf(tensor.dtype());
    if (!number)
      return cupel::Error{"an FFI handler cannot be given " + tensor.elementType().str()};
    tensors.push_back(std::move(tensor));
    dims.emplace_back(shape.begin(), shape.end());
    buffers.push_back({{sizeof(Buffer), nullptr},
                       number,
                       const_cast<std::byte *>(tensors.back().data()),
                       int64_t(shape.size()),
                       dims.back().data()});
    types.push_back(kBuffer);
    return {};
  }
  /// An operand that shares the memory of a result.
  void lieIn(size_t i, const Tensor &result) {
    buffers[i].data = const_cast<std::byte *>(result.data());
  }
  Values frame() {
    for (Buffer &buffer : buffers)
      pointers.push_back(&buffer);
    return {{sizeof(Values), nullptr}, int64_t(pointers.size()), types.data(), pointers.data()};
  }

  std::deque<Tensor> tensors; // Row-major in the order of the layout.

private:
  std::deque<std::vector<int64_t>> dims;
  std::deque<Buffer> buffers;
  std::vector<ValueType> types;
  std::vector<void *> pointers;
};

/// Copies the bytes of an operand into a result that shares its memory.
Status fillFrom(Tensor &result, const BufferFrame &operands, int64_t i) {
  if (size_t(i) >= operands.tensors.size() || operands.tensors[i].byteSize() != result.byteSize())
    return cupel::Error{"a result of a custom call shares memory with an operand of another size"};
  if (result.byteSize())
    std::memcpy(result.mutableData(), operands.tensors[i].data(), result.byteSize());
  return {};
}

/// Calls one stage's function and waits for what it started.
Status invoke(void *function, CallFrame &frame, Stage stage) {
  if (!function)
    return {};
  frame.stage = stage;
  frame.future = nullptr;
  std::unique_ptr<Error> error(reinterpret_cast<Handler *>(function)(&frame));
  if (!error && frame.future) {
    std::unique_ptr<Future> future(frame.future);
    std::unique_lock lock(future->mutex);
    future->changed.wait(lock, [&] { return future->done; });
    error = std::move(future->error);
    lock.unlock();
  }
  if (error) {
    std::string message =
        error->message.empty() ? "an FFI handler failed without a message" : error->message;
    // Marked as the handler's own, so that its code is kept whatever it is.
    return cupel::Error{errorCodeOf(error->code), message, {.call = "FFI handler"}};
  }
  return {};
}

Result<std::vector<Tensor>> call(const HandlerBundle &bundle, const CustomCall &call) {
  static std::atomic<int64_t> runs{0};
  BufferFrame operands, results;
  std::vector<std::vector<int64_t>> resultOrders;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Tensor &operand = call.operands[i];
    Result<std::vector<int64_t>> order = majorToMinor(call.operandLayouts, i, operand.rank());
    if (!order)
      return order.error();
    Result<Tensor> packed = (order->empty() ? operand : operand.transposed(*order)).contiguous();
    if (!packed)
      return packed.error();
    if (Status status = operands.add(std::move(*packed), operand.shape()); !status)
      return status.error();
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    const tensor::Shape &shape = call.results[i].shape;
    Result<std::vector<int64_t>> order = majorToMinor(call.resultLayouts, i, shape.size());
    if (!order)
      return order.error();
    tensor::Shape physical = shape;
    for (size_t d = 0; d < order->size(); ++d)
      physical[d] = shape[(*order)[d]];
    Result<Tensor> result = Tensor::zeros(call.results[i].element, std::move(physical));
    if (!result)
      return result.error();
    if (i < call.sharedOperands.size() && call.sharedOperands[i] >= 0)
      if (Status status = fillFrom(*result, operands, call.sharedOperands[i]); !status)
        return status.error();
    if (Status status = results.add(std::move(*result), shape); !status)
      return status.error();
    if (i < call.sharedOperands.size() && call.sharedOperands[i] >= 0)
      operands.lieIn(static_cast<size_t>(call.sharedOperands[i]), results.tensors.back());
    resultOrders.push_back(std::move(*order));
  }

  AttributeFrame attributes(call.attributes);
  Context context;
  context.runId = ++runs;
  CallFrame frame{{kCallFrameSize, nullptr}, &api(),          &context,         kExecute,
                  operands.frame(),          results.frame(), attributes.frame, nullptr};
  for (auto [function, stage] : {std::pair<void *, Stage>{bundle.instantiate, kInstantiate},
                                 {bundle.prepare, kPrepare},
                                 {bundle.initialize, kInitialize},
                                 {bundle.execute, kExecute}})
    if (Status status = invoke(function, frame, stage); !status)
      return status.error();

  std::vector<Tensor> answer;
  for (size_t i = 0; i < results.tensors.size(); ++i)
    answer.push_back(resultOrders[i].empty()
                         ? std::move(results.tensors[i])
                         : results.tensors[i].transposed(inverse(resultOrders[i])));
  return answer;
}

} // namespace

int64_t registerType(std::string_view name, int64_t wanted) {
  static std::mutex mutex;
  static std::map<std::string, int64_t, std::less<>> types;
  static int64_t last = 0;
  std::lock_guard lock(mutex);
  if (auto found = types.find(name); found != types.end())
    return found->second;
  int64_t id = wanted > last ? wanted : last + 1;
  last = std::max(last, id);
  types.emplace(name, id);
  return id;
}

Result<CallHandler> adapt(HandlerBundle bundle) {
  if (!bundle.execute)
    return cupel::Error{"a handler needs a function for the execute stage"};
  // Ask the handler which interface it was built for.
  Metadata metadata{};
  metadata.structSize = kMetadataSize;
  metadata.version.header.structSize = sizeof(Version);
  MetadataExtension extension{{sizeof(MetadataExtension), kMetadataExtension, nullptr}, &metadata};
  CallFrame frame{};
  frame.header = {kCallFrameSize, &extension.base};
  frame.api = &api();
  frame.stage = kExecute;
  frame.operands.header.structSize = frame.results.header.structSize = sizeof(Values);
  frame.attributes.header.structSize = sizeof(Attributes);
  std::unique_ptr<Error> error(reinterpret_cast<Handler *>(bundle.execute)(&frame));
  if (error)
    return cupel::Error{"the handler does not say which FFI version it speaks: " + error->message};
  if (metadata.version.major != kMajor)
    return cupel::Error{"the handler speaks FFI version " + std::to_string(metadata.version.major) +
                        "." + std::to_string(metadata.version.minor) + ", Cupel speaks " +
                        std::to_string(kMajor) + "." + std::to_string(kMinor)};
  return CallHandler([bundle](const CustomCall &custom) { return call(bundle, custom); });
}

} // namespace cupel::calls::ffi
