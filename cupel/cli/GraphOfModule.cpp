#include "cupel/cli/GraphOfModule.h"

#include "cupel/compiler/device/DeviceIr.h"
#include "cupel/compiler/tensor/TensorIr.h"
#include "cupel/reference/Plan.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <set>

namespace cupel::cli {

using namespace mlir;

namespace {

constexpr size_t kMostOrigins = 64;
constexpr size_t kMostText = 240; // Of an attribute: a constant may be long.

template <typename T> std::string printed(const T &thing) {
  std::string text;
  llvm::raw_string_ostream os(text);
  thing.print(os);
  if (text.size() > kMostText)
    text = text.substr(0, kMostText) + " ...";
  return text;
}

std::string attributeText(Attribute attribute) {
  // Printing a large constant only to cut it would take most of the time.
  if (auto elements = dyn_cast<ElementsAttr>(attribute);
      elements && elements.getNumElements() > 16 && !elements.isSplat())
    return "dense of " + std::to_string(elements.getNumElements()) + " elements";
  return printed(attribute);
}

int64_t bytesOf(Type type) {
  if (auto buffer = dyn_cast<dev::BufferType>(type))
    return dev::byteSizeOf(buffer.getTensor()).value_or(0);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return 0;
  return (tensor.getNumElements() * tensor.getElementType().getIntOrFloatBitWidth() + 7) / 8;
}

/// Names and file positions, innermost last; each once.
void collectOrigins(Location location, std::vector<std::string> &names,
                    std::vector<std::string> &places) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    names.push_back(name.getName().str());
    return collectOrigins(name.getChildLoc(), names, places);
  }
  if (auto file = dyn_cast<FileLineColLoc>(location)) {
    places.push_back(file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
                     std::to_string(file.getColumn()));
    return;
  }
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collectOrigins(call.getCaller(), names, places);
    return collectOrigins(call.getCallee(), names, places);
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      collectOrigins(part, names, places);
}

/// The modules in a name that a framework gave: `jit(f)/block_0/attention/dot_general` stands in
/// block_0, attention; what is last is the operation itself.
std::vector<std::string> modulesIn(StringRef name) {
  std::vector<std::string> modules;
  SmallVector<StringRef> parts;
  name.split(parts, '/', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (parts.size() == 1 && !name.contains('(')) {
    parts.clear();
    name.split(parts, '.', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  }
  constexpr size_t kDeepest = 12;
  for (StringRef part : ArrayRef<StringRef>(parts).drop_back().take_front(kDeepest))
    modules.push_back(part.str());
  return modules;
}

/// Whether a region computes on tensors, as a loop's does, and not on single elements.
bool isProgram(Region &region) {
  if (region.empty())
    return false;
  for (Operation &op : region.front())
    for (Type type : op.getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getRank() > 0)
        return true;
  return false;
}

class GraphMaker {
public:
  GraphMaker(StageGraph &graph, const ModulesByName *modules) : graph(graph), modules(modules) {}

  void addArgument(BlockArgument argument, std::vector<std::string> group) {
    StageNode &node = graph.nodes.emplace_back();
    node.name = "argument";
    node.label = "argument " + std::to_string(argument.getArgNumber());
    node.group = std::move(group);
    describe(node, argument.getLoc(), argument.getType());
    sources[argument] = {graph.nodes.size() - 1, 0};
  }

  void addBlock(Block &block, const std::vector<std::string> &group) {
    for (Operation &op : block)
      addOperation(op, group);
  }

  void addOperation(Operation &op, const std::vector<std::string> &outer) {
    if (isa<dev::PlaceOp, dev::AsOp>(op))
      return; // A buffer is what its writer gives.
    size_t number = graph.nodes.size();
    graph.numbers[&op] = number;
    {
      StageNode &node = graph.nodes.emplace_back();
      node.op = &op;
      node.name = op.getName().getStringRef().str();
      node.label = op.getName().stripDialect().str();
      describe(node, op.getLoc(), op.getResultTypes());
      for (NamedAttribute attribute : op.getAttrs())
        if (attribute.getName() != "operandSegmentSizes")
          node.attributes.emplace_back(attribute.getName().str(), attributeText(attribute.getValue()));
    }
    std::vector<std::string> group = outer;
    std::vector<std::string> names, places;
    collectOrigins(op.getLoc(), names, places);
    llvm::append_range(group, modulesOf(names));
    bool holdsPrograms = !isa<tir::TirDialect, dev::DevDialect>(op.getDialect()) &&
                         llvm::any_of(op.getRegions(), isProgram);
    std::vector<std::string> inside = group;
    if (holdsPrograms) {
      inside.push_back(graph.nodes[number].label + " " + std::to_string(number));
      graph.nodes[number].group = inside;
    } else {
      graph.nodes[number].group = group;
    }
    if (auto launch = dyn_cast<dev::LaunchOp>(op)) {
      addLaunch(launch, number);
    } else {
      for (Value operand : op.getOperands())
        read(number, operand);
      for (OpResult result : op.getResults())
        sources[result] = {number, result.getResultNumber()};
    }
    if (!holdsPrograms) {
      // What was fused into it came from places of its own.
      StageNode &node = graph.nodes[number];
      std::set<std::string> known(node.origins.begin(), node.origins.end());
      op.walk([&](Operation *inside) {
        std::vector<std::string> named, placed;
        collectOrigins(inside->getLoc(), named, placed);
        for (auto *list : {&named, &placed})
          for (std::string &one : *list)
            if (known.size() < kMostOrigins && known.insert(one).second)
              node.origins.push_back(one);
      });
      if (!isa<dev::LaunchOp>(op))
        noteBody(op, graph.nodes[number]);
      return;
    }
    for (auto [index, region] : llvm::enumerate(op.getRegions())) {
      if (region.empty())
        continue;
      std::vector<std::string> within = inside;
      within.push_back("region " + std::to_string(index));
      // What comes in is what the operation itself was given.
      for (BlockArgument argument : region.getArguments())
        sources[argument] = {number, 0};
      addBlock(region.front(), within);
    }
  }

private:
  std::vector<std::string> modulesOf(const std::vector<std::string> &names) const {
    if (!modules)
      return names.empty() ? std::vector<std::string>() : modulesIn(names.back());
    for (const std::string &name : llvm::reverse(names))
      if (auto found = modules->find(name); found != modules->end())
        return found->second;
    return {};
  }

  /// The buffer that another type looks at.
  static Value wholeOf(Value value) {
    while (auto as = value.getDefiningOp<dev::AsOp>())
      value = as->getOperand(0);
    return value;
  }

  void addLaunch(dev::LaunchOp launch, size_t number) {
    for (Value buffer : launch.getReads())
      read(number, buffer);
    StageNode &node = graph.nodes[number];
    Operation &first = launch.getBody().front().front();
    node.label = first.hasTrait<OpTrait::IsTerminator>() ? "copy" : first.getName().stripDialect().str();
    for (auto [index, buffer] : llvm::enumerate(launch.getWrites())) {
      node.types.push_back(printed(buffer.getType()));
      node.bytes += bytesOf(buffer.getType());
      if (auto result = wholeOf(buffer).getDefiningOp<dev::ResultOp>())
        if (auto found = graph.numbers.find(result); found != graph.numbers.end())
          graph.nodes[found->second].inputs.emplace_back(number, unsigned(index));
      sources[wholeOf(buffer)] = {number, unsigned(index)};
    }
    noteBody(first, node);
  }

  /// Names what a region of single elements, or of a fused operation, does.
  void noteBody(Operation &op, StageNode &node) {
    std::string body;
    for (Region &region : op.getRegions())
      if (!region.empty())
        for (Operation &inside : region.front().without_terminator())
          body += (body.empty() ? "" : ", ") + inside.getName().stripDialect().str();
    if (!body.empty())
      node.attributes.emplace_back("body", body);
  }

  void read(size_t number, Value value) {
    auto found = sources.find(wholeOf(value));
    if (found != sources.end())
      graph.nodes[number].inputs.push_back(found->second);
  }

  template <typename Types> void describe(StageNode &node, Location location, const Types &types) {
    node.place = reference::describeLocation(location);
    std::vector<std::string> names, places;
    collectOrigins(location, names, places);
    llvm::StringSet<> seen;
    for (auto *list : {&names, &places})
      for (std::string &one : *list)
        if (seen.insert(one).second)
          node.origins.push_back(one);
    for (Type type : TypeRange(types)) {
      node.types.push_back(printed(type));
      node.bytes += bytesOf(type);
    }
  }

  StageGraph &graph;
  const ModulesByName *modules;
  DenseMap<Value, std::pair<size_t, unsigned>> sources;
};

} // namespace

StageGraph graphOf(const frontends::SourceGraph &source, ModulesByName &modules) {
  StageGraph graph;
  std::map<std::string, std::pair<size_t, unsigned>> givers;
  for (const frontends::SourceNode &one : source.nodes) {
    StageNode &node = graph.nodes.emplace_back();
    node.name = one.op;
    node.label = one.label;
    node.group = one.modules;
    node.types = one.types;
    node.attributes = one.attributes;
    node.place = one.line.empty() ? one.place : one.line;
    if (!one.place.empty()) {
      node.origins = {one.place};
      modules.try_emplace(one.place, one.modules);
    }
    for (const std::string &name : one.takes)
      if (auto found = givers.find(name); found != givers.end())
        node.inputs.push_back(found->second);
    for (unsigned i = 0; i < one.gives.size(); ++i)
      givers[one.gives[i]] = {graph.nodes.size() - 1, i};
  }
  return graph;
}

StageGraph graphOf(ModuleOp module, const ModulesByName *modules) {
  StageGraph graph;
  GraphMaker maker(graph, modules);
  size_t functions = llvm::count_if(module.getOps(), [](Operation &op) { return isa<func::FuncOp, dev::ProgramOp>(op); });
  for (Operation &op : module.getOps()) {
    std::vector<std::string> group;
    if (functions > 1)
      if (auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
        group.push_back(name.str());
    if (op.getNumRegions() == 0 || op.getRegion(0).empty())
      continue;
    for (BlockArgument argument : op.getRegion(0).getArguments())
      maker.addArgument(argument, group);
    maker.addBlock(op.getRegion(0).front(), group);
  }
  return graph;
}

void writeNodes(llvm::json::OStream &json, const StageGraph &graph) {
  json.array([&] {
    for (const StageNode &node : graph.nodes)
      json.object([&] {
        json.attribute("op", node.name);
        json.attribute("label", node.label);
        json.attributeArray("group", [&] {
          for (const std::string &part : node.group)
            json.value(llvm::json::fixUTF8(part));
        });
        json.attributeArray("inputs", [&] {
          for (auto [source, result] : node.inputs)
            json.value(llvm::json::Array{int64_t(source), int64_t(result)});
        });
        json.attributeArray("types", [&] {
          for (const std::string &type : node.types)
            json.value(llvm::json::fixUTF8(type));
        });
        json.attributeObject("attributes", [&] {
          for (const auto &[name, text] : node.attributes)
            json.attribute(llvm::json::fixUTF8(name), llvm::json::fixUTF8(text));
        });
        json.attribute("place", llvm::json::fixUTF8(node.place));
        json.attributeArray("origins", [&] {
          for (const std::string &origin : node.origins)
            json.value(llvm::json::fixUTF8(origin));
        });
        json.attribute("bytes", node.bytes);
      });
  });
}

} // namespace cupel::cli
