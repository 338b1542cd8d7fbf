// The rules of this simulator: see rules.def.
#pragma once

#define SIMULATOR cudasim
#define RULES "../cuda/src/rules.def"
#include "../../common/rules.h"
