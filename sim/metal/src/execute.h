// Runs the work of a command buffer: the commands between two barriers in random
// order, each checked against the others by the bytes that it really touched.
#pragma once

#include "queue.h"

namespace metalsim {

void execute(CommandBuffer &c);

}  // namespace metalsim
