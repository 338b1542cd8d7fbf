#include "fail.h"

#include <cstdio>
#include <cstdlib>

namespace simcommon {

void fail(const char *simulator, const RuleText &rule, const char *format, va_list args) {
  char detail[4096];
  vsnprintf(detail, sizeof detail, format, args);
  fprintf(stderr, "[%s] RULE %s: %s (%s): %s\n", simulator, rule.name, rule.text, rule.source, detail);
  fflush(stderr);
  abort();
}

}  // namespace simcommon
