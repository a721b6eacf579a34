// The bounds of comparators that other projects' tests are written for: what holds where somebody asks
// for one of them and names no number. The one place that has them; Cupel's own verdict needs none
// (Noise.h).

#pragma once

#include "cupel/compare/Tolerance.h"
#include "cupel/tensor/DType.h"

namespace cupel::compare {

/// Of upstream's testers: `required_pcc`, `required_atol`, `allclose_rtol`, `allclose_atol`.
inline constexpr double kDefaultPcc = 0.99, kDefaultAtol = 0.16;
inline constexpr double kDefaultAllcloseRtol = 1e-2, kDefaultAllcloseAtol = 1e-2;
/// Of tt-torch's ModelTester, where one of `required_pcc` and `required_atol` is named and this is
/// the other.
inline constexpr double kDefaultModelAtol = 0.01;

/// Whether a captured graph is the model it was captured from, of each element and of the largest
/// one: no verdict on a device, and coarse, since torch itself runs both.
inline constexpr double kCapturedShare = 0.02;

/// How far from the reference, by the norm, a contestant of `cupel bench` may be before its times
/// count for nothing: it is not judged, and frameworks take part that declare no precision.
double measuredDistance(bool isNarrow);

struct Closeness {
  double rtol = 0, atol = 0;
};

/// What torch.testing.assert_close takes for results of a type; other types must be equal.
Closeness torchCloseness(tensor::DType type);
/// How ONNX's own runner judges them.
Closeness onnxCloseness(tensor::DType type);
/// What an operator case taken from a program asks for by default.
Closeness extractedCloseness(bool isNarrow);

} // namespace cupel::compare
