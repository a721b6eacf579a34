// The extension through which users register handlers of custom calls that speak XLA's FFI. They
// join the built-in ones in one table (cupel/calls).

#include "cupel/pjrt/plugin/Handles.h"
#include "cupel/pjrt/plugin/Layouts.h"
#include "cupel/calls/Ffi.h"

#include <map>
#include <mutex>

namespace cupel::pjrt {

namespace {

PJRT_Error *registerType(PJRT_FFI_Type_Register_Args *args) {
  args->type_id =
      calls::ffi::registerType({args->type_name, args->type_name_size}, args->type_id);
  return nullptr;
}

PJRT_Error *addUserData(PJRT_FFI_UserData_Add_Args *) {
  return makeError(ErrorCode::Unsupported,
                   "executions carry no user data for FFI handlers; a handler can keep its own");
}

PJRT_Error *registerHandler(PJRT_FFI_Register_Handler_Args *args) {
  // Which handlers were registered here: the same one again is no mistake.
  static std::mutex mutex;
  static auto &registered = *new std::map<std::string, void *>;
  std::string name(args->target_name, args->target_name_size);
  if (name.empty() || !args->handler)
    return invalid("an FFI handler needs a name and a function");
  std::lock_guard lock(mutex);
  if (auto found = registered.find(name); found != registered.end())
    return found->second == args->handler
               ? nullptr
               : makeError(ErrorCode::AlreadyExists,
                           "another FFI handler of " + name + " is registered already");
  calls::ffi::HandlerBundle bundle;
  bundle.execute = args->handler;
  Result<calls::CallHandler> handler = calls::ffi::adapt(bundle);
  if (!handler)
    return invalid(name + ": " + handler.message());
  if (Status status = calls::CallRegistry::get().add(name, std::move(*handler)); !status)
    return makeError(ErrorCode::AlreadyExists, status.message());
  registered.emplace(std::move(name), args->handler);
  return nullptr;
}

} // namespace

PJRT_Extension_Base *ffiExtension() {
  static PJRT_FFI_Extension extension = [] {
    PJRT_FFI_Extension made = {};
    made.base = {sizeof made, PJRT_Extension_Type_FFI, partitionerExtension()};
    bind<registerType>(made.type_register);
    bind<addUserData>(made.user_data_add);
    // Its last field came later; older callers end before it.
    bind<registerHandler, offsetof(PJRT_FFI_Register_Handler_Args, traits)>(made.register_handler);
    return made;
  }();
  return &extension.base;
}

} // namespace cupel::pjrt
