// The families of operators that OpTable collects, each registered by its own file.
#pragma once

#include "cupel/frontends/onnx/OpTable.h"

namespace cupel::frontends::onnx_import {

void registerRecurrent(OpTable &table);
void registerSampling(OpTable &table);
void registerSignal(OpTable &table);
void registerSequences(OpTable &table);
void registerTraining(OpTable &table);

} // namespace cupel::frontends::onnx_import
