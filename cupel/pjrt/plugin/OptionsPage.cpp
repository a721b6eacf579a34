// Prints the page that documents the plugin's options; scripts/docs.py keeps it current.

#include "cupel/pjrt/plugin/Options.h"

#include <cstdio>

int main() { std::fputs(cupel::pjrt::optionsPage().c_str(), stdout); }
