// One ONNX node as a lowering sees it: operands, attributes with defaults, the opset it belongs to,
// and where its results go. The importer makes it; the files Ops*.cpp use it. A lowering checks
// what it relies on and says through `error` and `refuse` what is wrong; it never asserts on a
// model.
#pragma once

#include "cupel/frontends/HloBuilder.h"
#include "cupel/frontends/onnx/Import.h"

#include "llvm/ADT/SmallBitVector.h"

namespace onnx {
class NodeProto;
class AttributeProto;
class GraphProto;
} // namespace onnx

namespace cupel::frontends::onnx_import {

class Importer;

/// What a name stands for while a graph is imported.
struct Item {
  mlir::Value value;                   ///< Null until a known tensor is asked for as one.
  std::optional<tensor::Tensor> known; ///< Its value, where that is known.
  std::string name;                    ///< Of a weight: the argument it becomes.
  /// The elements of a sequence (or of an optional: one or none).
  std::shared_ptr<std::vector<Item>> elements;
  bool isOptional = false;
  /// ONNX's number of the element type where the tensor holds bits (CodedTypes.h); 0 elsewhere.
  int64_t coded = 0;
  /// Graph inputs whose values it depends on.
  llvm::SmallBitVector sources;

  bool isTensor() const { return !elements && (value || known); }
  bool isAbsent() const { return !elements && !value && !known; }
};

/// `tensor<2x3xf32>`, `none`, `a sequence of 3`.
std::string describe(const Item &item);
/// What a node is called in messages: its name, or that of its first result.
std::string nameOf(const proto::NodeProto &node);
/// The operator with its domain, unless that is the standard's own.
std::string operatorOf(const proto::NodeProto &node);
/// `node 'conv1' (Conv, opset 13)`.
std::string describe(const proto::NodeProto &node, int64_t opset);
/// `; operands: tensor<2x3xf32>, none; attributes: axis=1, mode=cubic`
std::string describeUse(const proto::NodeProto &node, llvm::ArrayRef<Item> operands);

class Node {
public:
  Node(Importer &importer, const proto::NodeProto &node, int64_t opset,
       llvm::SmallVector<Item> inputs);

  HloBuilder &b;
  const int64_t opset; ///< Version of the node's domain that its graph imports.

  llvm::StringRef op() const;
  const proto::NodeProto &proto() const { return node; }

  // Operands.
  size_t inputCount() const { return items.size(); }
  /// Whether operand i is there (not left out) .
  bool has(size_t i) const { return i < items.size() && !items[i].isAbsent(); }
  const Item &item(size_t i) const { return items[i]; }
  /// A tensor operand; `expect` has made sure that it is there.
  mlir::Value in(size_t i);
  /// Lets operands of at most one dimension that are known be constants, however many numbers they hold: scales and zero points, by
  /// which devices choose kernels. To be called before anybody asks for their values.
  void asConstants(std::initializer_list<size_t> operands);
  llvm::ArrayRef<int64_t> shape(size_t i) { return HloBuilder::shapeOf(in(i)); }
  int64_t rank(size_t i) { return HloBuilder::rankOf(in(i)); }
  mlir::Type element(size_t i) { return HloBuilder::elementOf(in(i)); }
  /// The element type's number where operand i holds bits (CodedTypes.h), else 0.
  int64_t coded(size_t i) const { return i < items.size() ? items[i].coded : 0; }
  /// An error unless there are at least `least` operands (and at most `most`, if given), the first
  /// `least` all tensors.
  Status expect(size_t least, std::optional<size_t> most = std::nullopt);
  /// The value of an operand that decides a shape; `what` says what it is ("the axes").
  Result<tensor::Tensor> known(size_t i, llvm::StringRef what);
  Result<Dims> knownIntegers(size_t i, llvm::StringRef what);
  Result<double> knownNumber(size_t i, llvm::StringRef what);

  // Attributes.
  bool hasAttribute(llvm::StringRef name) const { return attribute(name); }
  int64_t integer(llvm::StringRef name, int64_t missing) const;
  double real(llvm::StringRef name, double missing) const;
  std::string text(llvm::StringRef name, llvm::StringRef missing) const;
  Dims integers(llvm::StringRef name) const; ///< Empty if missing.
  llvm::SmallVector<double> reals(llvm::StringRef name) const;
  std::vector<std::string> texts(llvm::StringRef name) const;
  Result<tensor::Tensor> tensorAttribute(llvm::StringRef name) const;
  const proto::GraphProto *graph(llvm::StringRef name) const;
  const proto::AttributeProto *attribute(llvm::StringRef name) const;

  // Results.
  size_t outputCount() const;
  /// Whether result i is asked for.
  bool wants(size_t i) const;
  void out(size_t i, mlir::Value value);
  void outCoded(size_t i, mlir::Value bits, int64_t number);
  void outKnown(size_t i, tensor::Tensor tensor);
  void outItem(size_t i, Item item);

  // Complaints. All name the node, its operator and its operands' shapes.
  Error error(const std::string &message) const;
  Error refuse(ErrorCode code, const std::string &message) const;

  // Helpers that many lowerings share.
  /// An axis in -rank .. rank - 1 made non-negative.
  Result<int64_t> axis(int64_t axis, int64_t rank) const;
  Result<Dims> axes(llvm::ArrayRef<int64_t> axes, int64_t rank) const;
  /// An error unless the two shapes broadcast.
  Status checkBroadcast(mlir::Value x, mlir::Value y) const;
  Result<mlir::Type> elementTypeNumbered(int64_t number) const;

  /// Forgets what was complained of since this node's lowering began: another way is tried.
  void forgive();
  /// Lowers a subgraph in place: its inputs are given, its outputs come back.
  Result<llvm::SmallVector<Item>> inlineGraph(const proto::GraphProto &graph,
                                              llvm::ArrayRef<Item> inputs);
  /// What another operator of the standard gives on these operands (null: left out) with this
  /// node's attributes; for operators that are others in a row.
  Result<mlir::Value> apply(llvm::StringRef op, llvm::ArrayRef<mlir::Value> operands);
  /// An item as a tensor value.
  mlir::Value materialize(Item &item);

private:
  friend class Importer;
  Importer &importer;
  const proto::NodeProto &node;
  llvm::SmallVector<Item> items;
  llvm::SmallVector<Item> results;
};

} // namespace cupel::frontends::onnx_import
