#include "rules.h"

#include "export.h"

EXPORT const char *metalsim_rules() { return metalsim::ruleNames; }
