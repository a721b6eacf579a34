#include "cupel/testbench/worker/SourcePlaces.h"

#include "cupel/reference/Plan.h"

#include <fmt/format.h>

namespace cupel::testbench::worker {

using namespace mlir;

namespace {

/// What a location holds, from the inside to the outside: callees before their callers.
class Frames {
public:
  explicit Frames(Location location) { visit(location); }

  std::vector<FileLineColLoc> lines;
  std::string name; ///< The outermost.

private:
  void visit(Location location) {
    if (auto line = dyn_cast<FileLineColLoc>(location)) {
      if (!line.getFilename().getValue().empty() && line.getFilename() != "-")
        lines.push_back(line);
    } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
      visit(call.getCallee());
      visit(call.getCaller());
    } else if (auto named = dyn_cast<NameLoc>(location)) {
      if (name.empty() && lines.empty())
        name = named.getName().str();
      visit(named.getChildLoc());
    } else if (auto fused = dyn_cast<FusedLoc>(location)) {
      for (Location one : fused.getLocations())
        visit(one);
    }
  }
};

std::string text(FileLineColLoc line) {
  return fmt::format("{}:{}:{}", line.getFilename().str(), line.getLine(), line.getColumn());
}

/// Of frameworks, and of what traces a model for them.
bool isLibrary(FileLineColLoc line) {
  llvm::StringRef file = line.getFilename().getValue();
  for (const char *part : {"/site-packages/", "/dist-packages/", "/lib/python3", "/cupel/worker/"})
    if (file.contains(part))
      return true;
  return file.starts_with("<frozen ");
}

/// Without what every name of a traced program begins with.
std::string shortened(llvm::StringRef name) {
  while (name.starts_with("jit(") || name.starts_with("jvp(") || name.starts_with("pjit(")) {
    size_t slash = name.find('/');
    if (slash == llvm::StringRef::npos)
      break;
    name = name.drop_front(slash + 1);
  }
  return name.str();
}

} // namespace

SourcePlace sourcePlaceOf(Location location) {
  Frames frames(location);
  SourcePlace place;
  if (frames.lines.empty()) {
    // ONNX and exported graphs have names of nodes.
    place.line = frames.name.empty() ? reference::describeLocation(location) : frames.name;
    return place;
  }
  auto own = llvm::find_if_not(frames.lines, isLibrary);
  const FileLineColLoc chosen = own == frames.lines.end() ? frames.lines.front() : *own;
  place.line = text(chosen);
  if (chosen != frames.lines.front())
    place.through = text(frames.lines.front());
  place.layer = shortened(frames.name);
  return place;
}

} // namespace cupel::testbench::worker
