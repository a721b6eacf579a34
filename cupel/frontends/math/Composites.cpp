#include "cupel/frontends/math/Composites.h"

namespace cupel::frontends {

using namespace mlir;

SmallVector<Value> composite(HloBuilder &b, stablehlo::Composite which, ValueRange operands,
                             ArrayRef<CompositeAttribute> attributes, const CompositeBody &body) {
  if (!b.keepsComposites())
    return body(b, operands);
  const stablehlo::CompositeForm &form = stablehlo::formOf(which);
  OpBuilder &ops = b.builder();
  SmallVector<NamedAttribute> named;
  std::string names;
  for (const CompositeAttribute &attribute : attributes) {
    names += (names.empty() ? "" : ", ") + attribute.name.str();
    named.push_back(ops.getNamedAttr(
        attribute.name,
        std::visit(
            [&](auto value) -> Attribute {
              using Kind = decltype(value);
              if constexpr (std::is_same_v<Kind, int64_t>)
                return ops.getI64IntegerAttr(value);
              else if constexpr (std::is_same_v<Kind, double>)
                return ops.getF32FloatAttr(float(value));
              else if constexpr (std::is_same_v<Kind, bool>)
                return ops.getBoolAttr(value);
              else if constexpr (std::is_same_v<Kind, StringRef>)
                return ops.getStringAttr(value);
              else
                return DenseElementsAttr::get(b.tensorType({int64_t(value.size())}, b.i64()),
                                              value);
            },
            attribute.value)));
  }
  b.possible(names == form.attributes,
             "a composite is written with other attributes than its table has");
  return b.composite(form.name, operands, ops.getDictionaryAttr(named), body);
}

} // namespace cupel::frontends
