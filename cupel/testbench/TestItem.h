// One test as the rest of the testbench sees it: what it is called, what it runs, how it is marked
// and what the configuration expects of it. Discovery and the matrix make it for what was selected
// (they keep the hundred thousand candidates in a smaller form); the runner schedules it. A value:
// it holds no pointers and survives what made it.
#pragma once

#include "cupel/testbench/config/Expectation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::testbench {

struct TestItem {
  std::string
      suite;      ///< models, llm, op_by_op, placeholder, programs, opcases, onnx, pt2, workloads.
  std::string id; ///< Unique within its suite; `suite::id` is the full name.
  std::string file; ///< What is run: loader, program, model, case file or workload folder.
  /// Which chunk of a program, data set of an ONNX model, program of an archive (by name) or case of
  /// a case file, from 0.
  uint32_t part = 0;

  // Of loaders; empty elsewhere.
  std::string framework;   ///< pytorch, jax, onnx, ...
  std::string modelPath;   ///< Folder of the loader below the zoo's root, as ids spell it.
  std::string variant;     ///< Empty where the model has none.
  std::string parallelism; ///< single_device, data_parallel, tensor_parallel.
  std::string runMode;     ///< inference, training.
  std::string modelName, group, task, source; ///< Of its model info, where that is known.
  // Of language models only.
  std::string phase, sharding, mesh; ///< llm_decode or llm_prefill; as ids spell them.
  uint32_t sequenceLength = 0, batchSize = 0;

  // Of operator cases only; their model is in `modelName`.
  std::string op, signature; ///< `torch.add`, and the types and values it is called with.
  /// Full name of a test of this selection that tests the same and is run in its place.
  std::string duplicateOf;

  std::vector<std::string> markers;
  config::Expectation
      expectation; ///< The entry of the configuration with the arch's overrides applied.

  std::string fullName() const { return suite + "::" + id; }
  bool operator==(const TestItem &) const = default;
};

} // namespace cupel::testbench
