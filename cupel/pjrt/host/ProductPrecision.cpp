#include "cupel/pjrt/host/ProductPrecision.h"

#include "cupel/pjrt/host/PluginReport.h"
#include "cupel/pjrt/host/ProductProgram.h"
#include "cupel/pjrt/host/RunWorkload.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace cupel;
using namespace cupel::pjrt;
using nlohmann::ordered_json;
using tensor::DType;
using tensor::Tensor;

namespace {

constexpr int kBits = 23;
/// Larger than any number of f16, and small for all the others.
constexpr float kLarge = 1 << 20;

/// What stands on the diagonal at `i`: 1 + 2^-p for every p in turn, and at the end a large number.
float diagonalAt(int64_t i) {
  return i == kProductSize - 1 ? kLarge : 1 + std::ldexp(1.0f, -int(i % kBits) - 1);
}

} // namespace

std::vector<float> cupel::pjrt::productFactor() {
  std::vector<float> values(kProductSize * kProductSize);
  for (int64_t i = 0; i < kProductSize; ++i)
    values[i * kProductSize + i] = diagonalAt(i);
  return values;
}

Result<compare::Precision> cupel::pjrt::formatOfProduct(std::span<const float> product) {
  if (product.size() != size_t(kProductSize * kProductSize))
    return Error{"the product has another size"};
  int bits = kBits;
  for (int64_t i = 0; i < kProductSize; ++i)
    for (int64_t k = 0; k < kProductSize; ++k) {
      float is = product[i * kProductSize + k], should = i == k ? diagonalAt(i) : 0;
      if (i == k && i == kProductSize - 1)
        continue; // Whether it is there at all is another question.
      // The coarsest formats lose half of what is behind the first bits.
      if (!(std::fabs(is - should) <= 0.26f))
        return Error{fmt::format("element [{}, {}] of the product is {}, not {}", i, k, is, should)};
      if (i == k && std::fabs(is - should) > std::ldexp(0.5, -int(i % kBits) - 1))
        bits = std::min(bits, int(i % kBits));
    }
  bool isHalf = !std::isfinite(product.back()) || product.back() < kLarge / 2;
  const char *name = bits >= kBits  ? "f32"
                     : bits >= 10   ? (isHalf ? "f16" : "tf32")
                     : bits >= 7    ? "bf16"
                     : bits >= 5    ? "bfp8"
                                    : "fp8";
  return *compare::findPrecision(name);
}

ordered_json cupel::pjrt::measureProducts(Client &client, const compare::DevicePrecision &declared,
                                          double timeout,
                                          const std::function<void(std::string_view)> &announce) {
  workload::Workload workload;
  workload.name = "product";
  auto artifact = [](const unsigned char *bytes, size_t size, workload::ProgramVersion version) {
    return workload::ProgramBytes{version,
                                  std::string(reinterpret_cast<const char *>(bytes), size)};
  };
  workload.programs = {artifact(kProductV1_0_0, sizeof(kProductV1_0_0), {1, 0, 0})};
  if (auto version = client.plugin()->stablehloVersion(); version && version->front() < 1)
    workload.programs = {artifact(kProductV0_9_0, sizeof(kProductV0_9_0), {0, 9, 0})};
  std::vector<float> factor = productFactor(), identity(factor.size());
  for (int64_t i = 0; i < kProductSize; ++i)
    identity[i * kProductSize + i] = 1;
  tensor::Shape shape = {kProductSize, kProductSize};
  workload.inputs = {{Tensor::of<DType::F32>(shape, factor), Tensor::of<DType::F32>(shape, identity)}};
  RunReport report = runWorkload(client, workload, {.timeout = timeout}, announce);
  ordered_json result = ordered_json::object();
  if (report.failure) {
    result["failure"] = describeError(*report.failure);
    return result;
  }
  const auto &results = report.results.front();
  Result<compare::Precision> format = Error{"there is no one tensor<64x64xf32>"};
  if (results.size() == 1 && results[0].dtype() == DType::F32)
    if (Result<Tensor> product = results[0].contiguous())
      format = formatOfProduct({product->dataAs<float>(), size_t(product->size())});
  if (!format) {
    result["failure"] = {{"class", "incorrect_result"}, {"message", format.message()}};
    return result;
  }
  result["products"] = format->name;
  result["declared"] = declared.text();
  bool matches = format->name == declared.products.name;
  result["matches"] = matches;
  if (!matches)
    result["warning"] = fmt::format(
        "products are computed in {}, and {} is declared: {}; say precision={} in the device's "
        "name or with --precision",
        format->name, declared.products.name,
        format->step > declared.products.step
            ? "correct results will be called wrong"
            : "limits are wider than they need be",
        format->name);
  return result;
}
