// `cupel doctor`: what is installed, what is missing and the command that gets it.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/Verbs.h"
#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/runtime/DeviceName.h"
#include "cupel/support/CommandWords.h"
#include "cupel/support/Error.h"
#include "cupel/support/MissingLibrary.h"
#include "cupel/support/Process.h"
#include "cupel/support/Version.h"
#include "cupel/testbench/session/PythonServer.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {
namespace {

namespace fs = std::filesystem;

/// One thing that was looked at. Optional things do not make the doctor fail.
struct Finding {
  std::string name;
  bool present = false;
  bool required = true;
  std::string detail; ///< Version and place, or what is wrong.
  std::string fix;    ///< The command to type where it is missing.
};

std::string firstLine(const std::string &text) { return text.substr(0, text.find('\n')); }

std::string aptInstall(std::string_view package) {
  return fmt::format("sudo apt-get install {}", package);
}

/// A tool that prints its version when asked.
Finding tool(std::string name, const std::string &path, bool required, std::string fix) {
  Finding finding{std::move(name), false, required, "not found", std::move(fix)};
  if (path.empty() || !fs::exists(path))
    return finding;
  Result<CommandOutput> output = runCommand({path, "--version"});
  if (!output) {
    finding.detail = output.message();
    return finding;
  }
  finding.present = output->exitCode == 0;
  std::string line = firstLine(output->text);
  // LLVM's tools name themselves first and their version on the second line.
  if (line.find(' ') == std::string::npos || line.starts_with("LLVM (")) {
    size_t at = output->text.find("version");
    if (at != std::string::npos)
      line = firstLine(output->text.substr(at));
  }
  finding.detail = fmt::format("{} ({})", line, path);
  return finding;
}

/// Whether this binary lies in a build tree, where it can be built again; else it was installed.
bool isInBuildTree() {
  return fs::exists(fs::path(executableFolder()).parent_path() / "CMakeCache.txt");
}

/// What brings back a file of ours.
std::string howToRestore() {
  return isInBuildTree() ? "./run" : "pip install --force-reinstall . (in Cupel's source tree)";
}

Finding sharedLibrary(const char *name, const char *package) {
  // LLVM's own folder is where the worker looks first, the system's where Debian has the library.
  std::error_code error;
  for (fs::path folder : {fs::path(llvmRoot()) / "lib", fs::path("/usr/lib/x86_64-linux-gnu"),
                          fs::path("/usr/lib/aarch64-linux-gnu")})
    if (fs::path real = fs::canonical(folder / name, error); !error)
      return {name, true, true, real.string(), ""};
  return {name, false, true, fmt::format("{}/lib/{} is not there", llvmRoot(), name),
          aptInstall(package)};
}

/// A binary of ours, started once to see that it runs and how long that takes.
Finding sibling(const char *name, const std::vector<std::string> &arguments) {
  std::string path = executableFolder() + "/" + name;
  if (!fs::exists(path))
    return {name, false, true, path + " is not there", howToRestore()};
  std::vector<std::string> command = {path};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Result<CommandOutput> output = runCommand(command);
  if (!output)
    return {name, false, true, output.message(), howToRestore()};
  if (output->exitCode != 0) {
    std::string said = firstLine(output->text), package = missingPackage(said);
    constexpr std::string_view kCommand = "apt-get install ";
    size_t at = package.find(kCommand);
    return {name, false, true, fmt::format("exits with {}: {}", output->exitCode, said),
            at == std::string::npos ? howToRestore()
                                    : aptInstall(package.substr(at + kCommand.size()))};
  }
  return {name, true, true,
          fmt::format("{}, starts in {:.0f} ms ({})", firstLine(output->text), output->wall.count(),
                      path),
          ""};
}

/// JAX in this environment.
Finding jaxOf(const fs::path &environment, const char *fix) {
  Result<CommandOutput> output =
      runCommand({(environment / "bin/python").string(), "-c",
                  "import importlib.metadata as m; print('jax', m.version('jax'))"});
  if (output && output->exitCode == 0)
    return {"JAX", true, false,
            fmt::format("{} ({})", firstLine(output->text), environment.string()), ""};
  return {"JAX", false, false, environment.string() + " has no JAX", fix};
}

/// The virtual environment of the source tree this binary was built in, if any, or the one it was
/// installed into.
Finding jax() {
  fs::path folder = executableFolder();
  if (!isInBuildTree()) { // ENVIRONMENT/lib/pythonX.Y/site-packages/cupel/bin
    fs::path environment = folder / "../../../../..";
    if (fs::exists(environment / "bin/python"))
      return jaxOf(environment.lexically_normal(), "pip install jax==0.10.2");
    return {"JAX", false, false, "no Python environment around this command",
            "pip install jax==0.10.2"};
  }
  for (int up = 0; up < 3; ++up, folder = folder.parent_path())
    if (fs::exists(folder / ".venv/bin/python"))
      return jaxOf(folder / ".venv", "./test jax");
  return {"JAX", false, false, "no virtual environment (only the JAX tests need it)", "./test jax"};
}

/// Torch in the interpreter that operator cases run in, and whether its own products live on this
/// processor.
Finding torch() {
  std::string python = testbench::session::findPython("");
  std::string script = testbench::session::findPythonWorker();
  std::string fix = python + " -m pip install torch==2.13.0";
  if (script.empty())
    return {"torch", false, false, "python/cupel/worker is not where this build expects it",
            howToRestore()};
  Result<CommandOutput> output = runCommand({python, script, "instructions"}, std::chrono::minutes(2));
  if (!output)
    return {"torch", false, false, output.message(), fix};
  std::string said = firstLine(output->text);
  return {"torch", output->exitCode == 0, false, fmt::format("{} ({})", said, python), fix};
}

Finding plugin() {
  fs::path path = fs::path(executableFolder()).parent_path() / "lib/pjrt_plugin_cupel.so";
  if (!fs::exists(path))
    return {"plugin", false, true, path.string() + " is not there", howToRestore()};
  return {"plugin", true, true, path.string() + " (cupel doctor --device cupel tries it)", ""};
}

std::vector<Finding> examine() {
  std::vector<Finding> findings = {
      {"cupel", true, true,
       fmt::format("{} ({} build, {}/cupel)", version(), buildKind(), executableFolder()), ""},
      sibling("cupel-worker", {"version"}),
      sibling("cupel-lsp", {"--version"}),
      sibling("cupel-device", {"--version"}),
      plugin(),
      sharedLibrary("libMLIR.so.19.1", isInBuildTree() ? "libmlir-19-dev" : "libmlir-19"),
      sharedLibrary("libLLVM.so.19.1", isInBuildTree() ? "llvm-19-dev" : "libllvm19"),
  };
  if (isInBuildTree()) {
    std::string llvmBin = std::string(llvmRoot()) + "/bin/";
    for (Finding &finding : std::vector<Finding>{
             tool("compiler", findOnPath("clang++-19"), true, aptInstall("clang-19")),
             tool("linker", findOnPath("ld.lld-19"), true, aptInstall("lld-19")),
             tool("cmake", findOnPath("cmake"), true, aptInstall("cmake")),
             tool("ninja", findOnPath("ninja"), true, aptInstall("ninja-build")),
             tool("ccache", findOnPath("ccache"), true, aptInstall("ccache")),
             tool("python", findOnPath("python3"), true, aptInstall("python3")),
             tool("FileCheck", llvmBin + "FileCheck", true, aptInstall("llvm-19-tools")),
             tool("lit", std::string(llvmRoot()) + "/build/utils/lit/lit.py", true,
                  aptInstall("llvm-19-tools"))})
      findings.push_back(std::move(finding));
  }
  findings.push_back(jax());
  findings.push_back(torch());
  return findings;
}

void printJson(const std::vector<Finding> &findings, bool healthy) {
  nlohmann::ordered_json json = {{"healthy", healthy}, {"findings", nlohmann::json::array()}};
  for (const Finding &finding : findings) {
    nlohmann::ordered_json row = {{"name", finding.name},
                                  {"present", finding.present},
                                  {"required", finding.required},
                                  {"detail", finding.detail}};
    if (!finding.present)
      row["fix"] = finding.fix;
    json["findings"].push_back(std::move(row));
  }
  // A path need not be UTF-8; a broken byte must not cost the report.
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void printTable(const std::vector<Finding> &findings, bool healthy) {
  for (const Finding &finding : findings) {
    const char *mark = finding.present ? "ok" : finding.required ? "MISSING" : "absent";
    fmt::print("{:<8} {:<14} {}\n", mark, finding.name, finding.detail);
    if (!finding.present)
      fmt::print("{:<8} {:<14} to get it: {}\n", "", "", finding.fix);
  }
  fmt::print("\n{}\n", healthy ? "Everything that Cupel needs is here."
                               : "Something is missing: type the commands above.");
}

/// What a plugin is and can do. `cupel` loads no plugin: cupel-device does, in a process that may
/// be lost.
int examineDevice(const std::string &device, const Arguments &options, const std::string &launcher,
                  double timeout, const std::string &precision, bool asJson) {
  fs::path folder = executableFolder();
  const runtime::DeviceName named = runtime::DeviceName::parse(runtime::withoutPrecision(device));
  bool isOurs = named.plugin == "cupel";
  std::string plugin =
      isOurs ? (folder.parent_path() / "lib/pjrt_plugin_cupel.so").string() : named.plugin;
  if (isOurs && !fs::exists(plugin))
    return reportError("doctor", plugin + " is not there (to get it: " + howToRestore() + ")",
                       kExitUsage);
  if (named.plugin == "reference")
    return reportError("doctor",
                       "reference is computed by Cupel itself and has no plugin; cupel, an "
                       "architecture or a plugin's .so file can be looked at",
                       kExitUsage);
  Arguments forwarded = {"info", plugin, "--timeout", fmt::format("{}", timeout)};
  Result<compare::DevicePrecision> declared =
      precision.empty() ? runtime::declaredPrecision(device, "")
                        : compare::DevicePrecision::parse(precision);
  if (!declared)
    return reportError("doctor", declared.message(), kExitUsage);
  // A cupel-device of another version may be at the other end: it is told only what it must know.
  if (*declared != compare::DevicePrecision()) {
    forwarded.push_back("--precision");
    forwarded.push_back(declared->text());
  }
  for (const Arguments *given : {&named.options, &options})
    for (const std::string &option : *given) {
      forwarded.push_back("--option");
      forwarded.push_back(option);
    }
  if (asJson)
    forwarded.push_back("--json");
  if (!launcher.empty()) {
    // The same command, where the device is.
    Result<Arguments> words = commandWords(launcher);
    if (!words || words->empty())
      return reportError("doctor", words ? "--device-launcher names no command" : words.message(),
                         kExitUsage);
    bool toShell = fs::path(words->front()).filename() == "ssh"; // It hands words to a shell.
    Arguments command(words->begin() + 1, words->end());
    if (fs::path(words->back()).filename() != "cupel-device")
      command.push_back("cupel-device");
    for (const std::string &word : forwarded)
      command.push_back(toShell ? quotedForShell(word) : word);
    Status status = execute(
        words->front().find('/') == std::string::npos ? findOnPath(words->front()) : words->front(),
        command);
    return reportError("doctor", words->front() + ": cannot start: " + status.message(),
                       kExitUsage);
  }
  Status status = execute((folder / "cupel-device").string(), forwarded);
  return reportError("doctor", status.message() + " (to get it: " + howToRestore() + ")",
                     kExitUsage);
}

} // namespace

int runDoctorVerb(const Arguments &arguments) {
  CommandLine line("doctor", "Say what is installed, what is missing and how to get it; or what a "
                             "device's plugin is, can do and lacks.");
  line.example("cupel doctor", "a table for people");
  line.example("cupel doctor --json", "the same for programs");
  line.example("cupel doctor --device plugin.so", "API version, devices, memories, a self-test");
  line.example("cupel doctor --device n300", "our own plugin as an architecture");
  line.example("cupel doctor --device /opt/plugin.so --device-launcher 'ssh lab'",
               "on a machine that has cupel-device and the plugin");
  bool asJson = false;
  std::string device;
  std::string launcher;
  Arguments options;
  double timeout = 60;
  line.flag("--json", asJson, "Print a JSON object");
  line.option("--device", device,
              "A PJRT plugin's .so file, cupel for our own, or an architecture that it presents");
  line.option("--device-launcher", launcher,
              "Look at the plugin through this command and cupel-device there, e.g. 'ssh lab'")
      .needs("--device");
  line.option("--option", options,
              "NAME=VALUE for the plugin's client, such as "
              "preallocate=false")
      .oneValueEach()
      .needs("--device");
  std::string precision;
  line.option("--precision", precision,
              "What the device is said to compute in (precision= of its name, else f32); what it "
              "multiplies in is measured, and a difference is told")
      .placeholder("NAME")
      .needs("--device");
  line.option("--timeout", timeout, "Seconds the plugin may take (60)")
      .positive()
      .needs("--device");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  if (line.given("--device") && device.empty())
    return reportError("doctor", "--device names nothing; a plugin's .so file, or cupel",
                       kExitUsage);
  if (!device.empty())
    return examineDevice(device, options, launcher, timeout, precision, asJson);

  std::vector<Finding> findings = examine();
  bool healthy = true;
  for (const Finding &finding : findings)
    healthy = healthy && (finding.present || !finding.required);
  asJson ? printJson(findings, healthy) : printTable(findings, healthy);
  return healthy ? kExitSuccess : kExitFailure;
}

} // namespace cupel::cli
