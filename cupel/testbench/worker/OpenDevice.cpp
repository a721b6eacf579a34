// Which devices there are: the one place that knows them all.

#include "cupel/testbench/worker/Device.h"
#include "cupel/testbench/worker/ReferenceDevice.h"

namespace cupel::testbench::worker {

Result<std::unique_ptr<Device>> openDevice(const std::string &name) {
  if (name == "reference" || name.empty())
    return makeReferenceDevice();
  return Error{"device '" + name +
               "': this version runs tests on the device 'reference' only; plugins come through "
               "the PJRT host"};
}

} // namespace cupel::testbench::worker
