#include "cupel/frontends/torch/OpTable.h"

namespace cupel::frontends::torch_import {

const OpTable &OpTable::get() {
  static const OpTable table = [] {
    OpTable made;
#define CUPEL_TORCH_FAMILY(name) register##name(made);
#include "cupel/frontends/torch/ops/Families.def"
#undef CUPEL_TORCH_FAMILY
    return made;
  }();
  return table;
}

const OpEntry *OpTable::find(llvm::StringRef target) const {
  if (auto found = entries.find(target); found != entries.end())
    return &found->second;
  // Without the overload; a target is namespace.name.overload.
  if (target.count('.') < 2)
    return nullptr;
  auto found = entries.find(target.rsplit('.').first);
  return found == entries.end() ? nullptr : &found->second;
}

std::vector<std::string> OpTable::names() const {
  std::vector<std::string> names;
  for (const auto &entry : entries)
    names.push_back(entry.getKey().str());
  llvm::sort(names);
  return names;
}

} // namespace cupel::frontends::torch_import
