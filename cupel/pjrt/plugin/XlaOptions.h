// The options of XLA's own compilers (`xla_...`), which programs set whatever they run on. They have
// no effect here; a value that XLA would not take for one that we know is refused all the same, so
// that a mistake shows. A name that we do not know is taken as it is: XLA has new ones every week.

#pragma once

#include "cupel/runtime/Options.h"

namespace cupel::pjrt {

using runtime::OptionValue;

/// Whether XLA would take the value for this option, as far as we know its type.
Status checkXlaOption(std::string_view name, const OptionValue &value);

} // namespace cupel::pjrt
