// The commands that run tests of a run again, as people type them: from the words that began the
// run. Used by the verbs that propose what to type next, and by the pages.
#pragma once

#include "cupel/results/Record.h"

#include <string>
#include <string_view>

namespace cupel::results {

/// A word that a shell takes literally.
std::string shellWord(std::string_view text);

/// The words of the command that began a run, to repeat in proposed commands, each after a space:
/// where tests are looked for and how they run. Without reports, store and -R; with `otherSelection`
/// also without what selected the tests.
std::string wordsToRunAgain(const RunInfo &run, bool otherSelection);

/// The command that began the run, narrowed to one test: it says where tests are looked for. `tail`
/// ends it; it changes folders where the run happened elsewhere than in `here`.
std::string rerunCommand(const RunInfo &run, const TestRecord &record, std::string_view tail,
                         std::string_view here);

} // namespace cupel::results
