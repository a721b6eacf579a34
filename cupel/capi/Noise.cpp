// The strict verdict for the C API: the reference evaluates the caller's program again with every
// rounding moved, when a result asks for it, and compare/Noise.h judges by what that moves.

#include "cupel/capi/Errors.h"
#include "cupel/capi/Tensors.h"
#include "cupel/compare/Noise.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Plan.h"

#include "mlir/IR/Diagnostics.h"

#include <algorithm>
#include <mutex>
#include <optional>

using namespace cupel;
using tensor::Tensor;

struct CupelNoise {
  compare::DevicePrecision precision;
  std::string code;
  std::vector<Tensor> inputs;
  size_t wanted = 0;

  /// Of one output with this shape.
  compare::Noise of(size_t output, std::span<const int64_t> shape) {
    std::call_once(once, [this] { measure(); });
    compare::Noise noise{.precision = precision};
    auto find = [&](const std::vector<Tensor> &results) -> const Tensor * {
      return output < results.size() && std::ranges::equal(results[output].shape(), shape)
                 ? &results[output]
                 : nullptr;
    };
    const Tensor *center = find(exact);
    if (!center)
      return noise;
    for (const std::vector<Tensor> &sample : samples)
      if (const Tensor *found = find(sample))
        noise.samples.push_back(*found);
    if (!noise.samples.empty())
      noise.center = *center;
    return noise;
  }
  /// Why there is none; empty: there is.
  const std::string &remark() const { return why; }

private:
  void measure() {
    if (Status done = evaluateAll(); !done)
      why = done.message();
  }

  Status evaluateAll() {
    if (code.empty())
      return Error{"there is no program that the reference could evaluate"};
    mlir::DialectRegistry registry;
    ir::registerAllDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    std::string complaint;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && complaint.empty())
        complaint = diagnostic.str();
      return mlir::success();
    });
    mlir::OwningOpRef<mlir::ModuleOp> module =
        ir::readProgram(llvm::MemoryBufferRef(code, "program"), mlir::ParserConfig(&context));
    if (!module || mlir::failed(compiler::lowerChlo(*module)))
      return Error{complaint.empty() ? "the program cannot be read" : complaint};
    Result<std::unique_ptr<reference::Plan>> plan = reference::Plan::create(*module);
    if (!plan)
      return plan.error();
    auto evaluate = [&](reference::Jitter jitter) -> Result<std::vector<Tensor>> {
      reference::RunOptions options;
      options.jitter = jitter;
      reference::Run run(std::move(options));
      std::vector<reference::Value> arguments(inputs.begin(), inputs.end());
      Result<std::vector<reference::Value>> results = (*plan)->run(run, std::move(arguments));
      if (!results)
        return results.error();
      std::vector<Tensor> tensors;
      for (reference::Value &value : *results)
        if (value.isTensor())
          tensors.push_back(std::move(value.tensor()));
      return tensors;
    };
    Result<std::vector<Tensor>> plain = evaluate({});
    if (!plain)
      return plain.error();
    for (size_t i = 0; i < wanted; ++i) {
      Result<std::vector<Tensor>> sample = evaluate(
          {precision.products.step, precision.rest.step, precision.doubles.step, uint64_t(i)});
      if (!sample)
        return sample.error();
      samples.push_back(std::move(*sample));
    }
    exact = std::move(*plain);
    return {};
  }

  std::once_flag once;
  std::vector<Tensor> exact;
  std::vector<std::vector<Tensor>> samples;
  std::string why;
};

CupelNoise *cupel_noise_open(const char *precision, const char *code, size_t size,
                             const CupelTensor *inputs, size_t count, size_t samples,
                             char **error) {
  Result<compare::DevicePrecision> declared = compare::DevicePrecision::parse(precision);
  if (!declared)
    return capi::failed(error, declared.message());
  auto noise = std::make_unique<CupelNoise>();
  noise->precision = *declared;
  noise->code.assign(code ? code : "", code ? size : 0);
  noise->wanted = samples;
  for (size_t i = 0; i < count; ++i) {
    Result<Tensor> input = capi::borrowed(inputs[i]);
    if (!input)
      return capi::failed(error, input.message());
    noise->inputs.push_back(std::move(*input));
  }
  return noise.release();
}

void cupel_noise_close(CupelNoise *noise) { delete noise; }

int cupel_judge(const CupelTensor *actual, const CupelTensor *expected, CupelNoise *noise,
                size_t output, char **sentence, char **error) {
  Result<Tensor> a = capi::borrowed(*actual), e = capi::borrowed(*expected);
  if (!a || !e) {
    capi::failed(error, a ? e.message() : a.message());
    return -1;
  }
  Result<compare::NoiseVerdict> verdict =
      compare::checkWithoutNoise(*a, *e, noise->precision);
  std::string remark;
  if (verdict && !verdict->passed && verdict->statistics.sameShape()) {
    compare::Noise measured = noise->of(output, e->shape());
    verdict = compare::checkByNoise(*a, *e, measured);
    if (measured.samples.empty() && noise->wanted > 0)
      remark = "; noise could not be measured (" +
               (noise->remark().empty() ? "the program has no such output" : noise->remark()) +
               "): limits from the declared precision alone";
  }
  if (!verdict) {
    capi::failed(error, verdict.message());
    return -1;
  }
  if (!verdict->note.empty())
    remark = "; " + verdict->note + remark;
  *sentence = strdup((verdict->sentence + remark).c_str());
  return verdict->passed ? 1 : 0;
}
