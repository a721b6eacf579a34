// Bytecode of the sdy dialect: what was written is read back, what Shardy wrote is read, and bytes
// that nobody wrote give an error.

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/sdy/SdyVersion.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using testing::HasSubstr;

namespace cupel::sdy {
namespace {

class SdyBytecode : public testing::Test {
protected:
  SdyBytecode() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<SdyDialect>();
    context.allowUnregisteredDialects();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      diagnostics += diagnostic.str() + "\n";
      return success();
    });
  }

  static std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }

  OwningOpRef<ModuleOp> parse(llvm::StringRef text) {
    return parseSourceString<ModuleOp>(text, ParserConfig(&context));
  }

  std::string write(ModuleOp module, const BytecodeWriterConfig &config = {}) {
    std::string bytes;
    llvm::raw_string_ostream stream(bytes);
    EXPECT_TRUE(succeeded(writeBytecodeToFile(module, stream, config)));
    return bytes;
  }

  /// Reads bytes as a module and verifies it; null if either fails.
  OwningOpRef<ModuleOp> read(llvm::StringRef bytes) {
    return parseSourceString<ModuleOp>(bytes, ParserConfig(&context));
  }

  /// Expects that the text survives being written and read.
  void expectSurvives(llvm::StringRef text, const BytecodeWriterConfig &config = {}) {
    OwningOpRef<ModuleOp> module = parse(text);
    ASSERT_TRUE(module) << diagnostics;
    OwningOpRef<ModuleOp> again = read(write(*module, config));
    ASSERT_TRUE(again) << diagnostics;
    EXPECT_EQ(print(*again), print(*module));
  }

  MLIRContext context;
  std::string diagnostics;
};

constexpr llvm::StringLiteral kEverything = R"mlir(
  "test.attributes"() {
    a = #sdy<manual_axes{"a", "b"}>, b = #sdy<mesh_axis"x"=3>, c = #sdy.mesh<["q"=2]>,
    d = #sdy.mesh<[], device_ids=[7]>, e = #sdy.mesh<["q"=2], device_ids=[1, 0]>,
    f = #sdy<sub_axis_info(1)2>, g = #sdy<dimension_sharding{"a", ?}p3>,
    h = #sdy<tensor_mapping[ij, z_1z, k]>,
    i = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k], []) {i=8, j=16, k=8} reduction={j}
          need_replication={i} permutation={k} blocked_propagation={i, j}, custom>,
    j = #sdy<axis_ref_list{"a", "b":(1)2}>, k = #sdy<list_of_axis_ref_lists[{}, {"a"}]>,
    l = #sdy<all_to_all_param{"a"}: 0->1>, m = #sdy<all_to_all_param_list[{"a"}: 0->1]>,
    n = #sdy<axis_ref"a">
  } : () -> ()
  sdy.mesh @mesh = <["a"=2, "b"=8]>
  %0 = "test.value"() {sdy.sharding = #sdy.sharding_per_value<[
    <@mesh, [{"a", ?}p1, {}], replicated={"b":(1)2}, unreduced={"b":(2)2}>]>} : () -> tensor<8x8xf32>
  %1 = "test.value"() {sdy.sharding = #sdy.sharding_per_value<[
    <@mesh, [{"a", "b"}, {?}]>]>} : () -> tensor<8x8xf32>
  %2 = "test.value"() {sdy.sharding = #sdy.sharding_per_value<[
    <mesh<["x"=2]>, [{"x"}, {?}]>]>} : () -> tensor<8x8xf32>
  %3 = sdy.sharding_constraint %0 <@mesh, [{}, {}], replicated={"a"}> : tensor<8x8xf32>
  %4 = sdy.reshard %3 <@mesh, [{}, {"a"}], unreduced={"b"}> : tensor<8x8xf32>
  sdy.sharding_group %4 group_id=21 : tensor<8x8xf32>
  %5 = sdy.constant dense<1.0> : tensor<8x8xf32>
  %6 = sdy.propagation_barrier %5 allowed_direction=BACKWARD : tensor<8x8xf32>
  %7 = "test.value"() : () -> tensor<8x8xf32>
  %8 = sdy.data_flow_edge %7 sharding=<@mesh, [{}, {"a"}]> : tensor<8x8xf32>
  %9 = sdy.manual_computation(%8) in_shardings=[<@mesh, [{"a"}, {}]>]
      out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg0: tensor<4x8xf32>) {
    sdy.return %arg0 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %10 = sdy.named_computation<"n">(%9) out_shardings=[<@mesh, [{"a"}, {"b"}]>]
      (%arg0: tensor<8x8xf32>) {
    sdy.return %arg0 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %11 = sdy.all_gather [{"a"}, {}] %10 out_sharding=<@mesh, [{}, {"b"}]> : tensor<8x8xf32>
  %12 = sdy.all_slice [{"a"}, {}] %11 out_sharding=<@mesh, [{"a"}, {"b"}]> : tensor<8x8xf32>
  %13 = sdy.all_to_all [{"a"}: 0->1] %12 out_sharding=<@mesh, [{}, {"b", "a"}]> : tensor<8x8xf32>
  %14 = sdy.collective_permute %13 out_sharding=<@mesh, [{}, {"a", "b"}]> : tensor<8x8xf32>
  %15 = sdy.sharded_to_unreduced [{}, {"b"}] %14
      out_sharding=<@mesh, [{}, {"a"}], unreduced={"b"}> : tensor<8x8xf32>
  %16 = sdy.all_reduce max {"b"} %15 out_sharding=<@mesh, [{}, {"a"}]> : tensor<8x8xf32>
  %17 = sdy.reduce_scatter [{"b"}, {}] %16 out_sharding=<@mesh, [{"b"}, {"a"}]> : tensor<8x8xf32>
  %18 = sdy.all_gather [{"b"}, {}] %17 out_sharding=<@mesh, [{}, {"a"}]> : tensor<8x8xf32>
  %19 = sdy.replicated_to_unreduced {"b"} %18
      out_sharding=<@mesh, [{}, {"a"}], unreduced={"b"}> : tensor<8x8xf32>
)mlir";

TEST_F(SdyBytecode, ReadsWhatItWrote) { expectSurvives(kEverything); }

TEST_F(SdyBytecode, KeepsTheKindOfReduction) {
  expectSurvives(R"mlir(
    sdy.mesh @mesh = <["a"=2]>
    "test.v"() {s = #sdy.sharding<@mesh, [{}], unreduced=max{"a"}>,
                p = #sdy.sharding_per_value<[<@mesh, [{}], unreduced=min{"a"}>]>} : () -> ()
  )mlir");
}

TEST_F(SdyBytecode, KeepsTheKindOfReductionEvenForOlderReaders) {
  BytecodeWriterConfig config;
  config.setDialectVersion<SdyDialect>(std::make_unique<SdyVersion>(SdyVersion::minimum()));
  expectSurvives(R"mlir("test.v"() {s = #sdy.sharding<@m, [{}], unreduced=max{"a"}>} : () -> ()
    sdy.mesh @m = <["a"=2]>)mlir",
                 config);
  expectSurvives(kEverything, config);
}

/// What Shardy as of JAX 0.10.2 writes for `sdy.mesh @mesh = <["a"=2, "b"=2], device_ids=[3, 2, 1,
/// 0]>`.
constexpr unsigned char kWrittenByShardy[] = {
    0x4d, 0x4c, 0xef, 0x52, 0x0d, 0x4d, 0x4c, 0x49, 0x52, 0x32, 0x33, 0x2e, 0x30, 0x2e, 0x30,
    0x67, 0x69, 0x74, 0x00, 0x01, 0x15, 0x05, 0x01, 0x05, 0x05, 0x01, 0x03, 0x0b, 0x03, 0x03,
    0x0f, 0x03, 0x1b, 0x0f, 0x01, 0x01, 0x09, 0x0b, 0x13, 0x0b, 0x13, 0x03, 0x07, 0x27, 0x0f,
    0x0f, 0x02, 0x37, 0x05, 0x09, 0x17, 0x01, 0x01, 0x01, 0x05, 0x07, 0x17, 0x01, 0x03, 0x03,
    0x05, 0x05, 0x0b, 0x0d, 0x09, 0x0d, 0x09, 0x05, 0x01, 0x03, 0x0b, 0x09, 0x03, 0x0d, 0x09,
    0x04, 0x1f, 0x05, 0x01, 0x50, 0x03, 0x01, 0x07, 0x04, 0x0f, 0x03, 0x01, 0x05, 0x03, 0x40,
    0x07, 0x03, 0x06, 0x03, 0x01, 0x05, 0x01, 0x00, 0x4d, 0x0f, 0x05, 0x05, 0x05, 0x0b, 0x0f,
    0x09, 0x11, 0x62, 0x75, 0x69, 0x6c, 0x74, 0x69, 0x6e, 0x00, 0x73, 0x64, 0x79, 0x00, 0x6d,
    0x6f, 0x64, 0x75, 0x6c, 0x65, 0x00, 0x6d, 0x65, 0x73, 0x68, 0x00, 0x2d, 0x00, 0x61, 0x00,
    0x62, 0x00, 0x08, 0x0f, 0x05, 0x05, 0x01, 0x01, 0x05, 0x09, 0x05};

/// Where in those bytes the mesh attribute stands: its code, two axes, four device ids.
constexpr size_t kMeshOffset = 60;
/// After it stand its two axes, up to here.
constexpr size_t kAttributesEnd = 75;

std::string shardyBytes() { return {std::begin(kWrittenByShardy), std::end(kWrittenByShardy)}; }

TEST_F(SdyBytecode, ReadsWhatShardyWrote) {
  OwningOpRef<ModuleOp> module = read(shardyBytes());
  ASSERT_TRUE(module) << diagnostics;
  EXPECT_THAT(print(*module),
              HasSubstr(R"(sdy.mesh @mesh = <["a"=2, "b"=2], device_ids=[3, 2, 1, 0]>)"));
}

TEST_F(SdyBytecode, RefusesAnUnknownCode) {
  std::string bytes = shardyBytes();
  ASSERT_EQ(bytes[kMeshOffset], 0x05); // Code 2.
  bytes[kMeshOffset] = 0x7f;           // Code 63.
  EXPECT_FALSE(read(bytes));
  EXPECT_THAT(diagnostics, HasSubstr("unknown sdy attribute code 63"));
}

TEST_F(SdyBytecode, RefusesACountBeyondTheBytes) {
  std::string bytes = shardyBytes();
  bytes[kMeshOffset + 1] = 0x7f; // 63 axes.
  EXPECT_FALSE(read(bytes));
  EXPECT_FALSE(diagnostics.empty());
}

TEST_F(SdyBytecode, RefusesAnAttributeThatContainsItself) {
  std::string bytes = shardyBytes();
  bytes[kMeshOffset + 2] = 0x09; // The first axis is attribute 4, which is this mesh.
  EXPECT_FALSE(read(bytes));
  EXPECT_THAT(diagnostics, HasSubstr("nested deeper"));
}

TEST_F(SdyBytecode, RefusesAnInvalidMesh) {
  std::string bytes = shardyBytes();
  bytes[kMeshOffset + 5] = 0x05; // Device ids 1, 2, 1, 0.
  EXPECT_FALSE(read(bytes));
  EXPECT_THAT(diagnostics, HasSubstr("device id 1 is given twice"));
}

TEST_F(SdyBytecode, SurvivesAnyChangedByteOfItsAttributes) {
  // Only the attributes: what surrounds them is for MLIR's reader to check.
  std::string good = shardyBytes();
  for (size_t offset = kMeshOffset; offset < kAttributesEnd; ++offset) {
    for (unsigned value = 0; value < 256; ++value) {
      std::string bytes = good;
      bytes[offset] = static_cast<char>(value);
      diagnostics.clear();
      OwningOpRef<ModuleOp> module = read(bytes);
      EXPECT_TRUE(module || !diagnostics.empty()) << "byte " << offset << " = " << value;
    }
  }
}

} // namespace
} // namespace cupel::sdy
