// The one list of families of operators. OpTable.cpp calls what it declares, each family's own file
// (Ops<Family>.cpp) defines it: a family that is listed but not written does not link.
#pragma once

#include "cupel/frontends/onnx/OpTable.h"

#define ONNX_FAMILIES(FAMILY)                                                                      \
  FAMILY(Attention)                                                                                \
  FAMILY(ControlFlow)                                                                              \
  FAMILY(Convolution)                                                                              \
  FAMILY(Elementwise)                                                                              \
  FAMILY(Indexing)                                                                                 \
  FAMILY(Microsoft)                                                                                \
  FAMILY(MicrosoftAttention)                                                                       \
  FAMILY(MicrosoftQuantized)                                                                       \
  FAMILY(Normalization)                                                                            \
  FAMILY(Products)                                                                                 \
  FAMILY(Quantization)                                                                             \
  FAMILY(Rearrange)                                                                                \
  FAMILY(Recurrent)                                                                                \
  FAMILY(Reductions)                                                                               \
  FAMILY(Regions)                                                                                  \
  FAMILY(Sampling)                                                                                 \
  FAMILY(Sequences)                                                                                \
  FAMILY(Shapes)                                                                                   \
  FAMILY(Signal)                                                                                   \
  FAMILY(Training)

namespace cupel::frontends::onnx_import {

#define ONNX_DECLARE(family) void register##family(OpTable &table);
ONNX_FAMILIES(ONNX_DECLARE)
#undef ONNX_DECLARE

} // namespace cupel::frontends::onnx_import
