#include "cupel/pjrt/plugin/Executable.h"

#include "cupel/compiler/Compile.h"
#include "cupel/pjrt/plugin/ElementTypes.h"
#include "cupel/pjrt/plugin/Layouts.h"
#include "cupel/pjrt/plugin/XlaOptions.h"
#include "cupel/support/Sha256.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>

namespace cupel::pjrt {

using runtime::ProgramInfo;
using runtime::ValueInfo;

static void fillShardings(const std::vector<ValueInfo> &values, Compiled::Shardings &list) {
  for (const ValueInfo &value : values)
    list.bytes.push_back(serializeSharding(value.shards));
  for (const std::string &bytes : list.bytes) {
    list.data.push_back(bytes.data());
    list.sizes.push_back(bytes.size());
  }
}

static void fillKinds(const std::vector<ValueInfo> &values, std::vector<const char *> &kinds,
                      std::vector<size_t> &sizes) {
  for (const ValueInfo &value : values) {
    std::string_view name = value.memoryKind.empty() ? kMemoryKinds[0] : value.memoryKind;
    kinds.push_back(name.data());
    sizes.push_back(name.size());
  }
}

Compiled::Compiled(std::shared_ptr<const runtime::Executable> made, std::string options)
    : program(std::move(made)), compileOptions(std::move(options)),
      origin(std::make_shared<std::string>("a result of " + program->info().name)) {
  for (const ValueInfo &result : info().results) {
    resultTypes.push_back(result.isToken ? PJRT_Buffer_Type_TOKEN
                                         : bufferType(result.type.storage));
    const tensor::Shape &shape =
        resultShapes.emplace_back(result.isToken ? tensor::Shape() : result.shardShape());
    resultDims.insert(resultDims.end(), shape.begin(), shape.end());
    resultRanks.push_back(shape.size());
    resultBytes += result.shardBytes();
    resultLayouts.push_back(layoutOfMode(result.layoutMode, result.shape.size()));
  }
  for (const ValueInfo &argument : info().arguments) {
    bool isKnown = !argument.isToken && !argument.isDynamic();
    asked.push_back({argument.isToken ? PJRT_Buffer_Type_TOKEN : bufferType(argument.type.storage), argument.isToken,
                     argument.isDynamic(), argument.isDonor, isKnown ? argument.shardShape() : tensor::Shape()});
    argumentBytes += argument.shardBytes();
    if (argument.aliasedResult >= 0)
      aliasBytes += argument.shardBytes();
    argumentLayouts.push_back(layoutOfMode(argument.layoutMode, argument.shape.size()));
  }
  fillKinds(info().results, resultKinds, resultKindSizes);
  fillKinds(info().arguments, argumentKinds, argumentKindSizes);
  fillShardings(info().arguments, argumentShardings);
  fillShardings(info().results, resultShardings);
  if (info().results.empty()) { // Hosts want an entry even of no results.
    static constexpr const char *kNothing = "";
    resultShardings.data.push_back(kNothing);
    resultShardings.sizes.push_back(0);
  }
  for (MinorToMajor &layout : argumentLayouts)
    argumentLayoutHandles.push_back(reinterpret_cast<PJRT_Layouts_MemoryLayout *>(&layout));
  for (MinorToMajor &layout : resultLayouts)
    resultLayoutHandles.push_back(reinterpret_cast<PJRT_Layouts_MemoryLayout *>(&layout));
}

const NamedValues &Compiled::cost() const {
  runtime::TraceCounts counts = program->traceCounts();
  std::string runs;
  if (counts.untraced + counts.misses > 0)
    runs = std::to_string(counts.misses) + " missed, " + std::to_string(counts.recorded) +
           " recorded, " + std::to_string(counts.replayed) + " replayed, " +
           std::to_string(counts.stale) + " stale, " + std::to_string(counts.untraced) + " without";
  std::lock_guard lock(costMutex);
  if (!costs.empty() && latestRuns == runs)
    return costs.back();
  latestRuns = runs;
  NamedValues &cost = costs.emplace_back();
  if (!runs.empty())
    cost.add("trace runs", runs);
  const runtime::CostEstimate &estimate = info().cost;
  cost.addFloat("flops", static_cast<float>(estimate.flops));
  cost.addFloat("transcendentals", static_cast<float>(estimate.transcendentals));
  cost.addFloat("bytes accessed", static_cast<float>(estimate.bytesAccessed));
  for (const auto &[what, said] : info().notes)
    cost.add(what, said);
  return cost;
}

LoadedExecutable::LoadedExecutable(Client &client, std::shared_ptr<const Compiled> made,
                                   DeviceAssignment given, bool isPortable)
    : client(client), compiled(std::move(made)), assignment(std::move(given)),
      isPortable(isPortable) {
  if (isPortable)
    return;
  for (size_t i = 0; i < assignment.devices.size(); ++i) {
    devices.push_back(client.find(assignment.devices[i]));
    deviceHandles.push_back(handle<PJRT_Device>(devices.back()));
    logicalIds.push_back(
        {static_cast<int>(i / assignment.partitions), static_cast<int>(i % assignment.partitions)});
  }
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Hosts have no ear for what a compiler says of a program that it compiled; people do.
static void warnOnce(const std::string &message) {
  static std::mutex mutex;
  static std::set<std::string> &said = *new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (said.insert(message).second)
    std::fprintf(stderr, "cupel: warning: %s\n", message.c_str());
}

Result<std::shared_ptr<const Compiled>> compileProgram(const PJRT_Program *program,
                                                        std::string_view options,
                                                        const CompileRequest &request,
                                                        const Layout &defaults) {
  std::string_view format(program->format, program->format_size);
  if (format != "mlir")
    return Error{ErrorCode::Unsupported,
                 "programs of format '" + std::string(format) +
                     "' are not supported, only 'mlir' (StableHLO) is; with PyTorch/XLA set "
                     "XLA_STABLEHLO_COMPILE=1"};
  Options given(OptionScope::Program);
  for (const auto &[name, value] : request.options) {
    if (name.starts_with("xla_")) {
      if (Status verdict = checkXlaOption(name, value); !verdict)
        return verdict.error();
      continue;
    }
    if (Status verdict = given.set(name, value); !verdict)
      return verdict.error();
  }
  compiler::CompileOptions compile;
  compile.replicas = request.replicas;
  compile.partitions = request.partitions;
  compile.propagateToResults = request.propagateToResults;
  std::string exportPath = given.string("export_path").value_or(defaults.exportPath);
  compile.isGlobal = request.useSpmd;
  Numerics numerics = defaults.numerics;
  chooseNumerics(given, numerics);
  compile.wideAccumulation = numerics.wideAccumulation;
  compile.scatterSkipsWindows = numerics.scatterSkipsWindows;
  if (!numerics.programTypes && defaults.architecture.dtypes.size() < tensor::kDTypeCount)
    compile.types = defaults.architecture.dtypes;
  compile.weightFormats =
      given.string("experimental_weight_dtype").value_or(defaults.weightFormats);
  compile.splitsWork = !numerics.computesWhole;
  compile.narrowsProducts = numerics.narrowsProducts;
  compile.keepsNarrow = numerics.keepsNarrow;
  compile.backend = given.string("backend").value_or(defaults.backend);
  if (std::string_view kind = compile.backend; kind.starts_with("codegen_")) {
    if (exportPath.empty())
      return Error{ErrorCode::InvalidArgument,
                   "the option 'export_path' must say where the backend " + compile.backend + " writes"};
    compile.code = {std::string(kind.substr(std::string_view("codegen_").size())), exportPath,
                    given.boolean("export_tensors").value_or(defaults.exportsTensors)};
    compile.backend = "cpu";
  } else {
    compile.dumpFolder = exportPath;
  }
  Rewrites rewrites = defaults.rewrites;
  chooseRewrites(given, rewrites);
  compile.rewriteLimit = rewrites.limit;
  compile.wrongRewrite = rewrites.wrong;
  compile.alwaysMakesCode = rewrites.alwaysCode;
  compile.level = rewrites.level;
  compile.sramBytes = defaults.architecture.sramBytes;
  compile.isStrict = given.boolean("strict").value_or(defaults.isStrict);
  if (std::string files = given.string("fusion_patterns").value_or(defaults.fusionFiles); !files.empty()) {
    Result<std::string> patterns = compiler::readFusions(files);
    if (!patterns)
      return patterns.error().within("fusion_patterns");
    compile.fusions = std::move(*patterns);
  }
  compile.withoutFusions = given.string("without_fusion_patterns").value_or(defaults.withoutFusions);
  compile.enablesTrace = given.boolean("enable_trace").value_or(defaults.enablesTrace);
  compile.traceRegion = defaults.traceRegion;
  Result<std::shared_ptr<const runtime::Executable>> made =
      compiler::compile({program->code, program->code_size}, compile);
  if (!made)
    return made.error();
  const ProgramInfo &info = (*made)->info();
  // Of what was made otherwise than asked for; the rest is for those who ask.
  for (const auto &[what, said] : info.notes)
    if (what == "partition" || what == "backend" ||
        (what == "trace" && said.starts_with(runtime::kNotRecorded)))
      warnOnce(info.name + ": " + what + ": " + said);
  for (const std::vector<ValueInfo> *values : {&info.arguments, &info.results})
    for (const ValueInfo &value : *values)
      if (!parseMemoryKind(value.memoryKind))
        return Error{ErrorCode::InvalidArgument,
                     "there is no memory of kind '" + value.memoryKind +
                         "'; there are device, pinned_host and unpinned_host"};
  return std::make_shared<const Compiled>(std::move(*made), std::string(options));
}

static Result<LoadedExecutable *> load(Client &client, std::shared_ptr<const Compiled> compiled,
                                        const CompileRequest &request) {
  DeviceAssignment assignment;
  int64_t count = request.replicas * request.partitions;
  if (request.assignment) {
    assignment = *request.assignment;
  } else {
    assignment.replicas = request.replicas;
    assignment.partitions = request.partitions;
    int64_t first = count == 1 && request.deviceOrdinal >= 0 ? request.deviceOrdinal : 0;
    for (int64_t i = 0; i < count; ++i)
      assignment.devices.push_back(first + i);
  }
  if (assignment.replicas != request.replicas || assignment.partitions != request.partitions)
    return Error{ErrorCode::InvalidArgument,
                 "the device assignment is for another number of replicas or partitions"};
  for (int64_t id : assignment.devices)
    if (!client.find(id))
      return Error{ErrorCode::InvalidArgument, "the program is assigned to device " +
                                                   std::to_string(id) + "; there are " +
                                                   std::to_string(client.devices.size())};
  return new LoadedExecutable(client, std::move(compiled), std::move(assignment),
                              request.isPortable && count == 1);
}

namespace {

PJRT_Error *compileAndLoad(PJRT_Client_Compile_Args *args) {
  std::string_view options(args->compile_options, args->compile_options_size);
  Result<CompileRequest> request = parseCompileOptions(options);
  if (!request)
    return makeError(request.error());
  Client &client = object(args->client);
  Result<std::shared_ptr<const Compiled>> compiled =
      compileProgram(args->program, options, *request, client.layout);
  if (!compiled)
    return makeError(compiled.error());
  Result<LoadedExecutable *> loaded = load(client, std::move(*compiled), *request);
  if (!loaded)
    return makeError(loaded.error());
  args->executable = handle<PJRT_LoadedExecutable>(*loaded);
  return nullptr;
}

PJRT_Error *compileOnly(PJRT_Compile_Args *args) {
  std::string_view options(args->compile_options, args->compile_options_size);
  Result<CompileRequest> request = parseCompileOptions(options);
  if (!request)
    return makeError(request.error());
  Layout none;
  const Layout &defaults = args->client     ? object(args->client).layout
                           : args->topology ? object(args->topology).layout
                                            : none;
  Result<std::shared_ptr<const Compiled>> compiled =
      compileProgram(args->program, options, *request, defaults);
  if (!compiled)
    return makeError(compiled.error());
  args->executable = handle<PJRT_Executable>(new ExecutableHandle(std::move(*compiled)));
  return nullptr;
}

PJRT_Error *clientLoad(PJRT_Client_Load_Args *args) {
  const Compiled &compiled = *object(args->executable).compiled;
  std::string_view options(args->compile_options, args->compile_options_size);
  Result<CompileRequest> request =
      parseCompileOptions(options.empty() ? compiled.compileOptions : options);
  if (!request)
    return makeError(request.error());
  Result<LoadedExecutable *> loaded =
      load(object(args->client), object(args->executable).compiled, *request);
  if (!loaded)
    return makeError(loaded.error());
  args->loaded_executable = handle<PJRT_LoadedExecutable>(*loaded);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

constexpr std::string_view kSavedMark = "cupel executable\n";
constexpr size_t kChecksumSize = 64; // SHA-256, in letters.

/// Mark and checksum of what follows; then the size of the options, the options, the program.
std::string save(const Compiled &compiled) {
  std::string content = std::to_string(compiled.compileOptions.size()) + "\n" +
                        compiled.compileOptions + compiled.program->serialize();
  return std::string(kSavedMark) + sha256(content) + "\n" + content;
}

/// What was saved, without mark and checksum; files that hosts keep may be cut short or damaged.
Result<std::string_view> contentOf(std::string_view bytes) {
  if (!bytes.starts_with(kSavedMark))
    return Error{"the bytes are no saved executable of this version of cupel"};
  bytes.remove_prefix(kSavedMark.size());
  std::string_view content = bytes.substr(std::min(bytes.size(), kChecksumSize + 1));
  if (bytes.size() <= kChecksumSize || bytes[kChecksumSize] != '\n' ||
      bytes.substr(0, kChecksumSize) != sha256(content))
    return Error{ErrorCode::DataLoss, "the saved executable is damaged: its checksum is not that "
                                      "of its bytes; compile the program again"};
  return content;
}

PJRT_Error *serialize(PJRT_Executable_Serialize_Args *args) {
  auto *bytes = new std::string(save(*object(args->executable).compiled));
  args->serialized_bytes = bytes->data();
  args->serialized_bytes_size = bytes->size();
  args->serialized_executable = reinterpret_cast<PJRT_SerializedExecutable *>(bytes);
  args->serialized_executable_deleter = [](PJRT_SerializedExecutable *saved) {
    delete reinterpret_cast<std::string *>(saved);
  };
  return nullptr;
}

PJRT_Error *deserialize(PJRT_Executable_DeserializeAndLoad_Args *args) {
  using Args = PJRT_Executable_DeserializeAndLoad_Args;
  Result<std::string_view> content =
      contentOf({args->serialized_executable, args->serialized_executable_size});
  if (!content)
    return makeError(content.error());
  std::string_view bytes = *content;
  size_t end = bytes.substr(0, 24).find('\n');
  size_t size = 0;
  bool fits = end != std::string_view::npos && end > 0;
  for (size_t i = 0; fits && i < end; ++i) {
    fits = bytes[i] >= '0' && bytes[i] <= '9';
    size = size * 10 + (bytes[i] - '0');
  }
  if (!fits || size > bytes.size() - end - 1)
    return invalid("the bytes are no saved executable of cupel");
  std::string_view options = bytes.substr(end + 1, size);
  Result<std::shared_ptr<const runtime::Executable>> program =
      compiler::deserialize(bytes.substr(end + 1 + size), object(args->client).layout.traceRegion);
  if (!program)
    return makeError(program.error());
  const char *overridden = getField(args, &Args::overridden_serialized_compile_options);
  size_t overriddenSize = getField(args, &Args::overridden_serialized_compile_options_size);
  Result<CompileRequest> request = parseCompileOptions(
      overridden && overriddenSize ? std::string_view(overridden, overriddenSize) : options);
  if (!request)
    return makeError(request.error());
  Result<LoadedExecutable *> loaded =
      load(object(args->client),
           std::make_shared<const Compiled>(std::move(*program), std::string(options)), *request);
  if (!loaded)
    return makeError(loaded.error());
  args->loaded_executable = handle<PJRT_LoadedExecutable>(*loaded);
  return nullptr;
}

PJRT_Error *getCompileOptions(PJRT_Executable_GetCompileOptions_Args *args) {
  auto *bytes = new std::string(object(args->executable).compiled->compileOptions);
  args->serialized_bytes = bytes->data();
  args->serialized_bytes_size = bytes->size();
  args->serialized_compile_options = reinterpret_cast<PJRT_SerializedCompileOptions *>(bytes);
  args->serialized_compile_options_deleter = [](PJRT_SerializedCompileOptions *saved) {
    delete reinterpret_cast<std::string *>(saved);
  };
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

PJRT_Error *destroyExecutable(PJRT_Executable_Destroy_Args *args) {
  if (args->executable)
    delete &object(args->executable);
  return nullptr;
}

PJRT_Error *name(PJRT_Executable_Name_Args *args) {
  const std::string &text = object(args->executable).compiled->info().name;
  args->executable_name = text.data();
  args->executable_name_size = text.size();
  return nullptr;
}

PJRT_Error *numReplicas(PJRT_Executable_NumReplicas_Args *args) {
  args->num_replicas = object(args->executable).compiled->info().replicas;
  return nullptr;
}

PJRT_Error *numPartitions(PJRT_Executable_NumPartitions_Args *args) {
  args->num_partitions = object(args->executable).compiled->info().partitions;
  return nullptr;
}

PJRT_Error *numOutputs(PJRT_Executable_NumOutputs_Args *args) {
  args->num_outputs = object(args->executable).compiled->info().results.size();
  return nullptr;
}

PJRT_Error *codeSize(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args *args) {
  args->size_in_bytes = object(args->executable).compiled->info().codeBytes;
  return nullptr;
}

PJRT_Error *costAnalysis(PJRT_Executable_GetCostAnalysis_Args *args) {
  const NamedValues &cost = object(args->executable).compiled->cost();
  args->properties = cost.data();
  args->num_properties = cost.size();
  return nullptr;
}

PJRT_Error *outputTypes(PJRT_Executable_OutputElementTypes_Args *args) {
  const Compiled &compiled = *object(args->executable).compiled;
  args->output_types = const_cast<PJRT_Buffer_Type *>(compiled.resultTypes.data());
  args->num_output_types = compiled.resultTypes.size();
  return nullptr;
}

PJRT_Error *outputDimensions(PJRT_Executable_OutputDimensions_Args *args) {
  const Compiled &compiled = *object(args->executable).compiled;
  args->num_outputs = compiled.resultRanks.size();
  args->dims = compiled.resultDims.data();
  args->dim_sizes = compiled.resultRanks.data();
  return nullptr;
}

PJRT_Error *outputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args *args) {
  const Compiled &compiled = *object(args->executable).compiled;
  args->num_outputs = compiled.resultKinds.size();
  args->memory_kinds = compiled.resultKinds.data();
  args->memory_kind_sizes = compiled.resultKindSizes.data();
  return nullptr;
}

PJRT_Error *parameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args *args) {
  const Compiled &compiled = *object(args->executable).compiled;
  args->num_parameters = compiled.argumentKinds.size();
  args->memory_kinds = compiled.argumentKinds.data();
  args->memory_kind_sizes = compiled.argumentKindSizes.data();
  return nullptr;
}

PJRT_Error *optimizedProgram(PJRT_Executable_OptimizedProgram_Args *args) {
  static constexpr std::string_view kFormat = "mlir";
  PJRT_Program &program = *args->program;
  std::string text = object(args->executable).compiled->program->text();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  if (program.code) {
    if (program.code_size < text.size())
      return invalid("the buffer for the program has " + std::to_string(program.code_size) +
                     " bytes; " + std::to_string(text.size()) + " are needed");
    std::memcpy(program.code, text.data(), text.size());
  }
  program.code_size = text.size();
  return nullptr;
}

PJRT_Error *fingerprint(PJRT_Executable_Fingerprint_Args *args) {
  const std::string &text = object(args->executable).compiled->info().fingerprint;
  args->executable_fingerprint = text.data();
  args->executable_fingerprint_size = text.size();
  return nullptr;
}

PJRT_Error *memoryStats(PJRT_Executable_GetCompiledMemoryStats_Args *args) {
  using Args = PJRT_Executable_GetCompiledMemoryStats_Args;
  const Compiled &compiled = *object(args->executable).compiled;
  int64_t temporary = compiled.info().cost.temporaryBytes;
  int64_t total = compiled.argumentBytes + compiled.resultBytes - compiled.aliasBytes + temporary;
  args->generated_code_size_in_bytes = compiled.info().codeBytes;
  args->argument_size_in_bytes = compiled.argumentBytes;
  args->output_size_in_bytes = compiled.resultBytes;
  args->alias_size_in_bytes = compiled.aliasBytes;
  args->temp_size_in_bytes = temporary;
  args->host_generated_code_size_in_bytes = 0;
  args->host_argument_size_in_bytes = 0;
  args->host_output_size_in_bytes = 0;
  args->host_alias_size_in_bytes = 0;
  args->host_temp_size_in_bytes = 0;
  setField(args, &Args::peak_memory_in_bytes, total);
  setField(args, &Args::total_size_in_bytes, total);
  setField(args, &Args::total_allocation_bytes, total);
  setField(args, &Args::indefinite_allocations, 0);
  setField(args, &Args::peak_unpadded_heap_bytes, total);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Loaded executables
//===----------------------------------------------------------------------===//

PJRT_Error *destroyLoaded(PJRT_LoadedExecutable_Destroy_Args *args) {
  if (args->executable)
    delete &object(args->executable);
  return nullptr;
}

PJRT_Error *getExecutable(PJRT_LoadedExecutable_GetExecutable_Args *args) {
  args->executable =
      handle<PJRT_Executable>(new ExecutableHandle(object(args->loaded_executable).compiled));
  return nullptr;
}

PJRT_Error *addressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args *args) {
  const auto &handles = object(args->executable).deviceHandles;
  args->addressable_devices = handles.data();
  args->num_addressable_devices = handles.size();
  return nullptr;
}

PJRT_Error *logicalIds(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args *args) {
  LoadedExecutable &loaded = object(args->executable);
  args->addressable_device_logical_ids = loaded.logicalIds.data();
  args->num_addressable_device_logical_ids = loaded.logicalIds.size();
  return nullptr;
}

PJRT_Error *deleteLoaded(PJRT_LoadedExecutable_Delete_Args *args) {
  object(args->executable).deleted = true;
  return nullptr;
}

PJRT_Error *isDeleted(PJRT_LoadedExecutable_IsDeleted_Args *args) {
  args->is_deleted = object(args->executable).deleted;
  return nullptr;
}

PJRT_Error *loadedFingerprint(PJRT_LoadedExecutable_Fingerprint_Args *args) {
  const std::string &text = object(args->executable).compiled->info().fingerprint;
  args->executable_fingerprint = text.data();
  args->executable_fingerprint_size = text.size();
  return nullptr;
}

PJRT_Error *deviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args *args) {
  LoadedExecutable &loaded = object(args->executable);
  auto *bytes = new std::string(loaded.isPortable ? std::string() : loaded.assignment.serialize());
  args->serialized_bytes = bytes->data();
  args->serialized_bytes_size = bytes->size();
  args->serialized_device_assignment = reinterpret_cast<PJRT_DeviceAssignmentSerialized *>(bytes);
  args->serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized *saved) {
    delete reinterpret_cast<std::string *>(saved);
  };
  return nullptr;
}

} // namespace

void bindExecutables(PJRT_Api &api) {
  bind<compileAndLoad>(api.PJRT_Client_Compile);
  bind<compileOnly>(api.PJRT_Compile);
  bind<clientLoad>(api.PJRT_Client_Load);
  bind<serialize>(api.PJRT_Executable_Serialize);
  bind<deserialize,
       offsetof(PJRT_Executable_DeserializeAndLoad_Args, overridden_serialized_compile_options)>(
      api.PJRT_Executable_DeserializeAndLoad);
  bind<getCompileOptions>(api.PJRT_Executable_GetCompileOptions);
  bind<destroyExecutable>(api.PJRT_Executable_Destroy);
  bind<name>(api.PJRT_Executable_Name);
  bind<numReplicas>(api.PJRT_Executable_NumReplicas);
  bind<numPartitions>(api.PJRT_Executable_NumPartitions);
  bind<numOutputs>(api.PJRT_Executable_NumOutputs);
  bind<codeSize>(api.PJRT_Executable_SizeOfGeneratedCodeInBytes);
  bind<costAnalysis>(api.PJRT_Executable_GetCostAnalysis);
  bind<outputTypes>(api.PJRT_Executable_OutputElementTypes);
  bind<outputDimensions>(api.PJRT_Executable_OutputDimensions);
  bind<outputMemoryKinds>(api.PJRT_Executable_OutputMemoryKinds);
  bind<parameterMemoryKinds>(api.PJRT_Executable_ParameterMemoryKinds);
  bind<optimizedProgram>(api.PJRT_Executable_OptimizedProgram);
  bind<fingerprint>(api.PJRT_Executable_Fingerprint);
  bind<memoryStats, offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes)>(
      api.PJRT_Executable_GetCompiledMemoryStats);
  bind<destroyLoaded>(api.PJRT_LoadedExecutable_Destroy);
  bind<getExecutable>(api.PJRT_LoadedExecutable_GetExecutable);
  bind<addressableDevices>(api.PJRT_LoadedExecutable_AddressableDevices);
  bind<logicalIds>(api.PJRT_LoadedExecutable_AddressableDeviceLogicalIds);
  bind<deleteLoaded>(api.PJRT_LoadedExecutable_Delete);
  bind<isDeleted>(api.PJRT_LoadedExecutable_IsDeleted);
  bind<loadedFingerprint>(api.PJRT_LoadedExecutable_Fingerprint);
  bind<deviceAssignment>(api.PJRT_LoadedExecutable_GetDeviceAssignment);
  bind<execute>(api.PJRT_LoadedExecutable_Execute);
}

} // namespace cupel::pjrt
