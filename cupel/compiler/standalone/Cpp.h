// C++17 on the headers beside main.cpp and nothing else. Elementwise operations become one loop with
// those that only it needs, functions of elements stay functions; everything else is a call of a
// template. What a program means must not depend on how loops were joined.

#pragma once

#include "cupel/compiler/standalone/CppTypes.h"

#include <functional>

namespace cupel::compiler::standalone {

class CppWriter : public SourceWriter {
public:
  using SourceWriter::SourceWriter;

  /// main.cpp, once the functions are written.
  std::string program(mlir::func::FuncOp entry);

protected:
  std::string listText(const std::vector<int64_t> &values) const override;
  std::string listText(const std::vector<bool> &values) const override;
  std::string boolText(bool value) const override { return value ? "true" : "false"; }
  std::string commentText(const std::string &text) const override { return " // " + text; }
  Status writeFunction(mlir::func::FuncOp function, bool isEntry) override;
  Status writeWhile(stablehlo::WhileOp op) override;
  Status writeBranches(mlir::Operation *op) override;
  Status writeCall(mlir::func::CallOp op) override;
  Status writeElementwise(mlir::Operation *op) override;
  Status writeOperation(mlir::Operation *op) override;
  Status writeCheck(const std::string &function, mlir::Operation *op,
                    const std::vector<std::string> &arguments) override;
  Status writeReturn(mlir::Operation *op) override;
  std::string constantText(stablehlo::ConstantOp op) override;
  std::string tensorText(const tensor::Tensor &value) override;

private:
  /// A tensor that a loop reads: how far apart its elements lie in each dimension of the loop.
  struct Reading {
    std::string tensor, type;
    std::vector<int64_t> steps;
  };
  /// The body of a loop while it is made; `@3@` in its text stands for the element of reading 3.
  struct Loop {
    mlir::RankedTensorType type;
    mlir::Operation *root = nullptr;
    std::vector<Reading> readings;
    std::vector<std::string> statements;
    llvm::DenseMap<mlir::Value, std::string> known;
  };
  /// How a loop walks: dimensions that every reading walks through as one are one.
  struct LoopPlan {
    std::vector<int64_t> sizes;
    std::vector<std::vector<int64_t>> steps; ///< Of each reading.
    int64_t inner = 1, outer = 1;
    bool isFlat = true; ///< One dimension is left.
  };
  /// A product or convolution that a loop finishes.
  struct Kernel {
    mlir::Operation *op = nullptr;
    mlir::Value value; ///< What the loop reads: the result, or
    llvm::SmallVector<mlir::Operation *, 2> reshapes; ///< the same with another shape.
    int64_t row = 0; ///< Results that lie in a row.
  };

  //===--- Cpp.cpp: statements ------------------------------------------------------------------===//
  Status define(mlir::Operation *op, const std::string &expression);
  /// Results of what gives a tuple if there are several.
  Status defineAll(mlir::Operation *op, const std::string &expression);
  /// "layer_norm" of a call, "dot_general" of an operation: names of results begin so.
  std::string stemOf(mlir::Operation *op);
  std::string resultText(mlir::TypeRange types) const;
  Status writeElementFunction(mlir::func::FuncOp function);
  Error refusal(mlir::Operation *op, const std::string &why) const;
  std::vector<std::string> textsOf(mlir::ValueRange values);

  //===--- CppLoops.cpp: elementwise operations -------------------------------------------------===//
  /// A function whose operations are all elementwise on tensors of one shape: one of elements.
  bool isElementFunction(llvm::StringRef symbol);
  /// Elementwise, or a call of a function of elements; of values that are neither quantized nor of
  /// sizes known at run time only.
  bool isMap(mlir::Operation *op);
  Result<std::string> elementText(mlir::Operation *op, llvm::ArrayRef<std::string> operands);
  Result<std::string> inlined(mlir::Value value, Loop &loop);
  Result<std::string> readingText(mlir::Value value, Loop &loop);
  /// The operation in whose loop this one is computed: itself, or the only one that needs it.
  mlir::Operation *loopOf(mlir::Operation *op);
  /// A broadcast or transpose that loops alone read, by steps of its operand.
  bool isReadInPlace(mlir::Operation *op);
  static LoopPlan planOf(const Loop &loop);
  /// The text of what the loop of `root` gives an element; readings and statements go into `loop`.
  Result<std::string> loopText(mlir::Operation *root, Loop &loop);
  void writeLoop(const Loop &loop, const std::string &result, const std::string &value);
  /// From the pointers on: `to` is there, and `row` unless it is flat.
  void writeLoopBody(const Loop &loop, const LoopPlan &plan, const std::string &value, const std::string &begin,
                     const std::string &end);
  Status writeMap(mlir::Operation *op);
  /// As a call with a function of elements: sizes are known at run time only, or values are quantized.
  Result<std::string> mapCall(mlir::Operation *op, llvm::ArrayRef<std::string> operands);

  //===--- CppFinish.cpp: kernels that loops finish ---------------------------------------------===//
  void findKernels(mlir::Block &block);
  /// Written with the loop that finishes it.
  bool isPostponed(mlir::Operation *op);
  /// The kernel that the loop of `root` finishes, with the loop; false where there is none.
  Result<bool> writeFinishedKernel(mlir::Operation *root);

  //===--- CppOperations.cpp --------------------------------------------------------------------===//
  Result<std::string> regionFunction(mlir::Region &region);
  Status writeQuantized(mlir::Operation *op);
  std::string quantizationName(mlir::Type type);
  /// The call of everything that is neither elementwise nor quantized; operands by their texts.
  Result<std::string> callText(mlir::Operation *op, llvm::function_ref<std::string(mlir::Value)> textOf);

  std::function<Status(mlir::Operation *)> onReturn;
  llvm::DenseMap<mlir::Value, std::string> literals; ///< Values that are one number everywhere.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> loops; ///< See loopOf.
  llvm::DenseMap<mlir::Operation *, Kernel> kernels; ///< By the roots of loops.
  llvm::DenseSet<mlir::Operation *> postponed;       ///< Those kernels and their reshapes.
  llvm::DenseSet<mlir::Block *> searched;            ///< For kernels.
  llvm::StringMap<bool> elementFunctions;
  std::vector<std::string> inputMembers, weightMembers; ///< Names in the structs.
  std::vector<std::pair<std::string, std::string>> quantizations; ///< Text and name.
  bool isOnElements = false; ///< Inside a function of elements.
};

} // namespace cupel::compiler::standalone
