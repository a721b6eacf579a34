// Whole tensors from the pieces that devices hold, and pieces from whole tensors: how one computes
// for several devices. Used by executables that run programs on whole tensors.

#pragma once

#include "cupel/runtime/Executable.h"

#include <functional>

namespace cupel::compiler {

/// The whole arguments of a replica, with summands added up.
Result<std::vector<tensor::Tensor>> gather(const runtime::ProgramInfo &info,
                                           const runtime::ProcessTensors &arguments,
                                           int64_t replica);

/// What each device gets of the results of each replica. `finish` is called for every tensor that
/// is handed out.
Result<runtime::ProcessTensors>
scatter(const runtime::ProgramInfo &info, std::vector<std::vector<tensor::Tensor>> wholes,
        const std::function<Result<tensor::Tensor>(tensor::Tensor)> &finish);

} // namespace cupel::compiler
