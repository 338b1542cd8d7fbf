// How both simulators end the process when a rule is broken.
#pragma once

#include <cstdarg>

namespace simcommon {

struct RuleText {
  const char *name, *source, *text;
};

// Prints "[simulator] RULE name: text (source): detail" and aborts.
[[noreturn]] void fail(const char *simulator, const RuleText &rule, const char *format, va_list args);

}  // namespace simcommon
