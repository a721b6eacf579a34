// Writes vectors of LLVM IR: a builder that knows the lanes of the target, how element types are
// stored and computed in, and loops. Every value of a body is a vector of `lanes` elements; scalars
// have the same element in all of them. Used by the emitters beside it; knows nothing of StableHLO.

#pragma once

#include "cupel/compiler/codegen/Target.h"
#include "cupel/tensor/DType.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace cupel::codegen {

using llvm::ArrayRef;
using llvm::MutableArrayRef;
using llvm::SmallVector;
using tensor::DType;
/// A value of LLVM's; MLIR's are written mlir::Value.
using V = llvm::Value *;

class Emitter : public llvm::IRBuilder<> {
public:
  Emitter(llvm::Module &module, const Target &target);

  llvm::Module &module;
  const Target &target;
  const unsigned lanes;

  //===--- types ---===//

  /// What elements are computed in: f16 and bf16 in f32 (rounded after every operation), i1 in i1.
  llvm::Type *computeType(DType type);
  /// As they lie in memory: i1 in a byte, f16 and bf16 as 16 bits.
  llvm::Type *storageType(DType type);
  llvm::Type *vectorOf(llvm::Type *element);
  /// The integer (vector) of the same size.
  llvm::Type *bitsOf(llvm::Type *type);

  V toCompute(DType type, V stored);
  V toStorage(DType type, V computed);
  /// f32 rounded to the values of f16 or bf16; other types have nothing to round.
  V roundTo(DType type, V computed);
  /// f64 rounded once to f16 or bf16, held in f32.
  V narrowDouble(DType type, V wide);

  //===--- constants and lanes ---===//

  /// The number in the (element) type of `like`, in all lanes.
  V number(llvm::Type *like, double value);
  V integer(llvm::Type *like, uint64_t value);
  V bits(llvm::Type *floatType, uint64_t pattern);
  V i64(int64_t value) { return getInt64(static_cast<uint64_t>(value)); }
  V splat(V scalar) { return CreateVectorSplat(lanes, scalar); }
  /// Stored bits of an element as a stored vector.
  V storedSplat(DType type, uint64_t pattern);
  /// 0, 1, 2, ... in i32 or i64 lanes.
  V laneNumbers(llvm::Type *element);
  V asBits(V value) { return CreateBitCast(value, bitsOf(value->getType())); }
  V asFloat(V value, llvm::Type *type) { return CreateBitCast(value, type); }

  //===--- arithmetic ---===//

  /// a * b + c, rounded once (or as if: on processors without it f32 goes through f64).
  V fma(V a, V b, V c);
  /// a times 2 to the power of b, an integer, of f32; only where the target has it.
  V scale(V a, V b);
  /// The greater or lesser of numbers in f32, -0 below +0; of a NaN and a number, the number. Only
  /// where the target has it (as `scale`).
  V range(V a, V b, bool isMaximum);
  /// For each lane the element of the table, 16 numbers in f32, that the low bits of its index name; only where
  /// the target has `scale`.
  V pick(V table, V index);
  /// c0 + c1 x + c2 x^2 + ... by fused steps.
  V polynomial(V x, ArrayRef<double> coefficients);
  V intrinsic(llvm::Intrinsic::ID id, V a);
  V intrinsic(llvm::Intrinsic::ID id, V a, V b);
  V fabs(V a) { return intrinsic(llvm::Intrinsic::fabs, a); }
  V copySign(V magnitude, V sign) {
    return intrinsic(llvm::Intrinsic::copysign, magnitude, sign);
  }
  V isNan(V a) { return CreateFCmpUNO(a, a); }
  /// Whether the condition holds in any lane.
  V any(V condition) { return CreateOrReduce(condition); }
  /// Calls a function of RuntimeMath.h, which takes vectors in memory; f32 or f64.
  V callRuntime(llvm::StringRef name, ArrayRef<V> operands);

  //===--- memory and control ---===//

  /// Memory of the function's frame, for one vector of stored elements.
  V frameVector(llvm::Type *element) { return frameVectors(element, 1); }
  V frameVectors(llvm::Type *element, int64_t count);
  V at(V base, llvm::Type *element, V index) { return CreateInBoundsGEP(element, base, index); }
  /// Asks for the cache line of an address, which need not be one of ours.
  void prefetch(V address);
  llvm::BasicBlock *block(const char *name);
  /// for (i = begin; i < end; i += step) body(i, carried), which replaces what is carried.
  void loop(V begin, V end, int64_t step, MutableArrayRef<V> carried,
            llvm::function_ref<void(V, MutableArrayRef<V>)> body);
  void loop(V begin, V end, int64_t step, llvm::function_ref<void(V)> body);
  /// The vectors of one of two branches.
  SmallVector<V> branch(V condition, llvm::function_ref<SmallVector<V>()> yes,
                        llvm::function_ref<SmallVector<V>()> no, bool likely = true);
  V min64(V a, V b) { return CreateSelect(CreateICmpSLT(a, b), a, b); }
  V max64(V a, V b) { return CreateSelect(CreateICmpSGT(a, b), a, b); }

  /// Begins a function of this signature; the emitter stands in its entry.
  llvm::Function *beginFunction(llvm::StringRef name, ArrayRef<llvm::Type *> arguments);
};

} // namespace cupel::codegen
