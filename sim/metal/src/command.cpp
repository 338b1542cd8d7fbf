#include "command.h"

#include <algorithm>
#include <cinttypes>

namespace metalsim {

std::string Command::describe(uint64_t index) const {
  return std::string(pipeline ? pipeline->kernel->name : "no kernel") + " (command " + std::to_string(index) + ")";
}

void checkBinding(const Buffer *b, uint64_t offset, uint64_t i) {
  REQUIRE(b, Rule::NilArgument, "buffer of argument %" PRIu64, i);
  REQUIRE(i < MSL_MAX_BUFFERS, Rule::IcbBindCount, "argument %" PRIu64, i);
  REQUIRE(offset < b->bytes, Rule::OffsetRange, "offset %" PRIu64 " in %s of %" PRIu64 " bytes", offset,
          nameOf(b).c_str(), b->bytes);
}

void checkDispatch(const Command &c) {
  REQUIRE(c.pipeline, Rule::NoPipeline, "dispatch");
  const msl_kernel *k = c.pipeline->kernel;
  for (uint32_t i = 0; i < MSL_MAX_BUFFERS; i++) {
    if (!(k->buffers >> i & 1)) continue;
    const Binding &b = c.bindings[i];
    REQUIRE(b.buffer, Rule::UnboundArgument, "%s, argument %u", k->name, i);
    REQUIRE(!b.isBytes || !(k->writable >> i & 1), Rule::BytesWritten, "%s, argument %u", k->name, i);
    if (k->constants >> i & 1)
      REQUIRE(b.offset % 256 == 0, Rule::ConstantAlignment, "%s, argument %u: offset %" PRIu64, k->name, i, b.offset);
    else
      REQUIRE(b.offset % 4 == 0, Rule::DeviceAlignment, "%s, argument %u: offset %" PRIu64, k->name, i, b.offset);
  }
  const uint64_t threads = c.threads.count(), most = c.pipeline->maxTotalThreadsPerThreadgroup();
  const bool fits = std::max({c.groups.width, c.groups.height, c.groups.depth}) <= UINT32_MAX;
  REQUIRE(fits && c.groups.count() > 0 && threads > 0 && threads <= most, Rule::GridSize,
          "%s: %" PRIu64 "x%" PRIu64 "x%" PRIu64 " threadgroups of %" PRIu64 " threads, at most %" PRIu64, k->name,
          c.groups.width, c.groups.height, c.groups.depth, threads, most);
}

}  // namespace metalsim
