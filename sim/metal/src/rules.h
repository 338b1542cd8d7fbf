// The rules of this simulator: see rules.def.
#pragma once

#define SIMULATOR metalsim
#define RULES "../metal/src/rules.def"
#include "../../common/rules.h"
