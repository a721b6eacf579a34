// The one table of operators: domain, name and the opset from which a lowering holds -> lowering.
// Each family registers its own in its own file (Ops<Family>.cpp). The documentation of what is
// supported comes from here and from runs, never from a list kept by hand.
#pragma once

#include "cupel/frontends/onnx/Node.h"

#include <map>

namespace cupel::frontends::onnx_import {

/// Of the standard's own domain.
constexpr int64_t kNewestOpset = 28;

using Lowering = Status (*)(Node &);

struct OpEntry {
  int64_t since; ///< The first opset whose form of the operator this lowers.
  Lowering lower;
  /// Whether the operator on known values may be evaluated at once (false: it holds subgraphs, or
  /// says itself what is known).
  bool foldable = true;
};

class OpTable {
public:
  static const OpTable &get();

  /// `domain` is empty for the standard's own.
  void add(llvm::StringRef name, int64_t since, Lowering lower, bool foldable = true,
           llvm::StringRef domain = "");
  /// The entry for an opset: the one with the largest `since` not above it. Null if there is none.
  const OpEntry *find(llvm::StringRef domain, llvm::StringRef name, int64_t opset) const;
  bool knows(llvm::StringRef domain, llvm::StringRef name) const;
  std::vector<std::pair<std::string, std::string>> names() const; ///< (domain, name)
  /// From which opset on each lowering of an operator holds.
  std::vector<int64_t> versions(llvm::StringRef domain, llvm::StringRef name) const;

private:
  std::map<std::pair<std::string, std::string>, std::map<int64_t, OpEntry>> entries;
};

} // namespace cupel::frontends::onnx_import
