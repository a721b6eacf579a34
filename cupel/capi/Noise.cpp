// The strict verdict for the C API: the reference evaluates the caller's program again with every
// rounding moved, when a result asks for it, and compare/Noise.h judges by what that moves.

#include "cupel/capi/Errors.h"
#include "cupel/capi/Tensors.h"
#include "cupel/compare/Strict.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/RoundingFacts.h"

#include "mlir/IR/Diagnostics.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

using namespace cupel;
using tensor::Tensor;

struct CupelNoise {
  compare::DevicePrecision precision;
  std::string code;
  std::vector<Tensor> inputs;
  size_t wanted = 0;

  /// Of one output with this shape.
  compare::Noise of(size_t output, std::span<const int64_t> shape, compare::NoiseLook look) {
    if (look == compare::NoiseLook::First)
      return {.precision = precision}; // What comes here is soon evaluated a few times.
    std::lock_guard<std::mutex> lock(mutex);
    if (!std::exchange(isMeasured, true))
      if (Status done = open(); !done)
        why = done.message();
    compare::Noise noise{.precision = precision};
    auto find = [&](const std::vector<Tensor> &results) -> const Tensor * {
      return output < results.size() && std::ranges::equal(results[output].shape(), shape)
                 ? &results[output]
                 : nullptr;
    };
    const Tensor *center = find(exact);
    if (!center)
      return noise;
    auto add = [&](const std::vector<std::vector<Tensor>> &evaluations) {
      for (const std::vector<Tensor> &sample : evaluations)
        if (const Tensor *found = find(sample))
          noise.samples.push_back(*found);
    };
    if (look == compare::NoiseLook::Few || look == compare::NoiseLook::More)
      add(samples);
    if (look != compare::NoiseLook::Few)
      add(longer(look));
    if (look == compare::NoiseLook::Framework && narrow)
      noise.precision = inNarrow();
    if (!noise.samples.empty())
      noise.center = *center;
    return noise;
  }
  /// Why there is none; empty: there is.
  const std::string &remark() const { return why; }

private:
  /// Reads the program and makes the first evaluations.
  Status open() {
    if (code.empty())
      return Error{"there is no program that the reference could evaluate"};
    ir::registerAllDialects(registry);
    context.emplace(registry, mlir::MLIRContext::Threading::DISABLED);
    std::string complaint;
    mlir::ScopedDiagnosticHandler handler(&*context, [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && complaint.empty())
        complaint = diagnostic.str();
      return mlir::success();
    });
    module = ir::readProgram(llvm::MemoryBufferRef(code, "program"), mlir::ParserConfig(&*context));
    if (!module || mlir::failed(compiler::lowerChlo(*module)))
      return Error{complaint.empty() ? "the program cannot be read" : complaint};
    Result<std::unique_ptr<reference::Plan>> made = reference::Plan::create(*module);
    if (!made)
      return made.error();
    plan = std::move(*made);
    narrow = reference::narrowFloat(*module);
    Result<std::vector<Tensor>> plain = evaluate({});
    if (!plain)
      return plain.error();
    for (size_t i = 0; i < wanted; ++i) {
      Result<std::vector<Tensor>> sample = evaluate(jitterOf(precision, i, 1));
      if (!sample)
        return sample.error();
      samples.push_back(std::move(*sample));
    }
    exact = std::move(*plain);
    return {};
  }

  /// What only few ask for, when they do.
  const std::vector<std::vector<Tensor>> &longer(compare::NoiseLook look) {
    auto [entry, isNew] = others.try_emplace(look);
    if (!isNew || wanted == 0)
      return entry->second;
    bool isWider = look == compare::NoiseLook::Wider;
    bool isReordered = look == compare::NoiseLook::OtherOrder;
    bool isFramework = look == compare::NoiseLook::Framework;
    if ((isWider && !reference::floatsDecide(*module)) || (isFramework && !narrow) ||
        (isReordered && !reference::updatesMayMeet(*module)))
      return entry->second;
    size_t count = isWider || isReordered ? compare::kWiderSamples
                   : isFramework ? 2 * wanted
                                 : compare::kMoreSamples;
    for (size_t i = 0; i < count; ++i) {
      reference::Jitter jitter =
          jitterOf(isFramework ? inNarrow() : precision, 128 * (size_t(look) + 1) + i,
                   isWider ? compare::kWiderBy : 1);
      jitter.order = isWider || isReordered ? jitter.seed : 0;
      Result<std::vector<Tensor>> sample = evaluate(jitter);
      if (!sample)
        break;
      entry->second.push_back(std::move(*sample));
    }
    return entry->second;
  }

  /// What is declared, but nothing finer than the narrow type of the program.
  compare::DevicePrecision inNarrow() const {
    return precision.coarsenedTo(*compare::findPrecision(*narrow));
  }

  static reference::Jitter jitterOf(const compare::DevicePrecision &precision, uint64_t seed,
                                    double times) {
    return {precision.products.step, precision.rest.step, precision.doubles.step, seed, times};
  }

  Result<std::vector<Tensor>> evaluate(reference::Jitter jitter) {
    reference::RunOptions options;
    options.jitter = jitter;
    reference::Run run(std::move(options));
    std::vector<reference::Value> arguments(inputs.begin(), inputs.end());
    Result<std::vector<reference::Value>> results = plan->run(run, std::move(arguments));
    if (!results)
      return results.error();
    std::vector<Tensor> tensors;
    for (reference::Value &value : *results)
      if (value.isTensor())
        tensors.push_back(std::move(value.tensor()));
    return tensors;
  }

  std::mutex mutex;
  bool isMeasured = false;
  mlir::DialectRegistry registry;
  std::optional<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<reference::Plan> plan;
  std::optional<std::string_view> narrow;
  std::vector<Tensor> exact;
  std::vector<std::vector<Tensor>> samples;
  std::map<compare::NoiseLook, std::vector<std::vector<Tensor>>> others;
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
                size_t output, double *share, char **sentence, char **error) {
  Result<Tensor> a = capi::borrowed(*actual), e = capi::borrowed(*expected);
  if (!a || !e) {
    capi::failed(error, a ? e.message() : a.message());
    return -1;
  }
  bool hasSamples = true;
  Result<compare::StrictVerdict> verdict = compare::checkStrictly(
      *a, *e, noise->precision, [&](compare::NoiseLook look) {
        compare::Noise measured = noise->of(output, e->shape(), look);
        if (look == compare::NoiseLook::Few)
          hasSamples = !measured.samples.empty();
        return measured;
      });
  std::string remark;
  if (verdict && verdict->isMeasured && !hasSamples && noise->wanted > 0)
    remark = "; noise could not be measured (" +
             (noise->remark().empty() ? "the program has no such output" : noise->remark()) +
             "): limits from the declared precision alone";
  if (!verdict) {
    capi::failed(error, verdict.message());
    return -1;
  }
  if (!verdict->note.empty())
    remark = "; " + verdict->note + remark;
  *share = verdict->noise;
  *sentence = strdup((verdict->sentence + remark).c_str());
  return verdict->passed ? 1 : 0;
}
