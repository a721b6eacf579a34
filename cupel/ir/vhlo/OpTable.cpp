#include "cupel/ir/vhlo/OpTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace cupel::vhlo;

namespace {
#include "cupel/ir/vhlo/OpTable.inc"

/// Revisions of each base operation in ascending order.
const llvm::StringMap<llvm::SmallVector<const OpInfo *, 2>> &revisionsByBase() {
  static const auto map = [] {
    llvm::StringMap<llvm::SmallVector<const OpInfo *, 2>> result;
    for (const OpInfo &info : kOps)
      result[info.base].push_back(&info);
    for (auto &entry : result)
      llvm::sort(entry.second, [](const OpInfo *lhs, const OpInfo *rhs) {
        return lhs->revision < rhs->revision;
      });
    return result;
  }();
  return map;
}
} // namespace

int OpInfo::attributeIndex(llvm::StringRef attribute) const {
  const AttributeSlot *it =
      llvm::lower_bound(attributes, attribute, [](const AttributeSlot &slot, llvm::StringRef key) {
        return slot.name < key;
      });
  if (it == attributes.end() || it->name != attribute)
    return -1;
  return it - attributes.begin();
}

llvm::ArrayRef<OpInfo> cupel::vhlo::allOps() { return kOps; }

const OpInfo *cupel::vhlo::findOp(llvm::StringRef name) {
  const OpInfo *it = llvm::lower_bound(
      kOps, name, [](const OpInfo &info, llvm::StringRef key) { return info.name < key; });
  return it != std::end(kOps) && it->name == name ? it : nullptr;
}

const OpInfo *cupel::vhlo::findRevision(llvm::StringRef base, unsigned revision) {
  auto it = revisionsByBase().find(base);
  if (it == revisionsByBase().end() || revision == 0 || revision > it->second.size())
    return nullptr;
  return it->second[revision - 1];
}

const OpInfo *cupel::vhlo::newestRevision(llvm::StringRef base) {
  auto it = revisionsByBase().find(base);
  return it == revisionsByBase().end() ? nullptr : it->second.back();
}
