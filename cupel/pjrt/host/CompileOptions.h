// What a compilation is told, in its form on the wire: a CompileOptionsProto, written by field
// numbers so that the host needs no protobuf library.
#pragma once

#include "cupel/pjrt/host/NamedValues.h"
#include "cupel/workload/CompileOptions.h"

namespace cupel::pjrt {

using workload::CompileOptions;

std::string serialize(const CompileOptions &options);

/// Options of clients that begin so are flags of the plugin's compiler, which a client hands on with
/// every program that does not have them: `compile.optimization_level=1`.
inline constexpr std::string_view kCompilePrefix = "compile.";

/// A flag of the plugin's compiler; a list cannot be one.
Status addFlag(CompileOptions &options, const NamedValue &flag);

} // namespace cupel::pjrt
