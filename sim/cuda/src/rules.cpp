#include "rules.h"

#include "driver.h"

EXPORT const char *cudasim_rules() { return cudasim::ruleNames; }
