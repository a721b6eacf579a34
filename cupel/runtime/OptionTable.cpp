// The table itself, and the page made of it.

#include "cupel/runtime/Options.h"

namespace cupel::runtime {

namespace {

using Type = OptionInfo::Type;
using Paths = OptionInfo::Paths;

constexpr uint8_t kClient = uint8_t(OptionScope::Client), kProgram = uint8_t(OptionScope::Program),
                  kCodegen = uint8_t(OptionScope::Codegen), kBoth = kClient | kProgram;

constexpr OptionInfo kTable[] = {
    {.name = "arch", .type = Type::String, .scopes = kClient, .defaultText = "cpu", .environment = "CUPEL_ARCH",
     .help = "The architecture whose devices are made up: a built-in name (those of zoo/archs: cpu, n300, "
             "...) or the path of a descriptor.",
     .paths = Paths::IfThere},
    {.name = "num_devices", .type = Type::Integer, .scopes = kClient, .defaultText = "the chips of the architecture",
     .environment = "CUPEL_NUM_DEVICES",
     .help = "How many devices there are; for cpu any number, for others at most their chips."},
    {.name = "memory_limit", .type = Type::Integer, .scopes = kClient, .defaultText = "the memory of the architecture",
     .environment = "CUPEL_MEMORY_LIMIT", .help = "Bytes of memory of each device; 0: no limit.", .least = 0},
    {.name = "export_path", .type = Type::String, .scopes = kBoth | kCodegen, .defaultText = "none",
     .environment = "CUPEL_DUMP_DIR",
     .help = "A folder that gets every stage of every compiled program, under irs/; of standalone code, the "
             "folder that is written.",
     .paths = Paths::One},
    {.name = "accumulate", .type = Type::String, .scopes = kBoth, .defaultText = "native", .environment = "CUPEL_ACCUMULATE",
     .help = "How sums and products of floats of 32 bits and below accumulate: native (step by step in the "
             "program's own types, as the golden reference does; long reductions in f64) or f64 (rounded once at the end; such programs "
             "run on the reference). The Python package asks for f64 on the backend reference, which is nearer to "
             "what JAX's users are used to.",
     .choices = "native f64"},
    {.name = "scatter", .type = Type::String, .scopes = kBoth, .defaultText = "elements", .environment = "CUPEL_SCATTER",
     .help = "What a scatter skips where a window hangs over an edge: elements (those outside, as the "
             "specification and the golden reference do) or windows (all of it, as XLA does). The Python "
             "package asks for windows, which JAX's programs mean.",
     .choices = "elements windows"},
    {.name = "number_formats", .type = Type::String, .scopes = kBoth, .defaultText = "architecture",
     .environment = "CUPEL_NUMBER_FORMATS",
     .help = "What devices compute in: architecture (its element types; what a program computes in others, "
             "such as f64 on n300, is rounded to the nearest of them after every operation) or program "
             "(its own types, whatever the architecture has).",
     .choices = "architecture program"},
    {.name = "experimental_weight_dtype", .type = Type::String, .scopes = kBoth, .defaultText = "none",
     .environment = "CUPEL_WEIGHT_DTYPE",
     .help = "What weights of products are held in: bfp8 (or bfp_bf8) or bfp_bf4, block floats of sixteen numbers "
             "that share an exponent; or an object of JSON that maps patterns of names to these or to bf16 (as "
             "they are), such as {\"layers.*.mlp.*\": \"bfp_bf4\", \"default\": \"bfp_bf8\"}, or a file NAME.json that holds one "
             "(`cupel tune --formats` writes it). A weight is the right "
             "side of a product that is a constant or an argument, by the name in its location; never that of a "
             "convolution. Empty text: in the program's own types.",
     .mayBeFile = true,
     .paths = Paths::IfThere},
    {.name = "precision", .type = Type::String, .scopes = kBoth, .defaultText = "f32", .environment = "",
     .help = "What products and convolutions of f32 multiply: f32, or bf16 (operands are rounded to bf16, sums stay f32). With bf16/bf16 "
             "what they read is bf16 for all that read it, such as residuals, and so is what waits to be added to another product, as in "
             "the bf16 modes of other runtimes. Products that ask for more than the default precision, or name an algorithm, keep f32. "
             "Where the processor rounds by itself, numbers below 2^-126 may become zero when convolutions round what they made. On "
             "processors without instructions for bf16 "
             "it is emulated, with the same meaning: `precision` in the cost analysis, and `cupel compile --report`, count the "
             "products and say which it is. Results are judged as those of a device that declares bf16/f32, or bf16 for all. Of other "
             "plugins than ours it declares what they compute in (reference/compare.md).",
     .choices = "f32 bf16|bf16/f32 bf16/bf16"},
    {.name = "partition", .type = Type::String, .scopes = kBoth, .defaultText = "split", .environment = "CUPEL_PARTITION",
     .help = "How programs on whole tensors are computed of which devices hold pieces: split (every device "
             "computes its pieces, with collectives, where that can be done without more work) or whole "
             "(pieces are put together and one computes for all devices).",
     .choices = "split whole"},
    {.name = "backend", .type = Type::String, .scopes = kBoth | kCodegen, .defaultText = "cpu", .environment = "CUPEL_BACKEND",
     .help = "What makes programs run: cpu (compiled for the host's processor; also called default and "
             "ttnn_flatbuffer), reference (the golden reference's kernels), null (programs whose results are their "
             "arguments, for measuring what everything else costs), or codegen_py and codegen_cpp (cpu, and the first "
             "run writes the program with its arguments as standalone code into export_path).",
     .choices = "cpu|default|ttnn_flatbuffer reference null codegen_py codegen_cpp"},
    {.name = "export_tensors", .type = Type::Boolean, .scopes = kBoth | kCodegen, .defaultText = "true", .environment = "",
     .help = "Of standalone code: inputs and weights are written beside it; otherwise it takes ones."},
    {.name = "optimization_level", .type = Type::Integer, .scopes = kBoth | kCodegen, .defaultText = "2",
     .environment = "CUPEL_OPTIMIZATION_LEVEL",
     .help = "What the backend cpu does for the sake of speed: 0: no optional passes, each operation is a launch and "
             "all of it lies in DRAM; 1: what is known is computed once, and operations are fused; 2: what launches "
             "make lies in the SRAM of the architecture as well, as far as there is room. Results differ by roundings at "
             "most. Standalone code has one form, whatever the level.",
     .least = 0, .most = 2},
    {.name = "strict", .type = Type::Boolean, .scopes = kBoth, .defaultText = "false", .environment = "CUPEL_STRICT",
     .help = "A program that is to be split over devices and cannot be is an error; otherwise a warning on "
             "standard error, and `partition` in the cost analysis, say why it is computed whole. Likewise a program that is to be "
             "recorded (`enable_trace`) and cannot be."},
    {.name = "fusion_patterns", .type = Type::String, .scopes = kBoth, .defaultText = "none", .environment = "CUPEL_FUSION_PATTERNS",
     .help = "Files of rewrites that are done behind the common passes, parted by commas: .pdll, which mlir-pdll translates, or the PDL "
             "dialect. `fusions` in the cost analysis says how often each was done; `--fusions FILE` of the verbs.",
     .paths = Paths::List},
    {.name = "without_fusion_patterns", .type = Type::String, .scopes = kBoth, .defaultText = "none", .environment = "",
     .help = "Names of fusions that are left out, parted by commas: of patterns in these files, and of what the backend cpu recognises by name "
             "(softmax, gelu, rope, ...; docs/performance.md), which then is done operation by operation."},
    {.name = "enable_trace", .type = Type::Boolean, .scopes = kBoth, .defaultText = "false", .environment = "CUPEL_ENABLE_TRACE",
     .help = "The second run of a program records the commands that it gives the device, and later runs replay them as one. "
             "Results are the same bits. A program that cannot be recorded (operations that run on the golden reference, "
             "several devices) runs as without it: a warning on standard error, and `trace` in the cost analysis, name the "
             "operation; with `strict` it is an error."},
    {.name = "trace_region_size", .type = Type::Integer, .scopes = kClient, .defaultText = "10000000",
     .environment = "CUPEL_TRACE_REGION_SIZE TT_RUNTIME_TRACE_REGION_SIZE",
     .help = "Bytes for the recorded commands of all programs of a client. A trace that is larger is an error that says "
             "the size needed; one that finds no room beside others releases them, and they are recorded again when "
             "they are next used.",
     .least = 0},
    {.name = "num_threads", .type = Type::Integer, .scopes = kClient, .defaultText = "as many as there are cores",
     .environment = "CUPEL_NUM_THREADS",
     .help = "Threads that kernels of the backend cpu use, in all clients of the process; 0: as many as there "
             "are cores. Results do not depend on it.",
     .least = 0, .most = 4096},
    {.name = "opt_bisect_limit", .type = Type::Integer, .scopes = kBoth, .defaultText = "none",
     .environment = "CUPEL_OPT_BISECT_LIMIT",
     .help = "Only the first so many of the rewrites that the compiler may leave are done; -1: all. The cost "
             "analysis then says in `rewrites` how many there were, and in `last_rewrite` which was the last: "
             "between a limit that is right and the next that is wrong stands the wrong rewrite.",
     .least = -1},
    {.name = "machine_code", .type = Type::String, .scopes = kBoth, .defaultText = "where_it_pays",
     .environment = "CUPEL_MACHINE_CODE",
     .help = "What the backend cpu makes machine code for: where_it_pays (what is small and outside of loops is "
             "run operation by operation, which is sooner done than code is made) or always.",
     .choices = "where_it_pays always"},
    {.name = "plant_wrong_rewrite", .type = Type::Integer, .scopes = kBoth, .defaultText = "0",
     .environment = "CUPEL_PLANT_WRONG_REWRITE",
     .help = "For tests of those who look for wrong rewrites: the backend cpu swaps the operands of all sums "
             "and makes the one of this number, from 1 on, a difference. 0: it does not.",
     .least = 0},
    {.name = "host_reads", .type = Type::String, .scopes = kClient, .defaultText = "in_place", .environment = "CUPEL_HOST_READS",
     .help = "How hosts get at what is in a device's own memory: in_place (it is the host's memory and "
             "says so) or copied (as from a device with a memory of its own, so that a host can tell and guard "
             "transfers: jax.transfer_guard_device_to_host).",
     .choices = "in_place copied"},
    {.name = "host_memory", .type = Type::String, .scopes = kClient, .defaultText = "copied", .environment = "CUPEL_HOST_MEMORY",
     .help = "What becomes of memory that a host lends for good (kImmutableZeroCopy): copied, or borrowed: what has "
             "64 KiB and more is read where it lies and given back once it is packed. JAX lends what NumPy has, "
             "and whoever writes to that afterwards sees other results with borrowed, as on XLA's CPU.",
     .choices = "copied borrowed"},
    {.name = "arenas", .type = Type::String, .scopes = kClient, .defaultText = "own", .environment = "CUPEL_ARENAS",
     .help = "Where programs that the backend cpu compiled keep what they compute on the way, in all clients of the "
             "process: each in memory of its own, or shared: a program that has none idle runs in that of another, if "
             "this is large enough, and gives it back. Spares memory where many programs run by turns.",
     .choices = "own shared"},
};

std::string scopesOf(const OptionInfo &option) {
  std::string text;
  for (auto [scope, word] : {std::pair(OptionScope::Client, "client"), std::pair(OptionScope::Program, "program"),
                             std::pair(OptionScope::Codegen, "code")})
    if (option.isFor(scope))
      text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

std::string inCode(std::string_view list) {
  std::string text;
  for (std::string_view word : optionWords(list))
    text += (text.empty() ? "`" : ", `") + std::string(word) + "`";
  return text;
}

} // namespace

std::span<const OptionInfo> optionTable() { return kTable; }

std::string optionsPage() {
  std::string text =
      "# Options\n\n"
      "Made from the table in `cupel/runtime/OptionTable.cpp`. An option that is not listed is refused, with the nearest "
      "name. Dashes in a name are underscores; booleans are true, yes, on, 1, false, no, off or 0.\n\n"
      "| given to | how |\n|---|---|\n"
      "| client | `register_plugin(..., options={...})` or `JAX_PJRT_CLIENT_CREATE_OPTIONS=name:value` of JAX, "
      "`client_options` of torch.compile, `--device 'cupel?name=value'`; an option wins over its environment variable |\n"
      "| program | `jax.jit(f, compiler_options={...})`, `lowered.compile(compiler_options={...})`, "
      "`torch.compile(model, backend=\"cupel\", options={...})`, `compile_options` of a workload's options.json and of a "
      "tester's CompilerConfig; what is not given is the client's |\n"
      "| code | `compiler_options` of codegen_py and codegen_cpp, `cupel codegen --option` |\n\n"
      "`cupel run`, `cupel bench`, `cupel compile` and `cupel explore` take `--option name=value` for what is given to clients and "
      "programs. With a vendor's plugin it is an option of the plugin's compiler, whatever its name, and is handed on with "
      "every program.\n\n"
      "Options of XLA's own compilers (`xla_...`) are taken for programs and have no effect; a value that is not of the option's "
      "type is refused.\n\n"
      "| option | given to | type | default | environment | also called | meaning |\n|---|---|---|---|---|---|---|\n";
  for (const OptionInfo &option : kTable)
    text += "| `" + std::string(option.name) + "` | " + scopesOf(option) + " | " + std::string(option.typeName()) + " | " +
            std::string(option.defaultText) + " | " + inCode(option.environment) + " | " + inCode(option.aliases) + " | " +
            std::string(option.help) + " |\n";
  return text;
}

} // namespace cupel::runtime
