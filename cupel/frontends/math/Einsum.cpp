#include "cupel/frontends/math/Einsum.h"

#include "llvm/ADT/StringExtras.h"

namespace cupel::frontends {

using namespace mlir;
using H = HloBuilder;

namespace {

/// A tensor whose dimensions carry labels: letters, or numbers above 256 for those of an ellipsis,
/// counted from the last.
struct Labelled {
  Value value;
  Dims labels;

  /// The size of a label's dimension; nothing if it has none of that label.
  std::optional<int64_t> sizeOf(int64_t label) const {
    auto found = llvm::find(labels, label);
    return found == labels.end() ? std::nullopt
                                 : std::optional(H::shapeOf(value)[found - labels.begin()]);
  }
};

constexpr int64_t kEllipsis = 256;

/// Labels of one term, in which an ellipsis makes up for what is missing to the rank.
std::optional<Dims> labelsOf(StringRef text, int64_t rank) {
  Dims labels;
  int64_t letters = llvm::count_if(text, llvm::isAlpha);
  bool seen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ')
      continue;
    if (llvm::isAlpha(text[i])) {
      labels.push_back(text[i]);
    } else if (text.substr(i).starts_with("...") && !seen && rank >= letters) {
      for (int64_t k = rank - letters; k > 0; --k)
        labels.push_back(kEllipsis + k);
      seen = true;
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  if (int64_t(labels.size()) != rank)
    return std::nullopt;
  return labels;
}

/// A label that stands twice keeps the diagonal; false if its sizes differ.
bool takeDiagonals(HloBuilder &b, Labelled &x) {
  for (size_t i = 0; i < x.labels.size(); ++i)
    for (size_t j = i + 1; j < x.labels.size();) {
      if (x.labels[i] != x.labels[j]) {
        ++j;
        continue;
      }
      ArrayRef<int64_t> shape = H::shapeOf(x.value);
      if (shape[i] != shape[j])
        return false;
      Value on = b.equal(b.iota(shape, i, b.i64()), b.iota(shape, j, b.i64()));
      x.value = b.reduce(b.select(on, x.value, b.like(x.value, 0)), {int64_t(j)}, Fold::Add);
      x.labels.erase(x.labels.begin() + j);
    }
  return true;
}

Labelled sumOut(HloBuilder &b, const Labelled &x, function_ref<bool(int64_t)> keep) {
  Dims gone, kept;
  for (auto [i, label] : llvm::enumerate(x.labels))
    if (keep(label))
      kept.push_back(label);
    else
      gone.push_back(i);
  return {b.reduce(x.value, gone, Fold::Add), kept};
}

/// Drops dimensions of size 1 whose label has another size in the other operand.
Labelled withoutOnes(HloBuilder &b, const Labelled &x, const Labelled &other) {
  Dims shape, kept;
  for (auto [size, label] : llvm::zip(H::shapeOf(x.value), x.labels)) {
    if (size == 1 && other.sizeOf(label).value_or(1) != 1)
      continue;
    shape.push_back(size);
    kept.push_back(label);
  }
  return {b.reshape(x.value, shape), kept};
}

/// The product of two, summed over labels that nobody needs afterwards.
Labelled contract(HloBuilder &b, const Labelled &x, const Labelled &y,
                  function_ref<bool(int64_t)> keep) {
  Labelled left = withoutOnes(b, x, y), right = withoutOnes(b, y, x);
  // What only one side has and nobody else wants is summed before.
  left = sumOut(b, left, [&](int64_t l) { return keep(l) || llvm::is_contained(right.labels, l); });
  right =
      sumOut(b, right, [&](int64_t l) { return keep(l) || llvm::is_contained(left.labels, l); });
  Dims batchX, batchY, contractX, contractY, labels, free;
  for (auto [i, label] : llvm::enumerate(left.labels)) {
    auto found = llvm::find(right.labels, label);
    if (found == right.labels.end()) {
      free.push_back(label);
      continue;
    }
    (keep(label) ? batchX : contractX).push_back(i);
    (keep(label) ? batchY : contractY).push_back(found - right.labels.begin());
    if (keep(label))
      labels.push_back(label);
  }
  labels.append(free);
  for (int64_t label : right.labels)
    if (!llvm::is_contained(left.labels, label))
      labels.push_back(label);
  return {b.dotGeneral(left.value, right.value, batchX, batchY, contractX, contractY), labels};
}

} // namespace

Result<Value> einsum(HloBuilder &b, StringRef equation, ArrayRef<Value> values) {
  auto [left, right] = equation.split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != values.size())
    return Error{"the equation has " + std::to_string(terms.size()) + " operands, not " +
                 std::to_string(values.size())};
  SmallVector<Labelled> operands;
  std::map<int64_t, int64_t> count; // How often a label stands on the left, sorted.
  int64_t ellipsis = 0;
  for (auto [i, term] : llvm::enumerate(terms)) {
    std::optional<Dims> labels = labelsOf(term, H::rankOf(values[i]));
    if (!labels)
      return Error{"the equation does not fit operand " + std::to_string(i)};
    for (int64_t label : *labels) {
      ++count[label];
      ellipsis = std::max(ellipsis, label - kEllipsis);
    }
    if (!takeDiagonals(b, operands.emplace_back(Labelled{values[i], *labels})))
      return Error{"the equation gives one letter two sizes"};
  }
  Dims wanted;
  if (equation.contains("->")) {
    int64_t letters = llvm::count_if(right, llvm::isAlpha);
    std::optional<Dims> labels = labelsOf(right, letters + (right.contains("...") ? ellipsis : 0));
    if (!labels)
      return Error{"the right side of the equation cannot be read"};
    wanted = *labels;
  } else {
    for (int64_t k = ellipsis; k > 0; --k)
      wanted.push_back(kEllipsis + k);
    // Capitals come before small letters, as their codes do.
    for (auto [label, times] : count)
      if (label < kEllipsis && times == 1)
        wanted.push_back(label);
  }
  for (int64_t label : wanted)
    if (!count.count(label) || llvm::count(wanted, label) != 1)
      return Error{"the right side of the equation has a letter twice, or one that the left has "
                   "not"};
  Labelled sum = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    for (int64_t label : sum.labels) {
      int64_t p = *sum.sizeOf(label), q = operands[i].sizeOf(label).value_or(p);
      if (p != q && p != 1 && q != 1)
        return Error{"the equation gives one letter two sizes"};
    }
    sum = contract(b, sum, operands[i], [&](int64_t label) {
      return llvm::is_contained(wanted, label) ||
             llvm::any_of(ArrayRef(operands).drop_front(i + 1), [&](const Labelled &later) {
               return llvm::is_contained(later.labels, label);
             });
    });
  }
  sum = sumOut(b, sum, [&](int64_t label) { return llvm::is_contained(wanted, label); });
  Dims order;
  for (int64_t label : wanted)
    order.push_back(llvm::find(sum.labels, label) - sum.labels.begin());
  return b.transpose(sum.value, order);
}

} // namespace cupel::frontends
