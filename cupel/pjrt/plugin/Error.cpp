#include "cupel/pjrt/plugin/Handles.h"

namespace cupel::pjrt {

namespace {

struct PluginError : PJRT_Error {
  ErrorCode code;
  std::string text;
};

const PluginError &of(const PJRT_Error *error) { return *static_cast<const PluginError *>(error); }

PJRT_Error_Code codeOf(const PJRT_Error *error) {
  return static_cast<PJRT_Error_Code>(info(of(error).code).canonical);
}

void destroy(PJRT_Error *error) { delete static_cast<PluginError *>(error); }

constexpr PJRT_Error_FunctionTable kTable = {
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = sizeof(PluginError),
    .extension_start = nullptr,
    .destroy = destroy,
    .message =
        [](const PJRT_Error *error, const char **message, size_t *size) {
          *message = of(error).text.data();
          *size = of(error).text.size();
        },
    .get_code =
        [](const PJRT_Error *error) { return codeOf(error); },
    .for_each_payload = [](const PJRT_Error *, PJRT_Error_PayloadVisitor, void *) {},
};

PJRT_Error *getCode(PJRT_Error_GetCode_Args *args) {
  args->code = codeOf(args->error);
  return nullptr;
}

PJRT_Error *forEachPayload(PJRT_Error_ForEachPayload_Args *) { return nullptr; }

} // namespace

PJRT_Error *makeError(ErrorCode code, std::string message) {
  auto *error = new PluginError;
  error->vtable = &kTable;
  error->code = code;
  error->text = std::move(message);
  return error;
}

PJRT_Error *missing(const char *name) {
  return makeError(ErrorCode::Unsupported, std::string(name) + " is not implemented by cupel");
}

PJRT_Error *tooSmall(size_t given, size_t least) {
  return invalid("the struct of arguments has " + std::to_string(given) +
                 " bytes; this call needs at least " + std::to_string(least));
}

void bindErrors(PJRT_Api &api) {
  api.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args *args) {
    if (args && args->error)
      destroy(args->error);
  };
  api.PJRT_Error_Message = [](PJRT_Error_Message_Args *args) {
    kTable.message(args->error, &args->message, &args->message_size);
  };
  bind<getCode>(api.PJRT_Error_GetCode);
  bind<forEachPayload>(api.PJRT_Error_ForEachPayload);
}

} // namespace cupel::pjrt
