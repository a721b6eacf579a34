#include "cupel/testbench/matrix/Select.h"

#include "cupel/results/Suites.h"
#include "cupel/testbench/selection/Keywords.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::matrix {
namespace {

using selection::Expression;
using selection::ItemSet;
using selection::Keyword;

/// Which sets of markers an expression of exact names holds for.
std::vector<bool> matchingSets(const Table &table, const Expression &expression) {
  std::vector<uint32_t> numbers;
  for (const std::string &word : expression.words()) {
    auto found = std::find(table.markerNames.begin(), table.markerNames.end(), word);
    numbers.push_back(found == table.markerNames.end()
                          ? kNone
                          : static_cast<uint32_t>(found - table.markerNames.begin()));
  }
  std::vector<bool> matches(table.markerSets.size());
  for (size_t i = 0; i < table.markerSets.size(); ++i) {
    const std::vector<uint32_t> &set = table.markerSets[i];
    matches[i] = expression.evaluate([&](uint32_t word) {
      return std::find(set.begin(), set.end(), numbers[word]) != set.end();
    });
  }
  return matches;
}

/// The rows a word of -k is in: in the item's name, `function[id]`, in a marker, or in a name
/// around all tests of loaders.
class WordMatcher {
public:
  WordMatcher(const Table &table, std::string_view text)
      : table(table), word(text), length(text.size()) {
    for (const std::string &name : table.markerNames)
      inMarker.push_back(word.isIn(name));
    for (const std::vector<uint32_t> &set : table.markerSets)
      inSet.push_back(
          std::any_of(set.begin(), set.end(), [&](uint32_t number) { return inMarker[number]; }));
    for (std::string_view name : selection::namesAroundPytestItems())
      inAround |= word.isIn(name);
    for (const Beginning &beginning : table.beginnings)
      inBeginning.push_back(word.isIn(beginning.text));
    for (const Ending &ending : table.endings)
      inEnding.push_back(word.isIn(ending.text));
  }

  bool isIn(uint32_t row, const Annotation &annotation) {
    const Row &current = table.rows[row];
    if (inBeginning[current.beginning] || inEnding[current.ending] ||
        inSet[annotation.markers[row]])
      return true;
    const Beginning &beginning = table.beginnings[current.beginning];
    const Ending &ending = table.endings[current.ending];
    std::string_view function;
    if (beginning.loader != kNone || beginning.placeholder != kNone) {
      function = results::pytestFunctionOf(table.suiteOf(row), table.frameworkOf(row));
      if (!function.empty() && inAround)
        return true;
    } else {
      for (const std::string &name : table.files[beginning.file].parts[ending.part].names)
        if (word.isIn(name))
          return true;
    }
    // What is left are the seams: function[ + beginning + ending + ].
    scratch.clear();
    if (!function.empty()) {
      scratch += function;
      scratch += '[';
      scratch += std::string_view(beginning.text).substr(0, length - 1);
      if (word.isIn(scratch))
        return true;
      scratch.clear();
    }
    std::string_view tail = beginning.text;
    if (tail.size() >= length)
      tail.remove_prefix(tail.size() - (length - 1));
    scratch += tail;
    scratch += ending.text;
    if (!function.empty())
      scratch += ']';
    return word.isIn(scratch);
  }

private:
  const Table &table;
  Keyword word;
  size_t length;
  std::vector<bool> inMarker, inSet, inBeginning, inEnding;
  bool inAround = false;
  std::string scratch;
};

} // namespace

ItemSet select(const Table &table, const Annotation &annotation, const Selection &selection) {
  ItemSet chosen(table.size());
  std::vector<bool> wantedSuites;
  for (const std::string &suite : table.suites)
    wantedSuites.push_back(selection.suites.empty() ||
                           std::find(selection.suites.begin(), selection.suites.end(), suite) !=
                               selection.suites.end());
  std::vector<bool> sets;
  if (!selection.markers.isEmpty())
    sets = matchingSets(table, selection.markers);
  std::vector<WordMatcher> words;
  for (const std::string &word : selection.keyword.words())
    words.emplace_back(table, word);
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (annotation.excluded[row] || !wantedSuites[table.rows[row].suite])
      continue;
    if (!sets.empty() && !sets[annotation.markers[row]])
      continue;
    if (!selection.framework.empty() && table.frameworkOf(row) != selection.framework)
      continue;
    if (!words.empty() && !selection.keyword.evaluate(
                              [&](uint32_t word) { return words[word].isIn(row, annotation); }))
      continue;
    chosen.set(row);
  }
  return chosen;
}

} // namespace cupel::testbench::matrix
