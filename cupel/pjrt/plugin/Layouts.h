// The extensions for layouts and shardings, and the layouts that programs ask for.

#pragma once

#include "cupel/pjrt/plugin/Buffer.h"

namespace cupel::pjrt {

/// The order that a program's layout mode names ("{0,1}"); row-major for anything else.
MinorToMajor layoutOfMode(const std::string &mode, size_t rank);

/// The first of our extensions; the others hang on it.
PJRT_Extension_Base *extensions();

/// The last of them (FfiExtension.cpp, PartitionerExtension.cpp).
PJRT_Extension_Base *ffiExtension();
PJRT_Extension_Base *partitionerExtension();

} // namespace cupel::pjrt
