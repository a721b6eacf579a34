// What the verbs that read the results store share: the option that says where it is, opening it
// with what journals have to add, and how a test is named on a command line.
#pragma once

#include "cupel/cli/CommandLine.h"
#include "cupel/results/report/Rerun.h"
#include "cupel/results/store/Store.h"
#include "cupel/support/Error.h"

#include <string>
#include <string_view>

namespace cupel::cli {

/// Adds `--results PLACE`.
void addResultsOption(Options &line, std::string &folder);

/// Where results are kept: `option`, else the environment's CUPEL_RESULTS, else `results:` of the
/// project file here or above, else `.cupel/results` beside it or here. Where that is the address of
/// a database, files are in CUPEL_RESULTS_FOLDER, else `.cupel/results`.
Result<results::StorePlace> resultsPlace(const std::string &option);
/// The folder of it.
Result<std::string> resultsFolder(const std::string &option);

/// Opens the store of `option` for reading: imports journals of runs that were killed where it can
/// be written, and reads it as it is where it cannot.
Result<results::Store> openResults(const std::string &option);

using results::shellWord;
using results::wordsToRunAgain;

/// ` --results DIR` where the option was given, to repeat in proposed commands.
std::string resultsTail(const std::string &option);

} // namespace cupel::cli
