#include "cupel/compiler/standalone/Standalone.h"

#include "cupel/compiler/standalone/Cpp.h"
#include "cupel/compiler/standalone/Prepare.h"
#include "cupel/compiler/standalone/Python.h"
#include "cupel/compiler/standalone/Resources.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/support/Version.h"

#include "llvm/Support/JSON.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"

namespace cupel::compiler::standalone {

using namespace mlir;

namespace {

/// Beyond this, stages behind the first leave large constants out.
constexpr size_t kLargestStage = 16 << 20;

constexpr const char *kRunPython =
    "#!/usr/bin/env bash\n# Runs the model on what lies in tensors/.\n"
    "exec \"${PYTHON:-python3}\" \"$(dirname \"$(readlink -f \"$0\")\")/main.py\" \"$@\"\n";

constexpr const char *kRunCpp = R"~(#!/usr/bin/env bash
# Builds the model where that is still to be done, and runs it on what lies in tensors/.
set -e
here=$(dirname "$(readlink -f "$0")")
if [[ ! $here/model -nt $here/main.cpp || $here/ops -nt $here/model ]]; then
  "${CXX:-g++}" -std=c++17 ${CXXFLAGS:--O3 -march=native} -o "$here/model" "$here/main.cpp" -pthread
fi
exec "$here/model" "$@"
)~";

constexpr const char *kCMakeLists = R"(cmake_minimum_required(VERSION 3.16)
project(model CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
option(NATIVE "Use all instructions of this machine" ON)
find_package(Threads REQUIRED)
add_executable(model main.cpp)
target_compile_features(model PRIVATE cxx_std_17)
target_compile_options(model PRIVATE -O3 $<$<BOOL:${NATIVE}>:-march=native>)
target_link_libraries(model PRIVATE Threads::Threads)
option(CUPEL_ONEDNN "Compute products and convolutions with oneDNN 3" OFF)
if(CUPEL_ONEDNN)
  find_path(ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp)
  find_library(ONEDNN_LIBRARY dnnl)
  if(NOT ONEDNN_INCLUDE OR NOT ONEDNN_LIBRARY)
    message(FATAL_ERROR "oneDNN was not found: say -DCMAKE_PREFIX_PATH=DIR if it lies in DIR/include and DIR/lib, or leave CUPEL_ONEDNN off")
  endif()
  file(STRINGS ${ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_version.h ONEDNN_VERSION REGEX "define DNNL_VERSION_MAJOR +[0-9]+")
  string(REGEX REPLACE ".* " "" ONEDNN_VERSION "${ONEDNN_VERSION}")
  if(ONEDNN_VERSION VERSION_LESS 3)
    message(FATAL_ERROR "oneDNN ${ONEDNN_VERSION} in ${ONEDNN_INCLUDE} is too old: 3 is needed")
  endif()
  target_compile_definitions(model PRIVATE CUPEL_ONEDNN)
  target_include_directories(model SYSTEM PRIVATE ${ONEDNN_INCLUDE})
  target_link_libraries(model PRIVATE ${ONEDNN_LIBRARY})
  # Where both share OpenMP's threads, OPS_THREADS counts for oneDNN too.
  find_package(OpenMP COMPONENTS CXX)
  if(OpenMP_CXX_FOUND)
    target_link_libraries(model PRIVATE OpenMP::OpenMP_CXX)
  endif()
endif()
)";

Result<func::FuncOp> entryOf(ModuleOp module) {
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    return main;
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  auto visible = llvm::to_vector(
      llvm::make_filter_range(functions, [](func::FuncOp f) { return f.isPublic(); }));
  if (visible.size() != 1)
    return Error{"the program has " + std::to_string(functions.size()) +
                 " functions and none is called main"};
  return visible[0];
}

std::string printed(ModuleOp module, bool elide) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo();
  if (elide) {
    flags.elideLargeElementsAttrs(1024);
    flags.elideLargeResourceString(1024);
  }
  ir::printProgram(module, os, flags);
  return text;
}

llvm::json::Array describe(const std::vector<std::string> &names, TypeRange types) {
  llvm::json::Array list;
  for (auto [i, type] : llvm::enumerate(types))
    list.push_back(llvm::json::Object{
        {"name", i < names.size() && !names[i].empty() ? names[i] : "output" + std::to_string(i)},
        {"type", describeType(type)}});
  return list;
}

std::string manifest(const GenerateOptions &options, func::FuncOp entry, const GeneratedFolder &folder,
                     size_t checks) {
  llvm::json::Array files;
  for (const GeneratedFile &file : folder.files)
    files.push_back(file.path);
  for (const GeneratedTensors &file : folder.tensors)
    files.push_back(file.path);
  auto arguments = entry.getArgumentTypes();
  llvm::json::Object object{
      {"generator", "cupel codegen"},
      {"version", std::string(version())},
      {"language", options.language == Language::Python ? "py" : "cpp"},
      {"model", options.model},
      {"export_tensors", options.exportTensors},
      {"inputs", describe(options.inputNames, arguments.take_front(options.inputs))},
      {"weights", describe(options.weightNames, arguments.drop_front(options.inputs))},
      {"outputs", describe(options.outputNames, entry.getResultTypes())},
      {"functions", int64_t(folder.functions)},
      {"operations", int64_t(folder.operations)},
      {"calls_of_repeated_blocks", int64_t(folder.repeats)},
      {"checks", int64_t(checks)},
      {"program", "irs/shlo.mlir"},
      {"files", std::move(files)}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", llvm::json::Value(std::move(object))) << "\n";
  return text;
}

} // namespace

Result<GeneratedFolder> generate(ModuleOp module, const GenerateOptions &options) {
  Result<func::FuncOp> entry = entryOf(module);
  if (!entry)
    return entry.error();
  for (mlir::Type type : llvm::concat<const mlir::Type>(entry->getArgumentTypes(), entry->getResultTypes()))
    if (!isa<RankedTensorType, stablehlo::TokenType, TupleType>(type))
      return Error{ErrorCode::Unsupported, "the entry function takes or gives what is no ranked tensor"};
  if (StringRef rare = ir::rareFloatIn(module); !rare.empty())
    return Error{ErrorCode::Unsupported,
                 "it has elements of type " + rare.str() + ", for which no code is generated"};
  GeneratedFolder folder;
  std::string first = printed(module, false);
  bool elide = first.size() > kLargestStage;
  auto stage = [&](const std::string &name, ModuleOp at) {
    folder.files.push_back({"irs/" + name + ".mlir", printed(at, elide)});
  };
  folder.files.push_back({"irs/shlo.mlir", std::move(first)});
  if (Status status = prepare(module, stage); !status)
    return status.error();
  folder.repeats = outlineRepeats(*entry);
  if (folder.repeats)
    stage("shlo_blocks", module);
  if (failed(mlir::verify(module)))
    return Error{"the program with repeated blocks as functions is not valid"};

  size_t checks = 0;
  auto finish = [&](SourceWriter &writer) {
    folder.functions = writer.functions;
    folder.operations = writer.operations;
    checks = writer.checks;
    if (!writer.constants.empty())
      folder.tensors.push_back({"tensors/constants.safetensors", std::move(writer.constants)});
  };
  if (options.language == Language::Python) {
    PythonWriter writer(module, options);
    if (Status status = writer.writeFunctions(*entry); !status)
      return status.error();
    folder.files.push_back({"main.py", writer.program(*entry), true});
    finish(writer);
  } else {
    CppWriter writer(module, options);
    if (Status status = writer.writeFunctions(*entry); !status)
      return status.error();
    folder.files.push_back({"main.cpp", writer.program(*entry)});
    folder.files.push_back({"CMakeLists.txt", kCMakeLists});
    finish(writer);
  }
  bool isPython = options.language == Language::Python;
  folder.files.push_back({"run", isPython ? kRunPython : kRunCpp, true});
  for (const Resource &resource : isPython ? pythonResources() : cppResources())
    folder.files.push_back({std::string(resource.path), std::string(resource.text)});
  if (options.exportTensors) {
    if (!options.inputValues.empty() || options.inputs == 0)
      folder.tensors.push_back({"tensors/inputs.safetensors", options.inputValues});
    if (!options.weightValues.empty())
      folder.tensors.push_back({"tensors/weights.safetensors", options.weightValues});
  }
  folder.files.push_back({"manifest.json", manifest(options, *entry, folder, checks)});
  return folder;
}

} // namespace cupel::compiler::standalone
