// `cupel eval`: runs programs on the golden reference. Called by the worker's main alone; what a
// program means is the business of cupel/reference.
#pragma once

namespace cupel::cli {

/// `argv[0]` is the verb, the rest its arguments. Returns the exit code.
int runEval(int argc, char **argv);

} // namespace cupel::cli
