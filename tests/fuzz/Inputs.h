// The inputs of the fuzz test: each file as it is, every cut of each bytecode file, single changed
// bytes, bytecode and text programs torn up in other ways. Which input a number stands for depends
// on the corpus and the seed alone, so a failure is repeated by its number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::fuzz {

struct CorpusFile {
  std::string path;
  std::string content;
  bool bytecode = false;
};

struct Amounts {
  /// Each bytecode file is cut at every length up to `everyCut` (in steps of `cutStep`), and at
  /// `cutsBeyond` more.
  uint64_t everyCut = 4096;
  uint64_t cutStep = 1;
  uint64_t cutsBeyond = 200;
  /// Single-byte changes, spread over the bytecode files.
  uint64_t changes = 20000;
  /// Bytecode files with several changes, pieces moved, removed or repeated.
  uint64_t tears = 20000;
  /// Mutated texts.
  uint64_t texts = 5000;

  static Amounts quick() { return {4096, 37, 20, 3000, 3000, 800}; }
};

struct Input {
  /// What was done to which file.
  std::string name;
  std::string content;
};

/// Inputs by number.
class InputSource {
public:
  virtual ~InputSource() = default;
  virtual uint64_t size() const = 0;
  /// Input `number` of `size()`.
  virtual Input make(uint64_t number) const = 0;
  /// The kind of input `number`, for the summary.
  virtual std::string kind(uint64_t number) const = 0;
};

class Inputs : public InputSource {
public:
  Inputs(std::vector<CorpusFile> corpus, const Amounts &amounts, uint64_t seed);
  Inputs(const Inputs &) = delete;

  uint64_t size() const override { return total; }
  Input make(uint64_t number) const override;
  std::string kind(uint64_t number) const override;

private:
  Input cut(uint64_t index) const;
  Input change(uint64_t index) const;
  Input tear(uint64_t index) const;
  Input text(uint64_t index) const;

  std::vector<CorpusFile> bytecode, texts;
  Amounts amounts;
  uint64_t seed;
  /// Every file as it is.
  std::vector<const CorpusFile *> whole;
  /// File and length.
  std::vector<std::pair<uint32_t, uint64_t>> cuts;
  uint64_t changes = 0, tears = 0, textChanges = 0;
  uint64_t total = 0;
};

/// All *.mlir and *.mlir.bc below the folders, smaller than `largest` bytes, in the order of their
/// paths.
std::vector<CorpusFile> readCorpus(const std::vector<std::string> &folders, uint64_t largest);

} // namespace cupel::fuzz
