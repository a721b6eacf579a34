#include "cupel/cli/BenchSupport.h"

#include "cupel/runtime/DeviceName.h"

#include <sched.h>

namespace cupel::cli {

volatile std::sig_atomic_t gInterrupted = 0;

extern "C" void noteInterrupt(int) { gInterrupted = 1; }

void listenForInterrupts() {
  struct sigaction action = {};
  action.sa_handler = noteInterrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

Status pinTo(uint32_t threads) {
  cpu_set_t all, some;
  if (::sched_getaffinity(0, sizeof all, &all) != 0)
    return {};
  if (threads > uint32_t(CPU_COUNT(&all)))
    return Error{fmt::format("--threads {}: there are {} processors", threads, CPU_COUNT(&all))};
  CPU_ZERO(&some);
  // From the last on: the first one has the system's interrupts.
  for (int cpu = CPU_SETSIZE - 1, left = int(threads); cpu >= 0 && left > 0; --cpu)
    if (CPU_ISSET(cpu, &all)) {
      CPU_SET(cpu, &some);
      --left;
    }
  ::sched_setaffinity(0, sizeof some, &some);
  return {};
}

uint32_t processors() {
  cpu_set_t all;
  return ::sched_getaffinity(0, sizeof all, &all) == 0 ? uint32_t(CPU_COUNT(&all)) : 1;
}

static Status checkDevices(const std::vector<std::string> &devices) {
  for (const std::string &device : devices) {
    if (device.find('@') != std::string::npos)
      return Error{"--device " + device + ": devices are measured on this machine; run cupel bench there"};
    if (device != "reference" && !runtime::DeviceName::parse(device).isPlugin())
      return Error{"device '" + device +
                   "' is not known; there are 'cpu', 'reference', 'cupel' (our own plugin), the "
                   "architectures that it presents (n300, ...), and any PJRT plugin by the path of "
                   "its .so file"};
  }
  return {};
}

Status chooseDevices(std::vector<std::string> &devices, const std::vector<std::string> &compilerOptions) {
  if (Status status = checkDevices(devices); !status)
    return status;
  for (std::string &name : devices) {
    runtime::DeviceName device = runtime::DeviceName::parse(name);
    if (Status status = device.addCompilerOptions(compilerOptions); !status)
      return status.error().within("--option");
    if (!compilerOptions.empty())
      name = device.str();
  }
  return {};
}

} // namespace cupel::cli
