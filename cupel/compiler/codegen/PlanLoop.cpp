// Steps of a loop: functions of a few elements in registers, which also carry them to the next
// repetition; pieces that are taken from and put to places known at run time; whole kernels, written
// into the loop; and calls of the caller for the rest.

#include "cupel/compiler/codegen/Body.h"
#include "cupel/compiler/codegen/Loops.h"
#include "cupel/compiler/codegen/Plans.h"

#include "llvm/ADT/DenseSet.h"

#include <deque>
#include <limits>

namespace cupel::codegen {
namespace {

using Kind = LoopStep::Kind;

/// Elements in registers: a vector for each so many lanes, or one with a single value everywhere.
struct Held {
  DType type = DType::F32;
  int64_t points = 0;
  SmallVector<V> vectors;
};

class LoopEmitter {
public:
  LoopEmitter(Emitter &e, const LoopKernel &kernel) : e(e), kernel(kernel) {
    writeKernels();
    llvm::Type *pointer = e.getPtrTy();
    llvm::Function *function =
        e.beginFunction("loop", {pointer, e.getInt64Ty(), pointer, pointer, pointer});
    memory = function->getArg(0);
    most = function->getArg(1);
    call = function->getArg(2);
    state = function->getArg(3);
    outcome = function->getArg(4);
    // One memory for all kernels, which run one after the other.
    scratch = llvm::ConstantPointerNull::get(e.getPtrTy());
    if (mostScratch > 0)
      scratch = e.frameVectors(e.getInt8Ty(), (mostScratch + e.lanes - 1) / e.lanes);
    for (int number : kernel.temporaries)
      isTemporary.insert(number);
    for (const LoopStep &step : kernel.steps) {
      hasCalls |= step.kind == Kind::Call;
      if (step.kind != Kind::Points)
        isReadFromMemory.insert(step.inputs.begin(), step.inputs.end());
    }
  }

  void emit() {
    // Addresses that stay the same are loaded once.
    auto use = [&](int number) {
      if (!addresses.contains(number))
        addresses[number] = load(number);
    };
    for (const LoopStep &step : kernel.steps) {
      if (step.kind == Kind::Call)
        continue;
      for (const auto *numbers : {&step.inputs, &step.outputs})
        for (int number : *numbers)
          use(number);
      for (const LoopIndex &index : step.indices)
        use(index.buffer);
    }
    use(kernel.test);
    for (auto [a, b] : kernel.swaps) {
      use(a);
      use(b);
    }
    // Elements that one repetition leaves for the next stay in registers.
    SmallVector<Carried> carried;
    for (const auto *pairs : {&kernel.swaps, &kernel.inPlace})
      for (auto [before, after] : *pairs)
        if (std::optional<Held> shape = heldBy(after); shape && isReadInRegisters(before))
          carried.push_back({before, after, loadHeld(shape->type, shape->points, addresses[before])});
    llvm::BasicBlock *entry = e.GetInsertBlock(), *step = e.block("step"), *end = e.block("end");
    failed = e.block("failed");
    e.CreateBr(step);
    e.SetInsertPoint(step);
    llvm::PHINode *done = e.CreatePHI(e.getInt64Ty(), 2);
    done->addIncoming(e.i64(0), entry);
    SmallVector<std::pair<llvm::PHINode *, llvm::PHINode *>> places;
    for (auto [a, b] : kernel.swaps) {
      auto phi = [&](int number) {
        llvm::PHINode *now = e.CreatePHI(e.getPtrTy(), 2);
        now->addIncoming(addresses[number], entry);
        addresses[number] = now;
        return now;
      };
      llvm::PHINode *first = phi(a);
      places.push_back({first, phi(b)});
    }
    for (Carried &one : carried) {
      Held now = one.first;
      for (V &vector : now.vectors) {
        llvm::PHINode *phi = e.CreatePHI(vector->getType(), 2);
        phi->addIncoming(vector, entry);
        one.phis.push_back(phi);
        vector = phi;
      }
      held[one.before] = now;
    }
    for (size_t i = 0; i < kernel.steps.size(); ++i)
      write(kernel.steps[i], i);
    V goesOn = held.contains(kernel.test)
                   ? e.CreateExtractElement(held[kernel.test].vectors[0], uint64_t{0})
                   : e.CreateICmpNE(e.CreateLoad(e.getInt8Ty(), addresses[kernel.test]),
                                    e.getInt8(0));
    auto exchange = [&] {
      for (auto [i, swap] : llvm::enumerate(kernel.swaps)) {
        e.CreateStore(places[i].second, slot(swap.first));
        e.CreateStore(places[i].first, slot(swap.second));
      }
    };
    if (hasCalls)
      exchange();
    V next = e.CreateNSWAdd(done, e.i64(1));
    llvm::BasicBlock *last = e.GetInsertBlock();
    done->addIncoming(next, last);
    for (auto [first, second] : places) {
      first->addIncoming(second, last);
      second->addIncoming(first, last);
    }
    for (Carried &one : carried)
      for (auto [phi, vector] : llvm::zip(one.phis, held[one.after].vectors))
        phi->addIncoming(vector, last);
    e.CreateCondBr(e.CreateAnd(goesOn, e.CreateICmpSLT(next, most)), step, end);
    e.SetInsertPoint(end);
    if (!hasCalls)
      exchange();
    e.CreateStore(e.CreateZExt(goesOn, e.getInt64Ty()), outcome);
    e.CreateRetVoid();
    e.SetInsertPoint(failed);
    e.CreateStore(e.i64(2), outcome);
    e.CreateRetVoid();
  }

private:
  struct Carried {
    int before, after;
    Held first;
    SmallVector<llvm::PHINode *> phis = {};
  };

  /// What a step leaves in registers for a buffer; the vectors are not there yet.
  std::optional<Held> heldBy(int number) const {
    for (const LoopStep &step : kernel.steps)
      for (size_t i = 0; i < step.outputs.size(); ++i)
        if (step.outputs[i] == number && isHeld(step))
          return Held{typeOf(step, i), step.points, {}};
    return std::nullopt;
  }
  static DType typeOf(const LoopStep &step, size_t output) {
    return step.kind == Kind::Points ? step.outputViews[output].type : step.type;
  }
  bool isHeld(const LoopStep &step) const {
    return step.kind == Kind::Points || (step.kind == Kind::Take && fits(step));
  }
  bool fits(const LoopStep &step) const { return fitsRegisters(step, e.target); }
  bool isReadInRegisters(int number) const {
    return llvm::any_of(kernel.steps, [&](const LoopStep &step) {
      return (step.kind == Kind::Points && llvm::is_contained(step.inputs, number)) ||
             llvm::any_of(step.indices, [&](const LoopIndex &index) { return index.buffer == number; });
    });
  }

  V slot(int number) { return e.at(memory, e.getPtrTy(), e.i64(number)); }
  V load(int number) { return e.CreateLoad(e.getPtrTy(), slot(number)); }

  const View &contiguous(DType type) {
    View view;
    view.type = type;
    view.strides = {1};
    views.push_back(view);
    return views.back();
  }

  Held loadHeld(DType type, int64_t points, V address) {
    Held result{type, points, {}};
    if (points == 1) {
      V stored = e.CreateLoad(e.storageType(type), address);
      result.vectors = {e.toCompute(type, e.splat(stored))};
      return result;
    }
    RowAccess row = rowAccess(e, contiguous(type), address, {});
    for (int64_t i = 0; i < points; i += e.lanes)
      result.vectors.append(loadVectors(e, row, e.i64(i), e.i64(points), false));
    return result;
  }

  void storeHeld(const Held &value, V address) {
    RowAccess row = rowAccess(e, contiguous(value.type), address, {});
    if (value.points == 1)
      return storeScalar(e, row, value.vectors[0]);
    for (auto [i, vector] : llvm::enumerate(value.vectors))
      storeVectors(e, row, vector, e.i64(int64_t(i) * e.lanes), e.i64(value.points), false);
  }

  /// A single element in all lanes.
  V single(const Held &value, int64_t at) {
    if (value.points == 1)
      return value.vectors[0];
    return e.splat(e.CreateExtractElement(value.vectors[size_t(at / e.lanes)],
                                          uint64_t(at % e.lanes)));
  }

  V elementOf(int number, DType type, int64_t at) {
    if (auto found = held.find(number); found != held.end())
      return single(found->second, at);
    V address = e.CreateGEP(e.storageType(type), addresses[number], e.i64(at));
    return loadHeld(type, 1, address).vectors[0];
  }

  /// Results are in memory behind every repetition; what only registers read need not be.
  void keep(int number, Held value) {
    if (!isTemporary.contains(number) || isReadFromMemory.contains(number))
      storeHeld(value, addresses[number]);
    held[number] = std::move(value);
  }

  void write(const LoopStep &step, size_t number) {
    switch (step.kind) {
    case Kind::Call:
      return callOut(step.call);
    case Kind::Points:
      return step.body ? compute(step) : copy(step);
    case Kind::Kernel:
      return callKernel(step, number);
    case Kind::Take:
      return take(step);
    case Kind::Put:
      return put(step, placeOf(step, addresses[step.outputs[0]]));
    case Kind::PutIf:
    case Kind::AddIf: {
      V inside = e.getTrue();
      for (const LoopIndex &index : step.indices) {
        V value = indexOf(index);
        inside = e.CreateAnd(inside, e.CreateAnd(e.CreateICmpSGE(value, e.i64(0)),
                                                 e.CreateICmpSLE(value, e.i64(index.last))));
      }
      e.branch(
          inside,
          [&] {
            put(step, placeOf(step, addresses[step.outputs[0]]));
            return SmallVector<V>();
          },
          [] { return SmallVector<V>(); });
      return;
    }
    }
  }

  void compute(const LoopStep &step) {
    BodyOps body(*step.body);
    size_t vectors = size_t((step.points + e.lanes - 1) / e.lanes);
    SmallVector<SmallVector<V>> inputs;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const View &view = step.inputViews[i];
      int number = step.inputs[i];
      if (step.points == 1 || view.strides.empty())
        inputs.push_back(SmallVector<V>(vectors, elementOf(number, view.type, view.offset)));
      else if (auto found = held.find(number); found != held.end())
        inputs.push_back(SmallVector<V>(ArrayRef(found->second.vectors).take_front(vectors)));
      else
        inputs.push_back(loadHeld(view.type, step.points, addresses[number]).vectors);
    }
    SmallVector<Held> results(step.outputs.size());
    for (size_t v = 0; v < vectors; ++v) {
      Values values;
      for (size_t i = 0; i < inputs.size(); ++i)
        values[step.body->getArgument(unsigned(i))] = inputs[i][v];
      for (mlir::Operation *op : body.operations())
        emitOperation(e, body, op, values, /*changes=*/true);
      for (size_t i = 0; i < results.size(); ++i)
        results[i].vectors.push_back(values.lookup(body.end()->getOperand(unsigned(i))));
    }
    // Written when all is computed: an output may lie on an input.
    for (size_t i = 0; i < results.size(); ++i) {
      results[i].type = step.outputViews[i].type;
      results[i].points = step.points;
      keep(step.outputs[i], std::move(results[i]));
    }
  }

  void copy(const LoopStep &step) {
    auto found = held.find(step.inputs[0]);
    keep(step.outputs[0], found != held.end()
                              ? Held(found->second)
                              : loadHeld(step.inputViews[0].type, step.points,
                                         addresses[step.inputs[0]]));
  }

  /// An index as a number of 64 bits; one that is larger is the largest.
  V indexOf(const LoopIndex &index) {
    V value = e.CreateExtractElement(elementOf(index.buffer, index.type, index.offset), uint64_t{0});
    bool isSigned = tensor::info(index.type).kind == tensor::Kind::Signed;
    bool isWide = tensor::info(index.type).bits == 64;
    value = isSigned ? e.CreateSExt(value, e.getInt64Ty()) : e.CreateZExt(value, e.getInt64Ty());
    if (!isSigned && isWide)
      value = e.CreateSelect(e.CreateICmpSLT(value, e.i64(0)),
                             e.i64(std::numeric_limits<int64_t>::max()), value);
    return value;
  }

  V placeOf(const LoopStep &step, V base) {
    V offset = e.i64(0);
    for (const LoopIndex &index : step.indices) {
      V place = e.max64(e.i64(0), e.min64(indexOf(index), e.i64(index.last)));
      offset = e.CreateAdd(
          offset, e.CreateMul(place, e.i64(index.step * tensor::info(step.type).bytes)));
    }
    return e.CreateGEP(e.getInt8Ty(), base, offset);
  }

  void move(const LoopStep &step, V from, V to) {
    auto align = llvm::MaybeAlign(uint64_t(tensor::info(step.type).bytes));
    e.CreateMemCpy(to, align, from, align, uint64_t(step.points * tensor::info(step.type).bytes));
  }

  void take(const LoopStep &step) {
    V from = placeOf(step, addresses[step.inputs[0]]);
    if (fits(step))
      keep(step.outputs[0], loadHeld(step.type, step.points, from));
    else
      move(step, from, addresses[step.outputs[0]]);
  }

  void put(const LoopStep &step, V to) {
    if (!fits(step))
      return move(step, addresses[step.inputs[0]], to);
    auto found = held.find(step.inputs[0]);
    Held value = found != held.end() ? found->second
                                     : loadHeld(step.type, step.points, addresses[step.inputs[0]]);
    if (step.kind == Kind::AddIf) {
      Held there = loadHeld(step.type, step.points, to);
      for (auto [old, added] : llvm::zip(there.vectors, value.vectors))
        added = emitCombine(e, Combiner::Add, step.type, old, added);
    }
    storeHeld(value, to);
  }

  void callOut(int64_t number) {
    auto *type = llvm::FunctionType::get(e.getInt1Ty(), {e.getPtrTy(), e.getInt64Ty()}, false);
    auto *result = e.CreateCall(type, call, {state, e.i64(number)});
    result->addRetAttr(llvm::Attribute::ZExt);
    llvm::BasicBlock *next = e.block("next");
    e.CreateCondBr(result, next, failed);
    e.SetInsertPoint(next);
  }

  /// Kernels of steps become functions of the module, which are written into the loop.
  void writeKernels() {
    for (const LoopStep &step : kernel.steps) {
      functions.emplace_back();
      if (step.kind != Kind::Kernel)
        continue;
      plans.push_back(planStep(step.kernel, e.target));
      plans.back().emit(e);
      mostScratch = std::max(mostScratch, plans.back().scratchBytes);
      for (size_t stage = 0; stage < plans.back().stages.size(); ++stage) {
        llvm::Function *function = e.module.getFunction("stage" + std::to_string(stage));
        function->setName("step");
        function->setLinkage(llvm::GlobalValue::InternalLinkage);
        function->addFnAttr(llvm::Attribute::AlwaysInline);
        functions.back().push_back({function, plans.back().stages[stage].units});
      }
    }
  }

  void callKernel(const LoopStep &step, size_t number) {
    auto listOf = [&](ArrayRef<int> buffers) {
      llvm::BasicBlock &entry = e.GetInsertBlock()->getParent()->getEntryBlock();
      llvm::IRBuilder<> atEntry(&entry, entry.begin());
      V list = atEntry.CreateAlloca(e.getPtrTy(), e.i64(std::max<int64_t>(1, int64_t(buffers.size()))));
      for (auto [i, buffer] : llvm::enumerate(buffers))
        e.CreateStore(addresses[buffer], e.at(list, e.getPtrTy(), e.i64(int64_t(i))));
      return list;
    };
    V inputs = listOf(step.inputs), outputs = listOf(step.outputs);
    for (const Function &one : functions[number])
      e.CreateCall(one.function, {inputs, outputs, e.i64(0), e.i64(one.units), scratch});
  }

  struct Function {
    llvm::Function *function;
    int64_t units;
  };

  Emitter &e;
  const LoopKernel &kernel;
  V memory, most, call, state, outcome, scratch;
  int64_t mostScratch = 0;
  llvm::BasicBlock *failed = nullptr;
  bool hasCalls = false;
  llvm::DenseSet<int> isTemporary, isReadFromMemory;
  llvm::DenseMap<int, V> addresses;
  llvm::DenseMap<int, Held> held; // What this repetition has computed, or got from the one before.
  std::deque<View> views;
  std::vector<KernelPlan> plans;
  std::vector<SmallVector<Function, 2>> functions; // Of each step.
};

} // namespace

KernelPlan planStep(const StepKernel &kernel, const Target &target) {
  if (const auto *map = std::get_if<MapKernel>(&kernel))
    return planMap(*map, target);
  if (const auto *rows = std::get_if<RowKernel>(&kernel))
    return planRows(*rows, target);
  return planReduction(std::get<Reduction>(kernel), target);
}

bool fitsRegisters(const LoopStep &step, const Target &target) {
  if (step.points > kMostPointVectors * target.lanes)
    return false;
  switch (step.type) {
  case DType::I1: case DType::F32: case DType::F64:
  case DType::I8: case DType::I16: case DType::I32: case DType::I64:
  case DType::U8: case DType::U16: case DType::U32: case DType::U64:
    return true;
  default: // Halves are computed in f32, where a NaN may change its bits.
    return false;
  }
}

void emitLoop(Emitter &e, const LoopKernel &kernel) { LoopEmitter(e, kernel).emit(); }

} // namespace cupel::codegen
