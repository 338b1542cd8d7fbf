// Indirect command buffers for compute.
#pragma once

#include <optional>
#include <vector>

#include "command.h"

namespace metalsim {

struct IcbDescriptor : Object {
  uint64_t commandTypes = 0, maxKernelBufferBindCount = 0;
  std::optional<bool> inheritBuffers, inheritPipelineState;
  void setCommandTypes(uint64_t v) { commandTypes = v; }
  void setInheritBuffers(bool v) { inheritBuffers = v; }
  void setInheritPipelineState(bool v) { inheritPipelineState = v; }
  void setMaxKernelBufferBindCount(uint64_t v) { maxKernelBufferBindCount = v; }
};

struct Icb : Allocation {
  std::vector<Command> commands;
  uint64_t bindCount;
  int replays = 0;  // in flight

  Icb(uint64_t n, uint64_t bindCount) : commands(n), bindCount(bindCount) {}
  Object *commandAt(uint64_t i);
  void reset(Range r);
  uint64_t size() { return commands.size(); }
  uint64_t allocatedSize() override { return commands.size() * 256; }
  // Fails if a replay may still read the commands.
  void checkIdle();
};

// One command of an ICB, for encoding.
struct IcbCommand : Object {
  Ref<Icb> icb;
  uint64_t index;
  IcbCommand(Icb *i, uint64_t n) : icb(i), index(n) {}
  void dealloc() override { icb = nullptr; }
  void setComputePipelineState(Pipeline *p);
  void setKernelBuffer(Buffer *b, uint64_t offset, uint64_t i);
  void setThreadgroupMemoryLength(uint64_t length, uint64_t i);
  void setBarrier();
  void reset();
  void concurrentDispatchThreadgroups(Size groups, Size threads);

 private:
  Command &open();  // the command, which is being encoded
};

Object *newIcb(IcbDescriptor *d, uint64_t count, uint64_t options);

void defineIcb();

}  // namespace metalsim
