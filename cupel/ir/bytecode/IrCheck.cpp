#include "cupel/ir/bytecode/IrCheck.h"

#include <algorithm>

using namespace cupel::bytecode;

namespace {
enum OperationParts : uint8_t {
  kHasAttributes = 0x01,
  kHasResults = 0x02,
  kHasOperands = 0x04,
  kHasSuccessors = 0x08,
  kHasRegions = 0x10,
  kHasUseListOrders = 0x20,
  kHasProperties = 0x40,
  kUnknownPart = 0x80,
};

/// An order in which a value's uses are to be linked. MLIR writes through its numbers without
/// looking.
struct UseListOrder {
  size_t at = 0;
  uint64_t length = 0;
  uint64_t largest = 0;
  bool pairs = false;
};

struct Value {
  uint32_t uses = 0;
  bool defined = false;
  /// Number of its order in `orders` plus one, or zero.
  uint32_t order = 0;
  /// Where it is first used.
  size_t firstUse = 0;
};

/// The values that can be seen; one for each nest of regions that is isolated from above.
struct Scope {
  std::vector<Value> values;
};

/// One operation whose regions are being read.
struct RegionState {
  Cursor cursor;
  /// Whether `cursor` holds these regions alone and must be used up by them.
  bool ownSection;
  bool isolated;
  uint64_t regionsLeft;
  bool inRegion = false;
  uint64_t blocksLeft = 0;
  uint64_t operationsLeft = 0;
  uint64_t blocks = 0;
  /// Values of this region in the scope: [first, end), of which those before `next` are defined.
  size_t first = 0, next = 0, end = 0;
};

class IrChecker {
public:
  IrChecker(Bytes file, const Container &container, const Tables &tables, const Entries &entries,
            const Limits &limits, Problem &problem)
      : file(file), container(container), tables(tables), entries(entries), limits(limits),
        problem(problem) {}

  bool check();

private:
  bool step();
  bool beginRegion(RegionState &state);
  bool endRegion(RegionState &state);
  bool blockHeader(RegionState &state);
  bool blockArguments(RegionState &state, uint64_t &count);
  bool operation();
  bool useListOrders(RegionState &state, uint64_t range, size_t firstValue, bool tracked);
  bool define(RegionState &state, size_t at, uint64_t count);
  bool attribute(Cursor &cursor, uint64_t &index) {
    return cursor.index(index, tables.attributes.size(), "an attribute number");
  }
  bool location(Cursor &cursor);
  std::vector<Value> &values() { return scopes.back().values; }

  Bytes file;
  const Container &container;
  const Tables &tables;
  const Entries &entries;
  const Limits &limits;
  Problem &problem;
  std::vector<Scope> scopes;
  std::vector<RegionState> stack;
  std::vector<UseListOrder> orders;
};
} // namespace

bool IrChecker::check() {
  const Section *section = container.find(SectionId::IR);
  Cursor cursor(file, section->begin, section->end, problem);
  scopes.emplace_back();
  stack.push_back(RegionState{cursor, /*ownSection=*/true, /*isolated=*/true, /*regionsLeft=*/0});
  RegionState &top = stack.back();
  // The outermost block has no region around it that would count its values, so it can have no
  // arguments.
  size_t at = top.cursor.offset();
  bool hasArguments;
  if (!top.cursor.varintWithFlag(top.operationsLeft, hasArguments,
                                 "the number of top-level operations"))
    return false;
  if (hasArguments)
    return top.cursor.failAt(at, "the outermost block has arguments");
  if (!top.cursor.checkCount(at, top.operationsLeft, "the number of top-level operations", 3))
    return false;
  top.inRegion = true;
  top.blocks = top.blocksLeft = 1;
  while (!stack.empty())
    if (!step())
      return false;
  return true;
}

/// Goes on with the innermost region: one operation, or the next block or region.
bool IrChecker::step() {
  RegionState &state = stack.back();
  if (!state.inRegion) {
    if (state.regionsLeft == 0) {
      if (state.ownSection && !state.cursor.empty())
        return state.cursor.fail("bytes are left over after the last region of an operation");
      if (state.isolated)
        scopes.pop_back();
      size_t readTo = state.cursor.offset();
      bool shared = !state.ownSection;
      stack.pop_back();
      if (shared && !stack.back().cursor.skip(readTo - stack.back().cursor.offset(), "a region"))
        return false;
      return true;
    }
    return beginRegion(state);
  }
  if (state.operationsLeft) {
    --state.operationsLeft;
    return operation();
  }
  if (--state.blocksLeft)
    return blockHeader(state);
  return endRegion(state);
}

bool IrChecker::beginRegion(RegionState &state) {
  --state.regionsLeft;
  if (!state.cursor.count(state.blocks, "the number of blocks"))
    return false;
  if (state.blocks == 0)
    return true;
  uint64_t count;
  if (!state.cursor.count(count, "the number of values in a region"))
    return false;
  state.blocksLeft = state.blocks;
  state.first = state.next = values().size();
  state.end = state.first + count;
  values().resize(state.end);
  state.inRegion = true;
  return blockHeader(state);
}

bool IrChecker::endRegion(RegionState &state) {
  state.inRegion = false;
  for (size_t i = state.first; i < state.end; ++i) {
    const Value &value = values()[i];
    if (!value.defined && value.uses)
      return state.cursor.failAt(value.firstUse,
                                 "value " + std::to_string(i) + " is used but never defined");
    if (!value.order)
      continue;
    const UseListOrder &order = orders[value.order - 1];
    // MLIR leaves values with fewer uses alone.
    if (value.uses < 2)
      continue;
    bool fits = order.largest < value.uses &&
                (order.pairs ? order.length % 2 == 0 && order.length <= 2 * uint64_t(value.uses)
                             : order.length == value.uses);
    if (!fits)
      return state.cursor.failAt(order.at, "a use-list order does not fit the " +
                                               std::to_string(value.uses) + " uses of its value");
  }
  values().resize(state.first);
  return true;
}

bool IrChecker::blockHeader(RegionState &state) {
  size_t at = state.cursor.offset();
  bool hasArguments;
  if (!state.cursor.varintWithFlag(state.operationsLeft, hasArguments,
                                   "the number of operations in a block") ||
      !state.cursor.checkCount(at, state.operationsLeft, "the number of operations in a block", 3))
    return false;
  if (!hasArguments)
    return true;
  size_t firstValue = state.next;
  uint64_t count;
  if (!blockArguments(state, count))
    return false;
  if (container.version < kUseListOrdering)
    return true;
  uint8_t hasOrders;
  if (!state.cursor.byte(hasOrders, "a use-list order flag"))
    return false;
  return !hasOrders || useListOrders(state, count, firstValue, /*tracked=*/true);
}

bool IrChecker::blockArguments(RegionState &state, uint64_t &count) {
  size_t at = state.cursor.offset();
  if (!state.cursor.count(count, "the number of block arguments"))
    return false;
  for (uint64_t i = 0; i < count; ++i) {
    size_t typeAt = state.cursor.offset();
    uint64_t type;
    bool hasLocation = true;
    if (container.version >= kElideUnknownBlockArgLocation) {
      if (!state.cursor.varintWithFlag(type, hasLocation, "a block argument") ||
          !state.cursor.checkIndex(typeAt, type, tables.types.size(), "a type number"))
        return false;
    } else if (!state.cursor.index(type, tables.types.size(), "a type number")) {
      return false;
    }
    if (hasLocation && !location(state.cursor))
      return false;
  }
  return define(state, at, count);
}

bool IrChecker::define(RegionState &state, size_t at, uint64_t count) {
  if (count > state.end - state.next)
    return state.cursor.failAt(at, "a region defines more than the " +
                                       std::to_string(state.end - state.first) +
                                       " values it announced");
  for (uint64_t i = 0; i < count; ++i)
    values()[state.next++].defined = true;
  return true;
}

bool IrChecker::location(Cursor &cursor) {
  size_t at = cursor.offset();
  uint64_t index;
  if (!attribute(cursor, index))
    return false;
  return entries.maybeLocation(index) ||
         cursor.failAt(at, "attribute " + std::to_string(index) + " is not a location");
}

bool IrChecker::useListOrders(RegionState &state, uint64_t range, size_t firstValue, bool tracked) {
  Cursor &cursor = state.cursor;
  if (range == 0)
    return cursor.fail("use-list orders for no values");
  uint64_t count = 1;
  if (range > 1 && !cursor.count(count, "the number of use-list orders", 2))
    return false;
  if (count == 0)
    return cursor.fail("an empty set of use-list orders");
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t which = 0, length;
    if (range > 1 && !cursor.index(which, range, "the value number of a use-list order"))
      return false;
    UseListOrder order;
    order.at = cursor.offset();
    if (!cursor.varintWithFlag(length, order.pairs, "a use-list order") ||
        !cursor.checkCount(order.at, length, "the length of a use-list order"))
      return false;
    order.length = length;
    for (uint64_t j = 0; j < length; ++j) {
      uint64_t number;
      if (!cursor.varint(number, "a use-list order"))
        return false;
      order.largest = std::max(order.largest, number);
    }
    if (!tracked)
      continue;
    Value &value = values()[firstValue + which];
    if (value.order)
      return cursor.failAt(order.at, "a second use-list order for a value");
    orders.push_back(order);
    value.order = uint32_t(orders.size());
  }
  return true;
}

bool IrChecker::operation() {
  RegionState &state = stack.back();
  Cursor &cursor = state.cursor;
  size_t at = cursor.offset();
  uint64_t index;
  uint8_t parts;
  if (!cursor.index(index, tables.operationNames, "an operation name number") ||
      !cursor.byte(parts, "the parts of an operation") || !location(cursor))
    return false;
  if (parts & kUnknownPart)
    return cursor.failAt(at, "an operation has parts of an unknown kind");

  if (parts & kHasAttributes) {
    size_t where = cursor.offset();
    if (!attribute(cursor, index))
      return false;
    if (!entries.maybeDictionary(index))
      return cursor.failAt(where, "attribute " + std::to_string(index) + " is not a dictionary");
  }
  if (parts & kHasProperties) {
    if (container.version < kNativeProperties)
      return cursor.failAt(at, "an operation has properties, which bytecode version " +
                                   std::to_string(container.version) + " does not know");
    if (!cursor.index(index, tables.properties, "a property number"))
      return false;
  }

  uint64_t results = 0;
  size_t resultsAt = cursor.offset();
  if (parts & kHasResults) {
    if (!cursor.count(results, "the number of results"))
      return false;
    for (uint64_t i = 0; i < results; ++i)
      if (!cursor.index(index, tables.types.size(), "a type number"))
        return false;
  }
  if (parts & kHasOperands) {
    uint64_t operands;
    if (!cursor.count(operands, "the number of operands"))
      return false;
    for (uint64_t i = 0; i < operands; ++i) {
      size_t where = cursor.offset();
      if (!cursor.index(index, values().size(), "a value number"))
        return false;
      Value &value = values()[index];
      if (value.uses++ == 0)
        value.firstUse = where;
    }
  }
  if (parts & kHasSuccessors) {
    uint64_t successors;
    if (!cursor.count(successors, "the number of successors"))
      return false;
    for (uint64_t i = 0; i < successors; ++i)
      if (!cursor.index(index, state.blocks, "a block number"))
        return false;
  }

  // Results are numbered only inside a region that announced values.
  bool tracked = state.end != state.first;
  size_t firstValue = state.next;
  if (tracked && !define(state, resultsAt, results))
    return false;
  if (container.version >= kUseListOrdering && (parts & kHasUseListOrders) &&
      !useListOrders(state, results, firstValue, tracked))
    return false;

  if (!(parts & kHasRegions))
    return true;
  uint64_t regions;
  bool isolated;
  size_t where = cursor.offset();
  if (!cursor.varintWithFlag(regions, isolated, "the number of regions") ||
      !cursor.checkCount(where, regions, "the number of regions"))
    return false;
  if (regions == 0)
    return true;
  if (stack.size() >= limits.regionDepth)
    return cursor.failAt(where, "regions are nested more than " +
                                    std::to_string(limits.regionDepth) + " deep");

  if (isolated)
    scopes.emplace_back();
  if (isolated && container.version >= kLazyLoading) {
    Section section;
    if (!readSection(cursor, limits, section))
      return false;
    if (section.id != SectionId::IR)
      return cursor.failAt(section.headerBegin,
                           "the regions of an operation are not in an IR section");
    // Nothing inside regions is aligned, and a moved file would leave the padding wrong.
    if (section.alignment)
      return cursor.failAt(section.headerBegin, "a region asks for an alignment");
    if (regions > section.size())
      return cursor.failAt(where, "the number of regions is " + std::to_string(regions) +
                                      ", but their section has only " +
                                      std::to_string(section.size()) + " bytes");
    stack.push_back(RegionState{cursor.part(section.begin, section.end), /*ownSection=*/true,
                                isolated, regions});
  } else {
    stack.push_back(RegionState{cursor.part(cursor.offset(), cursor.end()), /*ownSection=*/false,
                                isolated, regions});
  }
  return true;
}

bool cupel::bytecode::checkIr(Bytes file, const Container &container, const Tables &tables,
                              const Entries &entries, const Limits &limits, Problem &problem) {
  return IrChecker(file, container, tables, entries, limits, problem).check();
}
