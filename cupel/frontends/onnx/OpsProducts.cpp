// Matrix products: MatMul, Gemm, Einsum, MatMulInteger, Det.

#include "cupel/frontends/onnx/Lowering.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

Status checkProduct(Node &n, Value x, Value y) {
  ArrayRef<int64_t> a = HloBuilder::shapeOf(x), b = HloBuilder::shapeOf(y);
  if (a.empty() || b.empty())
    return n.error("does not take scalars");
  if (a.back() != (b.size() == 1 ? b[0] : b[b.size() - 2]))
    return n.error("its operands' inner sizes differ");
  if (a.size() > 2 && b.size() > 2 && !HloBuilder::broadcastShape(a.drop_back(2), b.drop_back(2)))
    return n.error("its operands' batches do not broadcast");
  return {};
}

Status lowerMatMul(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  if (n.element(0) != n.element(1))
    return n.error("its operands differ in element type");
  ONNX_TRY(checkProduct(n, n.in(0), n.in(1)));
  n.out(0, n.b.matmul(n.in(0), n.in(1)));
  return {};
}

Status lowerGemm(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  HloBuilder &b = n.b;
  Value x = n.in(0), y = n.in(1);
  if (HloBuilder::rankOf(x) != 2 || HloBuilder::rankOf(y) != 2)
    return n.error("takes matrices");
  if (n.integer("transA", 0))
    x = b.transpose(x, {1, 0});
  if (n.integer("transB", 0))
    y = b.transpose(y, {1, 0});
  ONNX_TRY(checkProduct(n, x, y));
  Value product = b.matmul(x, y);
  if (double alpha = n.real("alpha", 1); alpha != 1)
    product = b.multiply(product, b.like(product, alpha));
  if (n.has(2)) {
    Value c = n.in(2);
    if (double beta = n.real("beta", 1); beta != 1)
      c = b.multiply(c, b.like(c, beta));
    std::optional<Dims> shape =
        HloBuilder::broadcastShape(HloBuilder::shapeOf(product), HloBuilder::shapeOf(c));
    if (!shape || ArrayRef<int64_t>(*shape) != HloBuilder::shapeOf(product))
      return n.error("its third operand does not broadcast to the product");
    product = b.add(product, c);
  }
  n.out(0, product);
  return {};
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

/// Dimensions by label: letters, and negative numbers for those of an ellipsis, from the right.
struct Labelled {
  Value value;
  SmallVector<int> labels;
};

/// The labels of one term; an ellipsis stands for `hidden` dimensions.
SmallVector<int> labelsOf(StringRef term, int64_t hidden) {
  SmallVector<int> labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      labels.push_back(term[i]);
      continue;
    }
    for (int64_t k = hidden; k > 0; --k)
      labels.push_back(-int(k));
    i += 2;
  }
  return labels;
}

/// A label that stands twice keeps the diagonal.
void takeDiagonals(HloBuilder &b, Labelled &x) {
  for (size_t i = 0; i < x.labels.size(); ++i)
    for (size_t j = i + 1; j < x.labels.size();) {
      if (x.labels[i] != x.labels[j]) {
        ++j;
        continue;
      }
      ArrayRef<int64_t> shape = HloBuilder::shapeOf(x.value);
      Value on = b.equal(b.iota(shape, i, b.i64()), b.iota(shape, j, b.i64()));
      x.value = b.reduce(b.select(on, x.value, b.like(x.value, 0)), {int64_t(j)}, Fold::Add);
      x.labels.erase(x.labels.begin() + j);
    }
}

void sumAway(HloBuilder &b, Labelled &x, ArrayRef<int> kept) {
  Dims gone;
  SmallVector<int> rest;
  for (auto [i, label] : llvm::enumerate(x.labels))
    if (llvm::is_contained(kept, label))
      rest.push_back(label);
    else
      gone.push_back(i);
  x.value = b.reduce(x.value, gone, Fold::Add);
  x.labels = rest;
}

/// The product of two, summed over labels that nobody needs afterwards.
Labelled product(HloBuilder &b, Labelled x, Labelled y, ArrayRef<int> needed) {
  auto keep = [&](Labelled &one, const Labelled &other) {
    SmallVector<int> kept(needed);
    kept.append(other.labels.begin(), other.labels.end());
    sumAway(b, one, kept);
  };
  keep(x, y);
  keep(y, x);
  Dims batchX, batchY, contractX, contractY;
  Labelled result;
  SmallVector<int> freeX, freeY;
  for (auto [i, label] : llvm::enumerate(x.labels)) {
    auto other = llvm::find(y.labels, label);
    if (other == y.labels.end()) {
      freeX.push_back(label);
      continue;
    }
    int64_t j = other - y.labels.begin();
    bool isBatch = llvm::is_contained(needed, label);
    (isBatch ? batchX : contractX).push_back(i);
    (isBatch ? batchY : contractY).push_back(j);
    if (isBatch)
      result.labels.push_back(label);
  }
  for (int label : y.labels)
    if (!llvm::is_contained(x.labels, label))
      freeY.push_back(label);
  result.labels.append(freeX);
  result.labels.append(freeY);
  result.value = b.dotGeneral(x.value, y.value, batchX, batchY, contractX, contractY);
  return result;
}

Status lowerEinsum(Node &n) {
  ONNX_TRY(n.expect(1));
  HloBuilder &b = n.b;
  std::string equation;
  for (char c : n.text("equation", ""))
    if (c != ' ')
      equation += c;
  auto [left, right] = StringRef(equation).split("->");
  bool explicitOutput = StringRef(equation).contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != n.inputCount())
    return n.error("its equation names " + std::to_string(terms.size()) + " operands");
  SmallVector<Labelled> operands;
  int64_t hidden = 0;
  std::map<int, int64_t> sizes;
  std::map<int, int> seen;
  for (auto [i, term] : llvm::enumerate(terms)) {
    if (!n.has(i))
      return n.error("lacks operand " + std::to_string(i));
    int64_t letters = llvm::count_if(term, [](char c) { return c != '.'; });
    bool ellipsis = term.contains("...");
    if ((!ellipsis && term.contains('.')) || llvm::count(term, '.') > 3 || letters > n.rank(i) ||
        (!ellipsis && letters != n.rank(i)))
      return n.error("its equation does not fit operand " + std::to_string(i));
    int64_t mine = n.rank(i) - letters;
    hidden = std::max(hidden, mine);
    operands.push_back({n.in(i), labelsOf(term, mine)});
    for (auto [d, label] : llvm::enumerate(operands.back().labels)) {
      int64_t &size = sizes.try_emplace(label, 1).first->second;
      if (size != 1 && n.shape(i)[d] != 1 && size != n.shape(i)[d])
        return n.error("its equation gives one letter two sizes");
      if (size == 1)
        size = n.shape(i)[d];
      if (label > 0)
        ++seen[label];
    }
  }
  SmallVector<int> wanted;
  if (explicitOutput) {
    wanted = labelsOf(right, hidden);
  } else {
    for (int64_t k = hidden; k > 0; --k)
      wanted.push_back(-int(k));
    for (auto [label, times] : seen)
      if (times == 1)
        wanted.push_back(label);
  }
  for (auto [i, label] : llvm::enumerate(wanted))
    if (!sizes.count(label) || llvm::is_contained(ArrayRef(wanted).take_front(i), label))
      return n.error("its equation's output has a letter twice, or one that no operand has");
  for (Labelled &x : operands) {
    // Sizes of 1 that meet larger ones are repeated.
    Dims shape;
    for (int label : x.labels)
      shape.push_back(sizes[label]);
    x.value = b.broadcastTo(x.value, shape);
    takeDiagonals(b, x);
  }
  Labelled result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    SmallVector<int> needed(wanted);
    for (size_t j = i + 1; j < operands.size(); ++j)
      needed.append(operands[j].labels);
    result = product(b, result, operands[i], needed);
  }
  sumAway(b, result, wanted);
  Dims order;
  for (int label : wanted)
    order.push_back(llvm::find(result.labels, label) - result.labels.begin());
  n.out(0, b.transpose(result.value, order));
  return {};
}

/// By elimination with the largest pivot, one column after another.
Status lowerDet(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  HloBuilder &b = n.b;
  int64_t rank = n.rank(0);
  if (rank < 2 || n.shape(0)[rank - 1] != n.shape(0)[rank - 2])
    return n.error("takes square matrices");
  int64_t size = n.shape(0)[rank - 1];
  if (size > 64)
    return n.refuse(Refusal::NotYet, "matrices beyond 64 rows are not unrolled");
  Dims outer(n.shape(0).drop_back(2));
  int64_t batch = 1;
  for (int64_t d : outer)
    batch *= d;
  Value m = b.reshape(n.in(0), {batch, size, size});
  Value result = b.splat(1, n.element(0), {batch});
  for (int64_t k = 0; k < size; ++k) {
    int64_t rest = size - k;
    Value column = b.reshape(b.sliceDim(m, 2, 0, 1), {batch, rest});
    Value pivot = b.argExtreme(b.abs(column), 1, true, false, b.i64(), true); // [batch, 1]
    Value isPivot = b.equal(b.iota({batch, rest}, 1, b.i64()), pivot);
    Value mask = b.broadcastInDim(isPivot, {batch, rest, rest}, {0, 1});
    Value row = b.reduce(b.select(mask, m, b.like(m, 0)), {1}, Fold::Add, true);
    Value value = b.reshape(b.sliceDim(row, 2, 0, 1), {batch});
    Value swapped = b.notEqual(b.reshape(pivot, {batch}), b.splatInteger(0, b.i64(), {batch}));
    result = b.multiply(result, b.select(swapped, b.negate(value), value));
    if (rest == 1)
      break;
    // The first row takes the pivot's place, then both the first row and column are left.
    Value first = b.sliceDim(m, 1, 0, 1);
    m = b.select(mask, b.broadcastTo(first, {batch, rest, rest}), m);
    Value zero = b.equal(value, b.like(value, 0));
    Value safe = b.select(zero, b.like(value, 1), value);
    Value below = b.sliceDim(m, 1, 1, rest);
    Value factor = b.divide(b.sliceDim(below, 2, 0, 1), b.reshape(safe, {batch, 1, 1}));
    m = b.sliceDim(b.subtract(below, b.multiply(factor, row)), 2, 1, rest);
  }
  n.out(0, b.reshape(result, outer));
  return {};
}

} // namespace

void registerProducts(OpTable &table) {
  table.add("MatMul", 1, lowerMatMul);
  table.add("Gemm", 1, lowerGemm);
  table.add("Einsum", 12, lowerEinsum);
  table.add("Det", 11, lowerDet);
}

} // namespace cupel::frontends::onnx_import
