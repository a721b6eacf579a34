#include "cupel/testbench/runner/Loop.h"

#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/runner/Outcomes.h"

namespace cupel::testbench::runner {

using results::Outcome;
using results::TestRecord;
using worker::Request;

namespace {

constexpr uint32_t kMaxHealthFailures = 2;

} // namespace

void Loop::checkHealth(Slot &slot) {
  health[slot.device].health = Health::Checking;
  slot.state = Slot::State::Checking;
  slot.checkRequest = nextRequest++;
  slot.checkFailure.clear();
  slot.deadline = after(Clock::now(), options.healthTimeoutSeconds);
  Request request;
  request.kind = Request::Kind::Health;
  request.number = slot.checkRequest;
  request.folder = folder;
  request.device = options.devices[slot.device].name;
  request.timeoutSeconds = options.healthTimeoutSeconds;
  slot.worker->send(worker::encode(request));
}

void Loop::healthAnswer(Slot &slot, const std::string &failure) {
  DeviceHealth &device = health[slot.device];
  if (device.health == Health::Bad)
    return;
  if (failure.empty()) {
    device.health = Health::Good;
    device.checkFailures = 0;
  } else if (++device.checkFailures >= kMaxHealthFailures) {
    markBad(slot.device, "a program that is known to be good fails on it: " + failure);
  } else {
    device.health = Health::Suspect;
  }
}

void Loop::markBad(size_t device, const std::string &why) {
  if (health[device].health == Health::Bad)
    return;
  health[device].health = Health::Bad;
  schedule->retire(device);
  const std::string &name = options.devices[device].name;
  outcome.badDevices[name] = why;
  observer.notice("device " + name + " is bad and gets no more tests: " + why);
  clearHopeless();
}

void Loop::clearHopeless() {
  for (auto &[test, reason] : schedule->takeHopeless()) {
    if (reason.empty())
      for (const auto &[name, why] : outcome.badDevices)
        reason += (reason.empty() ? "device " : "; device ") + name + " is bad: " + why;
    TestRecord record = recordFor(items[test], options);
    record.outcome = Outcome::NotRun;
    record.errorClass = outcome.badDevices.empty() ? "" : kBadDevice;
    record.message = reason;
    record.tryOutcomes = tests[test].tries;
    record.attempts = uint32_t(tests[test].tries.size());
    this->record(test, std::move(record));
  }
}

} // namespace cupel::testbench::runner
