// A workload on disk: a folder that says all of it. Read and written here by everybody who holds
// one; a reader of this version reads what older ones wrote. Described for those who make one by
// hand in docs/reference/workload.md.
//
//   program.mlirbc              the program, a portable artifact (or MLIR text or bytecode)
//   program-v1.0.0.mlirbc ...   the same for older versions of StableHLO, as many as wanted
//   inputs.safetensors          arguments by position: 0, 1, ...; d2/0 is argument 0 on device 2
//   expected.safetensors        results in the same way; not always there
//   constants.safetensors       what checks compare results with; not always there
//   options.json                how it is compiled and judged; may be missing
//   workload.json               where it came from; not always there
#pragma once

#include "cupel/workload/Workload.h"

namespace cupel::workload {

Result<Workload> readWorkload(const std::string &folder);

/// Creates the folder. Files of the same names are replaced.
Status writeWorkload(const std::string &folder, const Workload &workload);

/// Writes beside the folder's place and moves it there when it is whole: whatever happens, there is
/// the whole folder or none. One that is there already is replaced.
Status saveWorkload(const std::string &folder, const Workload &workload);

/// Whether the folder looks like one, judged by the names in it.
bool isWorkloadFolder(const std::string &folder);

} // namespace cupel::workload
