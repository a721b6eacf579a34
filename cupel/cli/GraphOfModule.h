// One stage of a program as a graph: a node for each argument and operation, with what it reads, its
// types, attributes and place, and the groups that it stands in. Used by the worker's `graph`.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/Support/JSON.h>
#include <mlir/IR/BuiltinOps.h>
#include <string>
#include <vector>

namespace cupel::cli {

struct StageNode {
  mlir::Operation *op = nullptr; ///< Null for an argument.
  std::string name, label;
  std::vector<std::string> group;
  std::vector<std::pair<size_t, unsigned>> inputs; ///< Nodes, and which of their results.
  std::vector<std::string> types;                  ///< Of results.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string place;
  std::vector<std::string> origins; ///< Every place that its location names.
  int64_t bytes = 0;                ///< Of its results.
};

struct StageGraph {
  std::vector<StageNode> nodes;
  llvm::DenseMap<mlir::Operation *, size_t> numbers;
};

StageGraph graphOf(mlir::ModuleOp module);

void writeNodes(llvm::json::OStream &json, const StageGraph &graph);

} // namespace cupel::cli
