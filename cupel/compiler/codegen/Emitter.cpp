#include "cupel/compiler/codegen/Emitter.h"

#include "cupel/tensor/Float.h"

#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"

namespace cupel::codegen {

using llvm::Constant;
using llvm::ConstantFP;
using llvm::ConstantInt;
using tensor::FloatFormat;

Emitter::Emitter(llvm::Module &module, const Target &target)
    : llvm::IRBuilder<>(module.getContext()), module(module), target(target),
      lanes(static_cast<unsigned>(target.lanes)) {}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

llvm::Type *Emitter::computeType(DType type) {
  switch (type) {
  case DType::F16:
  case DType::BF16:
  case DType::F32:
    return getFloatTy();
  case DType::F64:
    return getDoubleTy();
  default:
    return getIntNTy(tensor::info(type).bits);
  }
}

llvm::Type *Emitter::storageType(DType type) {
  if (type == DType::F32 || type == DType::F64)
    return computeType(type);
  return getIntNTy(tensor::info(type).bytes * 8u);
}

llvm::Type *Emitter::vectorOf(llvm::Type *element) {
  return llvm::FixedVectorType::get(element, lanes);
}

llvm::Type *Emitter::bitsOf(llvm::Type *type) {
  return type->getWithNewBitWidth(type->getScalarSizeInBits());
}

namespace {
FloatFormat formatOf(DType type) {
  return type == DType::F16 ? tensor::FormatOf<DType::F16>::value
                            : tensor::FormatOf<DType::BF16>::value;
}

/// The pattern of a narrow format nearest to a float or double, in integers as wide as that; as
/// tensor::fromFloat has it.
V narrow(Emitter &e, DType type, V value) {
  FloatFormat f = formatOf(type);
  bool isDouble = value->getType()->getScalarType()->isDoubleTy();
  int mantissa = isDouble ? 52 : 23, bias = isDouble ? 1023 : 127;
  int drop = mantissa - f.mantissaBits, width = isDouble ? 64 : 32;
  V bits = e.asBits(value);
  llvm::Type *t = bits->getType();
  auto c = [&](uint64_t pattern) { return e.integer(t, pattern); };
  uint64_t sign = uint64_t{1} << (width - 1);
  V magnitude = e.CreateAnd(bits, c(sign - 1));
  uint64_t rebias = static_cast<uint64_t>(bias - f.bias) << mantissa;
  V odd = e.CreateAnd(e.CreateLShr(magnitude, c(drop)), c(1));
  V rounded = e.CreateAdd(e.CreateSub(magnitude, c(rebias)), c((uint64_t{1} << (drop - 1)) - 1));
  rounded = e.CreateLShr(e.CreateAdd(rounded, odd), c(drop));
  if (bias != f.bias) {
    // Subnormal results: an addition rounds, whose last place is the format's smallest value.
    int anchorExponent = 1 - f.bias - f.mantissaBits + mantissa;
    uint64_t anchor = static_cast<uint64_t>(anchorExponent + bias) << mantissa;
    V sum = e.CreateFAdd(e.asFloat(magnitude, value->getType()),
                         e.bits(value->getType(), anchor));
    V subnormal = e.CreateSub(e.asBits(sum), c(anchor));
    V isSubnormal =
        e.CreateICmpULT(magnitude, c(static_cast<uint64_t>(1 - f.bias + bias) << mantissa));
    rounded = e.CreateSelect(isSubnormal, subnormal, rounded);
  }
  V overflow = e.CreateICmpUGT(rounded, c(f.maxFinite()));
  rounded = e.CreateSelect(overflow, c(f.infinity()), rounded);
  uint64_t wideInfinity = ((uint64_t{1} << (width - 1 - mantissa)) - 1) << mantissa;
  V isNan = e.CreateICmpUGT(magnitude, c(wideInfinity));
  V payload = e.CreateAnd(e.CreateLShr(magnitude, c(drop)), c((uint64_t{1} << f.mantissaBits) - 1));
  rounded = e.CreateSelect(isNan, e.CreateOr(payload, c(f.nan())), rounded);
  V signBit = e.CreateShl(e.CreateLShr(bits, c(width - 1)), c(f.signShift()));
  return e.CreateOr(signBit, rounded);
}

/// f32 to the nearest number of bf16, ties to even, held in f32: what `narrow` does, which bf16 needs little of because
/// it is the upper half of f32. The carry makes infinity of what is too large; NaN stays one.
V roundToUpperHalf(Emitter &e, V value) {
  V bits = e.asBits(value);
  llvm::Type *t = bits->getType();
  auto c = [&](uint64_t pattern) { return e.integer(t, pattern); };
  V odd = e.CreateAnd(e.CreateLShr(bits, c(16)), c(1));
  V rounded = e.CreateAdd(e.CreateAdd(bits, c(0x7fff)), odd);
  rounded = e.CreateSelect(e.isNan(value), e.CreateOr(bits, c(0x7fc00000)), rounded);
  return e.asFloat(e.CreateAnd(rounded, c(0xffff0000)), value->getType());
}

/// Patterns in i32 lanes to f32.
V widen(Emitter &e, DType type, V pattern) {
  FloatFormat f = formatOf(type);
  llvm::Type *t = pattern->getType(), *floats = e.vectorOf(e.getFloatTy());
  auto c = [&](uint64_t value) { return e.integer(t, value); };
  if (type == DType::BF16)
    return e.asFloat(e.CreateShl(pattern, c(16)), floats);
  V magnitude = e.CreateAnd(pattern, c(f.signBit() - 1));
  V sign = e.CreateShl(e.CreateLShr(pattern, c(f.signShift())), c(31));
  V shifted = e.CreateShl(magnitude, c(23 - f.mantissaBits));
  uint32_t rebias = static_cast<uint32_t>(127 - f.bias) << 23;
  V normal = e.CreateAdd(shifted, c(rebias));
  V subnormal = e.CreateFSub(e.asFloat(e.CreateAdd(normal, c(1u << 23)), floats),
                             e.bits(floats, static_cast<uint64_t>(1 - f.bias + 127) << 23));
  V result = e.CreateSelect(e.CreateICmpULT(magnitude, c(1u << f.mantissaBits)),
                            e.asBits(subnormal), normal);
  V quiet = e.CreateSelect(e.CreateICmpUGT(magnitude, c(f.infinity())), c(0x400000), c(0));
  V special = e.CreateOr(e.CreateOr(e.CreateAnd(shifted, c(0x7fffff)), c(0x7f800000)), quiet);
  result = e.CreateSelect(e.CreateICmpUGE(magnitude, c(f.infinity())), special, result);
  return e.asFloat(e.CreateOr(sign, result), floats);
}
} // namespace

V Emitter::toCompute(DType type, V stored) {
  switch (type) {
  case DType::I1:
    return CreateICmpNE(stored, Constant::getNullValue(stored->getType()));
  case DType::F16:
    if (target.hasHalf)
      return CreateFPExt(CreateBitCast(stored, vectorOf(getHalfTy())), vectorOf(getFloatTy()));
    [[fallthrough]];
  case DType::BF16:
    return widen(*this, type, CreateZExt(stored, vectorOf(getInt32Ty())));
  default:
    return stored;
  }
}

V Emitter::toStorage(DType type, V computed) {
  switch (type) {
  case DType::I1:
    return CreateZExt(computed, vectorOf(getInt8Ty()));
  case DType::F16:
    if (target.hasHalf)
      return CreateBitCast(CreateFPTrunc(computed, vectorOf(getHalfTy())), vectorOf(getInt16Ty()));
    return CreateTrunc(narrow(*this, type, computed), vectorOf(getInt16Ty()));
  case DType::BF16: // The value has been rounded: the lower half is empty.
    return CreateTrunc(CreateLShr(asBits(computed), integer(vectorOf(getInt32Ty()), 16)),
                       vectorOf(getInt16Ty()));
  default:
    return computed;
  }
}

V Emitter::roundTo(DType type, V computed) {
  if (type == DType::F16 && target.hasHalf)
    return CreateFPExt(CreateFPTrunc(computed, vectorOf(getHalfTy())), vectorOf(getFloatTy()));
  if (type == DType::BF16)
    return roundToUpperHalf(*this, computed);
  return type == DType::F16 ? widen(*this, type, narrow(*this, type, computed)) : computed;
}

V Emitter::narrowDouble(DType type, V wide) {
  return widen(*this, type, CreateTrunc(narrow(*this, type, wide), vectorOf(getInt32Ty())));
}

//===----------------------------------------------------------------------===//
// Constants and arithmetic
//===----------------------------------------------------------------------===//

V Emitter::number(llvm::Type *like, double value) { return ConstantFP::get(like, value); }
V Emitter::integer(llvm::Type *like, uint64_t value) { return ConstantInt::get(like, value); }
V Emitter::bits(llvm::Type *floatType, uint64_t pattern) {
  return CreateBitCast(integer(bitsOf(floatType), pattern), floatType);
}
V Emitter::storedSplat(DType type, uint64_t pattern) {
  llvm::Type *stored = vectorOf(storageType(type));
  return stored->isFPOrFPVectorTy() ? bits(stored, pattern) : integer(stored, pattern);
}

V Emitter::laneNumbers(llvm::Type *element) {
  SmallVector<Constant *> numbers;
  for (unsigned i = 0; i < lanes; ++i)
    numbers.push_back(ConstantInt::get(element, i));
  return llvm::ConstantVector::get(numbers);
}

V Emitter::fma(V a, V b, V c) {
  llvm::Type *type = a->getType();
  if (target.hasFma)
    return CreateIntrinsic(llvm::Intrinsic::fma, {type}, {a, b, c});
  if (type->getScalarType()->isDoubleTy())
    return CreateFAdd(CreateFMul(a, b), c);
  // The product is exact in f64.
  llvm::Type *wide = type->getWithNewType(getDoubleTy());
  V product = CreateFMul(CreateFPExt(a, wide), CreateFPExt(b, wide));
  return CreateFPTrunc(CreateFAdd(product, CreateFPExt(c, wide)), type);
}

V Emitter::scale(V a, V b) {
  V everyLane = getInt16(0xffff), currentRounding = getInt32(4);
  return CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                         {a, b, a, everyLane, currentRounding});
}

V Emitter::range(V a, V b, bool isMaximum) {
  // The sign is that of what was chosen.
  V how = getInt32(isMaximum ? 5 : 4), everyLane = getInt16(0xffff), currentRounding = getInt32(4);
  return CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_range_ps_512, {},
                         {a, b, how, a, everyLane, currentRounding});
}

V Emitter::pick(V table, V index) {
  return CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {table, index});
}

V Emitter::polynomial(V x, ArrayRef<double> coefficients) {
  V result = number(x->getType(), coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, number(x->getType(), coefficient));
  return result;
}

V Emitter::intrinsic(llvm::Intrinsic::ID id, V a) { return CreateUnaryIntrinsic(id, a); }
V Emitter::intrinsic(llvm::Intrinsic::ID id, V a, V b) { return CreateBinaryIntrinsic(id, a, b); }

V Emitter::callRuntime(llvm::StringRef name, ArrayRef<V> operands) {
  llvm::Type *type = operands[0]->getType();
  std::string symbol =
      ("cupel_codegen_" + name + (type->getScalarType()->isDoubleTy() ? "_f64" : "_f32")).str();
  // void (result, a, b, lanes); unary functions are given their operand twice.
  SmallVector<V> arguments;
  arguments.push_back(frameVector(type->getScalarType()));
  for (int i = 0; i < 2; ++i) {
    V memory = frameVector(type->getScalarType());
    CreateStore(operands[std::min<size_t>(i, operands.size() - 1)], memory);
    arguments.push_back(memory);
  }
  arguments.push_back(getInt64(lanes));
  llvm::Type *pointer = getPtrTy();
  auto *signature =
      llvm::FunctionType::get(getVoidTy(), {pointer, pointer, pointer, getInt64Ty()}, false);
  CreateCall(module.getOrInsertFunction(symbol, signature), arguments);
  return CreateLoad(type, arguments[0]);
}

//===----------------------------------------------------------------------===//
// Memory and control
//===----------------------------------------------------------------------===//

V Emitter::frameVectors(llvm::Type *element, int64_t count) {
  // In the entry, so that the frame has one place for it and not one for each time round.
  llvm::BasicBlock &entry = GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> atEntry(&entry, entry.begin());
  llvm::AllocaInst *memory = atEntry.CreateAlloca(vectorOf(element), i64(count));
  memory->setAlignment(llvm::Align(128)); // The most that LLVM assumes, of 16 doubles.
  return memory;
}

void Emitter::prefetch(V address) {
  // To be read, into the nearest cache, of data.
  CreateIntrinsic(llvm::Intrinsic::prefetch, {getPtrTy()},
                  {address, getInt32(0), getInt32(3), getInt32(1)});
}

llvm::BasicBlock *Emitter::block(const char *name) {
  return llvm::BasicBlock::Create(getContext(), name, GetInsertBlock()->getParent());
}

void Emitter::loop(V begin, V end, int64_t step, MutableArrayRef<V> carried,
                   llvm::function_ref<void(V, MutableArrayRef<V>)> body) {
  llvm::BasicBlock *before = GetInsertBlock(), *inside = block("loop"), *after = block("done");
  CreateCondBr(CreateICmpSLT(begin, end), inside, after);
  SetInsertPoint(inside);
  llvm::PHINode *index = CreatePHI(getInt64Ty(), 2);
  index->addIncoming(begin, before);
  SmallVector<llvm::PHINode *> phis;
  SmallVector<V> now;
  for (V value : carried) {
    phis.push_back(CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    now.push_back(phis.back());
  }
  body(index, now);
  V next = CreateNSWAdd(index, i64(step));
  llvm::BasicBlock *last = GetInsertBlock();
  index->addIncoming(next, last);
  for (size_t i = 0; i < phis.size(); ++i)
    phis[i]->addIncoming(now[i], last);
  CreateCondBr(CreateICmpSLT(next, end), inside, after);
  SetInsertPoint(after);
  for (size_t i = 0; i < phis.size(); ++i) {
    llvm::PHINode *result = CreatePHI(carried[i]->getType(), 2);
    result->addIncoming(carried[i], before);
    result->addIncoming(now[i], last);
    carried[i] = result;
  }
}

void Emitter::loop(V begin, V end, int64_t step, llvm::function_ref<void(V)> body) {
  loop(begin, end, step, {}, [&](V index, MutableArrayRef<V>) { body(index); });
}

SmallVector<V> Emitter::branch(V condition, llvm::function_ref<SmallVector<V>()> yes,
                               llvm::function_ref<SmallVector<V>()> no, bool likely) {
  if (auto *known = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return known->isZero() ? no() : yes();
  llvm::BasicBlock *whenTrue = block("yes"), *whenFalse = block("no"), *join = block("join");
  llvm::MDNode *weights = llvm::MDBuilder(getContext())
                              .createBranchWeights(likely ? 2000 : 1, likely ? 1 : 2000);
  CreateCondBr(condition, whenTrue, whenFalse, weights);
  SetInsertPoint(whenTrue);
  SmallVector<V> fromTrue = yes();
  llvm::BasicBlock *endTrue = GetInsertBlock();
  CreateBr(join);
  SetInsertPoint(whenFalse);
  SmallVector<V> fromFalse = no();
  llvm::BasicBlock *endFalse = GetInsertBlock();
  CreateBr(join);
  SetInsertPoint(join);
  SmallVector<V> results;
  for (size_t i = 0; i < fromTrue.size(); ++i) {
    llvm::PHINode *phi = CreatePHI(fromTrue[i]->getType(), 2);
    phi->addIncoming(fromTrue[i], endTrue);
    phi->addIncoming(fromFalse[i], endFalse);
    results.push_back(phi);
  }
  return results;
}

llvm::Function *Emitter::beginFunction(llvm::StringRef name, ArrayRef<llvm::Type *> arguments) {
  auto *type = llvm::FunctionType::get(getVoidTy(), arguments, false);
  auto *function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  std::string bits = std::to_string(target.lanes * 32);
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("min-legal-vector-width", bits);
  SetInsertPoint(llvm::BasicBlock::Create(getContext(), "entry", function));
  return function;
}

} // namespace cupel::codegen
