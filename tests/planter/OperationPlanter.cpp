// A PJRT plugin that wraps another one and plants faults by a rule about operations: every program
// that it is given is changed wherever the rule holds, so that a part of a program is as wrong as the
// whole. check_explain.py drives it and counts what `cupel explain` blames. Everything else is the
// inner plugin's: CUPEL_PLANTER_INNER names its file, else it is our own beside this one. Options of
// the client, of which all that are given must hold of an operation:
//   op=NAME        its name (stablehlo.tanh); `any` for all of them
//   rank=N         the rank of its first result
//   element=NAME   the element type of its first operand, as MLIR prints it (f32, i64)
//   least=N        its first result has at least so many elements
//   user=NAME      an operation of that name reads it
//   producer=NAME  an operation of that name gives one of its operands
//   result=N       of its results this one is meant, here and by what is planted (0)
//   constant=N     operand N is a constant
//   uneven=N       its last dimension is no multiple of N
//   attribute=TEXT its attributes, as MLIR prints them, contain that
//   inside=NAME    it stands in an operation of that name (stablehlo.while); what reductions, sorts and
//                  scatters apply counts only if it is asked for so
//   called=1       it stands in a function that another one calls
//   most=N         its first result has at most so many elements
//   larger=N       its last dimension is larger than N
//   twice=1        its first two operands are the same value
//   takes=WHAT     its first operand is an `argument` of the program, or is `computed` in it
//   beside=NAME    an operation of that name stands in the program, wherever that is
//   processes=N    the program is for at least so many devices
//   occurrence=N   it is number N, from 0 on, of those in the program that the rest holds of
//   donates=1      the program says that an argument may be overwritten
//   operations=N   the program has at least so many operations
//   effect=KIND    what is planted (the table of PlantedEffects.cpp, and those of `compile`)
// or, instead of all of these, for check_right.py:
//   right=WAY      all of the program is rewritten as a right device computes it (RightRewrites.h)
// The program by which Cupel tells a healthy device is a multiply and an add of four elements: no rule
// of the checks holds of it.

#include "tests/planter/InnerPlugin.h"
#include "tests/planter/PlantedEffects.h"
#include "tests/planter/RightRewrites.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/pjrt/Structs.h"

#include <map>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>
#include <mutex>
#include <set>
#include <string>
#include <unistd.h>

using namespace mlir;
using cupel::pjrt::makeStruct;
using cupel::planter::isOneIn;
namespace hlo = cupel::stablehlo;

namespace {

const PJRT_Api *inner = nullptr;
std::map<std::string, std::string> rule;
std::mutex mutex;

/// What an executable does instead of running.
enum class AtRun : uint8_t { Runs, Crashes, CrashesSeldom, Hangs, RunsOutOfMemory };
std::map<PJRT_LoadedExecutable *, AtRun> planted;

struct OwnError {
  PJRT_Error_Code code;
  std::string message;
};
std::set<const void *> ownErrors;

PJRT_Error *makeError(PJRT_Error_Code code, std::string message) {
  auto *error = new OwnError{code, std::move(message)};
  std::lock_guard lock(mutex);
  ownErrors.insert(error);
  return reinterpret_cast<PJRT_Error *>(error);
}

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

std::string option(const char *name) {
  auto found = rule.find(name);
  return found == rule.end() ? "" : found->second;
}

bool isNamed(Operation *op, const std::string &name) {
  return op && op->getName().getStringRef() == name;
}

unsigned wantedResult() {
  std::string number = option("result");
  return number.empty() ? 0 : unsigned(std::stoul(number));
}

bool holds(Operation *op) {
  const bool isAny = option("op") == "any" && isa_and_nonnull<hlo::StablehloDialect>(op->getDialect());
  if ((!isAny && !isNamed(op, option("op"))) || op->getNumResults() <= wantedResult())
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(wantedResult()).getType());
  if (!type || !type.hasStaticShape())
    return false;
  if (std::string number = option("constant"); !number.empty()) {
    auto operand = unsigned(std::stoul(number));
    Operation *giver = operand < op->getNumOperands() ? op->getOperand(operand).getDefiningOp() : nullptr;
    if (!giver || !giver->hasTrait<OpTrait::ConstantLike>())
      return false;
  }
  if (std::string by = option("uneven");
      !by.empty() && (type.getRank() == 0 || type.getShape().back() % std::stoll(by) == 0))
    return false;
  if (std::string text = option("attribute"); !text.empty()) {
    std::string printed;
    llvm::raw_string_ostream(printed) << op->getAttrDictionary();
    if (printed.find(text) == std::string::npos)
      return false;
  }
  if (std::string name = option("inside"); !name.empty() && !isNamed(op->getParentOp(), name))
    return false;
  if (std::string rank = option("rank"); !rank.empty() && type.getRank() != std::stoll(rank))
    return false;
  if (std::string least = option("least");
      !least.empty() && type.getNumElements() < std::stoll(least))
    return false;
  if (std::string most = option("most"); !most.empty() && type.getNumElements() > std::stoll(most))
    return false;
  if (std::string size = option("larger");
      !size.empty() && (type.getRank() == 0 || type.getShape().back() <= std::stoll(size)))
    return false;
  if (!option("twice").empty() &&
      (op->getNumOperands() < 2 || op->getOperand(0) != op->getOperand(1)))
    return false;
  if (std::string what = option("takes"); !what.empty()) {
    Value first = op->getNumOperands() ? op->getOperand(0) : Value();
    Operation *giver = first ? first.getDefiningOp() : nullptr;
    auto argument = dyn_cast_if_present<BlockArgument>(first);
    const bool isArgument =
        argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
    const bool isComputed = giver && !giver->hasTrait<OpTrait::ConstantLike>();
    if (what == "argument" ? !isArgument : !isComputed)
      return false;
  }
  if (!option("called").empty()) {
    auto function = op->getParentOfType<func::FuncOp>();
    if (!function || !function.isPrivate())
      return false;
  }
  if (std::string element = option("element"); !element.empty()) {
    auto first = op->getNumOperands() ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                                      : type;
    std::string text;
    llvm::raw_string_ostream(text) << (first ? first.getElementType() : type.getElementType());
    if (text != element)
      return false;
  }
  if (std::string user = option("user");
      !user.empty() && llvm::none_of(op->getUsers(), [&](Operation *one) { return isNamed(one, user); }))
    return false;
  if (std::string producer = option("producer");
      !producer.empty() && llvm::none_of(op->getOperands(), [&](Value value) {
        return isNamed(value.getDefiningOp(), producer);
      }))
    return false;
  return true;
}

//===----------------------------------------------------------------------===//
// The wrapped entries
//===----------------------------------------------------------------------===//

PJRT_Error *createClient(PJRT_Client_Create_Args *args) {
  static const std::set<std::string> kOwn = {
      "op",     "rank",     "element", "least",     "user",   "producer",   "operations", "effect",
      "result", "constant", "uneven",  "attribute", "inside", "occurrence", "donates", "right",
      "called", "most",     "larger",  "twice",     "takes",  "beside",     "processes",
      "slow_start"};
  std::vector<PJRT_NamedValue> rest;
  for (size_t i = 0; i < args->num_options; ++i) {
    const PJRT_NamedValue &given = args->create_options[i];
    std::string name(given.name, given.name_size);
    if (!kOwn.contains(name))
      rest.push_back(given);
    else if (given.type == PJRT_NamedValue_kString)
      rule[name].assign(given.string_value, given.value_size);
    else if (given.type == PJRT_NamedValue_kInt64)
      rule[name] = std::to_string(given.int64_value);
  }
  PJRT_Client_Create_Args own = *args;
  own.create_options = rest.data();
  own.num_options = rest.size();
  // As on a machine that has other work.
  if (std::string milliseconds = option("slow_start"); !milliseconds.empty())
    ::usleep(useconds_t(1000 * std::stoul(milliseconds)));
  PJRT_Error *error = inner->PJRT_Client_Create(&own);
  args->client = own.client;
  return error;
}

PJRT_Error *platformName(PJRT_Client_PlatformName_Args *args) {
  args->platform_name = "operation-planter";
  args->platform_name_size = 17;
  return nullptr;
}

[[noreturn]] void hang() {
  while (true)
    ::pause();
}

PJRT_Error *compile(PJRT_Client_Compile_Args *args) {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    cupel::ir::registerAllDialects(registry);
    return new MLIRContext(registry);
  }();
  std::string bytes(args->program->code, args->program->code_size);
  OwningOpRef<ModuleOp> module =
      cupel::ir::readProgram(llvm::MemoryBufferRef(bytes, "program"), ParserConfig(context));
  if (!module)
    return inner->PJRT_Client_Compile(args);
  llvm::SmallVector<Operation *> found;
  int64_t count = 0;
  bool isBeside = false;
  module->walk([&](Operation *op) {
    bool counts = isa_and_nonnull<hlo::StablehloDialect>(op->getDialect()) &&
                  !isa<hlo::ConstantOp>(op) && !op->hasTrait<OpTrait::IsTerminator>();
    count += counts;
    // What reductions, sorts and scatters apply is no operation of its own.
    isBeside |= isNamed(op, option("beside"));
    if (holds(op) && (isNamed(op->getParentOp(), option("inside")) ||
                      isa_and_nonnull<func::FuncOp, hlo::WhileOp, hlo::IfOp, hlo::CaseOp>(
                          op->getParentOp()) ||
                      isNamed(op->getParentOp(), "sdy.manual_computation")))
      found.push_back(op);
  });
  if (!option("beside").empty() && !isBeside)
    found.clear();
  if (std::string least = option("processes"); !least.empty()) {
    int64_t processes = 1;
    for (const char *name : {"mhlo.num_replicas", "mhlo.num_partitions"})
      if (auto count = (*module)->getAttrOfType<IntegerAttr>(name))
        processes *= count.getInt();
    if (processes < std::stoll(least))
      found.clear();
  }
  if (std::string least = option("operations"); !least.empty() && count < std::stoll(least))
    found.clear();
  if (std::string number = option("occurrence"); !number.empty())
    found = found.size() > std::stoul(number)
                ? llvm::SmallVector<Operation *>{found[std::stoul(number)]}
                : llvm::SmallVector<Operation *>();
  if (!option("donates").empty()) {
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    if (text.find("tf.aliasing_output") == std::string::npos &&
        text.find("jax.buffer_donor") == std::string::npos)
      found.clear();
  }
  std::string effect = option("effect"), text;
  // A rule with a slip of the pen would plant nothing, and whoever finds nothing would seem right.
  static const std::set<std::string> kOthers = {"",          "refuse",        "crash_compile",
                                                "hang_compile", "crash_now_and_then", "crash_seldom",
                                                "crash_run", "hang_run",      "memory", "flaky_run"};
  if (!kOthers.contains(effect) && !cupel::planter::isPlanted(effect))
    return makeError(PJRT_Error_Code_INVALID_ARGUMENT, "the planter knows no effect '" + effect + "'");
  if (std::string way = option("right"); !way.empty()) {
    if (!cupel::planter::rewriteRightly(*module, way))
      return makeError(PJRT_Error_Code_INVALID_ARGUMENT, "the planter knows no way '" + way + "'");
  } else if (found.empty()) {
    return inner->PJRT_Client_Compile(args);
  }
  if (effect == "refuse")
    return makeError(PJRT_Error_Code_UNIMPLEMENTED,
                     "no kernel for '" + option("op") + "' of this kind in the planter's library");
  if (effect == "crash_compile")
    std::abort();
  if (effect == "hang_compile")
    hang();
  if ((effect == "crash_now_and_then" && isOneIn(2)) || (effect == "crash_seldom" && isOneIn(5)))
    std::abort();
  for (Operation *op : found)
    cupel::planter::plantEffect(effect, op, wantedResult());
  if (failed(verify(*module))) {
    module->dump();
    return makeError(PJRT_Error_Code_INTERNAL, "the planter made no program");
  }
  llvm::raw_string_ostream(text) << *module;
  PJRT_Program program = *args->program;
  program.code = text.data();
  program.code_size = text.size();
  PJRT_Client_Compile_Args own = *args;
  own.program = &program;
  PJRT_Error *error = inner->PJRT_Client_Compile(&own);
  args->executable = own.executable;
  AtRun atRun = effect == "crash_run"  ? AtRun::Crashes
                : effect == "hang_run" ? AtRun::Hangs
                : effect == "memory"   ? AtRun::RunsOutOfMemory
                : effect == "flaky_run" ? AtRun::CrashesSeldom
                                       : AtRun::Runs;
  std::lock_guard lock(mutex);
  if (!error && atRun != AtRun::Runs)
    planted[args->executable] = atRun;
  return error;
}

PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args) {
  AtRun atRun = AtRun::Runs;
  {
    std::lock_guard lock(mutex);
    if (auto found = planted.find(args->executable); found != planted.end())
      atRun = found->second;
  }
  if (atRun == AtRun::Crashes || (atRun == AtRun::CrashesSeldom && isOneIn(4)))
    std::abort();
  if (atRun == AtRun::Hangs)
    hang();
  if (atRun == AtRun::RunsOutOfMemory)
    return makeError(PJRT_Error_Code_RESOURCE_EXHAUSTED,
                     "out of memory: 1099511627776 bytes for a temporary buffer");
  return inner->PJRT_LoadedExecutable_Execute(args);
}

PJRT_Error *destroyExecutable(PJRT_LoadedExecutable_Destroy_Args *args) {
  std::lock_guard lock(mutex);
  planted.erase(args->executable);
  return inner->PJRT_LoadedExecutable_Destroy(args);
}

bool isOwn(const PJRT_Error *error) {
  std::lock_guard lock(mutex);
  return ownErrors.contains(error);
}
void destroyError(PJRT_Error_Destroy_Args *args) {
  if (!isOwn(args->error))
    return inner->PJRT_Error_Destroy(args);
  std::lock_guard lock(mutex);
  ownErrors.erase(args->error);
  delete reinterpret_cast<OwnError *>(args->error);
}
void errorMessage(PJRT_Error_Message_Args *args) {
  if (!isOwn(args->error))
    return inner->PJRT_Error_Message(args);
  const auto *own = reinterpret_cast<const OwnError *>(args->error);
  args->message = own->message.data();
  args->message_size = own->message.size();
}
PJRT_Error *errorCode(PJRT_Error_GetCode_Args *args) {
  if (!isOwn(args->error))
    return inner->PJRT_Error_GetCode(args);
  args->code = reinterpret_cast<const OwnError *>(args->error)->code;
  return nullptr;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi() {
  static PJRT_Api api;
  inner = cupel::planter::loadInner(api);
  if (!inner)
    return nullptr;
  api.PJRT_Client_Create = createClient;
  api.PJRT_Client_PlatformName = platformName;
  api.PJRT_Client_Compile = compile;
  api.PJRT_LoadedExecutable_Execute = execute;
  api.PJRT_LoadedExecutable_Destroy = destroyExecutable;
  api.PJRT_Error_Destroy = destroyError;
  api.PJRT_Error_Message = errorMessage;
  api.PJRT_Error_GetCode = errorCode;
  return &api;
}
