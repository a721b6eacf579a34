// Tensors that another server of a test left in a file in memory which both map: no copy through a
// pipe. Used for what Python hands over. The tensors share the memory, which the next test
// overwrites; nothing of them may outlive the test. Links no MLIR.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cupel::testbench::worker {

class SharedTensors {
public:
  SharedTensors() = default;
  ~SharedTensors();
  SharedTensors(const SharedTensors &) = delete;

  /// Opens the file that a request names, and maps it as far as it goes now.
  Status use(const std::string &file);

  /// The tensors that a list describes: `dtype`, `shape`, and the `offset` of their elements.
  Result<std::vector<tensor::Tensor>> tensors(const nlohmann::json &list) const;

private:
  std::string path;
  int memory = -1;
  std::shared_ptr<const std::byte> mapped;
  size_t mappedBytes = 0;
};

} // namespace cupel::testbench::worker
