// A group of operations that will be one: grown along the program from a seed, so that it can be
// put in one place. Shared by the passes that fuse. A group never holds two operations between which
// the program goes another way.

#pragma once

#include "cupel/compiler/tensor/Reading.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace cupel::tir {

/// Whether the operation is elementwise on tensors of static shape and of element types that code is
/// made for.
bool isFusible(mlir::Operation *op);
/// A tensor of static shape and some elements, of a type that code is made for.
bool isCompiledTensor(mlir::Type type);

/// Whether the operation reduces one tensor of such elements, beginning with a constant, with one of
/// the combiners that reductions here know.
bool isSimpleReduction(mlir::Operation *op);

int64_t countOf(mlir::Value value);

/// Through what members may see each other's results.
enum class Links { Reshapes, ReshapesAndBroadcasts };

/// Operations that were taken into groups: nobody needs them, and they are erased when a pass ends.
using Taken = llvm::DenseSet<mlir::Operation *>;

class Group {
public:
  /// A `wide` group also takes what has nothing to do with its members.
  Group(mlir::Operation *seed, Links links, const Taken &taken, bool wide = false)
      : links(links), taken(taken), wide(wide), last(seed) {
    members.insert(seed);
  }

  /// Goes through the operations behind the seed and takes those that use members, that `takes`
  /// wants, and that need nothing that needs the group and is none of it. What a member uses and
  /// nobody else does is taken if `takesProducer` wants it.
  void grow(llvm::function_ref<bool(mlir::Operation *)> takes,
            llvm::function_ref<bool(mlir::Operation *)> takesProducer);

  bool contains(mlir::Operation *op) const { return op && members.contains(op); }
  /// Where a reading ends: at what a member makes.
  bool isMade(mlir::Value value) const { return contains(value.getDefiningOp()); }
  llvm::ArrayRef<mlir::Operation *> operations() const { return members.getArrayRef(); }

  /// Results of members that others use, in the order in which members were taken.
  mlir::SmallVector<mlir::Value> escaping() const;

  /// Where the operation that replaces the group is to be put: before this one. Operations that
  /// need the group and stand before it are moved behind it.
  mlir::Operation *place();

  /// Where all members come from, the first of them in front.
  mlir::Location locationFrom(mlir::Operation *first) const;

  /// Keeps the members that were taken first, as many as give a group of which a single value
  /// escapes; returns that value, or null if there is none.
  mlir::Value cutToOneResult();
  /// Gives up what was taken last; false if only the seed is left.
  bool cut();

private:
  bool isLink(mlir::Operation *op) const;
  bool isUsedByMembersOnly(mlir::Operation *op) const;
  void takeProducers(mlir::Operation *op, llvm::function_ref<bool(mlir::Operation *)> takes);

  Links links;
  const Taken &taken;
  bool wide;
  llvm::SetVector<mlir::Operation *> members;
  mlir::Operation *last; // In the order of the program.
  mlir::SmallVector<std::pair<size_t, mlir::Operation *>> steps; // Sizes after each that was taken.
};

/// Writes the body of a fused operation: members as operations on elements or rows.
class BodyWriter {
public:
  BodyWriter(mlir::OpBuilder &builder, mlir::Location location) : builder(builder), location(location) {}

  /// A constant of rank 0.
  mlir::Value constant(mlir::TypedAttr number);
  /// A copy of an elementwise operation on other operands, of this shape; it comes from where that does.
  mlir::Value copy(mlir::Operation *op, mlir::ValueRange operands, llvm::ArrayRef<int64_t> shape);

private:
  mlir::OpBuilder &builder;
  mlir::Location location;
};

/// The operations of a block but its terminator, as they stand now.
mlir::SmallVector<mlir::Operation *> operationsOf(mlir::Block &block);

/// Erases operations that nobody needs, from the last on.
void eraseUnused(mlir::Block &block);

/// Calls `rewrite` for the operations of every function, as they stood before it began with the function, and erases behind it
/// what nobody needs.
void rewriteEach(mlir::ModuleOp module, llvm::function_ref<void(mlir::Operation *op)> rewrite);

/// Calls `form` for the operations of every function, with what has been taken into groups so far,
/// and erases before and after what nobody needs.
void formGroups(mlir::ModuleOp module,
                llvm::function_ref<void(mlir::Operation *op, Taken &taken)> form);

} // namespace cupel::tir
