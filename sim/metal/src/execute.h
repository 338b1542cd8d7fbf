// Runs the work of a command buffer. The commands between two barriers run in random order, and the
// bytes that they accessed are compared.
#pragma once

#include "queue.h"

namespace metalsim {

void execute(CommandBuffer &c);

}  // namespace metalsim
