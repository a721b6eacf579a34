// The one table of PyTorch operators -> StableHLO. Each family registers its own in its own file
// under ops/. `aten.add` stands for every overload; `aten.add.out_dtype` for one, and wins.
// In-place forms (`aten.add_`) and writes through views are derived by the importer and never
// registered. Documentation of what is supported comes from here and from runs.
#pragma once

#include "cupel/frontends/torch/Node.h"

#include "llvm/ADT/StringMap.h"

namespace cupel::frontends::torch_import {

using Lowering = void (*)(Node &);

struct OpEntry {
  Lowering lower = nullptr;
  /// The result shares memory with argument `self`, element for element: a write to it is a write
  /// to self.
  bool isView = false;
};

class OpTable {
public:
  static const OpTable &get();

  void add(llvm::StringRef name, Lowering lower) { entries[name] = {lower, false}; }
  void addView(llvm::StringRef name, Lowering lower) { entries[name] = {lower, true}; }
  /// `target` is "aten.add.Tensor"; null if there is none.
  const OpEntry *find(llvm::StringRef target) const;
  std::vector<std::string> names() const;

private:
  llvm::StringMap<OpEntry> entries;
};

// The families, ops/<Name>.cpp each.
#define CUPEL_TORCH_FAMILY(name) void register##name(OpTable &table);
#include "cupel/frontends/torch/ops/Families.def"
#undef CUPEL_TORCH_FAMILY

} // namespace cupel::frontends::torch_import
