// A client of a plugin: its devices and memories, buffers on them, and compiled programs. Objects
// keep what they depend on alive and are destroyed in the right order; every array, count, type and
// size a plugin answers is checked before it is used.
#pragma once

#include "cupel/pjrt/host/CompileOptions.h"
#include "cupel/pjrt/host/Event.h"
#include "cupel/tensor/Tensor.h"

#include <map>
#include <span>

namespace cupel::pjrt {

struct MemorySpace {
  PJRT_Memory *handle = nullptr;
  int id = 0;
  std::string kind, description;
};

struct Device {
  PJRT_Device *handle = nullptr;
  PJRT_Memory *defaultMemory = nullptr; ///< Null where the plugin has no memories.
  int id = 0, localHardwareId = -1, processIndex = 0;
  bool isAddressable = false;
  std::string kind, description;
  std::vector<NamedValue> attributes;
  std::vector<int> memoryIds;
};

class Client;

/// An array on a device.
class Buffer {
public:
  Buffer() = default;
  Buffer(std::shared_ptr<Client> client, PJRT_Buffer *handle)
      : client(std::move(client)), handle(handle) {}
  Buffer(Buffer &&other) noexcept { *this = std::move(other); }
  Buffer &operator=(Buffer &&other) noexcept;
  ~Buffer() { destroy(); }

  PJRT_Buffer *get() const { return handle; }

  /// As the plugin says. A type that tensors do not have is a failure that names it.
  Result<tensor::DType> dtype() const;
  /// Negative or impossible sizes are a failure.
  Result<tensor::Shape> shape() const;

  /// Waits until the array is computed; an error of the computation arrives here.
  Status waitUntilReady(Deadline deadline) const;

  /// Copies the elements to the host in row-major order. That the plugin writes neither less nor
  /// more than it announced is checked.
  Result<tensor::Tensor> toHost(Deadline deadline) const;

  /// The array where it lies, if the plugin says that hosts can read it there (it is on the CPU,
  /// dense and row-major) and lends it to them (an external reference, given back with the last
  /// tensor on it); nothing where it must be copied, as elements of less than a byte must.
  static Result<std::optional<tensor::Tensor>> inPlace(std::shared_ptr<Buffer> buffer);

private:
  void destroy();
  bool isRowMajor(size_t rank) const;

  std::shared_ptr<Client> client;
  PJRT_Buffer *handle = nullptr;
};

/// What the plugin says about a compiled program; what it does not say stays empty.
struct ExecutableInfo {
  std::string name, fingerprint;
  size_t outputs = 0;
  std::optional<size_t> replicas, partitions;
  std::optional<int64_t> codeBytes;
  /// Of our own plugin: what the cost analysis says in words, such as the last rewrite.
  std::map<std::string, std::string> notes;
};

/// A compiled program on its devices.
class Executable {
public:
  Executable(std::shared_ptr<Client> client, PJRT_LoadedExecutable *handle)
      : client(std::move(client)), handle(handle) {}
  Executable(Executable &&other) noexcept;
  Executable &operator=(Executable &&) = delete;
  ~Executable();

  const ExecutableInfo &info() const { return information; }
  /// In the order in which arguments and results are listed.
  const std::vector<PJRT_Device *> &devices() const { return deviceHandles; }

  /// Runs on all its devices: arguments[d][i] is argument i on device d. Returns when every device
  /// says it is done, with results[d][i]. Arguments are not donated.
  Result<std::vector<std::vector<Buffer>>>
  execute(std::span<const std::vector<const Buffer *>> arguments, Deadline deadline);

private:
  friend class Client;
  Status examine();

  std::shared_ptr<Client> client;
  PJRT_LoadedExecutable *handle = nullptr;
  ExecutableInfo information;
  std::vector<PJRT_Device *> deviceHandles;
};

class Client : public std::enable_shared_from_this<Client> {
public:
  static Result<std::shared_ptr<Client>> create(std::shared_ptr<Plugin> plugin,
                                                const std::vector<NamedValue> &options = {});
  ~Client();
  Client(const Client &) = delete;

  const std::shared_ptr<Plugin> &plugin() const { return library; }
  const std::string &platformName() const { return platform; }
  const std::string &platformVersion() const { return version; }
  /// All devices; those we can use say so.
  const std::vector<Device> &devices() const { return deviceList; }
  const std::vector<MemorySpace> &memories() const { return memoryList; }
  std::vector<const Device *> addressableDevices() const;
  /// Null if there is no such device.
  const Device *findDevice(int64_t id) const;

  /// Copies a tensor to a device and waits until the plugin needs the tensor no more.
  Result<Buffer> toDevice(const tensor::Tensor &tensor, const Device &device, Deadline deadline);

  /// Gives a tensor to a device that may read it in place; its memory must stay as it is until the
  /// buffer is destroyed.
  Result<Buffer> lend(const tensor::Tensor &tensor, const Device &device);

  /// The same, of a tensor that is held until the plugin is done with its memory.
  Result<Buffer> give(tensor::Tensor tensor, const Device &device);

  /// Compiles MLIR (text, bytecode or a portable artifact).
  Result<Executable> compile(std::string_view code, const CompileOptions &options);

private:
  friend class Buffer;
  friend class Executable;
  Client() = default;
  struct Transfer {
    Buffer buffer;
    Event done; ///< When the plugin needs the host's memory no more.
  };
  Result<Transfer> transfer(const tensor::Tensor &dense, const Device &device,
                            PJRT_HostBufferSemantics semantics);
  Status examine();
  Status examineMemories();
  Result<Device> examineDevice(PJRT_Device *handle) const;

  std::shared_ptr<Plugin> library;
  PJRT_Client *handle = nullptr;
  std::string platform, version;
  decltype(CompileOptions::flags) compileFlags; ///< For programs that do not have them.
  std::vector<Device> deviceList;
  std::vector<MemorySpace> memoryList;
};

} // namespace cupel::pjrt
