// What tests of whole programs share: parse, plan, run. Only tests use it.

#pragma once

#include "cupel/ir/Dialects.h"
#include "cupel/reference/Registry.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace cupel::reference {

class ProgramTest : public testing::Test {
protected:
  ProgramTest() : context(registry(), mlir::MLIRContext::Threading::DISABLED) {}

  static const mlir::DialectRegistry &registry() {
    static const mlir::DialectRegistry all = [] {
      mlir::DialectRegistry registry;
      ir::registerAllDialects(registry);
      return registry;
    }();
    return all;
  }

  Status prepare(const std::string &text) {
    plan.reset();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context), "p.mlir");
    if (!module)
      return Error{"does not parse"};
    auto created = Plan::create(*module);
    if (!created)
      return created.error();
    plan = std::move(*created);
    return {};
  }

  Result<std::vector<Value>> run(const std::string &text, RunOptions options = {},
                                 std::vector<Value> arguments = {}) {
    if (Status status = prepare(text); !status)
      return status.error();
    reference::Run execution(std::move(options));
    return plan->run(execution, std::move(arguments));
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<Plan> plan;
};

} // namespace cupel::reference
