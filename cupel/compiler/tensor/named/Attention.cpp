#include "cupel/compiler/tensor/named/NamedFusion.h"

namespace cupel::tir {

/// Formed and counted by `form-attention`.
const NamedFusion kAttentionFusion{.name = "attention", .summary = "products, a function of their rows, and products with these"};

} // namespace cupel::tir
