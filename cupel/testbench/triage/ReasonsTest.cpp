#include "cupel/testbench/triage/Reasons.h"
#include "cupel/testbench/triage/Predicate.h"

#include <chrono>
#include <gtest/gtest.h>
#include <set>

using namespace cupel;
using namespace cupel::testbench::triage;
using cupel::results::Outcome;
using cupel::results::Stage;

namespace {

const ReasonTable &shipped() {
  static const ReasonTable table = [] {
    std::string file = defaultReasonsFile();
    Result<ReasonTable> loaded = ReasonTable::load(std::span(&file, 1));
    if (!loaded) {
      ADD_FAILURE() << loaded.message();
      return ReasonTable();
    }
    return std::move(*loaded);
  }();
  return table;
}

std::string errorOf(std::string_view yaml) {
  Result<ReasonTable> table = ReasonTable::parse(yaml, "r.yaml");
  return table ? "no error" : table.message();
}

std::vector<std::string> namesOf(const std::vector<results::ReasonRecord> &reasons) {
  std::vector<std::string> names;
  for (const auto &reason : reasons)
    names.push_back(reason.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(ReasonTable, EveryErrorCodeHasAReason) {
  std::vector<std::string> names = shipped().names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const ErrorCodeInfo &code : errorCodes()) {
    Evidence evidence;
    evidence.errorClass = code.name;
    std::vector<results::ReasonRecord> reasons = shipped().match(evidence);
    ASSERT_FALSE(reasons.empty()) << code.name;
    EXPECT_FALSE(reasons[0].description.empty()) << code.name;
  }
  Evidence needs;
  needs.errorClass = name(ErrorCode::RuntimeError);
  EXPECT_EQ(namesOf(shipped().match(needs)), Names{"RUNTIME_ERROR"});
}

TEST(ReasonTable, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(errorOf("reasons:\n  - name: A\n    wen: {message: x}\n"),
            "r.yaml:3:5: wen: unknown field; did you mean when?");
  EXPECT_EQ(errorOf("reasons:\n  - name: A\n  - name: A\n"),
            "r.yaml:3:5: A: is there already, in line 2");
  EXPECT_EQ(errorOf("reasons:\n  - description: x\n"), "r.yaml:2:5: a reason without name:");
  EXPECT_EQ(errorOf("reasons: 3\n"), "r.yaml:1:10: reasons should be a list, found the number 3");
  EXPECT_NE(errorOf("reasons:\n  - name: A\n    when: {message: {regex: 'a(b'}}\n")
                .find("r.yaml:3:29: not a regular expression (RE2 syntax): missing ): a(b"),
            std::string::npos)
      << errorOf("reasons:\n  - name: A\n    when: {message: {regex: 'a(b'}}\n");
  EXPECT_NE(errorOf("reasons:\n  - name: A\n    when: {stage: compil}\n")
                .find("compil: unknown stage; did you mean compile?"),
            std::string::npos);
  EXPECT_NE(errorOf("reasons:\n  - name: A\n    when: {outcome: blown up}\n")
                .find("blown up: unknown outcome; there are passed"),
            std::string::npos);
  EXPECT_NE(errorOf("reasons:\n  - name: A\n    summary: 'no group'\n").find("needs a group"),
            std::string::npos);
  EXPECT_NE(errorOf("reasons:\n  - name: A\n    when: {signal: 99}\n").find("from 1 to 64"),
            std::string::npos);
  EXPECT_NE(errorOf("reasons: [\n").find("r.yaml:"), std::string::npos);
  EXPECT_NE(errorOf("reasons:\n  - name: A\n    when: {message: {cotains: x}}\n")
                .find("did you mean contains?"),
            std::string::npos);
  EXPECT_EQ(errorOf(""), "no error");
  std::string missing = "/nowhere/reasons.yaml";
  Result<ReasonTable> table = ReasonTable::load(std::span(&missing, 1));
  ASSERT_FALSE(table);
  EXPECT_EQ(table.message(), "/nowhere/reasons.yaml: no such file");
}

TEST(ReasonTable, EveryPredicate) {
  auto holds = [](const std::string &predicate, std::string message, std::string output = "") {
    Result<ReasonTable> table =
        ReasonTable::parse("reasons:\n  - name: A\n    when: {" + predicate + "}\n", "r.yaml");
    EXPECT_TRUE(table) << table.message();
    Evidence evidence;
    evidence.message = message;
    evidence.output = output;
    evidence.errorClass = "ValueError";
    evidence.stage = Stage::Execute;
    evidence.signal = 11;
    return !table->match(evidence).empty();
  };
  EXPECT_TRUE(holds("message: bc", "abcd"));
  EXPECT_FALSE(holds("message: {starts-with: bc}", "abcd"));
  EXPECT_TRUE(holds("message: {starts-with: ab}", "abcd"));
  EXPECT_TRUE(holds("message: {equals: abcd}", "abcd"));
  EXPECT_FALSE(holds("message: {equals: abc}", "abcd"));
  EXPECT_TRUE(holds("message: {regex: 'b.d$'}", "abcd\nnext"));
  EXPECT_TRUE(holds("message: {any-of: [x, c]}", "abcd"));
  EXPECT_FALSE(holds("message: {all-of: [x, c]}", "abcd"));
  EXPECT_FALSE(holds("message: [x, c]", "abcd"));
  EXPECT_TRUE(holds("message: {not: x}", "abcd"));
  EXPECT_FALSE(holds("message: {not: [x, b]}", "abcd"));
  EXPECT_TRUE(holds("output: {last-line: {starts-with: two}}", "", "one\ntwo\n\n  \n"));
  EXPECT_FALSE(holds("output: {last-line: one}", "", "one\ntwo\n"));
  EXPECT_TRUE(holds("message: {contains: b, not: x}", "abcd"));
  EXPECT_TRUE(holds("text: [abc, xyz]", "abc", "xyz"));
  EXPECT_FALSE(holds("output: {not: x}", "abc", "")); // Nothing was captured.
  EXPECT_TRUE(holds("error: ValueError", ""));
  EXPECT_FALSE(holds("error: Value", "")); // A class is named whole.
  EXPECT_TRUE(holds("error: {contains: Value}", ""));
  EXPECT_TRUE(holds("stage: [compile, execute]", ""));
  EXPECT_FALSE(holds("stage: compile", ""));
  EXPECT_TRUE(holds("signal: 11", ""));
  EXPECT_FALSE(holds("outcome: timed out", ""));
  EXPECT_TRUE(holds("output: red one", "", "\x1b[1;31mred\x1b[0m one"));
}

TEST(ReasonTable, ALaterFileWins) {
  Result<ReasonTable> table =
      ReasonTable::parse("reasons:\n  - {name: A, description: first, when: {message: x}}\n"
                         "  - {name: B, description: second, when: {message: x}}\n",
                         "r.yaml");
  ASSERT_TRUE(table);
  ASSERT_TRUE(table->add("reasons:\n  - {name: A, description: mine, when: {message: y}}\n"
                         "  - {name: C, description: new, when: {message: y}}\n",
                         "mine.yaml"));
  EXPECT_EQ(table->names(), (Names{"A", "B", "C"}));
  EXPECT_EQ(table->description("A"), "mine");
  Evidence evidence;
  evidence.message = "x";
  EXPECT_EQ(namesOf(table->match(evidence)), Names{"B"});
  evidence.message = "xy";
  EXPECT_EQ(namesOf(table->match(evidence)), (Names{"A", "B", "C"}));
  Status wrong = table->add("reasons:\n  - nme: A\n", "mine.yaml");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.message(), "mine.yaml:2:5: nme: unknown field; did you mean name?");
}

TEST(ReasonTable, GeneralReasonsStepBack) {
  Result<ReasonTable> table =
      ReasonTable::parse("reasons:\n  - {name: G, general: true, when: {message: x}}\n"
                         "  - {name: S, when: {message: xy}}\n",
                         "r.yaml");
  ASSERT_TRUE(table);
  Evidence evidence;
  evidence.message = "xy";
  EXPECT_EQ(namesOf(table->match(evidence)), Names{"S"});
  evidence.message = "x";
  EXPECT_EQ(namesOf(table->match(evidence)), Names{"G"});
}

TEST(ReasonTable, SummariesNeverFail) {
  Result<ReasonTable> table = ReasonTable::parse(
      "reasons:\n  - {name: A, when: {message: x}, summary: ['none(1)', 'a=(\\S+)']}\n", "r.yaml");
  ASSERT_TRUE(table) << table.message();
  Evidence evidence;
  evidence.message = "x";
  EXPECT_EQ(table->match(evidence)[0].summary, ""); // No output at all.
  evidence.output = "a=5 b";
  EXPECT_EQ(table->match(evidence)[0].summary, "5");
}

// Every reason of the facts is in the table that ships, under its name.
TEST(ShippedReasons, HaveAllNames) {
  std::vector<std::string> list = shipped().names();
  std::set<std::string> names(list.begin(), list.end());
  EXPECT_EQ(names.size(), list.size());
  const char *upstream[] = {"UNCLASSIFIED",
                            "NOT_SUPPORTED_AND_SKIPPED",
                            "INCORRECT_RESULT_PCC_DISABLED",
                            "SEG_FAULT",
                            "HIGH_MEMORY",
                            "INFERENCE_FROZEN",
                            "SEGMENTATION_MODELS_PYTORCH_NOT_FOUND",
                            "TOKENIZER_CHAT_TEMPLATE_NOT_SET",
                            "MISSING_XLA_ARGS_ATTRIBUTE",
                            "UNBOUND_LOCAL_ERROR",
                            "SPLIT_WITH_SIZES_MISMATCH",
                            "AUTOSHAPE_FORWARD_ARGS_MISMATCH",
                            "PHI3V_UNEXPECTED_MAX_NEW_TOKENS",
                            "MODEL_NOT_TORCH_MODULE",
                            "TENSOR_CANNOT_CONVERT_TO_SCALAR",
                            "TENSOR_DATA_NOT_ALLOCATED",
                            "DYNAMO_FAKE_TENSORS_FX_NODE",
                            "DYNAMO_UNSUPPORTED_MODULE_CONTAINER",
                            "NODE_ARITY_MISMATCH",
                            "CAUSAL_LM_OUTPUT_WITH_PAST_NO_SHAPE",
                            "TORCHVISION_DEFORM_IM2COL_BFLOAT16_NOT_IMPLEMENTED",
                            "TORCHVISION_NMS_BFLOAT16_NOT_IMPLEMENTED",
                            "DATA_MISMATCH_PCC_LOW_RANGE",
                            "DATA_MISMATCH_PCC_MEDIUM_RANGE",
                            "DATA_MISMATCH_PCC_HIGH_RANGE",
                            "DATA_MISMATCH_WRONG_PCC",
                            "DATA_MISMATCH_PCC_IS_NAN",
                            "DATA_MISMATCH_ALL_CLOSE",
                            "XLA_SYNC_MULTI_FATAL_ERROR",
                            "FATAL_ERROR",
                            "ERROR_CODE_13_TO_DEVICE",
                            "ERROR_CODE_13_XLA_SYNC_MULTI",
                            "ERROR_CODE_13_XLA_WARM_UP_CACHE",
                            "ERROR_CODE_13_XLA_STEP_MARKER",
                            "XLA_ASYNC_OPERATION_IN_FLIGHT",
                            "NOT_XLA_TENSOR",
                            "BAD_STATUS0R_ACCESS",
                            "OUT_OF_MEMORY",
                            "CIRCULAR_BUFFER_CLASH",
                            "CIRCULAR_BUFFER_ON_CORE_RANGE",
                            "MLIR_TTIR_COMPILATION_ERROR",
                            "MLIR_TTNN_COMPILATION_ERROR",
                            "MLIR_STABLEHLO_COMPILATION_ERROR",
                            "MLIR_OP_VERIFICATION_ERROR",
                            "DATA_TYPE_NOT_SUPPORTED",
                            "UNSUPPORTED_INPUT_DATA_TYPE",
                            "INVALID_ARGUMENTS_TO_RESHAPE",
                            "MATMUL_UNSUPPORTED_DATA_FORMAT",
                            "SOFTMAX_NUMERIC_STABLE",
                            "TRANSPOSE_UNSUPPORTED_DATA_TYPE",
                            "INPUT_TENSOR_PAD_SHAPE",
                            "COMPUTE_WITH_STORAGE_GRID_SIZE",
                            "UNSUPPORTED_DATA_FORMAT_REPEAT_INTERLEAVE"};
  EXPECT_EQ(std::size(upstream), 53u);
  for (const char *name : upstream)
    EXPECT_TRUE(names.contains(name)) << name;
  for (const std::string &name : list)
    EXPECT_FALSE(shipped().description(name).empty()) << name;
}

struct Sample {
  const char *reason, *errorClass, *message, *output;
  Outcome outcome = Outcome::Failed;
  Stage stage = Stage::Execute;
  int signal = 0;
  const char *summary = nullptr;
};

// One failure for every reason that texts can show: it is named, and named alone.
TEST(ShippedReasons, NameWhatTheyAreNamedFor) {
  const Sample samples[] = {
      {"SEG_FAULT", "SIGSEGV", "crashed in stage execute: signal 11", "", Outcome::Crashed,
       Stage::Execute, 11},
      {"SEG_FAULT", "SIGSEGV", "crashed",
       "Fatal Python error: Segmentation fault\n\nCurrent thread 0x7f (most recent call first):\n"
       "  File \"/x/y.py\", line 7 in forward\n",
       Outcome::Crashed, Stage::Execute, 11, "/x/y.py\", line 7 in forward"},
      {"ABORTED", "SIGABRT", "crashed in stage compile", "LLVM ERROR: out of registers\n",
       Outcome::Crashed, Stage::Compile, 6, "LLVM ERROR: out of registers"},
      {"KILLED", "SIGKILL", "crashed", "", Outcome::Crashed, Stage::Execute, 9},
      {"WORKER_DIED", "crash", "crashed in stage execute: exit code 3", "", Outcome::Crashed},
      {"WORKER_DIED", "protocol_error", "broke the worker's protocol", "", Outcome::Crashed},
      {"HIGH_MEMORY", "out_of_memory", "used 9 GiB of 8 GiB", "", Outcome::OutOfMemory},
      {"HIGH_MEMORY", "MemoryError", "", ""},
      {"INFERENCE_FROZEN", "", "no end after 60 s", "", Outcome::TimedOut},
      {"TIMED_OUT", "", "no end after 60 s", "", Outcome::TimedOut, Stage::Compile},
      {"NOT_JUDGED_IN_TIME", "timeout", "no time was left to measure noise", "", Outcome::TimedOut,
       Stage::Compare},
      {"INTERRUPTED", "", "the run was interrupted", "", Outcome::Interrupted},
      {"NEEDS", "", "needs the ONNX frontend, which this version does not have", "",
       Outcome::NotRun, Stage::None, 0, "the ONNX frontend, which this version does not have"},
      {"DEVICE_BAD", "", "device reference:0 is marked bad: signal 11", "", Outcome::NotRun},
      {"UNDECIDED", "", "undecided: loader.py:3: computed variants", "", Outcome::NotRun},
      {"NOT_RUN", "", "stopped", "", Outcome::NotRun},
      {"DATA_MISMATCH_PCC_LOW_RANGE", "ValueError",
       "Comparison result 0 failed: PCC comparison failed: pcc is in invalid low range: 0.12", "",
       Outcome::Failed, Stage::Compare, 0, "0.12"},
      {"DATA_MISMATCH_PCC_MEDIUM_RANGE", "ValueError",
       "Comparison result 0 failed: PCC comparison failed: pcc is in invalid medium range: 0.5",
       ""},
      {"DATA_MISMATCH_PCC_HIGH_RANGE", "ValueError",
       "Comparison result 0 failed: PCC comparison failed: pcc is in invalid high range: 0.98", ""},
      {"DATA_MISMATCH_WRONG_PCC", "AssertionError",
       "Evaluation result 0 failed: PCC comparison failed. Calculated: pcc=0.959952. Required: "
       "pcc=0.99.",
       "", Outcome::Failed, Stage::Compare, 0, "0.959952"},
      {"DATA_MISMATCH_PCC_IS_NAN", "AssertionError",
       "Evaluation result 0 failed: PCC comparison failed. Calculated: pcc=nan (invalid value). "
       "Required: pcc=0.99.",
       ""},
      {"DATA_MISMATCH_ALL_CLOSE", "AssertionError",
       "Evaluation result 0 failed: Allclose comparison failed. Required: rtol=0.01", ""},
      {"CHECK_FAILED", "check_failed", "expect_almost_eq: 1 of 4 elements differ", "",
       Outcome::Failed, Stage::Compare},
      {"COMPARISON_FAILED", "", "the result has another shape", "", Outcome::Failed,
       Stage::Compare},
      {"OUT_OF_MEMORY", "RuntimeError",
       "TT_FATAL @ bank_manager.cpp: Out of Memory: Not enough space to allocate 53248 B L1 buffer "
       "across 2 banks, where each bank needs to store 26624 B",
       "", Outcome::Failed, Stage::Execute, 0, "53248 B L1 buffer"},
      {"OUT_OF_MEMORY", "", "", // Output alone, and a message that was never captured.
       "Out of Memory: Not enough space to allocate 1024 B DRAM buffer across 12 banks\n"},
      {"OUT_OF_MEMORY", "", "RESOURCE_EXHAUSTED: Out of memory on device 0", ""},
      {"OUT_OF_MEMORY", "", "RESOURCE_EXHAUSTED: 9 GiB wanted", "", Outcome::OutOfMemory},
      {"CIRCULAR_BUFFER_CLASH", "RuntimeError",
       "TT_THROW: Statically allocated circular buffers in program 7 clash with L1 buffers on core "
       "range [0-0]. L1 buffer allocated at 123 and static circular buffer region ends at 456",
       "", Outcome::Failed, Stage::Execute, 0,
       "L1 buffer allocated at 123 and static circular buffer region ends at 456"},
      {"CIRCULAR_BUFFER_ON_CORE_RANGE", "", "Error code: 1",
       "TT_THROW: Statically allocated circular buffers on core range [0-0] grow to 1600000 B "
       "which "
       "is beyond max L1 size of 1499136 B\n"},
      {"BAD_STATUS0R_ACCESS", "RuntimeError", "Bad StatusOr access: INTERNAL: Error code: 13",
       "  File \"tt_torch/backend/backend.py\", line 99\n", Outcome::Failed, Stage::Execute, 0,
       "INTERNAL: Error code: 13"},
      {"ERROR_CODE_13_TO_DEVICE", "RuntimeError", "Error code: 13",
       ">           return x.to(device)\ninfra/runners/torch_device_runner.py:52: RuntimeError\n"},
      {"ERROR_CODE_13_XLA_SYNC_MULTI", "ValueError", "Error code: 13",
       "torch_xla._XLAC._xla_sync_multi(list(output), self.devices, wait=False)\n"},
      {"ERROR_CODE_13_XLA_WARM_UP_CACHE", "ValueError", "Error code: 13",
       "torch_xla/_dynamo/dynamo_bridge.py: torch_xla._XLAC._xla_warm_up_cache(args, [])\n"},
      {"ERROR_CODE_13_XLA_STEP_MARKER", "ValueError", "Error code: 13",
       "torch_xla/torch_xla.py:87: torch_xla._XLAC._xla_step_marker(\n"},
      {"ERROR_CODE_13", "ValueError", "Error code: 13", "nothing else\n"},
      {"XLA_SYNC_MULTI_FATAL_ERROR", "RuntimeError", "Fatal error",
       "torch_xla._XLAC._xla_sync_multi(list(output), self.devices, wait=False)\n"},
      {"FATAL_ERROR", "RuntimeError", "Fatal error", "torch_device_runner.py:40: RuntimeError\n"},
      {"FATAL_ERROR", "RuntimeError", "Fatal error", ""},
      {"XLA_ASYNC_OPERATION_IN_FLIGHT", "RuntimeError",
       "Check failed: handle->HasValue(): Trying to access XLA data while an async operation is in "
       "flight: UNKNOWN_SCALAR[]",
       ""},
      {"NOT_XLA_TENSOR", "RuntimeError",
       "Check failed: xtensor: Input tensor is not an XLA tensor: torch.LongTensor", "",
       Outcome::Failed, Stage::Execute, 0, "torch.LongTensor"},
      {"MLIR_TTIR_COMPILATION_ERROR", "", "compilation failed",
       "loc(\"x\"): error: 'ttir.conv2d' op expects stride\n", Outcome::Failed, Stage::Compile},
      {"MLIR_TTNN_COMPILATION_ERROR", "", "compilation failed",
       "loc(\"x\"): error: 'ttnn.matmul' op operand 0\n", Outcome::Failed, Stage::Compile},
      {"MLIR_STABLEHLO_COMPILATION_ERROR", "invalid_program",
       "a.mlir:3:8: error: 'stablehlo.add' op requires compatible types", "", Outcome::Failed,
       Stage::Frontend, 0, "'stablehlo.add' op requires compatible types"},
      {"MLIR_OP_VERIFICATION_ERROR", "", "compilation failed",
       "a.mlir:3:8: error: 'func.return' op has 1 operands\n", Outcome::Failed, Stage::Compile},
      {"NEEDS_MORE_DEVICES", "needs_more_devices",
       "the program needs 4 devices, cupel?arch=n300 has 2; --device n300-llmbox has enough", "",
       Outcome::Failed, Stage::Compile, 0,
       "the program needs 4 devices, cupel?arch=n300 has 2"},
      {"UNSUPPORTED_OP", "", "a.mlir:3:8: this operation is not evaluated on quantized tensors",
       ""},
      {"UNSUPPORTED_OP", "", "UNIMPLEMENTED: no sparse tensors", "", Outcome::Failed,
       Stage::Compile, 0, "no sparse tensors"},
      {"UNSUPPORTED_OP", "", "compilation failed",
       "error: failed to legalize operation 'stablehlo.fft'\n", Outcome::Failed, Stage::Compile, 0,
       "failed to legalize operation 'stablehlo.fft'"},
      {"INVALID_PROGRAM", "invalid_program", "a.mlir:1:1: expected operation name in quotes", "",
       Outcome::Failed, Stage::Frontend},
      {"DATA_TYPE_NOT_SUPPORTED", "RuntimeError",
       "TT_FATAL @ x.cpp:1: Can only work with bfloat16/float32 or int32/uint32 tensors", ""},
      {"UNSUPPORTED_INPUT_DATA_TYPE", "RuntimeError",
       "Unsupported input data type BFLOAT16 for UnaryOpType BITWISE_NOT (Bitwise operation).", ""},
      {"INVALID_ARGUMENTS_TO_RESHAPE", "RuntimeError",
       "TT_FATAL @ tensor_utils.cpp:54: new_volume == old_volume info: Invalid arguments to "
       "reshape",
       ""},
      {"MATMUL_UNSUPPORTED_DATA_FORMAT", "RuntimeError",
       "TT_FATAL @ matmul/device/matmul_op.cpp:1: is_floating_point(input_tensor_a.dtype()) info: "
       "Unsupported data format",
       ""},
      {"SOFTMAX_NUMERIC_STABLE", "RuntimeError",
       "For softmax, cannot enable both large_kernel and numeric_stable", ""},
      {"TRANSPOSE_UNSUPPORTED_DATA_TYPE", "RuntimeError",
       "TT_FATAL @ transpose/device/transpose_op.cpp:9: Unsupported data type for input tensor",
       ""},
      {"INPUT_TENSOR_PAD_SHAPE", "RuntimeError",
       "TT_FATAL @ kv_cache/device/update_cache_op.cpp:1: input_tensor.padded_shape()[0] == 1", ""},
      {"COMPUTE_WITH_STORAGE_GRID_SIZE", "RuntimeError",
       "TT_FATAL @ kv_cache/device/update_cache_op.cpp:2: (num_blocks_of_work <= "
       "compute_with_storage_grid_size.x * compute_with_storage_grid_size.y)",
       ""},
      {"UNSUPPORTED_DATA_FORMAT_REPEAT_INTERLEAVE", "RuntimeError",
       "TT_FATAL @ repeat/device/repeat_device_operation.cpp:27: input_tensor_a.dtype() == "
       "DataType::UINT16 or input_tensor_a.dtype() == DataType::BFLOAT16",
       ""},
      {"SEGMENTATION_MODELS_PYTORCH_NOT_FOUND", "ModuleNotFoundError",
       "No module named 'segmentation_models_pytorch'", "", Outcome::Failed, Stage::Load},
      {"MODULE_NOT_FOUND", "loader_model",
       "load_model fails: ModuleNotFoundError: No module named 'six' [net/src/model.py:9]", "",
       Outcome::Failed, Stage::Load, 0, "six"},
      {"LOADER_ERROR", "loader_model", "load_model fails: ValueError: no such size", "",
       Outcome::Failed, Stage::Load},
      {"MODULE_NOT_FOUND", "ModuleNotFoundError", "No module named 'flash_attn'", "",
       Outcome::Failed, Stage::Load, 0, "flash_attn"},
      {"REQUIREMENTS_NOT_INSTALLED", "requirements", "requirements: pip: No matching distribution",
       "", Outcome::Failed, Stage::Load},
      {"DOWNLOAD_FAILED", "OSError", "requests.exceptions.ConnectionError: Max retries exceeded",
       "", Outcome::Failed, Stage::Load},
      {"TOKENIZER_CHAT_TEMPLATE_NOT_SET", "ValueError",
       "Cannot use chat template functions because tokenizer.chat_template is not set and no "
       "template argument was passed!",
       "", Outcome::Failed, Stage::Load},
      {"MISSING_XLA_ARGS_ATTRIBUTE", "AttributeError",
       "'GraphModule' object has no attribute 'xla_args'", ""},
      {"UNBOUND_LOCAL_ERROR", "UnboundLocalError",
       "cannot access local variable 'n' where it is not associated with a value", "",
       Outcome::Failed, Stage::Load, 0, "n"},
      {"SPLIT_WITH_SIZES_MISMATCH", "RuntimeError",
       "split_with_sizes expects split_sizes to sum exactly to 8 (input tensor's size at dimension "
       "1), but got split_sizes=[4, 5]",
       ""},
      {"AUTOSHAPE_FORWARD_ARGS_MISMATCH", "TypeError",
       "AutoShape.forward() takes from 2 to 5 positional arguments but 7 were given", ""},
      {"PHI3V_UNEXPECTED_MAX_NEW_TOKENS", "TypeError",
       "Phi3VForCausalLM.forward() got an unexpected keyword argument 'max_new_tokens'", ""},
      {"MODEL_NOT_TORCH_MODULE", "AssertionError", "",
       ">       assert isinstance(model, torch.nn.Module)\ntorch_model_tester.py:70\n"},
      {"TENSOR_CANNOT_CONVERT_TO_SCALAR", "RuntimeError",
       "a Tensor with 2 elements cannot be converted to Scalar", ""},
      {"TENSOR_DATA_NOT_ALLOCATED", "RuntimeError",
       "The tensor has a non-zero number of elements, but its data is not allocated yet.", ""},
      {"DYNAMO_FAKE_TENSORS_FX_NODE", "TorchRuntimeError",
       "Dynamo failed to run FX node with fake tensors: call_function add", ""},
      {"DYNAMO_UNSUPPORTED_MODULE_CONTAINER", "AssertionError", "SparseSequential",
       "torch/_dynamo/variables/nn_module.py:5\n"},
      {"NODE_ARITY_MISMATCH", "ValueError", "Node arity mismatch; expected 291, but got 290.", "",
       Outcome::Failed, Stage::Execute, 0, "expected 291, but got 290"},
      {"CAUSAL_LM_OUTPUT_WITH_PAST_NO_SHAPE", "AttributeError",
       "'CausalLMOutputWithPast' object has no attribute 'shape'", ""},
      {"TORCHVISION_DEFORM_IM2COL_BFLOAT16_NOT_IMPLEMENTED", "RuntimeError",
       "\"deformable_im2col\" not implemented for 'BFloat16'", ""},
      {"TORCHVISION_NMS_BFLOAT16_NOT_IMPLEMENTED", "RuntimeError",
       "\"nms_kernel\" not implemented for 'BFloat16'", ""},
      {"NOT_IMPLEMENTED_FOR_DTYPE", "RuntimeError", "\"addmm_impl\" not implemented for 'Half'",
       ""},
      {"FILE_NOT_FOUND", "unreadable_file", "a.mlir: no such file", "", Outcome::Failed,
       Stage::Load},
  };
  for (const Sample &sample : samples) {
    Evidence evidence;
    evidence.outcome = sample.outcome;
    evidence.stage = sample.stage;
    if (sample.signal)
      evidence.signal = sample.signal;
    evidence.errorClass = sample.errorClass;
    evidence.message = sample.message;
    evidence.output = sample.output;
    auto reasons = shipped().match(evidence);
    EXPECT_EQ(namesOf(reasons), Names{sample.reason}) << sample.message << "\n" << sample.output;
    if (sample.summary && !reasons.empty()) {
      EXPECT_EQ(reasons[0].summary, sample.summary);
    }
  }
}

TEST(ShippedReasons, ComponentsComeFromWhatIsMentioned) {
  Evidence evidence;
  evidence.output = "--- /x/lib/libtt_metal.so(+0x1)\n--- /x/lib/_ttnncpp.so\n";
  EXPECT_EQ(shipped().component(evidence), "METAL");
  evidence.output = "--- /x/lib/_ttnncpp.so\n--- /x/lib/libTTMLIRRuntime.so\n";
  EXPECT_EQ(shipped().component(evidence), "TTNN");
  evidence.output = "torch/utils/_pytree.py:935: ValueError\n";
  EXPECT_EQ(shipped().component(evidence), "TORCH");
  evidence.output = "torch_xla/torch_xla.py:87\n";
  EXPECT_EQ(shipped().component(evidence), "XLA");
  evidence.output = "hello\n";
  EXPECT_EQ(shipped().component(evidence), "");
}

// Texts made to hurt a backtracking matcher, and any bytes: answered in time, never a crash.
TEST(ShippedReasons, TakeAnyTextInTime) {
  std::string bytes;
  for (int i = 0; i < 100000; ++i)
    bytes.push_back(char(i * 131 + i / 256));
  std::string repeated;
  for (int i = 0; i < 20000; ++i)
    repeated += "error: 'ttir. circular buffers Out of Memory: Not enough space ";
  auto begin = std::chrono::steady_clock::now();
  for (const std::string &text :
       {std::string(4 << 20, 'a'), std::string(1 << 20, '\''), bytes, repeated,
        std::string(1 << 20, '\n'), std::string(1 << 20, '(')}) {
    Evidence evidence;
    evidence.message = text;
    evidence.output = text;
    (void)shipped().match(evidence);
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(seconds, 30) << "matching is not linear";
}

} // namespace
