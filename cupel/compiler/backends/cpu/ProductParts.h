// What kernels of products are made of: epilogues as machine code or brief, weights in packed form, and how the
// sides of a product lie. Shared by the kernels for f32 and bf16; internal to this folder.

#pragma once

#include "cupel/compiler/backends/cpu/CodeKernel.h"
#include "cupel/compiler/backends/cpu/FinishSteps.h"
#include "cupel/compiler/backends/cpu/PackedWeights.h"
#include "cupel/compiler/brief/Brief.h"
#include "cupel/compiler/passes/NarrowProducts.h"
#include "cupel/kernels/Product.h"
#include "cupel/kernels/Scratch.h"
#include "cupel/compiler/backends/cpu/Unpack.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/Deferred.h"

#include "mlir/IR/IRMapping.h"

#include <functional>
#include <mutex>
#include <optional>

namespace cupel::compiler {

/// What is done to the elements of a block.
class EpilogueCode {
public:
  /// `first` is the operand of the launch's operation that is the first extra, and its view.
  static Result<EpilogueCode> make(mlir::Operation *op, unsigned first, mlir::ArrayAttr views,
                                   KernelChoice choice) {
    EpilogueCode epilogue;
    mlir::Block &body = op->getRegion(0).front();
    for (mlir::Value extra : op->getOperands().drop_front(first))
      epilogue.inputs.push_back(int(mlir::cast<mlir::BlockArgument>(extra).getArgNumber()));
    if (body.without_terminator().empty() &&
        body.getTerminator()->getOperand(0) == body.getArgument(0))
      return epilogue;
    codegen::BlockMap map;
    map.body = &body;
    for (auto [extra, view] : llvm::zip(op->getOperands().drop_front(first),
                                        views.getAsRange<tir::ViewAttr>())) {
      auto element = reference::elementTypeOf(
          mlir::cast<mlir::RankedTensorType>(extra.getType()).getElementType());
      map.operands.push_back(codeView(view, element->storage));
    }
    auto typeOf = [](mlir::Value value) {
      return reference::elementTypeOf(mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType())->storage;
    };
    auto result = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
    map.element = typeOf(body.getArgument(0));
    if (map.element != tensor::DType::F32 || !result.getElementType().isF32())
      map.result = codegen::View{typeOf(op->getResult(0)), 0, {columnsOf(op), 1}, {}, 0};
    epilogue.isElsewhere = map.result.has_value();
    mlir::Region rest;
    epilogue.takeSteps(map, rest);
    if (map.body->without_terminator().empty() &&
        map.body->getTerminator()->getOperand(0) == map.body->getArgument(0))
      return epilogue;
    if (isRounding(map)) {
      epilogue.narrowStride = columnsOf(op);
      epilogue.losesDenormals = op->hasAttr(kNarrowedAttr);
      return epilogue;
    }
    auto elements = double(result.getNumElements());
    if (choice.budget && !choice.isRepeated && elements < kBriefNanoseconds)
      if (auto work = cupel::brief::prepare(map);
          work && elements * (*work)->nanosecondsPerElement <
                      std::min(kBriefNanoseconds, choice.budget->forEver)) {
        choice.budget->forEver -= elements * (*work)->nanosecondsPerElement;
        epilogue.brief = std::move(*work);
        return epilogue;
      }
    Result<codegen::CompiledBlockMap> code = codegen::compile(map);
    if (!code)
      return code.error();
    epilogue.code = std::move(*code);
    return epilogue;
  }

  /// Whether it reads this buffer of the launch.
  bool uses(unsigned read) const {
    return (steps && steps->uses(int(read))) || llvm::is_contained(inputs, int(read));
  }

  /// Whether it writes what it makes to a result of its own, and leaves the block as it is.
  bool writesResult() const { return isElsewhere; }

  /// Whether the result lies where a buffer does that it reads.
  bool writesOverWhatItReads(std::span<const std::byte *const> reads, const std::byte *result) const {
    for (unsigned read = 0; read < reads.size(); ++read)
      if (reads[read] == result && uses(read))
        return true;
    return false;
  }

  /// Whether a result in bf16 may lie where a buffer does that is added to it: each element is read before it is written, by
  /// kernels that do so once.
  bool mayWriteOverWhatItAdds(std::span<const std::byte *const> reads, const std::byte *result) const {
    if (narrowStride == 0 || !steps)
      return false;
    for (unsigned read = 0; read < reads.size(); ++read)
      if (reads[read] == result && !steps->addsRowsOf(int(read)))
        return false;
    return true;
  }

  /// Calls `work` with where the sums go (null: the epilogue takes them from the kernel to a result of another type) and with
  /// the epilogue of one call.
  template <typename F> void with(std::span<const std::byte *const> reads, std::byte *result, F &&work) const {
    kernels::ScratchFrame frame;
    kernels::Finish finish;
    kernels::Epilogue epilogue;
    llvm::SmallVector<void *, 8> operands;
    if (brief)
      operands.push_back(const_cast<cupel::brief::BlockWork *>(brief.get()));
    for (int input : inputs)
      operands.push_back(const_cast<std::byte *>(reads[input]));
    if (isElsewhere)
      operands.push_back(result);
    if (steps)
      steps->fill(epilogue, finish, reads, frame);
    if (narrowStride > 0) {
      finish.narrow = reinterpret_cast<uint16_t *>(result);
      finish.narrowStride = narrowStride;
      finish.losesDenormals = losesDenormals;
      epilogue.finish = &finish;
    }
    epilogue.function = brief ? &runBrief : code.function;
    epilogue.operands = operands.data();
    work(isElsewhere ? nullptr : reinterpret_cast<float *>(result), epilogue);
  }

private:
  static int64_t columnsOf(mlir::Operation *op) {
    if (auto product = mlir::dyn_cast<tir::ProductOp>(op))
      return int64_t(product.getColumns());
    if (auto convolution = mlir::dyn_cast<tir::ConvolutionOp>(op))
      return convolution.filters();
    return mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getShape().back();
  }

  /// Whether all that is left is to round f32 to bf16, which kernels do as well.
  static bool isRounding(const codegen::BlockMap &map) {
    if (!map.result || map.result->type != tensor::DType::BF16 || map.element != tensor::DType::F32)
      return false;
    auto convert = map.body->getTerminator()->getOperand(0).getDefiningOp<stablehlo::ConvertOp>();
    return convert && convert.getOperand() == map.body->getArgument(0);
  }

  /// What kernels do in registers is left to them; `rest` becomes the body of what is left to do, if there is one.
  void takeSteps(codegen::BlockMap &map, mlir::Region &rest) {
    steps = FinishSteps::find(*map.body, map.operands, inputs, columnsOf(map.body->getParentOp()));
    if (!steps)
      return;
    // What the rest uses, with what they make in the element's place.
    auto *body = new mlir::Block;
    rest.push_back(body);
    mlir::IRMapping values;
    values.map(steps->result(), body->addArgument(map.body->getArgument(0).getType(),
                                                    map.body->getArgument(0).getLoc()));
    llvm::SmallVector<mlir::Operation *> left;
    llvm::DenseSet<mlir::Value> needed;
    for (mlir::Value value : map.body->getTerminator()->getOperands())
      needed.insert(value);
    for (mlir::Operation &op : llvm::reverse(map.body->without_terminator())) {
      if (op.getResult(0) == steps->result() || !needed.contains(op.getResult(0)))
        continue;
      left.push_back(&op);
      for (mlir::Value operand : op.getOperands())
        needed.insert(operand);
    }
    std::vector<codegen::View> views;
    std::vector<int> used;
    for (auto [i, argument] : llvm::enumerate(map.body->getArguments().drop_front()))
      if (needed.contains(argument)) {
        values.map(argument, body->addArgument(argument.getType(), argument.getLoc()));
        views.push_back(map.operands[i]);
        used.push_back(inputs[i]);
      }
    mlir::OpBuilder builder(map.body->getParentOp()->getContext()); // The new body has no parent.
    builder.setInsertionPointToEnd(body);
    for (mlir::Operation *op : llvm::reverse(left))
      builder.clone(*op, values);
    builder.clone(*map.body->getTerminator(), values);
    map.body = body;
    map.operands = std::move(views);
    inputs = std::move(used);
  }

  /// A function of the kernels' form, whose first operand is what it runs.
  static void runBrief(void *const *operands, float *block, int64_t stride, int64_t row,
                       int64_t rows, int64_t column, int64_t columns) {
    static_cast<const cupel::brief::BlockWork *>(operands[0])
        ->run(operands + 1, block, stride, row, rows, column, columns);
  }

  std::vector<int> inputs;
  std::optional<FinishSteps> steps;
  bool isElsewhere = false;
  int64_t narrowStride = 0; // Of a result in bf16 that kernels round themselves; 0: there is none.
  bool losesDenormals = false; // While it is rounded: the program has f32, and precision=bf16 was asked for.
  codegen::CompiledBlockMap code;
  std::shared_ptr<const cupel::brief::BlockWork> brief;
};

/// Steps of loops and branches have no tensors for arguments, only memory, which may hold something
/// else the next time.
inline bool isMain(dev::LaunchOp launch) {
  return launch->getParentOfType<dev::ProgramOp>().getSymName() == "main";
}

/// Weights in packed form: made at load, once for each buffer, or for each call.
template <typename Packed> class Weights {
public:
  using Pack = std::function<Packed(const std::byte *)>;

  Weights() = default;
  ~Weights() { PackedWeights::get().forget(last.lock()); }

  /// Packed forms of the same layout are the same, whoever made them. One that `isWhole` has every element
  /// of the argument's, each once and as it is.
  Status load(dev::LaunchOp launch, unsigned argument, std::string form, Pack how, bool isWhole = false) {
    pack = std::move(how);
    holdsAll = isWhole;
    layout = std::move(form);
    read = argument;
    mlir::Operation *source = dev::rootOf(launch.getReads()[argument]).getDefiningOp();
    if (auto constant = mlir::dyn_cast<dev::ConstantOp>(source)) {
      auto type = mlir::cast<dev::BufferType>(constant.getBuffer().getType()).getTensor();
      Result<tensor::Tensor> value = reference::constantTensor(constant.getValue(), type);
      if (!value)
        return value.error();
      Result<tensor::Tensor> whole = value->contiguous();
      if (!whole)
        return whole.error().as(ErrorCode::OutOfMemory);
      fixed = pack(whole->data());
    } else if (auto given = mlir::dyn_cast<dev::ArgumentOp>(source); given && isMain(launch)) {
      number = int(given.getNumber());
    }
    return {};
  }

  /// Of what the launch reads there: whether the packed form is all that it asks for.
  runtime::Reading readingOf(unsigned one) const {
    if (one != read || number < 0)
      return runtime::Reading::Whole;
    return holdsAll ? runtime::Reading::Packed : runtime::Reading::Sparse;
  }

  int packedArgument() const { return holdsAll ? number : -1; }
  /// Of an argument whose elements are deferred.
  Status packArgument(LaunchContext &context) const {
    const tensor::Tensor &argument = context.arguments[number];
    Result<Packed> form = formOf(*argument.deferred(), argument);
    return form ? Status() : Status(form.error());
  }

  Result<Packed> get(LaunchContext &context, std::span<const std::byte *const> reads) const {
    if (fixed)
      return *fixed;
    if (number < 0)
      return pack(reads[read]);
    const tensor::Tensor &argument = context.arguments[number];
    if (tensor::DeferredElements *elements = argument.deferred())
      return formOf(*elements, argument);
    PackedWeights::KeptPointer kept;
    {
      std::lock_guard lock(mutex);
      kept = last.lock();
    }
    if (!kept || kept->weights.data() != argument.data()) {
      kept = PackedWeights::get().find(
          argument, layout, [&] { return std::make_shared<const Packed>(pack(reads[read])); },
          argument.byteSize());
      std::lock_guard lock(mutex);
      last = kept;
    }
    return *static_cast<const Packed *>(kept->form.get());
  }

private:
  /// The buffer keeps it, who has nothing else.
  Result<Packed> formOf(tensor::DeferredElements &elements, const tensor::Tensor &argument) const {
    if constexpr (requires(const Packed &packed) { packed.elements(); }) {
      if (std::shared_ptr<const void> known = elements.knownForm(layout))
        return *static_cast<const Packed *>(known.get());
      Result<std::shared_ptr<const void>> form = elements.form(
          argument, layout,
          [&](const std::byte *data) { return std::make_shared<const Packed>(pack(data)); },
          [pack = pack, count = argument.size(), bytes = tensor::info(argument.dtype()).bytes](const void *form, std::byte *to) {
            const auto &packed = *static_cast<const Packed *>(form);
            return (bytes == 2 ? unpackWords<uint16_t, Packed, Pack> : unpackWords<uint32_t, Packed, Pack>)(count, pack, packed, to);
          });
      if (!form)
        return form.error();
      return *static_cast<const Packed *>(form->get());
    }
    return Error{ErrorCode::Internal, "deferred elements were given to a kernel that cannot pack them"};
  }

  Pack pack;
  std::string layout;
  bool holdsAll = false;
  unsigned read = 0;
  int number = -1; // Of the argument that they are.
  std::optional<Packed> fixed;
  mutable std::mutex mutex;
  mutable std::weak_ptr<const PackedWeights::Kept> last;
};

inline float *floatsOf(std::byte *memory) { return reinterpret_cast<float *>(memory); }
inline const float *floatsOf(const std::byte *memory) { return reinterpret_cast<const float *>(memory); }
inline const uint16_t *halvesOf(const std::byte *memory) { return reinterpret_cast<const uint16_t *>(memory); }

inline unsigned argumentOf(mlir::Value value) { return mlir::cast<mlir::BlockArgument>(value).getArgNumber(); }

struct ProductShape {
  int64_t rows, columns, depth;
  int64_t leftOffset, leftRow, leftColumn;
  int64_t rightOffset, rightRow, rightColumn;
};

/// The number of elements of what a buffer is a part of.
inline int64_t elementsOf(mlir::Value buffer) {
  return mlir::cast<dev::BufferType>(dev::rootOf(buffer).getType()).getTensor().getNumElements();
}

/// Whether steps of these sizes reach each of so many elements once.
inline bool isDense(llvm::SmallVector<std::pair<int64_t, int64_t>, 4> steps, int64_t elements) {
  llvm::sort(steps, llvm::less_second());
  int64_t step = 1;
  for (auto [size, stride] : steps) {
    if (size == 1)
      continue;
    if (stride != step)
      return false;
    step *= size;
  }
  return step == elements;
}

/// Whether the right side is all of this buffer.
inline bool isAllOf(const ProductShape &shape, mlir::Value buffer) {
  return shape.rightOffset == 0 &&
         isDense({{shape.depth, shape.rightRow}, {shape.columns, shape.rightColumn}}, elementsOf(buffer));
}

/// Refused where the sides are padded.
inline Result<ProductShape> shapeOf(tir::ProductOp op) {
  auto left = mlir::cast<tir::ViewAttr>(op.getViews()[0]),
       right = mlir::cast<tir::ViewAttr>(op.getViews()[1]);
  size_t batches = op.getBatch().size();
  if (!left.getValid().empty() || !right.getValid().empty() ||
      batches > kernels::ProductBatch::kDimensions)
    return Error{ErrorCode::Unsupported, "products are of matrices as they lie"};
  return ProductShape{int64_t(op.getRows()),
                      int64_t(op.getColumns()),
                      int64_t(op.getDepth()),
                      left.getOffset(),
                      left.getStrides()[batches],
                      left.getStrides()[batches + 1],
                      right.getOffset(),
                      right.getStrides()[batches],
                      right.getStrides()[batches + 1]};
}

/// The products of a batch, whose results lie one behind the other.
inline kernels::ProductBatch batchOf(tir::ProductOp op) {
  kernels::ProductBatch batch;
  batch.rows = int64_t(op.getRows());
  batch.columns = int64_t(op.getColumns());
  batch.depth = int64_t(op.getDepth());
  int64_t step = batch.rows * batch.columns;
  for (size_t count = op.getBatch().size(), i = count; i-- > 0;) {
    size_t at = i + kernels::ProductBatch::kDimensions - count;
    batch.sizes[at] = op.getBatch()[i];
    batch.aStrides[at] = mlir::cast<tir::ViewAttr>(op.getViews()[0]).getStrides()[i];
    batch.bStrides[at] = mlir::cast<tir::ViewAttr>(op.getViews()[1]).getStrides()[i];
    batch.cStrides[at] = step;
    step *= op.getBatch()[i];
  }
  return batch;
}

/// Floats for the sums of a batch that its epilogue takes elsewhere.
inline int64_t sumsOfBatch(const kernels::ProductBatch &batch, const EpilogueCode &epilogue) {
  int64_t count = epilogue.writesResult() ? batch.rows * batch.columns : 0;
  for (int64_t size : batch.sizes)
    count *= size;
  return count;
}

/// What the packed form of a right side depends on.
inline std::string layoutOf(const ProductShape &shape, const char *type) {
  std::string text = std::string("product of ") + type;
  for (int64_t number :
       {shape.depth, shape.columns, shape.rightOffset, shape.rightRow, shape.rightColumn})
    text += " " + std::to_string(number);
  return text;
}

} // namespace cupel::compiler
