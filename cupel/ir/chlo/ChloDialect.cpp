#include "cupel/ir/chlo/Chlo.h"

#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "cupel/ir/chlo/ChloDialect.cpp.inc"
#include "cupel/ir/chlo/ChloEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "cupel/ir/chlo/ChloAttrs.cpp.inc"

namespace cupel::chlo {

namespace {
// Nothing in this dialect depends on where it stands.
struct ChloInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};
} // namespace

void ChloDialect::initialize() {
  registerAttributes();
  registerOps();
  addInterfaces<ChloInlinerInterface>();
}

void ChloDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cupel/ir/chlo/ChloAttrs.cpp.inc"
      >();
}

Operation *ChloDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements && elements.getType() == type ? builder.create<ConstantOp>(loc, type, elements)
                                                : nullptr;
}

//===----------------------------------------------------------------------===//
// #chlo.ragged_dot<lhs_batching_dimensions = [0], ...>
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kRaggedDotFields[] = {
    "lhs_batching_dimensions",    "rhs_batching_dimensions", "lhs_contracting_dimensions",
    "rhs_contracting_dimensions", "lhs_ragged_dimensions",   "rhs_group_dimensions"};

// Empty lists are left out.
void RaggedDotDimensionNumbersAttr::print(AsmPrinter &printer) const {
  ArrayRef<int64_t> lists[] = {getLhsBatchingDimensions(),    getRhsBatchingDimensions(),
                               getLhsContractingDimensions(), getRhsContractingDimensions(),
                               getLhsRaggedDimensions(),      getRhsGroupDimensions()};
  printer << '<';
  bool first = true;
  for (auto [name, list] : llvm::zip(kRaggedDotFields, lists)) {
    if (list.empty())
      continue;
    printer << (first ? "" : ", ") << name << " = [";
    llvm::interleaveComma(list, printer);
    printer << ']';
    first = false;
  }
  printer << '>';
}

// The fields in any order, each at most once; a comma may stand before the end.
Attribute RaggedDotDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> lists[std::size(kRaggedDotFields)];
  bool seen[std::size(kRaggedDotFields)] = {};
  if (parser.parseLess())
    return {};
  while (parser.parseOptionalGreater()) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return {};
    size_t field = llvm::find(kRaggedDotFields, name) - std::begin(kRaggedDotFields);
    if (field == std::size(kRaggedDotFields)) {
      parser.emitError(loc, "unknown field '") << name << "' of #chlo.ragged_dot";
      return {};
    }
    if (std::exchange(seen[field], true)) {
      parser.emitError(loc, "field '") << name << "' of #chlo.ragged_dot is given twice";
      return {};
    }
    auto element = [&] { return parser.parseInteger(lists[field].emplace_back()); };
    if (parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, element))
      return {};
    if (failed(parser.parseOptionalComma())) {
      if (parser.parseGreater())
        return {};
      break;
    }
  }
  return get(parser.getContext(), lists[0], lists[1], lists[2], lists[3], lists[4], lists[5]);
}

} // namespace cupel::chlo
