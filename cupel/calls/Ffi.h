// Handlers that speak XLA's FFI made into ours, so that a user registers for Cupel what they
// registered for XLA. Used by the PJRT plugin's FFI extension. Tensors are handed over in the
// layout the call asks for; a handler may answer at once or through a future, which is waited for.
#pragma once

#include "cupel/calls/CustomCall.h"

namespace cupel::calls::ffi {

/// The function that runs an operation; what belongs to other stages is optional.
struct HandlerBundle {
  void *instantiate = nullptr, *prepare = nullptr, *initialize = nullptr, *execute = nullptr;
};

/// An error if the handler was built for a version of the interface that we do not speak.
Result<CallHandler> adapt(HandlerBundle bundle);

/// A number for a type that handlers pass around; the same name gets the same number.
int64_t registerType(std::string_view name, int64_t wanted = 0);

} // namespace cupel::calls::ffi
