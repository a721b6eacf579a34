// Steps of a loop: functions of single elements in registers, calls of the caller for the rest.

#include "cupel/compiler/codegen/Body.h"
#include "cupel/compiler/codegen/Loops.h"
#include "cupel/compiler/codegen/Plans.h"

namespace cupel::codegen {
namespace {

class LoopEmitter {
public:
  LoopEmitter(Emitter &e, const LoopKernel &kernel) : e(e), kernel(kernel) {
    llvm::Type *pointer = e.getPtrTy();
    llvm::Function *function =
        e.beginFunction("loop", {pointer, e.getInt64Ty(), pointer, pointer, pointer});
    memory = function->getArg(0);
    most = function->getArg(1);
    call = function->getArg(2);
    state = function->getArg(3);
    outcome = function->getArg(4);
  }

  void emit() {
    // Addresses that stay the same are loaded once.
    for (const LoopStep &step : kernel.steps)
      for (const auto *numbers : {&step.inputs, &step.outputs})
        for (int number : *numbers)
          if (!isSwapped(number) && !fixed.contains(number))
            fixed[number] = load(number);
    if (!isSwapped(kernel.test) && !fixed.contains(kernel.test))
      fixed[kernel.test] = load(kernel.test);
    // Elements that one repetition leaves for the next stay in registers as well.
    SmallVector<Carried> carried;
    for (const auto *pairs : {&kernel.swaps, &kernel.inPlace})
      for (auto [before, after] : *pairs)
        if (const View *view = readView(before); view && isMade(after))
          carried.push_back(
              {before, after, loadScalar(e, rowAccess(e, *view, addressOf(before), {}))});
    llvm::BasicBlock *entry = e.GetInsertBlock(), *step = e.block("step"), *end = e.block("end");
    failed = e.block("failed");
    e.CreateBr(step);
    e.SetInsertPoint(step);
    llvm::PHINode *done = e.CreatePHI(e.getInt64Ty(), 2);
    done->addIncoming(e.i64(0), entry);
    for (Carried &one : carried) {
      one.phi = e.CreatePHI(one.first->getType(), 2);
      one.phi->addIncoming(one.first, entry);
      made[one.before] = one.phi;
    }
    for (const LoopStep &one : kernel.steps)
      one.body ? compute(one) : callOut(one.call);
    V goesOn = tested ? e.CreateExtractElement(tested, uint64_t{0})
                      : e.CreateICmpNE(e.CreateLoad(e.getInt8Ty(), addressOf(kernel.test)),
                                       e.getInt8(0));
    for (auto [a, b] : kernel.swaps) {
      V first = load(a), second = load(b);
      e.CreateStore(second, slot(a));
      e.CreateStore(first, slot(b));
    }
    V next = e.CreateNSWAdd(done, e.i64(1));
    done->addIncoming(next, e.GetInsertBlock());
    for (Carried &one : carried)
      one.phi->addIncoming(made.lookup(one.after), e.GetInsertBlock());
    e.CreateCondBr(e.CreateAnd(goesOn, e.CreateICmpSLT(next, most)), step, end);
    e.SetInsertPoint(end);
    e.CreateStore(e.CreateZExt(goesOn, e.getInt64Ty()), outcome);
    e.CreateRetVoid();
    e.SetInsertPoint(failed);
    e.CreateStore(e.i64(2), outcome);
    e.CreateRetVoid();
  }

private:
  struct Carried {
    int before, after;
    V first;
    llvm::PHINode *phi = nullptr;
  };

  /// How a step reads the single element of a buffer; null if none does.
  const View *readView(int number) const {
    for (const LoopStep &step : kernel.steps)
      for (size_t i = 0; step.body && i < step.inputs.size(); ++i)
        if (step.inputs[i] == number && step.inputViews[i].offset == 0)
          return &step.inputViews[i];
    return nullptr;
  }
  bool isMade(int number) const {
    return llvm::any_of(kernel.steps, [&](const LoopStep &step) {
      return step.body && llvm::is_contained(step.outputs, number);
    });
  }
  bool isSwapped(int number) const {
    return llvm::any_of(kernel.swaps,
                        [&](auto pair) { return pair.first == number || pair.second == number; });
  }
  V slot(int number) { return e.at(memory, e.getPtrTy(), e.i64(number)); }
  V load(int number) { return e.CreateLoad(e.getPtrTy(), slot(number)); }
  V addressOf(int number) {
    auto found = fixed.find(number);
    return found == fixed.end() ? load(number) : found->second;
  }

  void compute(const LoopStep &step) {
    BodyOps body(*step.body);
    Values values;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const View &view = step.inputViews[i];
      V known = view.offset == 0 ? made.lookup(step.inputs[i]) : nullptr;
      values[step.body->getArgument(unsigned(i))] =
          known ? known : loadScalar(e, rowAccess(e, view, addressOf(step.inputs[i]), {}));
    }
    for (mlir::Operation *op : body.operations())
      emitOperation(e, body, op, values);
    // Written when all is computed: an output may lie on an input.
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      V value = values.lookup(body.end()->getOperand(unsigned(i)));
      storeScalar(e, rowAccess(e, step.outputViews[i], addressOf(step.outputs[i]), {}), value);
      made[step.outputs[i]] = value;
      if (step.outputs[i] == kernel.test)
        tested = value;
    }
  }

  void callOut(int64_t number) {
    auto *type = llvm::FunctionType::get(e.getInt1Ty(), {e.getPtrTy(), e.getInt64Ty()}, false);
    auto *result = e.CreateCall(type, call, {state, e.i64(number)});
    result->addRetAttr(llvm::Attribute::ZExt);
    llvm::BasicBlock *next = e.block("next");
    e.CreateCondBr(result, next, failed);
    e.SetInsertPoint(next);
  }

  Emitter &e;
  const LoopKernel &kernel;
  V memory, most, call, state, outcome;
  llvm::BasicBlock *failed = nullptr;
  llvm::DenseMap<int, V> fixed; // Addresses.
  llvm::DenseMap<int, V> made;  // Elements that this step of the loop has computed.
  V tested = nullptr;
};

} // namespace

void emitLoop(Emitter &e, const LoopKernel &kernel) { LoopEmitter(e, kernel).emit(); }

} // namespace cupel::codegen
