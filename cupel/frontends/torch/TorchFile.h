// `.pt2` archives as model files, for whoever works on models of any format.
#pragma once

#include "cupel/frontends/ModelImport.h"

namespace cupel::frontends::torch_import {

Result<std::unique_ptr<ModelFile>> loadTorchFile(const std::string &path,
                                                 const std::string &program);
std::vector<KnownOperator> knownOperators();

} // namespace cupel::frontends::torch_import
