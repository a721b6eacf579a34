#include "cupel/calls/CustomCall.h"

#include <cstring>

namespace cupel::calls {

using tensor::DType;

namespace {

template <typename T> int64_t load(const CallScalar &scalar) {
  T value;
  std::memcpy(&value, scalar.bits, sizeof value);
  return static_cast<int64_t>(value);
}

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

} // namespace

Result<int64_t> CustomCall::integer(std::string_view name) const {
  auto found = attributes.find(name);
  if (found == attributes.end())
    return Error{"custom call @" + std::string(target) + " lacks the attribute " + quoted(name)};
  if (const auto *scalar = std::get_if<CallScalar>(&found->second.value)) {
    switch (scalar->type) {
    case DType::I1:
    case DType::U8:
      return load<uint8_t>(*scalar);
    case DType::I8:
      return load<int8_t>(*scalar);
    case DType::I16:
      return load<int16_t>(*scalar);
    case DType::U16:
      return load<uint16_t>(*scalar);
    case DType::I32:
      return load<int32_t>(*scalar);
    case DType::U32:
      return load<uint32_t>(*scalar);
    case DType::I64:
    case DType::U64:
      return load<int64_t>(*scalar);
    default:
      break;
    }
  }
  return Error{"the attribute " + quoted(name) + " of custom call @" + std::string(target) +
               " should be an integer"};
}

CallRegistry &CallRegistry::get() {
  // Never destroyed: a device thread may still look a handler up while the process ends.
  static CallRegistry &registry = *[] {
    auto *made = new CallRegistry;
    registerLapack(*made);
    return made;
  }();
  return registry;
}

std::shared_ptr<const CallHandler> CallRegistry::find(std::string_view target) const {
  std::lock_guard lock(mutex);
  auto found = handlers.find(target);
  return found == handlers.end() ? nullptr : found->second;
}

Status CallRegistry::add(std::string target, CallHandler handler) {
  std::lock_guard lock(mutex);
  if (!handlers.try_emplace(target, std::make_shared<const CallHandler>(std::move(handler))).second)
    return Error{"a handler of custom call @" + target + " is registered already"};
  return {};
}

std::vector<std::string> CallRegistry::names() const {
  std::lock_guard lock(mutex);
  std::vector<std::string> result;
  for (const auto &[name, handler] : handlers)
    result.push_back(name);
  return result;
}

} // namespace cupel::calls
