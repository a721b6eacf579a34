#include "cupel/testbench/slurm/ChipLocks.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace cupel::testbench::slurm {
namespace {

constexpr uint32_t kMostChips = 1024; ///< Of a node.

/// `0-1,4`; what follows the numbers is not looked at.
std::vector<uint32_t> numbersIn(std::string_view text) {
  std::vector<uint32_t> numbers;
  for (size_t at = 0; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]));) {
    auto number = [&] {
      uint32_t value = 0;
      for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
        value = value * 10 + uint32_t(text[at] - '0');
      return value;
    };
    uint32_t first = number(), last = first;
    if (at < text.size() && text[at] == '-') {
      ++at;
      last = number();
    }
    for (uint32_t i = first; i <= last && numbers.size() < kMostChips; ++i)
      numbers.push_back(i);
    if (at < text.size() && text[at] == ',')
      ++at;
    else
      break;
  }
  return numbers;
}

} // namespace

ChipLocks::~ChipLocks() {
  for (int file : files)
    ::close(file);
}

Result<ChipLocks> ChipLocks::take(const std::string &folder, const std::string &node,
                                  std::vector<uint32_t> numbers, uint32_t count,
                                  const std::function<bool()> &keepWaiting) {
  if (::mkdir(folder.c_str(), 0777) == 0)
    ::chmod(folder.c_str(), 01777); // Other users lock the same chips.
  bool isChosen = numbers.empty();
  if (isChosen)
    for (uint32_t i = 0; i < kMostChips; ++i)
      numbers.push_back(i);
  else
    count = uint32_t(numbers.size());
  while (true) {
    ChipLocks locks;
    for (size_t i = 0; i < numbers.size() && locks.files.size() < count; ++i) {
      std::string path = fmt::format("{}/{}.{}", folder, node, numbers[i]);
      int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      // One that another user made cannot be created again in a sticky folder, but opened.
      if (file < 0)
        file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0)
        return Error{path + ": " + std::strerror(errno)};
      ::fchmod(file, 0666);
      if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
        locks.files.push_back(file);
        locks.chips.push_back(numbers[i]);
      } else {
        ::close(file);
        if (!isChosen)
          break; // All of them or none: two who wait for each other's half wait for ever.
      }
    }
    if (locks.files.size() == count)
      return locks;
    if (!keepWaiting())
      return Error{fmt::format("the chips of {} are held by another process (locks in {})", node, folder)};
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

std::vector<uint32_t> chipsOfJob(const std::string &visible, std::string_view details) {
  if (std::vector<uint32_t> numbers = numbersIn(visible); !numbers.empty())
    return numbers;
  // `GRES=accel:2(IDX:0-1)`
  constexpr std::string_view kIndex = "(IDX:";
  if (size_t at = details.find(kIndex); at != std::string_view::npos)
    return numbersIn(details.substr(at + kIndex.size()));
  return {};
}

} // namespace cupel::testbench::slurm
