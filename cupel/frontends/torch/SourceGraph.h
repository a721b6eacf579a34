// The graph of an exported PyTorch program as its archive has it, for those who show it. Reads
// names, types and arguments; computes nothing.
#pragma once

#include "cupel/frontends/ModelImport.h"
#include "cupel/frontends/torch/Program.h"

namespace cupel::frontends::torch_import {

SourceGraph sourceGraphOf(const Program &program);

} // namespace cupel::frontends::torch_import
