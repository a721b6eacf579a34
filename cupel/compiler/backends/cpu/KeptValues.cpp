#include "cupel/compiler/backends/cpu/KeptValues.h"

#include "cupel/compiler/tensor/TensorIr.h"

namespace cupel::compiler {

using namespace mlir;
using tensor::Tensor;

/// Of an argument and of a value. Held arguments are not given back while the program lives, and kept
/// values share their memory with nobody.
static constexpr int64_t kMostBytes = 64 << 10;
static constexpr int64_t kMostBytesTogether = 1 << 20;
/// An argument that was another one so often, without a break, is none that stays.
static constexpr uint8_t kMostChanges = 4;

KeptPlan KeptPlan::of(dev::ProgramOp program, ArrayRef<int> taken) {
  constexpr int64_t kAlignment = 64;
  KeptPlan plan;
  llvm::DenseMap<Value, std::vector<uint32_t>> known; // Buffers, and the arguments that they follow from.
  auto bytesOf = [](Value buffer) {
    return dev::byteSizeOf(cast<dev::BufferType>(buffer.getType()).getTensor()).value_or(kMostBytes + 1);
  };
  for (Operation &op : program.getBody().front()) {
    if (auto argument = dyn_cast<dev::ArgumentOp>(op)) {
      int number = int(argument.getNumber());
      if (bytesOf(argument.getBuffer()) > kMostBytes || llvm::is_contained(taken, number))
        continue;
      known[argument.getBuffer()] = {uint32_t(plan.arguments.size())};
      plan.arguments.push_back(number);
    } else if (auto constant = dyn_cast<dev::ConstantOp>(op)) {
      known[constant.getBuffer()] = {};
    }
    auto launch = dyn_cast<dev::LaunchOp>(op);
    if (!launch)
      continue;
    auto number = uint32_t(plan.launchCount++);
    // Nothing that has effects, or draws numbers.
    if (!isa<tir::MapOp, tir::RowOp, tir::ReduceOp>(dev::workOf(launch)))
      continue;
    llvm::SmallSetVector<uint32_t, 8> from;
    bool follows = llvm::all_of(launch.getReads(), [&](Value buffer) {
      auto found = known.find(dev::rootOf(buffer));
      if (found == known.end())
        return false;
      from.insert(found->second.begin(), found->second.end());
      return true;
    });
    int64_t bytes = 0;
    for (Value buffer : launch.getWrites()) {
      follows = follows && dev::rootOf(buffer).getDefiningOp<dev::PlaceOp>() && bytesOf(buffer) <= kMostBytes;
      if (follows)
        bytes += llvm::alignTo(std::max<int64_t>(bytesOf(buffer), 1), kAlignment);
    }
    if (!follows || from.empty() || plan.bytes + bytes > kMostBytesTogether)
      continue;
    plan.launches.push_back({number, {from.begin(), from.end()}});
    for (Value buffer : launch.getWrites()) {
      known[dev::rootOf(buffer)] = plan.launches.back().from;
      plan.places.push_back({dev::rootOf(buffer), plan.bytes});
      plan.bytes += llvm::alignTo(std::max<int64_t>(bytesOf(buffer), 1), kAlignment);
    }
  }
  // Only those that something follows from need be looked at.
  std::vector<int> used;
  std::vector<uint32_t> numbers(plan.arguments.size(), UINT32_MAX);
  for (Launch &launch : plan.launches)
    for (uint32_t &from : launch.from) {
      if (numbers[from] == UINT32_MAX) {
        numbers[from] = uint32_t(used.size());
        used.push_back(plan.arguments[from]);
      }
      from = numbers[from];
    }
  plan.arguments = std::move(used);
  return plan;
}

std::span<const uint8_t> KeptValues::begin(const KeptPlan &plan, std::span<const Tensor> given) {
  if (plan.launches.empty())
    return {};
  seen.resize(plan.arguments.size());
  left.assign(plan.launchCount, 0);
  for (auto [one, number] : llvm::zip_equal(seen, plan.arguments)) {
    const Tensor &now = given[size_t(number)];
    one.isSame = now.data() && one.tensor.data() == now.data();
    if (one.isSame) {
      one.changes = 0;
      continue;
    }
    if (one.changes < kMostChanges)
      ++one.changes;
    one.tensor = one.changes < kMostChanges && now.data() ? now : Tensor();
  }
  if (isWhole)
    for (const KeptPlan::Launch &launch : plan.launches)
      left[launch.number] = llvm::all_of(launch.from, [&](uint32_t from) { return seen[from].isSame; });
  isWhole = false; // Until this run has come to its end.
  return left;
}

} // namespace cupel::compiler
