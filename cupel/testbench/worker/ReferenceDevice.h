// The golden reference as a device. Used by the worker: as the device under --device reference, and
// to make the expected results of other devices. Programs must have had chlo lowered.
#pragma once

#include "cupel/testbench/worker/Device.h"

namespace cupel::testbench::worker {

std::unique_ptr<Device> makeReferenceDevice();

} // namespace cupel::testbench::worker
