#include "encoder.h"

#include <cinttypes>
#include <cstring>

#include "config.h"
#include "memory.h"

namespace metalsim {
namespace {

constexpr uint64_t usageRead = 1, usageWrite = 2;
constexpr uint64_t maxIcbRange = 16384;
constexpr uint64_t maxBytesLength = 4096;

// The pre-Apple9 families need ICB pipelines made resident by hand.
bool oldFamily() { return config().gpu->appleFamily < 9; }

}  // namespace

void Encoder::checkOpen(const char *what) {
  REQUIRE(!ended, Rule::EncoderState, "%s after endEncoding", what);
}

void Encoder::dealloc() {
  REQUIRE(ended, Rule::EncoderState, "an encoder of %s was released before endEncoding", nameOf(commandBuffer.get()).c_str());
  commandBuffer = nullptr;
}

void Encoder::setComputePipelineState(Pipeline *p) {
  checkOpen("setComputePipelineState:");
  REQUIRE(p, Rule::NilArgument, "setComputePipelineState:");
  current.pipeline = p;
  keep(p);
}

void Encoder::setBuffer(Buffer *b, uint64_t offset, uint64_t i) {
  checkOpen("setBuffer:offset:atIndex:");
  checkBinding(b, offset, i);
  current.bindings[i] = {b, offset};
  keep(b);
}

void Encoder::setBytes(void *bytes, uint64_t length, uint64_t i) {
  checkOpen("setBytes:length:atIndex:");
  REQUIRE(bytes && length >= 1 && length <= maxBytesLength, Rule::BytesLength, "%" PRIu64, length);
  Buffer *b = make<Buffer>(memory::allocate(length), length, false, true);
  memcpy(b->memory, bytes, length);
  setBuffer(b, 0, i);
  current.bindings[i].isBytes = true;
  b->release();
}

void Encoder::setThreadgroupMemoryLength(uint64_t length, uint64_t i) {
  fail(Rule::ThreadgroupMemory, "%" PRIu64 " bytes at index %" PRIu64, length, i);
}

void Encoder::append(Step s) {
  s.barrier = barrierPending || !concurrent;
  barrierPending = false;
  pass->steps.push_back(std::move(s));
}

void Encoder::dispatchThreadgroups(Size groups, Size threads) {
  checkOpen("dispatchThreadgroups:threadsPerThreadgroup:");
  REQUIRE(current.pipeline, Rule::NoPipeline, "dispatchThreadgroups:threadsPerThreadgroup:");
  if (groups.count() == 0) {  // makes the pipeline resident, runs nothing
    emptyDispatched.insert(current.pipeline);
    return;
  }
  Step s;
  s.command = current;
  s.command.groups = groups;
  s.command.threads = threads;
  s.command.encoded = true;
  checkDispatch(s.command);
  for (uint32_t i = 0; i < MSL_MAX_BUFFERS; i++) {
    if (!(current.pipeline->kernel->buffers >> i & 1)) continue;
    pass->tracked.insert(current.bindings[i].buffer);
    pass->written.insert(current.bindings[i].buffer);
  }
  append(std::move(s));
}

void Encoder::memoryBarrierWithScope(uint64_t scope) {
  checkOpen("memoryBarrierWithScope:");
  REQUIRE(scope & 1, Rule::BarrierScope, "scope %" PRIu64, scope);  // MTLBarrierScopeBuffers
  barrierPending = true;
}

void Encoder::useResource(Object *o, uint64_t usage) {
  checkOpen("useResource:usage:");
  REQUIRE(o, Rule::NilArgument, "useResource:usage:");
  REQUIRE(dynamic_cast<Buffer *>(o) || dynamic_cast<Icb *>(o), Rule::ArgumentType, "useResource: %s is no MTLResource",
          nameOf(o).c_str());
  REQUIRE(usage & (usageRead | usageWrite), Rule::BufferResidency, "usage %" PRIu64 " of %s", usage, nameOf(o).c_str());
  pass->tracked.insert(o);
  if (const auto *b = dynamic_cast<Buffer *>(o); b && (usage & usageWrite)) pass->written.insert(b);
  keep(o);
}

void Encoder::useResources(Object *const *list, uint64_t n, uint64_t usage) {
  static const SEL sel = selector("useResources:count:usage:");
  for (uint64_t i = 0; i < n; i++) useResource(checkedObject(list[i], sel, 1), usage);
}

// Checks the rule that every object to which a command of an ICB refers is alive and resident.
void Encoder::checkCommand(const Command &c, uint64_t index) {
  const std::string who = c.describe(index);
  REQUIRE(c.encoded, Rule::IcbEmptyCommand, "%s", who.c_str());
  REQUIRE(!c.pipeline->dead && c.pipeline->owned > 0, Rule::UseAfterFree, "%s: pipeline %s", who.c_str(), nameOf(c.pipeline).c_str());
  REQUIRE(!oldFamily() || emptyDispatched.count(c.pipeline), Rule::PipelineResidency, "%s", who.c_str());
  const Queue &q = *commandBuffer->queue.get();
  for (uint32_t i = 0; i < MSL_MAX_BUFFERS; i++) {
    if (!(c.pipeline->kernel->buffers >> i & 1)) continue;
    const Buffer *b = c.bindings[i].buffer;
    REQUIRE(!b->dead && b->owned > 0, Rule::UseAfterFree, "%s, argument %u: %s", who.c_str(), i, nameOf(b).c_str());
    REQUIRE(pass->tracked.count(b) || q.resident(b), Rule::BufferResidency, "%s, argument %u: %s", who.c_str(), i, nameOf(b).c_str());
  }
}

void Encoder::executeCommandsInBuffer(Icb *icb, Range r) {
  checkOpen("executeCommandsInBuffer:withRange:");
  REQUIRE(icb, Rule::NilArgument, "executeCommandsInBuffer:withRange:");
  REQUIRE(!config().gpu->breaksIcbs, Rule::Paravirtual, "%s", nameOf(icb).c_str());
  const uint64_t size = icb->commands.size();
  REQUIRE(r.length > 0 && r.length <= maxIcbRange && r.location <= size && r.length <= size - r.location, Rule::IcbRange,
          "%" PRIu64 " commands at %" PRIu64 " of %" PRIu64, r.length, r.location, size);
  const Queue &q = *commandBuffer->queue.get();
  REQUIRE(q.sets.empty() || pass->tracked.count(icb) || q.resident(icb), Rule::SetResidency, "%s", nameOf(icb).c_str());
  for (uint64_t i = r.location; i < r.location + r.length; i++) checkCommand(icb->commands[i], i);
  Step s;
  s.icb = icb;
  s.range = r;
  append(std::move(s));
  commandBuffer->icbs.emplace_back(icb);
}

void Encoder::endEncoding() {
  checkOpen("endEncoding");
  ended = true;
  commandBuffer->open = nullptr;
}

void defineEncoder() {
  Class *e = classOf<Encoder> = defineClass("MTLComputeCommandEncoder", classOf<Object>, "10.11", true);
  method<&Encoder::setComputePipelineState>(e, "setComputePipelineState:", "10.11");
  method<&Encoder::setBuffer>(e, "setBuffer:offset:atIndex:", "10.11");
  method<&Encoder::setBytes>(e, "setBytes:length:atIndex:", "10.11");
  method<&Encoder::setThreadgroupMemoryLength>(e, "setThreadgroupMemoryLength:atIndex:", "10.11");
  method<&Encoder::dispatchThreadgroups>(e, "dispatchThreadgroups:threadsPerThreadgroup:", "10.11");
  method<&Encoder::memoryBarrierWithScope>(e, "memoryBarrierWithScope:", "10.14");
  method<&Encoder::useResource>(e, "useResource:usage:", "10.13");
  method<&Encoder::useResources>(e, "useResources:count:usage:", "10.13");
  method<&Encoder::executeCommandsInBuffer>(e, "executeCommandsInBuffer:withRange:", "10.14");
  method<&Encoder::endEncoding>(e, "endEncoding", "10.11");
  method<&Object::setLabel>(e, "setLabel:", "10.11");
}

}  // namespace metalsim
