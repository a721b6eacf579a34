// What a compilation is told, in its form on the wire: a CompileOptionsProto, written by field
// numbers so that the host needs no protobuf library.
#pragma once

#include "cupel/workload/CompileOptions.h"

namespace cupel::pjrt {

using workload::CompileOptions;

std::string serialize(const CompileOptions &options);

} // namespace cupel::pjrt
