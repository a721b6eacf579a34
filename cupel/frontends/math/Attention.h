// Attention in all the forms that importers know, as one function and one composite: the plain form
// is `tenstorrent.scaled_dot_product_attention`, one that asks for more is `cupel.attention`.
// Operands fit: the lowering that calls has checked.
#pragma once

#include "cupel/frontends/HloBuilder.h"

namespace cupel::frontends {

/// Query, key and value are [..., heads, length, size]; key and value may have fewer heads, which
/// are repeated.
struct AttentionForm {
  mlir::Value q, k, v;
  mlir::Value mask;    ///< Bool (true: attend) or added; broadcasts to the scores. May be null.
  mlir::Value lengths; ///< [batch], of four dimensions: keys that count. May be null.
  double scale = 1;    ///< Of the scores.
  double softcap = 0;
  bool causal = false;
  int64_t left = -1, right = -1; ///< Windows; -1: open.
  int64_t past = 0;              ///< Keys before the first query's own.
  mlir::Type inner;              ///< Of the products; null: that of q.
  mlir::Type precision;          ///< Of the softmax; null: that of the products.
  mlir::Type result;             ///< Null: that of q.
  int scoresAfter = -1;          ///< Which scores to give too: 0 product, 1 cap, 2 bias, 3 softmax.

  /// Whether the plain composite says it all.
  bool isPlain() const {
    return !lengths && softcap == 0 && left < 0 && right < 0 && (past == 0 || !causal) &&
           scoresAfter < 0;
  }
};

struct Attended {
  mlir::Value y;       ///< In the products' type.
  mlir::Value weights; ///< After softmax.
  mlir::Value logSum;  ///< Of the scores' exponentials, without the keys' dimension; if asked for.
  mlir::Value scores;  ///< Where `scoresAfter` asks for them.
};
/// The formula itself.
Attended attend(HloBuilder &b, const AttentionForm &form, bool wantsLogSum = false);

/// As a composite: y and, where `scoresAfter` asks for them, the scores.
struct AttentionResult {
  mlir::Value y, scores;
};
AttentionResult attention(HloBuilder &b, const AttentionForm &form);

/// Heads in the third dimension from the last, each repeated so often in a row that there are
/// `heads`.
mlir::Value repeatHeads(HloBuilder &b, mlir::Value x, int64_t heads);

} // namespace cupel::frontends
