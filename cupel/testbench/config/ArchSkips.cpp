#include "cupel/testbench/config/ArchSkips.h"

namespace cupel::testbench::config {

namespace {

struct Skip {
  std::string_view beginning, reason;
};

constexpr std::string_view kArch = "lb-blackhole";
constexpr std::string_view kWeights = "lb-blackhole has no access to its weights";
constexpr std::string_view kHangs = "it hangs on lb-blackhole, or takes too long";

/// As of tt-xla 95c1c1ce.
constexpr Skip kSkips[] = {
    {"arnold/", kWeights},
    {"centernet/", kWeights},
    {"monodepth2/", kWeights},
    {"ssd512/", kWeights},
    {"ultra_fast_lane_detection/", kWeights},
    {"ultra_fast_lane_detection_v2/", kWeights},
    {"yolov3/", kWeights},
    {"yolov4/", kWeights},
    {"yoloworld/", kWeights},
    {"falcon/pytorch-3_Mamba_7B_Base", kHangs},
    {"maskformer_swin_b/", kHangs},
    {"swin/image_classification/pytorch-v2_Tiny_Patch4_Window8_256", kHangs},
    {"swin/masked_image_modeling/pytorch-v2_Tiny_Patch4_Window8_256", kHangs},
};

} // namespace

bool hasSkips(std::string_view arch) { return arch == kArch; }

std::string_view skipReason(std::string_view arch, std::string_view id) {
  if (hasSkips(arch))
    for (const Skip &skip : kSkips)
      if (id.starts_with(skip.beginning))
        return skip.reason;
  return {};
}

} // namespace cupel::testbench::config
