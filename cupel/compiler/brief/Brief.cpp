#include "cupel/compiler/brief/Brief.h"

#include "cupel/compiler/brief/Body.h"
#include "cupel/compiler/brief/Walk.h"
#include "cupel/compiler/codegen/Codegen.h"

#include <algorithm>
#include <cstring>

namespace cupel::brief {
namespace {

using codegen::View;

/// As many elements of a map are worked on at once.
constexpr int64_t kChunk = 128;
/// About what reading or writing an element takes, and what a step takes besides its elements.
constexpr double kNanosecondsPerAccess = 1, kNanosecondsPerStep = 8;

const std::byte *bytesOf(const void *memory) { return static_cast<const std::byte *>(memory); }
std::byte *bytesOf(void *memory) { return static_cast<std::byte *>(memory); }

std::vector<Walk> walksOf(const std::vector<View> &views, std::span<const int64_t> sizes) {
  std::vector<Walk> walks;
  for (const View &view : views)
    walks.emplace_back(view, sizes);
  return walks;
}

/// 2^40 for whatever is more: nothing of that size is brief.
int64_t countOf(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count = std::min(int64_t{1} << 40, size) * std::min(int64_t{1} << 22, count);
  return std::min(count, int64_t{1} << 40);
}

double estimate(const Body &body, double elements, double calls) {
  double accesses = double(body.inputCount() + body.outputCount());
  return elements * (body.nanosecondsPerElement() + kNanosecondsPerAccess * accesses) +
         calls * kNanosecondsPerStep * (double(body.stepCount()) + 2 * accesses);
}

/// Large bodies take LLVM long, element by element they take their time once an element: up to so many
/// elements code would have to be run hundreds of times to be worth it, whatever the limit.
constexpr double kFewElements = 200;
double limitFor(const Body &body, double limit) {
  return std::max(limit, kFewElements * body.nanosecondsPerElement());
}

Error tooLong() { return Error{ErrorCode::Unsupported, "it takes too long for that"}; }

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

class MapWork final : public Work {
public:
  MapWork(const codegen::MapKernel &kernel, Body made, int64_t count)
      : body(std::move(made)), inputs(walksOf(kernel.inputs, kernel.sizes)),
        outputs(walksOf(kernel.outputs, kernel.sizes)), count(count) {
    scratchBytes = body.scratchBytes();
    nanoseconds = estimate(body, double(count), double((count + kChunk - 1) / kChunk));
  }

  void run(const void *const *in, void *const *out, void *memory) const override {
    std::byte *scratch = bytesOf(memory);
    body.begin(scratch);
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      int64_t some = std::min(kChunk, count - begin);
      for (size_t i = 0; i < inputs.size(); ++i)
        inputs[i].load(bytesOf(in[i]), begin, some, body.input(scratch, i));
      body.run(scratch, some);
      for (size_t i = 0; i < outputs.size(); ++i)
        outputs[i].store(bytesOf(out[i]), begin, some, body.output(scratch, i));
    }
  }

private:
  Body body;
  std::vector<Walk> inputs, outputs;
  int64_t count;
};

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

class RowWork final : public Work {
public:
  RowWork(const codegen::RowKernel &kernel, Body made, int64_t rows)
      : body(std::move(made)), rows(rows), length(kernel.length) {
    for (size_t i = 0; i < kernel.inputs.size(); ++i)
      inputs.push_back(walkOf(kernel.inputs[i], kernel, body.isRowInput(i)));
    for (size_t i = 0; i < kernel.outputs.size(); ++i)
      outputs.push_back(walkOf(kernel.outputs[i], kernel, body.isRowOutput(i)));
    scratchBytes = body.scratchBytes();
    nanoseconds = estimate(body, double(rows) * double(length), double(rows));
  }

  void run(const void *const *in, void *const *out, void *memory) const override {
    std::byte *scratch = bytesOf(memory);
    body.begin(scratch);
    for (int64_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        int64_t count = body.isRowInput(i) ? length : 1;
        inputs[i].load(bytesOf(in[i]), row * count, count, body.input(scratch, i));
      }
      body.run(scratch, length);
      for (size_t i = 0; i < outputs.size(); ++i) {
        int64_t count = body.isRowOutput(i) ? length : 1;
        outputs[i].store(bytesOf(out[i]), row * count, count, body.output(scratch, i));
      }
    }
  }

private:
  /// Along whole rows, or from row to row.
  static Walk walkOf(View view, const codegen::RowKernel &kernel, bool isRow) {
    std::vector<int64_t> sizes = kernel.outer;
    if (isRow) {
      sizes.push_back(kernel.length / view.repeated);
      if (view.repeated > 1) {
        sizes.push_back(view.repeated);
        view.strides.push_back(0);
      }
    } else {
      view.strides.pop_back();
      if (!view.valid.empty())
        view.valid.pop_back();
    }
    return Walk(view, sizes);
  }

  Body body;
  std::vector<Walk> inputs, outputs;
  int64_t rows, length;
};

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The loops that are kept outside of those that are reduced.
struct Nest {
  std::vector<int64_t> sizes;
  std::vector<View> inputs;
  View output; // Over the loops that are kept.
  std::vector<int64_t> kept;
  int64_t reduced = 1;
};

Nest nestOf(const codegen::Reduction &kernel) {
  Nest nest;
  nest.inputs = kernel.inputs;
  nest.output = kernel.output;
  nest.output.strides.clear();
  for (View &view : nest.inputs) {
    view.strides.clear();
    view.valid.clear();
  }
  for (bool isReduced : {false, true})
    for (size_t d = 0; d < kernel.sizes.size(); ++d) {
      if (kernel.reduced[d] != isReduced)
        continue;
      nest.sizes.push_back(kernel.sizes[d]);
      for (size_t i = 0; i < nest.inputs.size(); ++i) {
        nest.inputs[i].strides.push_back(kernel.inputs[i].strides[d]);
        if (!kernel.inputs[i].valid.empty())
          nest.inputs[i].valid.push_back(kernel.inputs[i].valid[d]);
      }
      if (isReduced) {
        nest.reduced *= kernel.sizes[d];
      } else {
        nest.kept.push_back(kernel.sizes[d]);
        nest.output.strides.push_back(kernel.output.strides[d]);
      }
    }
  return nest;
}

class ReductionWork final : public Work {
public:
  ReductionWork(const codegen::Reduction &kernel, const Nest &nest, Body made, int64_t results)
      : body(std::move(made)), inputs(walksOf(nest.inputs, nest.sizes)),
        output(nest.output, nest.kept), combine(combineLoop(kernel.combiner, kernel.output.type)),
        round(roundLoop(kernel.output.type)), results(results), reduced(nest.reduced),
        elementBytes(tensor::info(computeType(kernel.output.type)).bytes) {
    // The first value, in the type that is worked in.
    uint64_t stored = kernel.initial;
    View one;
    one.type = kernel.output.type;
    Walk(one, {}).load(reinterpret_cast<const std::byte *>(&stored), 0, 1, &initial);
    scratchBytes = body.scratchBytes();
    double elements = double(results) * double(reduced);
    nanoseconds = estimate(body, elements + double(results), elements / kChunk + 1) +
                  double(results) * kNanosecondsPerStep;
  }

  bool isKnown() const { return combine; }

  void run(const void *const *in, void *const *out, void *memory) const override {
    std::byte *scratch = bytesOf(memory);
    body.begin(scratch);
    uint64_t partial = initial;
    int64_t done = 0, left = reduced; // Results; elements of the next.
    int64_t count = results * reduced;
    if (reduced == 0) // Of nothing.
      for (; done < results; ++done)
        finish(partial, bytesOf(out[0]), done);
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      int64_t some = std::min(kChunk, count - begin);
      for (size_t i = 0; i < inputs.size(); ++i)
        inputs[i].load(bytesOf(in[i]), begin, some, body.input(scratch, i));
      body.run(scratch, some);
      const std::byte *elements = body.output(scratch, 0);
      while (some > 0) {
        int64_t taken = std::min(some, left);
        combine(elements, taken, &partial);
        elements += taken * elementBytes;
        some -= taken;
        left -= taken;
        if (left == 0) {
          finish(partial, bytesOf(out[0]), done++);
          partial = initial;
          left = reduced;
        }
      }
    }
  }

private:
  void finish(uint64_t partial, std::byte *to, int64_t number) const {
    if (round) {
      const void *in[] = {&partial, nullptr, nullptr};
      round(in, &partial, 1, {});
    }
    output.store(to, number, 1, &partial);
  }

  Body body;
  std::vector<Walk> inputs;
  Walk output;
  CombineLoop combine;
  ElementLoop round;
  uint64_t initial = 0;
  int64_t results, reduced, elementBytes;
};

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

class EpilogueWork final : public BlockWork {
public:
  EpilogueWork(const codegen::BlockMap &kernel, Body made)
      : body(std::move(made)), operands(kernel.operands), result(kernel.result) {
    nanosecondsPerElement =
        body.nanosecondsPerElement() + kNanosecondsPerAccess * double(body.inputCount() + 1);
  }

  void run(void *const *given, float *block, int64_t stride, int64_t row, int64_t rows,
           int64_t column, int64_t columns) const override {
    auto memory = std::make_unique<std::byte[]>(size_t(body.scratchBytes() + 64));
    void *start = memory.get();
    size_t room = size_t(body.scratchBytes() + 64);
    std::byte *scratch = bytesOf(std::align(64, size_t(body.scratchBytes()), start, room));
    body.begin(scratch);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; c += kChunk) {
        int64_t some = std::min(kChunk, columns - c);
        float *line = block + r * stride + c;
        std::memcpy(body.input(scratch, 0), line, size_t(some) * sizeof(float));
        for (size_t i = 0; i < operands.size(); ++i)
          along(operands[i], row + r, column + c, some)
              .load(bytesOf(given[i]), 0, some, body.input(scratch, i + 1));
        body.run(scratch, some);
        if (result)
          along(*result, row + r, column + c, some).store(bytesOf(given[operands.size()]), 0, some, body.output(scratch, 0));
        else
          std::memcpy(line, body.output(scratch, 0), size_t(some) * sizeof(float));
      }
  }

private:
  /// `some` elements along a row, from a place on.
  static Walk along(View view, int64_t row, int64_t column, int64_t some) {
    view.offset += row * view.strides[0] + column * view.strides[1];
    view.strides = {view.strides[1]};
    return Walk(view, std::span(&some, 1));
  }

  Body body;
  std::vector<View> operands;
  std::optional<View> result;
};

} // namespace

Result<std::unique_ptr<const Work>> prepare(const codegen::MapKernel &kernel, double limit) {
  int64_t count = countOf(kernel.sizes);
  if (double(count) > std::max(limit, kFewElements))
    return tooLong();
  if (Status status = codegen::supports(kernel); !status)
    return status.error();
  Result<Body> body = Body::make(*kernel.body, std::min(count, kChunk), false);
  if (!body)
    return body.error();
  limit = limitFor(*body, limit);
  auto work = std::make_unique<MapWork>(kernel, std::move(*body), count);
  if (work->nanoseconds > limit)
    return tooLong();
  return std::unique_ptr<const Work>(std::move(work));
}

Result<std::unique_ptr<const Work>> prepare(const codegen::RowKernel &kernel, double limit) {
  std::vector<int64_t> sizes = kernel.outer;
  sizes.push_back(kernel.length);
  if (double(std::max(countOf(sizes), countOf(kernel.outer))) > std::max(limit, kFewElements))
    return tooLong();
  if (Status status = codegen::supports(kernel); !status)
    return status.error();
  Result<Body> body = Body::make(*kernel.body, kernel.length, true);
  if (!body)
    return body.error();
  limit = limitFor(*body, limit);
  auto work = std::make_unique<RowWork>(kernel, std::move(*body), countOf(kernel.outer));
  if (work->nanoseconds > limit)
    return tooLong();
  return std::unique_ptr<const Work>(std::move(work));
}

Result<std::unique_ptr<const Work>> prepare(const codegen::Reduction &kernel, double limit) {
  if (double(countOf(kernel.sizes)) > std::max(limit, kFewElements))
    return tooLong();
  if (Status status = codegen::supports(kernel); !status)
    return status.error();
  Nest nest = nestOf(kernel);
  if (double(countOf(nest.kept)) > std::max(limit, kFewElements))
    return tooLong();
  Result<Body> body =
      Body::make(*kernel.body, std::clamp<int64_t>(countOf(kernel.sizes), 1, kChunk), false);
  if (!body)
    return body.error();
  limit = limitFor(*body, limit);
  auto work =
      std::make_unique<ReductionWork>(kernel, nest, std::move(*body), countOf(nest.kept));
  if (!work->isKnown() || work->nanoseconds > limit)
    return tooLong();
  return std::unique_ptr<const Work>(std::move(work));
}

Result<std::unique_ptr<const BlockWork>> prepare(const codegen::BlockMap &kernel) {
  if (Status status = codegen::supports(kernel); !status)
    return status.error();
  Result<Body> body = Body::make(*kernel.body, kChunk, false);
  if (!body)
    return body.error();
  return std::unique_ptr<const BlockWork>(
      std::make_unique<EpilogueWork>(kernel, std::move(*body)));
}

} // namespace cupel::brief
