// A test as a list of operations with the reference's value of each of their results, so that any
// choice of them can be made a test of its own: what it reads is given as the reference has it, what
// it gives is known. Used by whoever looks for the smallest part of a program that fails. Values are
// the reference's, never a device's.
#pragma once

#include "cupel/compiler/passes/CutIntoPieces.h"
#include "cupel/testbench/worker/Pieces.h"

#include <functional>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace cupel::testbench::worker {

/// What searches take apart: a broadcast of a constant may be to blame as any other operation.
inline constexpr auto kSearched = compiler::Counts::AllButConstants;

/// An operation as people know it.
struct BlamedOperation {
  std::string name;  ///< `stablehlo.add`
  std::string types; ///< `(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>`
  std::string place; ///< `model.py:17:4`
  std::string attributes = {}; ///< `dimension = 1 : i64, is_stable = true`
  std::string through = {};    ///< The line of a library, where the place is its caller's.
  std::string layer = {};      ///< `Cnn/Conv_0`, where the program has such names.
  bool holdsOthers = false;    ///< A loop, a branch, a computation by devices: what is wrong may be in it.
  bool operator==(const BlamedOperation &) const = default;
};

/// The reference's results of a program.
using Evaluate = std::function<Result<TensorLists>(Prepared &)>;

class Intermediates {
public:
  /// Takes a copy of the program and evaluates all of it. An error where it cannot be taken apart,
  /// or where all values together take more than `memoryBytes` (0: whatever they take).
  static Result<Intermediates> of(const Prepared &whole, const Evaluate &evaluate,
                                  uint64_t memoryBytes);

  /// How many operations there are to choose from. Those that cannot be parted count as one.
  size_t size() const { return atoms.size(); }
  /// These of them (ascending) as a test, with what it should give.
  Result<Prepared> select(const std::vector<size_t> &chosen,
                          compiler::Gives gives = compiler::Gives::WhatIsNeeded) const;
  const std::vector<BlamedOperation> &operations(size_t atom) const { return described[atom]; }
  /// Whose result is read by which: the atoms that an atom reads.
  const std::vector<size_t> &reads(size_t atom) const { return readers[atom]; }
  /// Which atom gives this result of a selection of everything, and which result of it that is.
  struct Place {
    size_t atom = 0, result = 0;
  };
  const std::vector<Place> &places() const { return everything; }

private:
  const Prepared *whole = nullptr;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp entry;
  std::vector<std::vector<size_t>> atoms; ///< Numbers of operations.
  std::vector<std::vector<BlamedOperation>> described;
  std::vector<std::vector<size_t>> readers;
  std::vector<Place> everything;
  size_t processes = 1;
  llvm::DenseMap<mlir::Value, std::vector<tensor::Tensor>> values; ///< By process.
};

/// The operations of a program that are divided among pieces.
std::vector<BlamedOperation> operationsOf(const Program &program);
BlamedOperation describeOperation(mlir::Operation *op);

/// The same test without the checks that its program or its folder holds: what they compare are
/// results.
Result<Prepared> withoutChecks(const Prepared &whole);

} // namespace cupel::testbench::worker
