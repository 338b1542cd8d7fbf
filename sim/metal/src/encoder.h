// Compute command encoders.
#pragma once

#include "queue.h"

namespace metalsim {

struct Encoder : Object {
  Ref<CommandBuffer> commandBuffer;
  Pass *pass;
  bool concurrent;
  bool ended = false, barrierPending = false;
  Command current;                        // bindings of the next dispatch
  std::set<const Pipeline *> emptyDispatched;  // set, then dispatched with an empty grid

  Encoder(CommandBuffer *c, Pass *p, bool concurrent) : commandBuffer(c), pass(p), concurrent(concurrent) {}
  void dealloc() override;

  void setComputePipelineState(Pipeline *p);
  void setBuffer(Buffer *b, uint64_t offset, uint64_t i);
  void setBytes(void *bytes, uint64_t length, uint64_t i);
  void setThreadgroupMemoryLength(uint64_t length, uint64_t i);
  void dispatchThreadgroups(Size groups, Size threads);
  void memoryBarrierWithScope(uint64_t scope);
  void useResource(Object *resource, uint64_t usage);
  void useResources(Object *const *resources, uint64_t n, uint64_t usage);
  void executeCommandsInBuffer(Icb *icb, Range r);
  void endEncoding();

 private:
  void checkOpen(const char *what);
  void checkCommand(const Command &c, uint64_t index);
  void append(Step s);
  void keep(Object *o) { commandBuffer->retained.emplace_back(o); }
};

void defineEncoder();

}  // namespace metalsim
