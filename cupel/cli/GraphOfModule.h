// One stage of a program as a graph: a node for each argument and operation, with what it reads, its
// types, attributes and place, and the groups that it stands in. Used by the worker's `graph`.
#pragma once

#include "cupel/frontends/ModelImport.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Support/JSON.h>
#include <map>
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

/// The modules that operations stand in, by the name in their locations, where the model's own graph
/// says it.
using ModulesByName = std::map<std::string, std::vector<std::string>>;

/// Without `modules`, they are read from the names themselves.
StageGraph graphOf(mlir::ModuleOp module, const ModulesByName *modules = nullptr);

/// A model's own graph, and the modules it names. Nodes have no operation.
StageGraph graphOf(const frontends::SourceGraph &source, ModulesByName &modules);

void writeNodes(llvm::json::OStream &json, const StageGraph &graph);

} // namespace cupel::cli
