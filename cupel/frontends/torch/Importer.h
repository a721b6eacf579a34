// The state of one import: the function being written, names in scope, memory that tensors share,
// sizes bound to symbols. Private to the importer's own files; lowerings see a Node.
#pragma once

#include "cupel/frontends/torch/Import.h"
#include "cupel/frontends/torch/OpTable.h"
#include "cupel/frontends/torch/Schema.h"
#include "cupel/frontends/torch/Symbols.h"

#include <deque>
#include <set>

namespace cupel::frontends::torch_import {

/// What one or several tensors of PyTorch lie in. A write makes a new value; views of the old one
/// are derived again when they are read.
struct Memory {
  mlir::Value value; ///< Null until it is first read (weights).
  int64_t weight = -1;
  uint64_t version = 0;
};

/// A call that made views, kept so that it can be made again on a new value.
struct ViewCall {
  const OpEntry *entry = nullptr; ///< Null: the view is the tensor itself.
  std::string target, self;       ///< The operator; the argument that is viewed.
  const GraphNode *source = nullptr;
  std::vector<std::pair<std::string, Resolved>> arguments;
  struct Output {
    llvm::SmallVector<mlir::RankedTensorType, 1> types;
    bool isList = false;
  };
  llvm::SmallVector<Output, 1> outputs;
};

/// A tensor of the graph: memory, or a view of another tensor.
struct Alias {
  std::shared_ptr<Memory> memory;
  std::shared_ptr<Alias> parent;
  std::shared_ptr<const ViewCall> call;
  size_t output = 0, element = 0; ///< Which of the call's results.
  mlir::Value cached;
  uint64_t version = 0; ///< Of the memory when `cached` was derived.
  /// Strides and offset that PyTorch's tensor has.
  Dims strides;
  int64_t offset = 0;
};
using AliasPtr = std::shared_ptr<Alias>;

/// What a name stands for: a tensor, a number, or nothing that a program computes with.
struct Entry {
  AliasPtr tensor;
  std::optional<Number> number;
  bool isToken = false;
};

/// The names of one graph; subgraphs see nothing of those around them.
struct Scope {
  const Graph &graph;
  std::map<std::string, Entry, std::less<>> names;
  std::set<std::string, std::less<>> read; ///< Names that a node or an output uses.
};

/// "aten.add.Tensor" of "torch.ops.aten.add.Tensor".
llvm::StringRef shortTarget(llvm::StringRef target);
/// Which call an operation comes from, as its location says: "add_1 aten.add.Tensor". Those who go
/// through a model call by call ask for it.
std::string placeOf(const GraphNode &node);
/// The innermost line of the model's own source that a stack trace names; a line of PyTorch's
/// modules only if there is no other.
std::optional<std::pair<std::string, unsigned>> sourceLine(llvm::StringRef trace);
/// The call that begins a vmap in a graph.
inline constexpr std::string_view kVmapBegin =
    "torch._functorch.predispatch._vmap_increment_nesting";
/// Whether a call draws random numbers, whatever its arguments.
bool isRandomCall(llvm::StringRef target);

class Importer {
public:
  Importer(const Program &program, mlir::MLIRContext &context, const ImportOptions &options);

  Status run(Imported &result);
  std::optional<Error> failure;  ///< The first complaint.
  ModelSurvey *survey = nullptr; ///< If set, failing calls are noted and passed over.

private:
  friend class Node;
  using Arguments = std::vector<std::pair<std::string, Resolved>>;

  // Importer.cpp
  Status bindSymbols(Imported &result);
  Status importInputs(Scope &scope, Imported &result);
  Status importOutputs(Scope &scope, Imported &result);
  Result<mlir::RankedTensorType> typeOf(const TensorMeta &meta);
  Result<Dims> evaluate(const std::vector<SymInt> &sizes);
  void setStrides(Scope &scope, const std::string &name, Alias &alias);
  Entry fresh(mlir::Value value);

  // Names.cpp
  const Entry *find(Scope &scope, const Name &name);
  AliasPtr aliasOf(Scope &scope, const Argument &argument);
  Result<Number> numberOf(Scope &scope, const SymNumber &number);
  Status resolve(Scope &scope, const Argument &argument, Resolved &result);
  Status bindResult(Scope &scope, const Argument &output, llvm::ArrayRef<Entry> entries,
                    bool isList);

  // Calls.cpp
  void locate(const GraphNode &node);
  Status importNodes(Scope &scope);
  /// Imports node `i` and moves on, past the whole of a vmap.
  Status importNext(Scope &scope, size_t &i);
  Status importNode(Scope &scope, const GraphNode &node);
  /// Whether anybody uses a result of a node.
  static bool isRead(const Scope &scope, const GraphNode &node);
  Status importSizeCall(Scope &scope, const GraphNode &node, llvm::StringRef name);
  Status importNumberCall(Scope &scope, const GraphNode &node);
  void bindCounts(Scope &scope, const GraphNode &node, const Arguments &arguments);
  Status importItem(Scope &scope, const GraphNode &node, const Arguments &arguments);
  Status checkResults(const Schema &schema, const GraphNode &node);
  Status importCall(Scope &scope, const GraphNode &node, llvm::StringRef target);
  Status lower(const OpEntry &entry, Node &node);
  Result<std::vector<Entry>> inlineGraph(const Graph &graph, llvm::ArrayRef<Entry> inputs);

  // Views.cpp
  mlir::Value read(Alias &alias);
  void write(Alias &alias, mlir::Value value);
  /// The value of the viewed tensor once its view has a new one.
  mlir::Value invert(const Alias &view, mlir::Value old, mlir::Value value);
  llvm::SmallVector<llvm::SmallVector<mlir::Value, 1>, 1>
  derive(const ViewCall &call, mlir::Value self, mlir::Type element = {});
  /// Whether results of this call share memory with the argument `self`, which it names.
  bool sharesMemory(Scope &scope, const GraphNode &node, llvm::StringRef target,
                    const Schema *schema, const Arguments &arguments, std::string &self);
  /// as_strided sees the whole storage that its tensor lies in: puts that in the tensor's place.
  void reachStorage(Arguments &arguments);
  Status importWrite(Scope &scope, const GraphNode &node, llvm::StringRef target,
                     const Schema &schema, Arguments arguments);

  // HigherOrder.cpp
  Status importHigherOrder(Scope &scope, const GraphNode &node, llvm::StringRef name);
  Status importWithEffects(Scope &scope, const GraphNode &node);
  Result<std::vector<Entry>> entriesOf(Scope &scope, const Argument &argument);
  Status bindResults(Scope &scope, const GraphNode &node, llvm::ArrayRef<Entry> entries);
  void castOperands(llvm::StringRef target, Arguments &arguments);

  // Survey.cpp
  void note(Scope &scope, const GraphNode &node);
  /// Stands in for the results of a call that failed; false if even their types are wrong.
  bool standIn(Scope &scope, const GraphNode &node);

  // Vmap.cpp: what stands between a vmap's begin and its end, once for each element.
  Status importVmap(Scope &scope, size_t &i);

  // Evaluate.cpp: the value of what depends on constants and weights only.
  std::optional<tensor::Tensor> evaluate(mlir::Value value);

  Error refuse(ErrorCode code, std::string message);

  const Program &program;
  mlir::MLIRContext &context;
  const ImportOptions &options;
  Symbols symbols;

  mlir::func::FuncOp main;
  std::optional<HloBuilder> builder;
  std::vector<std::pair<std::string, tensor::Tensor>> weights; ///< Arguments in use.
  struct Candidate {
    std::string name;
    const tensor::Tensor *value;
    bool isConstant; ///< Not a parameter or buffer.
  };
  std::vector<Candidate> candidates; ///< Memory::weight counts here.
  llvm::DenseMap<mlir::Value, const tensor::Tensor *> weightValues;
  const GraphNode *current = nullptr;
  Scope *scope = nullptr; ///< Of the call being lowered.
  int depth = 0;
  mlir::Type autocast; ///< Null outside of autocast regions.
  std::deque<GraphNode> madeNodes;
  /// Verify what each call was lowered to, to find out which one made a module that does not verify.
  bool verifyEach = false;
};

} // namespace cupel::frontends::torch_import
