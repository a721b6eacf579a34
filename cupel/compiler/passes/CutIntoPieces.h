// Cuts a program into pieces that can be run one by one, each fed with values that are known to be
// right: an error is then seen where it arises instead of in everything behind it. The pass
// cut-into-pieces wraps it; whoever judges a device by pieces calls it. A piece must compute what
// the program computes at that place, never something simpler.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <vector>

namespace cupel::compiler {

/// At an operation: a list of how its results lie on the devices of a program that is written on whole
/// tensors, as shardings; at an argument of the entry function: how that lies. What parts take and give
/// lies so.
inline constexpr char kLiesAttr[] = "cupel.lies";

/// At a module: composites are operations of its entry function like others, and not what they stand for.
inline constexpr char kKeepsCompositesAttr[] = "cupel.keeps_composites";

/// What is divided among parts. What is not every part makes for itself: constants, and moves of them
/// too unless all but the constants are counted.
enum class Counts : uint8_t { WhatIsNotMoved, AllButConstants };

/// A piece of a program. Values are counted: the arguments of the program come first, then what
/// pieces give, in their order.
struct ProgramPiece {
  mlir::func::FuncOp function;
  std::vector<uint32_t> takes; ///< The values that are its arguments;
  uint32_t gives = 0;          ///< the first of its results;
  size_t begin = 0, end = 0;   ///< which of countedOperations it has.
};

/// Makes private functions of the parts of `entry` and calls them from it one after another. Calls
/// are put in line first, and `entry` is called @main. Cuts are made where few bytes are alive, into
/// about `count` parts of as many operations each; there are fewer where the program cannot be cut,
/// such as inside a loop or where a token is alive. Fails, with the program in an unspecified state,
/// where calls cannot be put in line.
mlir::FailureOr<std::vector<ProgramPiece>> cutIntoPieces(mlir::func::FuncOp entry, uint32_t count,
                                                         Counts counts = Counts::WhatIsNotMoved);

/// The same with the cuts where `ends` says: the first piece has the operations up to ends[0] of those
/// that countedOperations has, and so on; the last entry is their number. Nobody asks whether a cut
/// can be made there.
mlir::FailureOr<std::vector<ProgramPiece>> cutIntoPieces(mlir::func::FuncOp entry,
                                                         std::vector<size_t> ends,
                                                         Counts counts = Counts::WhatIsNotMoved);

/// The operations that are divided among pieces; calls are as they stand.
std::vector<mlir::Operation *> countedOperations(mlir::func::FuncOp entry,
                                                 Counts counts = Counts::WhatIsNotMoved);

/// The piece as a program of its own, whose entry function is @main, with the functions it needs and
/// the attributes of the whole.
mlir::OwningOpRef<mlir::ModuleOp> programOf(const ProgramPiece &piece);

/// Puts calls in line and calls the function @main; false, with some of it done, where that cannot
/// be.
bool makeOneList(mlir::func::FuncOp entry);

/// Some operations of a program as a program of their own.
struct Selection {
  mlir::OwningOpRef<mlir::ModuleOp> program; ///< Its entry function is @main.
  llvm::SmallVector<mlir::Value> takes;      ///< What of the whole its arguments are;
  llvm::SmallVector<mlir::Value> gives;      ///< and its results.
};

/// Which results a selection gives: those that somebody beyond it reads (of an operation
/// that nobody reads anything of: all), or all there are.
enum class Gives : uint8_t { WhatIsNeeded, Everything };

/// The operations of these numbers, which ascend and count `countedOperations`. The entry function
/// is one list (makeOneList) and stays as it is.
Selection selectOperations(mlir::func::FuncOp entry, llvm::ArrayRef<size_t> numbers, Gives gives,
                           Counts counts = Counts::WhatIsNotMoved);

} // namespace cupel::compiler
