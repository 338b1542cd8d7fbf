// The rules of a simulator, and the one way to end the process when one is broken. Its own rules.h
// includes this with RULES, the path of its rules.def from here, and SIMULATOR, its namespace.
#pragma once

#include <cstdarg>

#include "fail.h"

namespace SIMULATOR {

enum class Rule {
#define RULE(id, name, source, text) id,
#include RULES
#undef RULE
};

constexpr simcommon::RuleText ruleTexts[] = {
#define RULE(id, name, source, text) {name, source, text},
#include RULES
#undef RULE
};

// The names of all rules, one a line: the tests compare them with their cases.
constexpr char ruleNames[] =
#define RULE(id, name, source, text) name "\n"
#include RULES
#undef RULE
    ;

#define SIMULATOR_NAME_OF(name) #name
#define SIMULATOR_NAME(name) SIMULATOR_NAME_OF(name)

// Prints "[simulator] RULE name: text (source): detail" and aborts.
[[noreturn]] inline void fail(Rule rule, const char *format, ...) __attribute__((format(printf, 2, 3)));

inline void fail(Rule rule, const char *format, ...) {
  va_list args;
  va_start(args, format);
  simcommon::fail(SIMULATOR_NAME(SIMULATOR), ruleTexts[static_cast<int>(rule)], format, args);
}

}  // namespace SIMULATOR

// Fails unless ok.
#define REQUIRE(ok, rule, ...)                                                                     \
  do {                                                                                             \
    if (!(ok)) ::SIMULATOR::fail(rule, __VA_ARGS__);                                               \
  } while (0)
