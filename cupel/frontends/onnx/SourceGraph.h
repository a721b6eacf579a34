// The graph of an ONNX model as its file has it, for those who show it. Reads names, types and
// attributes; computes nothing.
#pragma once

#include "cupel/frontends/ModelImport.h"
#include "cupel/frontends/onnx/Model.h"

namespace cupel::frontends::onnx_import {

SourceGraph sourceGraphOf(const Model &model);

/// A type as messages show it: `float[batch,3,224,224]`, `sequence`.
std::string describeType(const proto::TypeProto &type);

} // namespace cupel::frontends::onnx_import
