// A compiled program as text for hosts, who read it with an MLIR and a StableHLO of their own. Used
// by executables; never changes the program itself.

#pragma once

#include "cupel/compiler/program/DeviceProgram.h"

#include <string>

namespace cupel::compiler {

/// What only says where values lie is left out. sdy.manual_computation,
/// which hosts cannot turn into HLO, is what each device runs where that is the whole program (then
/// shapes are those of one device), else its body between the custom calls of GSPMD's form.
/// Asynchronous operations stand where they start, as they are run.
std::string programText(const DeviceProgram &program);

} // namespace cupel::compiler
