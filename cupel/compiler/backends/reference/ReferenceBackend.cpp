#include "cupel/compiler/backends/reference/ReferenceBackend.h"

#include "cupel/compiler/backends/reference/ReferenceExecutable.h"

namespace cupel::compiler {

namespace {

class ReferenceBackend final : public Backend {
public:
  std::string_view name() const override { return "reference"; }
  std::string_view summary() const override {
    return "the golden reference's plan, one kernel after the other";
  }

  Result<ExecutablePointer> compile(std::shared_ptr<DeviceProgram> program) const override {
    Result<std::unique_ptr<reference::Plan>> plan = reference::Plan::create(*program->module);
    if (!plan)
      return plan.error();
    program->info.codeBytes =
        program->info.cost.operations * static_cast<int64_t>(sizeof(reference::Step));
    return ExecutablePointer(
        std::make_shared<ReferenceExecutable>(std::move(program), std::move(*plan)));
  }
};

} // namespace

const Backend &referenceBackend() {
  static const ReferenceBackend backend;
  return backend;
}

} // namespace cupel::compiler
