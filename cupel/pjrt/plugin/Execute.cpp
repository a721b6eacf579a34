// Running loaded executables: arguments are taken, results promised, and the work is done at once
// or by the thread of the first device. A run begins when all its arguments are there; who fails
// makes all results fail with the same words.

#include "cupel/pjrt/plugin/Executable.h"

#include "cupel/pjrt/plugin/ElementTypes.h"
#include "cupel/pjrt/plugin/Patience.h"
#include "cupel/support/SoleOwner.h"

#include <algorithm>
#include <chrono>
#include <span>

namespace cupel::pjrt {

using runtime::ProcessTensors;
using runtime::ProgramInfo;
using runtime::ValueInfo;
using tensor::Tensor;

namespace {

constexpr int64_t kShortRunNanoseconds = 100'000;

/// What follows is touched soon. A run before this one has pushed it out of the caches, and what is locked or counted is waited for one by one.
void fetch(const void *from, size_t bytes) {
  constexpr size_t kLine = 64;
  for (size_t at = 0; at < bytes; at += kLine)
    __builtin_prefetch(static_cast<const char *>(from) + at, 1);
}

/// All buffers of a call, and then what they have.
void fetchBuffers(const PJRT_LoadedExecutable_Execute_Args &args) {
  for (bool isData : {false, true})
    for (size_t d = 0; d < args.num_devices; ++d)
      for (size_t i = 0; i < args.num_args; ++i) {
        Buffer &buffer = object(args.argument_lists[d][i]);
        if (isData)
          fetch(buffer.place, sizeof(BufferData));
        else
          fetch(&buffer, sizeof buffer);
      }
}

/// One run, from the moment its arguments are known.
struct Execution {
  std::shared_ptr<const Compiled> compiled;
  /// By device and argument.
  std::vector<std::vector<std::shared_ptr<BufferData>>> arguments;
  std::vector<std::vector<std::shared_ptr<BufferData>>> results;
  std::vector<bool> donated; // By argument.
  std::shared_ptr<Signal> complete = std::make_shared<Signal>();
  /// Arguments that are given up, and the results that get their room.
  std::vector<std::pair<std::shared_ptr<BufferData>, std::shared_ptr<BufferData>>> inherited;

  void moveReservations() {
    for (auto &[from, to] : inherited)
      to->reservation = std::move(from->reservation);
    inherited.clear();
  }

  bool isReady() const {
    for (const auto &own : arguments)
      for (const auto &data : own)
        if (!data->ready->isReady())
          return false;
    return true;
  }

  void fail(const Error &fault) {
    arguments.clear();
    for (auto &own : results)
      for (auto &data : own)
        data->ready->set(fault);
    complete->set(fault);
  }

  /// When somebody first asked for the end of it; 0 if nobody has. A callback that is left with the
  /// whole run is no question: JAX leaves one with every run, whether it will wait or not, and
  /// waits by one of a result. Neither is another run that takes a result. To look at a result is
  /// one only where it was there already: then JAX does no more to wait.
  static int64_t askedAt(const Signal &complete, std::span<const std::shared_ptr<Signal>> results,
                         bool wasOver) {
    int64_t first = complete.askedAt();
    for (const std::shared_ptr<Signal> &result : results)
      for (int64_t asked :
           {result->askedAt(), result->calledAt(), wasOver ? result->lookedAt() : 0})
        if (asked && (!first || asked < first))
          first = asked;
    return first;
  }

  std::vector<std::shared_ptr<Signal>> resultSignals() const {
    std::vector<std::shared_ptr<Signal>> signals;
    for (const auto &own : results)
      for (const auto &data : own)
        signals.push_back(data->ready);
    return signals;
  }

  /// After a run on the host's own thread. The signals are kept for it, and not the results.
  void lookWhetherHostAsks() const {
    auto ended = std::chrono::steady_clock::now().time_since_epoch().count();
    compiled->host.ranItself(ended, compiled->lastNanoseconds,
                             [complete = complete, signals = resultSignals()] {
                               return askedAt(*complete, signals, true);
                             });
  }

  /// The caller's core has them, if this is another.
  void fetchArguments() const {
    for (const auto &own : arguments)
      for (const auto &data : own)
        fetch(data.get(), sizeof *data);
    for (const auto &own : arguments)
      for (const auto &data : own)
        if (!data->wasBorrowed() && data->ready->isReady()) {
          __builtin_prefetch(data->tensor.shape().data());
          __builtin_prefetch(data->tensor.strides().data());
        }
  }

  void run(const std::atomic<bool> *stop) {
    fetchArguments();
    ProcessTensors inputs(arguments.size());
    for (size_t d = 0; d < arguments.size(); ++d) {
      inputs[d].reserve(arguments[d].size());
      for (size_t i = 0; i < arguments[d].size(); ++i) {
        BufferData &data = *arguments[d][i];
        data.ready->wait();
        if (data.ready->error())
          return fail(Error(*data.ready->error()));
        Result<Tensor> input = data.forRun(compiled->program->readingOf(i));
        if (!input)
          return fail(input.error());
        // Memory that was given up and that nobody else looks at may be used again.
        if (donated[i] && isSoleOwner(arguments[d][i]) && !data.tensor.deferred())
          data.tensor = Tensor();
        inputs[d].push_back(std::move(*input));
      }
    }
    arguments.clear();
    std::optional<ComputingRun> computing(std::in_place);
    auto begin = std::chrono::steady_clock::now();
    Result<ProcessTensors> outputs = compiled->program->execute(std::move(inputs), stop);
    if (!outputs)
      return fail(outputs.error());
    compiled->lastNanoseconds = (std::chrono::steady_clock::now() - begin).count();
    computing.reset(); // Before anybody hears of it and asks for the next run.
    if (stop)          // Otherwise it is the host that runs it.
      compiled->host.ran(begin.time_since_epoch().count(), compiled->lastNanoseconds,
                         askedAt(*complete, resultSignals(), false));
    for (size_t d = 0; d < results.size(); ++d)
      for (size_t i = 0; i < results[d].size(); ++i) {
        results[d][i]->tensor = std::move((*outputs)[d][i]);
        results[d][i]->ready->set();
      }
    complete->set();
  }
};

/// Whether an argument of this number is given up in this call.
bool isDonated(const Compiled::Asked &argument, size_t number, const PJRT_ExecuteOptions *options) {
  if (!argument.isDonor)
    return false;
  if (!options)
    return true;
  for (size_t i = 0; i < options->num_non_donatable_input_indices; ++i)
    if (options->non_donatable_input_indices[i] == static_cast<int64_t>(number))
      return false;
  return true;
}

/// Makes room for the results. A result that takes the place of an argument which is given up, and
/// which nobody else holds, needs none.
Status reserveResults(Execution &execution, const std::vector<Device *> &devices) {
  const ProgramInfo &info = execution.compiled->info();
  execution.results.clear();
  execution.inherited.clear();
  std::vector<int64_t>
      heirs; // The argument whose memory a result may take; none at all where nothing is given up.
  for (size_t i = 0; i < info.arguments.size(); ++i)
    if (int64_t result = info.arguments[i].aliasedResult; result >= 0 && execution.donated[i]) {
      heirs.resize(info.results.size(), -1);
      heirs[result] = static_cast<int64_t>(i);
    }
  for (size_t d = 0; d < devices.size(); ++d) {
    if (info.cost.temporaryBytes)
      if (Status verdict = devices[d]
                               ->memory(MemoryKind::Device)
                               .pool->check(info.cost.temporaryBytes, "running ", info.name);
          !verdict)
        return verdict;
    auto &own = execution.results.emplace_back();
    for (size_t i = 0; i < info.results.size(); ++i) {
      const ValueInfo &result = info.results[i];
      std::shared_ptr<BufferData> data;
      if (result.isToken || result.isDynamic()) {
        data = std::make_shared<BufferData>();
      } else if (int64_t from = heirs.empty() ? -1 : heirs[i];
                 from >= 0 && info.arguments[from].shardBytes() == result.shardBytes() &&
                 info.arguments[from].memoryKind == result.memoryKind &&
                 execution.arguments[d][from].use_count() == 2) { // The buffer's and ours.
        data = std::make_shared<BufferData>();
        execution.inherited.emplace_back(execution.arguments[d][from], data);
      } else {
        MemorySpace &memory = devices[d]->memory(*parseMemoryKind(result.memoryKind));
        Result<std::shared_ptr<BufferData>> reserved =
            reserveData(memory, result.type.storage, execution.compiled->resultShapes[i],
                        execution.compiled->origin);
        if (!reserved)
          return reserved.error();
        data = std::move(*reserved);
      }
      data->ready = std::make_shared<Signal>();
      own.push_back(std::move(data));
    }
  }
  return {};
}

} // namespace

PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args) {
  LoadedExecutable &loaded = object(args->executable);
  const std::shared_ptr<const Compiled> &compiled = loaded.compiled;
  const ProgramInfo &info = compiled->info();
  if (loaded.deleted)
    return invalid("the executable " + info.name + " has been deleted");
  std::vector<Device *> devices = loaded.devices;
  if (args->execute_device && info.processCount() == 1)
    devices = {&object(args->execute_device)};
  if (devices.empty())
    return invalid("the executable " + info.name + " needs a device to run on");
  if (args->num_devices != devices.size())
    return invalid(info.name + " runs on " + std::to_string(devices.size()) +
                   " devices; arguments for " + std::to_string(args->num_devices) + " are given");
  if (args->num_args != info.arguments.size())
    return invalid(info.name + " takes " + std::to_string(info.arguments.size()) +
                   " arguments, not " + std::to_string(args->num_args));

  auto execution = std::make_shared<Execution>();
  execution->compiled = compiled;
  execution->donated.reserve(info.arguments.size());
  for (size_t i = 0; i < info.arguments.size(); ++i)
    execution->donated.push_back(isDonated(compiled->asked[i], i, args->options));
  bool anyDonated = std::ranges::find(execution->donated, true) != execution->donated.end();

  // Calls to the outside may wait for the host, and so may what waits for them.
  bool isReadInPlace = !info.cost.hasSideEffect;

  // Nothing is changed before everything is known to be in order.
  execution->arguments.resize(devices.size());
  fetchBuffers(*args);
  for (size_t d = 0; d < devices.size(); ++d) {
    execution->arguments[d].reserve(args->num_args);
    for (size_t i = 0; i < args->num_args; ++i) {
      Buffer &buffer = object(args->argument_lists[d][i]);
      std::shared_ptr<BufferData> data = buffer.get();
      if (!data)
        return invalid("argument " + std::to_string(i) + " of " + info.name +
                       " has been deleted or donated");
      if (&buffer.memory.device != devices[d])
        return invalid("argument " + std::to_string(i) + " of " + info.name + " lies on " +
                       buffer.memory.device.description.text + " and not on " +
                       devices[d]->description.text);
      const Compiled::Asked &expected = compiled->asked[i];
      // Hosts give all kinds of empty buffers for tokens.
      if (!expected.isToken &&
          (buffer.type != expected.type || (!expected.isDynamic && buffer.shape != expected.shape)))
        return invalid("argument " + std::to_string(i) + " of " + info.name + " is a " +
                       std::string(bufferTypeName(buffer.type)) + " buffer of another type or " +
                       "shape than " + tensor::describe(info.arguments[i].type, info.arguments[i].shardShape()));
      isReadInPlace &= buffer.isReadInPlace || data->ready->isReady();
      // Hosts may change what they gave to this call once it has returned. Weights are what they keep.
      if (data->wasBorrowed() && compiled->program->readingOf(i) == runtime::Reading::Whole)
        if (Result<Tensor> whole = data->whole(); !whole)
          return makeError(whole.error());
      execution->arguments[d].push_back(std::move(data));
    }
  }

  // The same buffer must not be given up and used beside that.
  if (anyDonated)
    for (size_t d = 0; d < devices.size(); ++d)
      for (size_t i = 0; i < args->num_args; ++i)
        for (size_t j = 0; j < args->num_args && execution->donated[i]; ++j)
          if (j != i && args->argument_lists[d][i] == args->argument_lists[d][j])
            return invalid("argument " + std::to_string(i) + " of " + info.name +
                           " is donated and is argument " + std::to_string(j) + " as well");

  bool dynamic = std::ranges::any_of(info.results, &ValueInfo::isDynamic);
  if (Status verdict =
          withPatience(devices[0]->client, [&] { return reserveResults(*execution, devices); });
      !verdict)
    return makeError(verdict.error());

  if (anyDonated)
    for (size_t d = 0; d < devices.size(); ++d)
      for (size_t i = 0; i < args->num_args; ++i)
        if (execution->donated[i])
          object(args->argument_lists[d][i]).take();
  execution->moveReservations();

  const auto &results = execution->results; // Which the run fills, and leaves as many as they are.
  std::shared_ptr<Signal> complete = execution->complete;
  // Python's functions live as long as the caller keeps the executable, and no longer. Their
  // exceptions are told at once, for there may be nobody who waits for results.
  bool isWaitedFor = dynamic || info.cost.callsPython;
  // To wake a thread takes longer than what has been found to be short, whatever it was thought to
  // be, and a host that will wait need not be woken.
  bool mayBeBrief = info.processCount() == 1 && !info.cost.hasSideEffect;
  bool isBrief =
      info.isBrief || (mayBeBrief && compiled->lastNanoseconds < kShortRunNanoseconds);
  bool isHostsOwn = !isBrief && mayBeBrief && ComputingRun::count == 0 && execution->isReady() &&
                    compiled->host.runsItself();
  if (isWaitedFor || isHostsOwn || (isBrief && execution->isReady())) {
    execution->run(nullptr);
    if (isHostsOwn)
      execution->lookWhetherHostAsks();
    if (isWaitedFor && complete->error())
      return makeError(*complete->error());
  } else {
    devices[0]->worker.add([execution](const std::atomic<bool> *stop) {
      if (stop)
        execution->run(stop);
      else
        execution->fail({ErrorCode::Cancelled, "the device went away before the run began"});
    });
  }

  for (size_t d = 0; d < devices.size(); ++d) {
    for (size_t i = 0; i < info.results.size(); ++i) {
      const ValueInfo &result = info.results[i];
      tensor::Shape shape = compiled->resultShapes[i];
      if (result.isDynamic())
        shape.assign(results[d][i]->tensor.shape().begin(), results[d][i]->tensor.shape().end());
      auto *buffer = new Buffer(devices[d]->memory(*parseMemoryKind(result.memoryKind)),
                                compiled->resultTypes[i], std::move(shape), results[d][i]);
      buffer->layout = compiled->resultLayouts[i];
      buffer->isReadInPlace = isReadInPlace;
      args->output_lists[d][i] = handle<PJRT_Buffer>(buffer);
    }
    if (args->device_complete_events)
      args->device_complete_events[d] = makeEvent(complete);
  }
  return nullptr;
}

} // namespace cupel::pjrt
