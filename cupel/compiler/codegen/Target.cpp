#include "cupel/compiler/codegen/Target.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/SubtargetFeature.h"

#include <cstdlib>

namespace cupel::codegen {
namespace {

struct Host {
  std::string triple, cpu, features;
  bool isX86 = false, avx2 = false, avx512 = false;
};

const Host &whole() {
  static const Host host = [] {
    Host host;
    host.triple = llvm::sys::getProcessTriple();
    host.cpu = llvm::sys::getHostCPUName().str();
    llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
    llvm::SubtargetFeatures features;
    for (const auto &feature : has)
      features.AddFeature(feature.first(), feature.second);
    host.features = features.getString();
    auto all = [&](std::initializer_list<const char *> names) {
      return llvm::all_of(names, [&](const char *name) { return has.lookup(name); });
    };
    host.isX86 = llvm::StringRef(host.triple).starts_with("x86_64");
    // LLVM looks at XCR0 too: what the system does not save is not there.
    host.avx2 = host.isX86 && all({"avx2", "fma", "f16c"});
    host.avx512 = host.avx2 && all({"avx512f", "avx512bw", "avx512dq", "avx512vl"});
    return host;
  }();
  return host;
}

Target widest() {
  const Host &host = whole();
  Target target{host.triple, host.cpu, host.features};
  if (host.avx2) {
    target.lanes = 8;
    target.hasFma = target.hasHalf = true;
    target.maskedBytes = 4;
  }
  if (host.avx512) {
    target.lanes = 16;
    target.maskedBytes = 1;
    target.hasScale = true;
  }
  return target;
}

} // namespace

Result<Target> Target::named(std::string_view isa) {
  const Host &host = whole();
  Target target{host.triple, "x86-64", ""};
  if (isa == "baseline") {
    if (!host.isX86)
      target.cpu = host.cpu, target.features = host.features;
    return target;
  }
  if (isa != "avx2" && isa != "avx512")
    return Error{"'" + std::string(isa) + "' is no instruction set: avx512, avx2 or baseline"};
  if (!(isa == "avx2" ? host.avx2 : host.avx512))
    return Error{ErrorCode::Unsupported, "this processor has no " + std::string(isa)};
  target.cpu = isa == "avx2" ? "x86-64-v3" : "x86-64-v4";
  target.lanes = isa == "avx2" ? 8 : 16;
  target.hasFma = target.hasHalf = true;
  target.hasScale = isa == "avx512";
  target.maskedBytes = isa == "avx2" ? 4 : 1;
  return target;
}

const Target &Target::host() {
  static const Target target = [] {
    if (const char *isa = std::getenv("CUPEL_ISA")) {
      Result<Target> masked = named(isa);
      if (masked)
        return *masked;
      // What the processor has not is not used either way; a name that nobody knows masks nothing.
      if (masked.error().code != ErrorCode::Unsupported)
        llvm::errs() << "warning: CUPEL_ISA masks nothing: " << masked.message() << "\n";
    }
    return widest();
  }();
  return target;
}

} // namespace cupel::codegen
