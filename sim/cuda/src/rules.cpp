#include "rules.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "driver.h"

namespace cudasim {
namespace {

struct Text {
  const char *name, *source, *text;
};

constexpr Text texts[] = {
#define RULE(id, name, source, text) {name, source, text},
#include "rules.def"
#undef RULE
};

}  // namespace

void fail(Rule rule, const char *format, ...) {
  char detail[4096];
  va_list args;
  va_start(args, format);
  vsnprintf(detail, sizeof detail, format, args);
  va_end(args);
  const Text &t = texts[static_cast<int>(rule)];
  fprintf(stderr, "[cudasim] RULE %s: %s (%s): %s\n", t.name, t.text, t.source, detail);
  fflush(stderr);
  abort();
}

}  // namespace cudasim

// The names of all rules, one a line: the tests compare them with their cases.
EXPORT const char *cudasim_rules() {
  return
#define RULE(id, name, source, text) name "\n"
#include "rules.def"
#undef RULE
      ;
}
