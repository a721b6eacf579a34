#include "cupel/frontends/onnx/OpTable.h"

#include "cupel/frontends/onnx/OpFamilies.h"

namespace cupel::frontends::onnx_import {

const OpTable &OpTable::get() {
  static const OpTable table = [] {
    OpTable made;
#define ONNX_REGISTER(family) register##family(made);
    ONNX_FAMILIES(ONNX_REGISTER)
#undef ONNX_REGISTER
    return made;
  }();
  return table;
}

void OpTable::add(llvm::StringRef name, int64_t since, Lowering lower, bool foldable,
                  llvm::StringRef domain) {
  bool isNew = entries[{domain.str(), name.str()}]
                   .try_emplace(since, OpEntry{since, lower, foldable})
                   .second;
  assert(isNew && "an operator is registered twice");
  (void)isNew;
}

const OpEntry *OpTable::find(llvm::StringRef domain, llvm::StringRef name, int64_t opset) const {
  auto found = entries.find({domain.str(), name.str()});
  if (found == entries.end())
    return nullptr;
  auto after = found->second.upper_bound(opset);
  return after == found->second.begin() ? nullptr : &std::prev(after)->second;
}

bool OpTable::knows(llvm::StringRef domain, llvm::StringRef name) const {
  return entries.count({domain.str(), name.str()}) > 0;
}

std::vector<std::pair<std::string, std::string>> OpTable::names() const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto &[key, versions] : entries)
    result.push_back(key);
  return result;
}

std::vector<int64_t> OpTable::versions(llvm::StringRef domain, llvm::StringRef name) const {
  std::vector<int64_t> result;
  if (auto found = entries.find({domain.str(), name.str()}); found != entries.end())
    for (const auto &[since, entry] : found->second)
      result.push_back(since);
  return result;
}

} // namespace cupel::frontends::onnx_import
