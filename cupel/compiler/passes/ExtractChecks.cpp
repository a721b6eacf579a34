#include "cupel/compiler/passes/ExtractChecks.h"

#include "cupel/compiler/passes/ExtractGrid.h"
#include "cupel/compiler/passes/HoistConstants.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/check/CallChecks.h"
#include "cupel/ir/check/Check.h"
#include "cupel/ir/interpreter/Interpreter.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_EXTRACTCHECKS
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

class Extraction {
public:
  explicit Extraction(ModuleOp module) : module(module), symbols(module) {}

  FailureOr<ExtractedChecks> run() {
    func::FuncOp entry = findEntry();
    if (!entry)
      return failure();
    ExtractedChecks result;
    result.ownResults = entry.getNumResults();
    if (failed(extract(entry)))
      return failure();
    if (failed(rejectOthers(entry)))
      return failure();
    result.checks = done[entry];
    if (entry.getName() != "main" && failed(symbols.rename(entry, "main")))
      return failure();
    entry.setPublic();
    return result;
  }

private:
  func::FuncOp findEntry() {
    if (auto main = symbols.lookup<func::FuncOp>("main"))
      return main;
    llvm::DenseSet<StringAttr> called;
    module.walk([&](Operation *op) {
      op->getAttrDictionary().walk(
          [&](FlatSymbolRefAttr symbol) { called.insert(symbol.getAttr()); });
    });
    func::FuncOp entry;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (called.contains(function.getSymNameAttr()))
        continue;
      if (entry) {
        function.emitError("which function to run is not clear: there is no @main, and both @")
            << entry.getName() << " and @" << function.getName() << " are called by nobody";
        return nullptr;
      }
      entry = function;
    }
    if (!entry)
      module.emitError("there is no function to run");
    return entry;
  }

  /// Makes the checks of a function and of what it calls results of it. Functions that are called
  /// first, so that each is changed once.
  LogicalResult extract(func::FuncOp function) {
    if (done.contains(function))
      return success();
    if (function.isExternal())
      return function.emitError("has no body, so it cannot be run");
    if (!active.insert(function).second)
      return function.emitError("calls itself, so its checks cannot be taken out of the program");
    // First everything that replaces values, so that those collected afterwards stay.
    Block &body = function.getBody().front();
    llvm::DenseSet<Operation *> extendedCalls;
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (auto call = dyn_cast<func::CallOp>(op)) {
        if (failed(extendCall(call, extendedCalls)))
          return failure();
      } else if (auto probe = dyn_cast<interpreter::ProbeOp>(op)) {
        probe->replaceAllUsesWith(probe->getOperands());
        probe->erase();
      } else if (isa<interpreter::PrintOp>(op)) {
        op.erase();
      } else if (isCheckEq(&op)) {
        // It says whether the check holds: where it does not, the result does not matter.
        OpBuilder builder(&op);
        auto type = cast<ShapedType>(op.getResult(0).getType());
        Value truth =
            builder.create<stablehlo::ConstantOp>(op.getLoc(), DenseElementsAttr::get(type, true));
        op.getResult(0).replaceAllUsesWith(truth);
      }
    }
    std::vector<ExtractedCheck> checks;
    Operation *terminator = body.getTerminator();
    SmallVector<Value> results(terminator->getOperands());
    auto indexOf = [&](Value value) {
      auto found = llvm::find(results, value);
      if (found == results.end())
        found = results.insert(results.end(), value);
      return static_cast<uint32_t>(found - results.begin());
    };
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (extendedCalls.contains(&op)) {
        for (ExtractedCheck check : done[calleeOf(cast<func::CallOp>(op))]) {
          check.actual = indexOf(op.getResult(check.actual));
          if (check.expected)
            check.expected = indexOf(op.getResult(*check.expected));
          checks.push_back(check);
        }
      } else if (std::optional<ExtractedCheck> check = describe(&op, indexOf)) {
        checks.push_back(*check);
        op.erase();
      }
    }
    terminator->setOperands(results);
    function.setFunctionType(FunctionType::get(function.getContext(), function.getArgumentTypes(),
                                               terminator->getOperandTypes()));
    done[function] = std::move(checks);
    active.erase(function);
    return success();
  }

  /// A custom call @check.eq(expected, actual) that gives one truth value.
  static bool isCheckEq(Operation *op) {
    auto call = dyn_cast<stablehlo::CustomCallOp>(op);
    if (!call || call.getCallTargetName() != "check.eq" || op->getNumOperands() != 2 ||
        op->getNumResults() != 1)
      return false;
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    return type && type.hasStaticShape() && type.getElementType().isInteger(1);
  }

  func::FuncOp calleeOf(func::CallOp call) {
    return symbols.lookup<func::FuncOp>(call.getCallee());
  }

  /// A call of a function with checks hands on what they compare.
  LogicalResult extendCall(func::CallOp call, llvm::DenseSet<Operation *> &extendedCalls) {
    func::FuncOp callee = calleeOf(call);
    if (!callee || callee.isExternal())
      return success();
    if (failed(extract(callee)))
      return failure();
    if (done[callee].empty())
      return success();
    OpBuilder builder(call);
    auto extended = builder.create<func::CallOp>(call.getLoc(), callee, call.getOperands());
    extended->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    call->replaceAllUsesWith(extended->getResults().take_front(call->getNumResults()));
    call->erase();
    extendedCalls.insert(extended);
    return success();
  }

  template <typename IndexOf>
  std::optional<ExtractedCheck> describe(Operation *op, IndexOf indexOf) {
    using Kind = ExtractedCheck::Kind;
    ExtractedCheck check{Kind::Equal, 0, std::nullopt, nullptr, 0, 0, 0, op->getLoc()};
    // A constant does not travel through the device, which could bend it as it bends the result.
    auto expect = [&](Value value) {
      check.value = constantOf(value, symbols);
      if (!check.value)
        check.expected = indexOf(value);
    };
    return TypeSwitch<Operation *, std::optional<ExtractedCheck>>(op)
        .Case([&](check::ExpectEqOp op) {
          check.actual = indexOf(op.getLhs());
          expect(op.getRhs());
          return check;
        })
        .Case([&](check::ExpectEqConstOp op) {
          check.actual = indexOf(op.getLhs());
          check.value = op.getValue();
          return check;
        })
        .Case([&](check::ExpectAlmostEqOp op) {
          check.kind = Kind::AlmostEqual;
          check.actual = indexOf(op.getLhs());
          expect(op.getRhs());
          check.tolerance = op.getTolerance().convertToDouble();
          return check;
        })
        .Case([&](check::ExpectAlmostEqConstOp op) {
          check.kind = Kind::AlmostEqual;
          check.actual = indexOf(op.getLhs());
          check.value = op.getValue();
          check.tolerance = op.getTolerance().convertToDouble();
          return check;
        })
        .Case([&](check::ExpectCloseOp op) {
          check.kind = Kind::Close;
          check.actual = indexOf(op.getActual());
          expect(op.getExpected());
          check.minUlps = op.getMinUlpDifference();
          check.maxUlps = op.getMaxUlpDifference();
          return check;
        })
        .Case([&](stablehlo::CustomCallOp op) -> std::optional<ExtractedCheck> {
          // What tests that went through JAX's export are written with.
          StringRef target = op.getCallTargetName();
          if (isCheckEq(op)) {
            auto type = dyn_cast<RankedTensorType>(op->getOperand(1).getType());
            if (!type)
              return std::nullopt;
            if (stablehlo::isFloat(type.getElementType()) ||
                isa<ComplexType>(type.getElementType())) {
              check.kind = Kind::AlmostEqual;
              check.tolerance = check::kEqTolerance;
            }
            check.actual = indexOf(op->getOperand(1));
            expect(op->getOperand(0));
            return check;
          }
          if (op->getNumOperands() != 2 || op->getNumResults() != 0)
            return std::nullopt;
          if (target == "check.expect_close") {
            check.kind = Kind::Close;
            check.maxUlps = check::kCloseUlps;
          } else if (target == "check.expect_almost_eq") {
            check.kind = Kind::AlmostEqual;
            check.tolerance = check::kAlmostEqTolerance;
          } else if (target != "check.expect_eq") {
            return std::nullopt;
          }
          check.actual = indexOf(op->getOperand(0));
          expect(op->getOperand(1));
          return check;
        })
        .Default([](Operation *) { return std::nullopt; });
  }

  /// Whatever is left of the two dialects cannot be run without an interpreter.
  LogicalResult rejectOthers(func::FuncOp entry) {
    bool bad = false;
    module.walk([&](Operation *op) {
      // Functions that nobody calls from here were never looked at, and are never run.
      auto function = op->getParentOfType<func::FuncOp>();
      if (!function || !done.contains(function))
        return;
      StringRef dialect = op->getName().getDialectNamespace();
      auto call = dyn_cast<stablehlo::CustomCallOp>(op);
      if (call && call.getCallTargetName().starts_with("check."))
        dialect = "check";
      if (isa<interpreter::RunParallelOp>(op) && op->getParentOp() == entry)
        return; // Its programs are taken out next.
      if (dialect == "check" || dialect == "interpreter") {
        op->emitOpError(dialect == "check" && op->getParentOp() != function
                            ? "stands inside a region, so it cannot be taken out of the program"
                            : "cannot be taken out of the program: only an interpreter can run it");
        bad = true;
      }
    });
    // The rest of the module is not needed and may hold what a device does not know.
    llvm::DenseSet<Operation *> kept;
    for (auto &[function, checks] : done)
      kept.insert(function);
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!kept.contains(function) && SymbolTable::symbolKnownUseEmpty(function, module))
        function.erase();
    return failure(bad);
  }

  ModuleOp module;
  SymbolTable symbols;
  llvm::MapVector<func::FuncOp, std::vector<ExtractedCheck>> done;
  llvm::DenseSet<Operation *> active;
};

/// The description in a form that can be printed.
ArrayAttr toAttribute(const ExtractedChecks &checks, MLIRContext *context) {
  Builder builder(context);
  static constexpr StringLiteral kKinds[] = {"equal", "almost_equal", "close"};
  SmallVector<Attribute> rows;
  for (const ExtractedCheck &check : checks.checks) {
    NamedAttrList row;
    row.set("kind", builder.getStringAttr(kKinds[static_cast<int>(check.kind)]));
    row.set("actual", builder.getI64IntegerAttr(check.actual));
    if (check.expected)
      row.set("expected", builder.getI64IntegerAttr(*check.expected));
    else
      row.set("value", check.value);
    if (check.kind == ExtractedCheck::Kind::AlmostEqual)
      row.set("tolerance", builder.getF64FloatAttr(check.tolerance));
    if (check.kind == ExtractedCheck::Kind::Close) {
      row.set("min_ulps", builder.getI64IntegerAttr(static_cast<int64_t>(check.minUlps)));
      row.set("max_ulps", builder.getI64IntegerAttr(static_cast<int64_t>(check.maxUlps)));
    }
    if (check.process)
      row.set("process", builder.getI64IntegerAttr(*check.process));
    rows.push_back(row.getDictionary(context));
  }
  return builder.getArrayAttr(rows);
}

struct ExtractChecksPass : public impl::ExtractChecksBase<ExtractChecksPass> {
  using ExtractChecksBase::ExtractChecksBase;

  void runOnOperation() override {
    FailureOr<ExtractedChecks> checks = extractChecks(getOperation());
    if (failed(checks))
      return signalPassFailure();
    getOperation()->setAttr("cupel.checks", toAttribute(*checks, &getContext()));
    if (checks->grid) {
      Builder builder(&getContext());
      getOperation()->setAttr("mhlo.num_replicas",
                              builder.getI32IntegerAttr(int32_t(checks->grid->replicas)));
      getOperation()->setAttr("mhlo.num_partitions",
                              builder.getI32IntegerAttr(int32_t(checks->grid->partitions)));
      SmallVector<Attribute> rows;
      for (const std::vector<ElementsAttr> &inputs : checks->grid->inputs)
        rows.push_back(builder.getArrayAttr(SmallVector<Attribute>(inputs.begin(), inputs.end())));
      getOperation()->setAttr("cupel.inputs", builder.getArrayAttr(rows));
    }
  }
};

} // namespace

FailureOr<ExtractedChecks> extractChecks(ModuleOp module) {
  FailureOr<ExtractedChecks> outer = Extraction(module).run();
  if (failed(outer))
    return failure();
  auto entry = module.lookupSymbol<func::FuncOp>("main");
  if (entry.getOps<interpreter::RunParallelOp>().empty())
    return outer;
  FailureOr<ExtractedChecks> grid = extractGrid(module, entry, *outer);
  if (failed(grid))
    return failure();
  // Checks of the programs themselves hold on every device.
  FailureOr<ExtractedChecks> inner = Extraction(module).run();
  if (failed(inner))
    return failure();
  for (ExtractedCheck &check : inner->checks)
    grid->checks.push_back(check);
  return grid;
}

} // namespace cupel::compiler
