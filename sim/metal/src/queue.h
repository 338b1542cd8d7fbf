// Command queues and command buffers.
//
// Nothing runs at commit. Work runs, in order, when the application waits for it or asks for its
// status, in the calling thread. So a program that reads a result too early never gets it, and a
// program that changes an argument too early always changes it. A command buffer counts as in
// flight from commit until the application has observed that it, or a later one of its queue, is
// done.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "../../common/access.h"
#include "command.h"
#include "icb.h"
#include "residency.h"

namespace metalsim {

using simcommon::Access;
using simcommon::Intervals;

struct Queue;
struct Encoder;

// One command of an encoder.
struct Step {
  Command command;     // a direct dispatch, or
  Icb *icb = nullptr;  // the range of this ICB
  Range range{};
  bool barrier = false;  // wait for all steps before it
};

// The work of one encoder.
struct Pass {
  std::vector<Step> steps;
  std::set<const Object *> tracked;  // bound or declared with useResource
  std::set<const Buffer *> written;  // the tracked buffers that may be written
  // The accesses of its commands to memory that Metal tracks, and to other memory.
  Access trackedAccess, untrackedAccess;
};

// The contents of a small shared buffer at commit.
struct Snapshot {
  Ref<Buffer> buffer;
  std::vector<uint8_t> bytes;
};

enum class Status : uint64_t { NotEnqueued, Enqueued, Committed, Scheduled, Completed, Error };

struct CommandBuffer : Object {
  Ref<Queue> queue;
  uint64_t number;  // within the queue
  Status state = Status::NotEnqueued;
  bool observed = false;      // the application has observed that it is done
  bool errorChecked = false;  // the application has asked for status or error since
  Encoder *open = nullptr;
  std::vector<std::unique_ptr<Pass>> passes;
  std::vector<Ref<Object>> retained;  // what its encoders refer to
  std::vector<Ref<Icb>> icbs;         // one entry per replay
  std::vector<Ref<CommandBuffer>> overlapping;  // in flight when it was committed
  std::vector<Snapshot> snapshots;
  Intervals gpuWrites;  // written by kernels since commit
  Ref<Error> failure;
  double start = 0, end = 0;

  CommandBuffer(Queue *q, uint64_t n);
  void dealloc() override;

  Object *computeCommandEncoder() { return computeCommandEncoderWithDispatchType(0); }
  Object *computeCommandEncoderWithDispatchType(uint64_t type);
  void commit();
  void waitUntilCompleted();
  uint64_t status();
  Object *error();
  double gpuStartTime() { return time(start); }
  double gpuEndTime() { return time(end); }

  bool done() const { return state == Status::Completed || state == Status::Error; }
  bool inFlight() const { return state >= Status::Committed && !observed; }

 private:
  void takeSnapshots();
  void retire();
  double time(double t);  // 0 until the work is done
  friend struct Queue;
};

struct Queue : Object {
  std::deque<Ref<CommandBuffer>> inFlight;  // committed and not observed, in order
  std::vector<CommandBuffer *> alive;        // all its command buffers, in order
  std::set<ResidencySet *> sets;
  CommandBuffer *unchecked = nullptr;  // a failed command buffer whose error was not asked for
  uint64_t count = 0;

  void dealloc() override;
  Object *commandBuffer();
  void addResidencySet(ResidencySet *s);
  void removeResidencySet(ResidencySet *s);
  bool resident(const Allocation *a) const;
  // Runs the oldest command buffer that is not done.
  void runOne();
  // The application saw that c is done, hence all before it too.
  void observe(CommandBuffer *c);
};

void defineQueue();

}  // namespace metalsim
