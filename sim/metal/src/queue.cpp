#include "queue.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "config.h"
#include "encoder.h"
#include "execute.h"
#include "report.h"

namespace metalsim {
namespace {

constexpr size_t maxCommandBuffers = 64;        // of a queue
constexpr size_t maxResidencySets = 32;         // of a queue
constexpr uint64_t snapshotLimit = 64 << 10;  // bytes: argument buffers, not caches

}  // namespace

CommandBuffer::CommandBuffer(Queue *q, uint64_t n) : queue(q), number(n) { label = std::to_string(n); }

void CommandBuffer::dealloc() {
  REQUIRE(!open, Rule::EncoderState, "%s was released with an open encoder", nameOf(this).c_str());
  std::erase(queue->alive, this);
  if (queue->unchecked == this) fail(Rule::ErrorUnchecked, "%s", nameOf(this).c_str());
  passes.clear();
  retained.clear();
  icbs.clear();
  overlapping.clear();
  snapshots.clear();
  failure = nullptr;
  queue = nullptr;
}

Object *CommandBuffer::computeCommandEncoderWithDispatchType(uint64_t type) {
  REQUIRE(state == Status::NotEnqueued, Rule::CommandBufferState, "encoder for %s after commit", nameOf(this).c_str());
  REQUIRE(!open, Rule::EncoderState, "%s has an open encoder", nameOf(this).c_str());
  if (faultNow(Fault::Encoder)) return nullptr;
  passes.push_back(std::make_unique<Pass>());
  Encoder *e = make<Encoder>(this, passes.back().get(), type == 1);
  open = e;
  return e->autorelease();
}

// Copies the small shared buffers that the work refers to.
void CommandBuffer::takeSnapshots() {
  std::set<Buffer *> seen;
  auto take = [&](const Command &c) {
    for (const Binding &b : c.bindings)
      if (b.buffer && b.buffer->isOwn && !b.buffer->isPrivate && b.buffer->bytes <= snapshotLimit && seen.insert(b.buffer).second)
        snapshots.push_back({b.buffer, {b.buffer->memory, b.buffer->memory + b.buffer->bytes}});
  };
  for (const auto &p : passes)
    for (const Step &s : p->steps) {
      if (!s.icb) take(s.command);
      for (uint64_t i = 0; s.icb && i < s.range.length; i++) take(s.icb->commands[s.range.location + i]);
    }
}

void CommandBuffer::commit() {
  REQUIRE(!open, Rule::EncoderState, "%s is committed with an open encoder", nameOf(this).c_str());
  REQUIRE(state == Status::NotEnqueued, Rule::CommandBufferState, "%s is committed twice", nameOf(this).c_str());
  state = Status::Committed;
  for (const auto &c : queue->inFlight) overlapping.push_back(c);
  for (const auto &i : icbs) i->replays++;
  for (ResidencySet *s : queue->sets) s->use();
  takeSnapshots();
  queue->inFlight.emplace_back(this);
  report::inFlight(+1);
}

// Releases the resources of a finished command buffer.
void CommandBuffer::retire() {
  observed = true;
  report::inFlight(-1);
  for (const auto &i : icbs) i->replays--;
  icbs.clear();
  retained.clear();
}

void CommandBuffer::waitUntilCompleted() {
  REQUIRE(state >= Status::Committed, Rule::CommandBufferState, "waiting for %s before commit", nameOf(this).c_str());
  if (faultNow(Fault::WaitHang)) {  // other threads go on
    apiLock().unlock();
    while (true) pause();
  }
  while (!done()) queue->runOne();
  queue->observe(this);
}

uint64_t CommandBuffer::status() {
  if (state == Status::Committed && nextRandom() % 2) queue->runOne();
  if (done()) {
    queue->observe(this);
    errorChecked = true;
    if (queue->unchecked == this) queue->unchecked = nullptr;
  }
  return static_cast<uint64_t>(state);
}

Object *CommandBuffer::error() {
  if (!done()) return nullptr;
  errorChecked = true;
  if (queue->unchecked == this) queue->unchecked = nullptr;
  return failure.get();
}

double CommandBuffer::time(double t) {
  REQUIRE(observed, Rule::CommandBufferState, "GPUStartTime or GPUEndTime of %s before it is done", nameOf(this).c_str());
  return t;
}

void Queue::dealloc() {
  while (!sets.empty()) removeResidencySet(*sets.begin());
}

Object *Queue::commandBuffer() {
  if (unchecked) fail(Rule::ErrorUnchecked, "%s", nameOf(unchecked).c_str());
  REQUIRE(alive.size() < maxCommandBuffers, Rule::CommandBufferStall, "%s", nameOf(this).c_str());
  if (faultNow(Fault::Commands)) return nullptr;
  CommandBuffer *c = make<CommandBuffer>(this, ++count);
  alive.push_back(c);
  return c->autorelease();
}

void Queue::addResidencySet(ResidencySet *s) {
  REQUIRE(s, Rule::NilArgument, "addResidencySet:");
  if (sets.insert(s).second) hold(s);
  REQUIRE(sets.size() <= maxResidencySets, Rule::SetCount, "%s", nameOf(this).c_str());
}

void Queue::removeResidencySet(ResidencySet *s) {
  if (sets.erase(s)) drop(s);
}

bool Queue::resident(const Allocation *a) const {
  return std::any_of(sets.begin(), sets.end(), [&](const ResidencySet *s) {
    return s->committed.count(const_cast<Allocation *>(a));
  });
}

void Queue::runOne() {
  const auto c = std::find_if(inFlight.begin(), inFlight.end(), [](const auto &c) { return !c->done(); });
  if (c != inFlight.end()) execute(*c->get());
}

void Queue::observe(CommandBuffer *c) {
  while (!inFlight.empty() && inFlight.front()->number <= c->number) {
    const Ref<CommandBuffer> first = inFlight.front();
    first->retire();
    if (first->state == Status::Error && !first->errorChecked) unchecked = first.get();
    inFlight.pop_front();
  }
}

void defineQueue() {
  Class *object = classOf<Object>;
  Class *queue = classOf<Queue> = defineClass("MTLCommandQueue", object, "10.11", true);
  method<&Queue::commandBuffer>(queue, "commandBuffer", "10.11");
  method<&Queue::addResidencySet>(queue, "addResidencySet:", "15.0");
  method<&Queue::removeResidencySet>(queue, "removeResidencySet:", "15.0");
  method<&Object::setLabel>(queue, "setLabel:", "10.11");

  Class *c = classOf<CommandBuffer> = defineClass("MTLCommandBuffer", object, "10.11", true);
  method<&CommandBuffer::computeCommandEncoder>(c, "computeCommandEncoder", "10.11");
  method<&CommandBuffer::computeCommandEncoderWithDispatchType>(c, "computeCommandEncoderWithDispatchType:", "10.14");
  method<&CommandBuffer::commit>(c, "commit", "10.11");
  method<&CommandBuffer::waitUntilCompleted>(c, "waitUntilCompleted", "10.11");
  method<&CommandBuffer::status>(c, "status", "10.11");
  method<&CommandBuffer::error>(c, "error", "10.11");
  method<&CommandBuffer::gpuStartTime>(c, "GPUStartTime", "10.15");
  method<&CommandBuffer::gpuEndTime>(c, "GPUEndTime", "10.15");
  method<&Object::setLabel>(c, "setLabel:", "10.11");
}

}  // namespace metalsim
