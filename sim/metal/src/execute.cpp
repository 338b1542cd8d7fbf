#include "execute.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstring>

#include "config.h"
#include "duration.h"

namespace metalsim {
namespace {

struct Item {
  const Command *command;
  uint64_t index;  // in its ICB or encoder, for messages
  bool indirect;   // of an ICB, which retains nothing
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The buffer and offset of an address, for messages.
std::string place(const Command &c, uintptr_t at) {
  for (const Binding &b : c.bindings) {
    const auto base = b.buffer ? reinterpret_cast<uintptr_t>(b.buffer->memory) : 0;
    if (base && at >= base && at < base + b.buffer->bytes) return nameOf(b.buffer) + " + " + std::to_string(at - base);
  }
  return "address " + std::to_string(at);
}

// Executes one command buffer.
class Execution {
 public:
  explicit Execution(CommandBuffer &c) : c_(c) {}
  void run(uint64_t limit);  // at most limit commands
  duration::End end() const { return end_; }
  double seconds() const { return seconds_; }  // by the model of time
  const std::string &last() const { return last_; }  // command that was to run when time was up

 private:
  void runPass(Pass &p);
  void runGroup(std::vector<Item> &group);
  bool inTime(const Item &i);
  void launch(const Item &i);
  void record(const Item &i, Access &&a);
  void checkOverlap(const Item &i, const Access &tracked, const Access &untracked);
  void checkSnapshots(const Item &i, const Access &a);

  CommandBuffer &c_;
  Pass *pass_ = nullptr;
  std::vector<Access> group_;  // the accesses of the commands since the last barrier
  uint64_t left_ = 0;
  double seconds_ = 0;
  std::string last_;
  duration::End end_ = duration::End::Well;
};

void Execution::run(uint64_t limit) {
  left_ = limit;
  for (auto &p : c_.passes) runPass(*p);
}

void Execution::runPass(Pass &p) {
  pass_ = &p;
  std::vector<Item> group;
  uint64_t index = 0;
  for (const Step &s : p.steps) {
    if (s.barrier) runGroup(group);
    if (!s.icb) {
      group.push_back({&s.command, index++, false});
      continue;
    }
    for (uint64_t i = s.range.location; i < s.range.location + s.range.length; i++) {
      const Command &command = s.icb->commands[i];
      if (command.barrier) runGroup(group);
      group.push_back({&command, i, true});
    }
  }
  runGroup(group);
}

void Execution::runGroup(std::vector<Item> &group) {
  for (size_t i = group.size(); i > 1; i--) std::swap(group[i - 1], group[nextRandom() % i]);
  for (const Item &i : group)
    if (left_ && inTime(i)) left_--, launch(i);
  group.clear();
  group_.clear();
}

// Returns whether a command ends within the limits of time. If not, it and all later commands are not run.
bool Execution::inTime(const Item &i) {
  if (!duration::known() || end_ != duration::End::Well) return end_ == duration::End::Well;
  const double t = duration::of(*i.command);
  seconds_ += t;
  if (t > duration::dispatchLimit()) end_ = duration::End::DispatchTooLong;
  else if (seconds_ > duration::bufferLimit()) end_ = duration::End::BufferTooLong;
  if (end_ == duration::End::Well) return true;
  last_ = i.command->describe(i.index) + " of " + std::to_string(static_cast<uint64_t>(t * 1e3)) + " ms, the command buffer of " +
          std::to_string(static_cast<uint64_t>(seconds_ * 1e3)) + " ms";
  return false;
}

void onKernelFault(void *context, const char *rule, const char *text) {
  const auto *item = static_cast<const std::pair<const Item *, Access> *>(context)->first;
  const Rule broken = !strcmp(rule, "out-of-bounds") ? Rule::OutOfBounds
                      : !strcmp(rule, "misaligned")  ? Rule::DeviceAlignment
                                                     : Rule::KernelFault;
  fail(broken, "%s: %s: %s", item->command->describe(item->index).c_str(), rule, text);
}

void onTouched(void *context, const void *at, uint64_t bytes, int write) {
  Access &a = static_cast<std::pair<const Item *, Access> *>(context)->second;
  const auto begin = reinterpret_cast<uintptr_t>(at);
  (write ? a.writes : a.reads).add(begin, begin + bytes);
}

void Execution::launch(const Item &item) {
  const Command &c = *item.command;
  std::pair<const Item *, Access> context{&item, {}};
  msl_launch l = {};
  for (uint32_t i = 0; i < MSL_MAX_BUFFERS; i++) {
    const Binding &b = c.bindings[i];
    if (!b.buffer || !(c.pipeline->kernel->buffers >> i & 1)) continue;
    REQUIRE(!item.indirect || b.buffer->owned > 0, Rule::UseAfterFree, "%s, argument %u: %s",
            c.describe(item.index).c_str(), i, nameOf(b.buffer).c_str());
    l.buffers[i] = b.buffer->memory + b.offset;
    l.sizes[i] = b.buffer->bytes - b.offset;
  }
  const uint64_t groups[] = {c.groups.width, c.groups.height, c.groups.depth};
  const uint64_t threads[] = {c.threads.width, c.threads.height, c.threads.depth};
  for (int i = 0; i < 3; i++) {
    l.groups[i] = static_cast<uint32_t>(groups[i]);
    l.threads[i] = static_cast<uint32_t>(threads[i]);
  }
  l.seed = nextRandom();
  l.flags = config().storeDelay ? MSL_STORE_DELAY : 0;
  l.fault = onKernelFault;
  l.touched = config().kernels == Kernels::Run ? onTouched : nullptr;
  l.context = &context;
  if (config().kernels != Kernels::Stub) c.pipeline->kernel->run(&l);
  record(item, std::move(context.second));
}

// Compares the accesses of a command with those of the commands that may run at the same time.
void Execution::record(const Item &item, Access &&a) {
  a.who = item.command->describe(item.index);
  for (const Access &other : group_)
    if (const uintptr_t at = a.conflict(other))
      fail(Rule::MissingBarrier, "%s and %s, at %s", other.who.c_str(), a.who.c_str(), place(*item.command, at).c_str());

  for (const auto &other : c_.queue->inFlight)
    if (!other->done()) other->gpuWrites.add(a.writes);
  checkSnapshots(item, a);

  Access tracked, untracked;
  auto split = [&](const Intervals &from, Intervals Access::*to, const auto &declared) {
    for (const auto &[begin, end] : from.list()) {
      const auto owner = std::find_if(item.command->bindings.begin(), item.command->bindings.end(), [&](const Binding &b) {
        const auto base = b.buffer ? reinterpret_cast<uintptr_t>(b.buffer->memory) : 0;
        return base && begin >= base && begin < base + b.buffer->bytes && declared.count(b.buffer);
      });
      ((owner != item.command->bindings.end() ? tracked : untracked).*to).add(begin, end);
    }
  };
  split(a.reads, &Access::reads, pass_->tracked);
  split(a.writes, &Access::writes, pass_->written);
  checkOverlap(item, tracked, untracked);
  pass_->trackedAccess.add(tracked);
  pass_->untrackedAccess.add(untracked);
  group_.push_back(std::move(a));
}

// Metal orders two encoders by the resources that both declare. Accesses to other memory have no
// order while both encoders are in flight.
void Execution::checkOverlap(const Item &item, const Access &tracked, const Access &untracked) {
  auto check = [&](const Access &mine, const Access &other, const CommandBuffer &c) {
    if (const uintptr_t at = mine.conflict(other))
      fail(Rule::CommandBufferOverlap, "%s of %s and an encoder of %s, at %s", item.command->describe(item.index).c_str(),
           nameOf(&c_).c_str(), nameOf(&c).c_str(), place(*item.command, at).c_str());
  };
  auto checkPass = [&](const Pass &p, const CommandBuffer &c) {
    check(untracked, p.trackedAccess, c);
    check(untracked, p.untrackedAccess, c);
    check(tracked, p.untrackedAccess, c);
  };
  for (const auto &c : c_.overlapping)
    for (const auto &p : c->passes) checkPass(*p, *c.get());
  for (const auto &p : c_.passes) {
    if (p.get() == pass_) break;
    checkPass(*p, c_);
  }
}

// Checks that the bytes which a kernel read are unchanged since commit or were written by a kernel.
void Execution::checkSnapshots(const Item &item, const Access &a) {
  for (const Snapshot &s : c_.snapshots) {
    const auto base = reinterpret_cast<uintptr_t>(s.buffer->memory);
    const uintptr_t end = base + s.bytes.size();
    for (const auto &[from, to] : a.reads.list())
      for (uintptr_t at = std::max(from, base); at < std::min(to, end); at++)
        if (s.buffer->memory[at - base] != s.bytes[at - base] && !c_.gpuWrites.common(at, at + 1))
          fail(Rule::EditInFlight, "%s reads %s, which was changed after commit", item.command->describe(item.index).c_str(),
               place(*item.command, at).c_str());
  }
}

uint64_t commandCount(const CommandBuffer &c) {
  uint64_t n = 0;
  for (const auto &p : c.passes)
    for (const Step &s : p->steps) n += s.icb ? s.range.length : 1;
  return n;
}

}  // namespace

void execute(CommandBuffer &c) {
  const bool lost = faultNow(Fault::Lost), failed = faultNow(Fault::Replay) || lost;
  c.start = now();
  Execution e(c);
  duration::End end = duration::refuses() ? duration::End::Refused : duration::End::Well;
  if (end == duration::End::Well) {
    // A command buffer that fails stops anywhere.
    e.run(failed ? nextRandom() % (commandCount(c) + 1) : UINT64_MAX);
    end = e.end();
  }
  c.end = duration::known() ? c.start + e.seconds() : now();
  const bool ended = end != duration::End::Well;
  if (ended) duration::refuse();
  c.state = failed || ended ? Status::Error : Status::Completed;
  c.overlapping.clear();
  c.snapshots.clear();
  if (!failed && !ended) return;
  int64_t code = duration::code(end);
  std::string text = duration::text(end);
  if (!e.last().empty()) text += ", simulated: " + e.last();
  if (failed) {
    code = lost ? 4 : 2;
    text = lost ? "injected failure: the device was lost" : "injected failure: the command buffer timed out";
  }
  Error *error = make<Error>(code, "MTLCommandBufferErrorDomain", text);
  c.failure = error;
  error->release();
}

}  // namespace metalsim
