// Damaged ONNX models: files cut and torn as bytes, models changed as protobufs so that what is
// wrong lies deep inside, and models made by hand to be wrong in one named way. Used by
// cupel_onnx_fuzz.
#pragma once

#include "tests/fuzz/Inputs.h"

#include <memory>

namespace onnx {
class ModelProto;
}

namespace cupel::fuzz {

struct OnnxAmounts {
  uint64_t cuts = 2000, changes = 2000, tears = 2000, models = 6000;
};

class OnnxInputs : public InputSource {
public:
  OnnxInputs(std::vector<CorpusFile> corpus, const OnnxAmounts &amounts, uint64_t seed);
  ~OnnxInputs() override;

  uint64_t size() const override;
  Input make(uint64_t number) const override;
  std::string kind(uint64_t number) const override;

private:
  Input changed(uint64_t index) const;

  std::vector<Input> byHand;
  std::vector<std::pair<std::string, std::unique_ptr<onnx::ModelProto>>> models;
  std::unique_ptr<Inputs> bytes;
  uint64_t changedModels, seed;
};

/// All *.onnx below the folders, smaller than `largest` bytes, in the order of their paths.
std::vector<CorpusFile> readOnnxCorpus(const std::vector<std::string> &folders, uint64_t largest);

/// A model that is sound, to be made wrong: y = Relu(x) on float[2,3], opset 17.
onnx::ModelProto soundModel();

} // namespace cupel::fuzz
