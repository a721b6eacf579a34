#include "cupel/testbench/worker/GoldenCache.h"

#include "cupel/support/Sha256.h"
#include "cupel/support/ThreadPool.h"
#include "cupel/support/Version.h"
#include "cupel/tensor/MappedPages.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Bytecode/BytecodeWriter.h>
#include <sys/stat.h>

namespace cupel::testbench::worker {

using tensor::Tensor;

namespace {

/// Hashes what is written to it.
class HashStream : public llvm::raw_ostream {
public:
  explicit HashStream(Sha256 &hash) : hash(hash) { SetBufferSize(1 << 16); }
  ~HashStream() override { flush(); }

private:
  void write_impl(const char *bytes, size_t size) override {
    hash.update({bytes, size});
    count += size;
  }
  uint64_t current_pos() const override { return count; }

  Sha256 &hash;
  uint64_t count = 0;
};

/// Another build of this program may evaluate otherwise.
const std::string &thisBuild() {
  static const std::string build = [] {
    struct stat status = {};
    stat("/proc/self/exe", &status);
    return fmt::format("{} {} {}.{}", version(), status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
  }();
  return build;
}

std::string hashOf(const Tensor &tensor) {
  Sha256 hash;
  hash.update(tensor::describe(tensor.elementType(), tensor.shape()));
  Result<Tensor> plain = tensor.contiguous();
  if (plain)
    hash.update({reinterpret_cast<const char *>(plain->data()), size_t(plain->byteSize())});
  tensor::giveBackPages(tensor::contiguousBytes(tensor));
  return hash.finish();
}

/// Empty where it cannot be written.
std::string hashOf(mlir::Operation *module) {
  Sha256 hash;
  {
    HashStream stream(hash);
    if (mlir::failed(mlir::writeBytecodeToFile(module, stream)))
      return {};
  }
  return hash.finish();
}

/// The same bytes: tensors that are kept are not written to, and hold their memory.
bool isSame(const Tensor &a, const Tensor &b) {
  return a.data() == b.data() && a.elementType() == b.elementType() &&
         std::ranges::equal(a.shape(), b.shape()) && a.isContiguous() && b.isContiguous();
}

} // namespace

//===----------------------------------------------------------------------===//
// Parts of the bytes: numbers of eight bytes (lists; of each its tensors; of each type, rank, sizes),
// and the elements behind each. Elements stay where they lie: results of training are as large as its
// weights.
//===----------------------------------------------------------------------===//

namespace {

struct Parts {
  std::string numbers;
  struct Elements {
    size_t behind; ///< So many bytes of the numbers.
    Tensor tensor;
  };
  std::vector<Elements> elements;
};

/// Nothing where a type has no such form.
std::optional<Parts> partsOf(const TensorLists &results) {
  Parts parts;
  auto number = [&](uint64_t value) {
    parts.numbers.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  number(results.size());
  for (const std::vector<Tensor> &list : results) {
    number(list.size());
    for (const Tensor &tensor : list) {
      if (tensor.elementType().quantization)
        return {};
      number(uint64_t(tensor.dtype()));
      number(uint64_t(tensor.rank()));
      for (int64_t size : tensor.shape())
        number(uint64_t(size));
      Result<Tensor> plain = tensor.contiguous();
      if (!plain)
        return {};
      parts.elements.push_back({parts.numbers.size(), std::move(*plain)});
    }
  }
  return parts;
}

std::vector<std::string_view> viewsOf(const Parts &parts) {
  std::vector<std::string_view> views;
  std::string_view numbers = parts.numbers;
  size_t from = 0;
  for (const auto &[behind, tensor] : parts.elements) {
    views.push_back(numbers.substr(from, behind - from));
    views.emplace_back(reinterpret_cast<const char *>(tensor.data()), size_t(tensor.byteSize()));
    from = behind;
  }
  views.push_back(numbers.substr(from));
  return views;
}

std::string joined(const Parts &parts) {
  std::string bytes;
  for (std::string_view view : viewsOf(parts))
    bytes += view;
  return bytes;
}

} // namespace

GoldenCache::GoldenCache()
    : limit(cacheLimit("golden")), cache(limit ? cacheFolder("golden") : "", limit),
      small(limit ? cacheFolder("golden") : "", limit / 8) {}

std::string GoldenCache::keyOf(const Prepared &prepared, std::string_view how) const {
  if (!limit || !prepared.isRemembered)
    return {};
  const Program &program = prepared.program();
  Prepared::Hashed &known = prepared.hashed;
  if (known.module != program.module || known.program.empty()) {
    known.module = program.module;
    known.program = hashOf(program.module);
    if (known.program.empty())
      return {};
  }
  Sha256 hash;
  hash.update(fmt::format("{}\n{}\n{} {} {} {} {}\n", thisBuild(), how, prepared.budget.seed,
                          prepared.budget.wideSums, program.replicas, program.partitions,
                          prepared.isComplete));
  hash.update(known.program);
  decltype(known.inputs) inputs;
  std::vector<size_t> unknown;
  for (const std::vector<Tensor> &list : prepared.workload.inputs)
    for (const Tensor &input : list) {
      auto before = std::ranges::find_if(
          known.inputs, [&](const auto &entry) { return isSame(entry.first, input); });
      if (before == known.inputs.end())
        unknown.push_back(inputs.size());
      inputs.emplace_back(input, before == known.inputs.end() ? "" : before->second);
    }
  // Weights are most of it, and a hash is made by one thread.
  runPieces(int64_t(unknown.size()), coreCount(), [&](int64_t i) {
    auto &[input, text] = inputs[unknown[size_t(i)]];
    text = hashOf(input);
  });
  size_t next = 0;
  for (const std::vector<Tensor> &list : prepared.workload.inputs) {
    hash.update(fmt::format("\n{} inputs\n", list.size()));
    for (size_t i = 0; i < list.size(); ++i)
      hash.update(inputs[next++].second);
  }
  known.inputs = std::move(inputs);
  return hash.finish();
}

std::optional<TensorLists> GoldenCache::find(const std::string &key) {
  if (key.empty())
    return {};
  if (std::optional<std::string> bytes = small.find(key))
    return unpacked(*bytes);
  std::optional<ContentCache::Found> found = cache.find(key);
  return found ? unpacked(found->bytes()) : std::nullopt;
}

void GoldenCache::keep(const std::string &key, const TensorLists &results) {
  if (key.empty())
    return;
  // What the cache will not keep is not copied for it: gigabytes of results would lie there twice.
  uint64_t whole = 0;
  for (const std::vector<Tensor> &list : results)
    for (const Tensor &tensor : list)
      whole += uint64_t(tensor.byteSize());
  if (whole > cache.largest())
    return;
  std::optional<Parts> parts = partsOf(results);
  if (!parts)
    return;
  if (whole + parts->numbers.size() <= SmallCache::kLargest)
    small.keep(key, joined(*parts));
  else
    cache.keep(key, viewsOf(*parts));
}

static std::atomic<uint64_t> evaluationCount = 0;

void GoldenCache::countEvaluations(uint64_t count) { evaluationCount += count; }
uint64_t GoldenCache::evaluations() { return evaluationCount; }

//===----------------------------------------------------------------------===//
// As bytes
//===----------------------------------------------------------------------===//

std::optional<std::string> packed(const TensorLists &results) {
  std::optional<Parts> parts = partsOf(results);
  return parts ? std::optional(joined(*parts)) : std::nullopt;
}

std::optional<TensorLists> unpacked(std::string_view bytes) {
  bool isShort = false;
  auto number = [&]() -> uint64_t {
    uint64_t value = 0;
    isShort |= bytes.size() < sizeof(value);
    if (isShort)
      return 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    bytes.remove_prefix(sizeof(value));
    return value;
  };
  TensorLists lists;
  uint64_t count = number();
  for (uint64_t l = 0; l < count && !isShort; ++l) {
    std::vector<Tensor> &list = lists.emplace_back();
    uint64_t tensors = number();
    for (uint64_t t = 0; t < tensors && !isShort; ++t) {
      uint64_t type = number(), rank = number();
      if (isShort || type >= uint64_t(tensor::kDTypeCount) || rank > bytes.size())
        return {};
      tensor::Shape shape;
      for (uint64_t i = 0; i < rank; ++i)
        shape.push_back(int64_t(number()));
      std::optional<int64_t> size = tensor::byteCount(tensor::DType(type), shape);
      if (isShort || !size || uint64_t(*size) > bytes.size())
        return {};
      Result<Tensor> made = Tensor::uninitialized(tensor::DType(type), std::move(shape));
      if (!made)
        return {};
      if (*size)
        std::memcpy(made->mutableData(), bytes.data(), size_t(*size));
      bytes.remove_prefix(size_t(*size));
      list.push_back(std::move(*made));
    }
  }
  if (isShort || !bytes.empty())
    return {};
  return lists;
}

} // namespace cupel::testbench::worker
