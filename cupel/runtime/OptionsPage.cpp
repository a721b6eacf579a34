// Prints the page that documents the table of options; scripts/docs.py keeps it current.

#include "cupel/runtime/Options.h"

#include <cstdio>

int main() { std::fputs(cupel::runtime::optionsPage().c_str(), stdout); }
