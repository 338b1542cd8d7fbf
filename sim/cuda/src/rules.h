// The rules, and the one way to end the process when one is broken.
#pragma once

namespace cudasim {

enum class Rule {
#define RULE(id, name, source, text) id,
#include "rules.def"
#undef RULE
};

// Prints "[cudasim] RULE name: text (source): detail" and aborts.
[[noreturn]] void fail(Rule rule, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Fails unless ok.
#define REQUIRE(ok, rule, ...)                                                                     \
  do {                                                                                             \
    if (!(ok)) ::cudasim::fail(rule, __VA_ARGS__);                                                 \
  } while (0)

}  // namespace cudasim
