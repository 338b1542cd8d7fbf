#include "icb.h"

#include <unistd.h>

#include <cinttypes>

#include "config.h"
#include "protocol.h"

namespace metalsim {
namespace {

// Simulates a fault of some systems during recording, which no program can catch.
void breakRecording() {
  if (faultNow(Fault::IcbSegv)) *reinterpret_cast<volatile int *>(0x18) = 0;
  while (faultNow(Fault::IcbHang)) pause();
}

}  // namespace

constexpr uint64_t concurrentDispatch = 1 << 5;  // MTLIndirectCommandTypeConcurrentDispatch

Object *newIcb(IcbDescriptor *d, uint64_t count, uint64_t options) {
  REQUIRE(d, Rule::NilArgument, "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:");
  REQUIRE(d->commandTypes == concurrentDispatch, Rule::IcbCommandType, "commandTypes is %" PRIu64, d->commandTypes);
  REQUIRE(d->inheritBuffers == false, Rule::IcbInherit, "inheritBuffers is %s", d->inheritBuffers ? "YES" : "not set");
  REQUIRE(d->inheritPipelineState == false, Rule::IcbInherit, "inheritPipelineState is %s",
          d->inheritPipelineState ? "YES" : "not set");
  REQUIRE(d->maxKernelBufferBindCount >= 1 && d->maxKernelBufferBindCount <= MSL_MAX_BUFFERS, Rule::IcbBindCount,
          "maxKernelBufferBindCount is %" PRIu64, d->maxKernelBufferBindCount);
  REQUIRE(count > 0, Rule::IcbRange, "an ICB of no commands");
  isPrivate(options);  // checks the storage mode
  return make<Icb>(count, d->maxKernelBufferBindCount);
}

void Icb::checkIdle() {
  REQUIRE(replays == 0, Rule::EditInFlight, "commands of %s", nameOf(this).c_str());
}

Object *Icb::commandAt(uint64_t i) {
  REQUIRE(i < commands.size(), Rule::IcbRange, "command %" PRIu64 " of %zu", i, commands.size());
  return make<IcbCommand>(this, i)->autorelease();
}

void Icb::reset(Range r) {
  checkIdle();
  REQUIRE(r.location <= commands.size() && r.length <= commands.size() - r.location, Rule::IcbRange,
          "reset of %" PRIu64 " commands at %" PRIu64 " of %zu", r.length, r.location, commands.size());
  for (uint64_t i = 0; i < r.length; i++) commands[r.location + i] = {};
}

Command &IcbCommand::open() {
  breakRecording();
  icb->checkIdle();
  Command &c = icb->commands[index];
  REQUIRE(!c.encoded, Rule::IcbReset, "%s", c.describe(index).c_str());
  return c;
}

void IcbCommand::setComputePipelineState(Pipeline *p) {
  REQUIRE(p, Rule::NilArgument, "setComputePipelineState:");
  REQUIRE(p->supportsIndirect, Rule::IcbPipeline, "%s", nameOf(p).c_str());
  open().pipeline = p;
}

void IcbCommand::setKernelBuffer(Buffer *b, uint64_t offset, uint64_t i) {
  Command &c = open();
  REQUIRE(i < icb->bindCount, Rule::IcbBindCount, "argument %" PRIu64 ", maxKernelBufferBindCount is %" PRIu64, i,
          icb->bindCount);
  checkBinding(b, offset, i);
  REQUIRE(offset <= UINT32_MAX, Rule::IcbOffset, "%" PRIu64 " in %s", offset, nameOf(b).c_str());
  c.bindings[i] = {b, offset};
}

void IcbCommand::setThreadgroupMemoryLength(uint64_t length, uint64_t i) {
  fail(Rule::ThreadgroupMemory, "%" PRIu64 " bytes at index %" PRIu64, length, i);
}

void IcbCommand::setBarrier() {
  Command &c = icb->commands[index];
  REQUIRE(!c.encoded, Rule::IcbBarrierOrder, "%s", c.describe(index).c_str());
  open().barrier = true;
}

void IcbCommand::reset() {
  icb->checkIdle();
  icb->commands[index] = {};
}

void IcbCommand::concurrentDispatchThreadgroups(Size groups, Size threads) {
  Command &c = open();
  c.groups = groups;
  c.threads = threads;
  checkDispatch(c);
  c.encoded = true;
}

void defineIcb() {
  Class *object = classOf<Object>;
  Class *d = classOf<IcbDescriptor> = defineClass("MTLIndirectCommandBufferDescriptor", object, "10.14", false);
  classMethod<&makeDefault<IcbDescriptor>>(d, "new", "10.14");
  method<&IcbDescriptor::setCommandTypes>(d, "setCommandTypes:", "10.14");
  method<&IcbDescriptor::setInheritBuffers>(d, "setInheritBuffers:", "10.14");
  method<&IcbDescriptor::setInheritPipelineState>(d, "setInheritPipelineState:", "10.14");
  method<&IcbDescriptor::setMaxKernelBufferBindCount>(d, "setMaxKernelBufferBindCount:", "11.0");

  Class *icb = classOf<Icb> = defineClass("MTLIndirectCommandBuffer", classOf<Allocation>, "10.14", true);
  conform(icb, "MTLAllocation", "15.0");
  method<&Icb::commandAt>(icb, "indirectComputeCommandAtIndex:", "11.0");
  method<&Icb::reset>(icb, "resetWithRange:", "10.14");
  method<&Icb::size>(icb, "size", "10.14");
  method<&Object::setLabel>(icb, "setLabel:", "10.14");

  Class *c = classOf<IcbCommand> = defineClass("MTLIndirectComputeCommand", object, "11.0", true);
  method<&IcbCommand::setComputePipelineState>(c, "setComputePipelineState:", "11.0");
  method<&IcbCommand::setKernelBuffer>(c, "setKernelBuffer:offset:atIndex:", "11.0");
  method<&IcbCommand::setThreadgroupMemoryLength>(c, "setThreadgroupMemoryLength:atIndex:", "11.0");
  method<&IcbCommand::setBarrier>(c, "setBarrier", "11.0");
  method<&IcbCommand::reset>(c, "reset", "11.0");
  method<&IcbCommand::concurrentDispatchThreadgroups>(c, "concurrentDispatchThreadgroups:threadsPerThreadgroup:", "11.0");
}

}  // namespace metalsim
