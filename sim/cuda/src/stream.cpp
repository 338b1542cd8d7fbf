#include "stream.h"

#include <chrono>
#include <set>

namespace cudasim {
namespace {

std::set<Stream *> &streams() {
  static auto &s = *new std::set<Stream *>;
  return s;
}

// Returns a time that differs at every call, so that no time between two events is zero.
double now() {
  static double last = 0;
  const double t = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return last = std::max(t, last + 1e-6);
}

// At random, runs some of a stream's pending work.
void perhapsRun() {
  for (Stream *s : streams())
    if (!s->work.empty() && nextRandom() % 8 == 0) s->runTo(s->done + 1 + nextRandom() % s->work.size());
}

}  // namespace

void Stream::add(Work w) {
  work.push_back(std::move(w));
  perhapsRun();
}

void Stream::runTo(uint64_t count) {
  while (done < count && !work.empty()) {
    const Work w = std::move(work.front());
    work.pop_front();
    done++;
    w.run();
  }
}

bool busy(memory::Range r) {
  for (const Stream *s : streams())
    for (const Work &w : s->work)
      for (const memory::Range &used : w.ranges)
        if (used.begin < r.end && r.begin < used.end) return true;
  return false;
}

void requireIdle(memory::Range r, const char *what) {
  REQUIRE(!busy(r), Rule::FreeInFlight, "%s: memory that work in a stream uses", what);
}

void requireIdle(const Object *o, const char *what) {
  for (const Stream *s : streams())
    for (const Work &w : s->work)
      for (const Object *used : w.objects)
        REQUIRE(used != o, Rule::FreeInFlight, "%s: %s, used in %s", what, o->name().c_str(), s->name().c_str());
}

}  // namespace cudasim

using namespace cudasim;

EXPORT CUresult cuStreamCreate(CUhandle *out, unsigned flags) {
  ENTER(Context);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  auto *s = new Stream;
  streams().insert(s);
  *out = born(s);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamDestroy_v2(CUhandle h) {
  ENTER(Context);
  auto *s = get<Stream>(h);
  REQUIRE(s->work.empty(), Rule::FreeInFlight, "%s: %zu pieces of work in %s", __func__, s->work.size(), s->name().c_str());
  streams().erase(s);
  destroy(s);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUhandle h) {
  ENTER(Context);
  auto *s = get<Stream>(h);
  s->runTo(s->added());
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamWaitEvent(CUhandle h, CUhandle event, unsigned flags) {
  ENTER(Context);
  auto *s = get<Stream>(h);
  const auto *e = get<Event>(event);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  Stream *other = e->stream;
  if (!other || other == s) return CUDA_SUCCESS;  // there is nothing to wait for if the event has passed or is in the same stream
  // A stream is idle when it is destroyed: then there is nothing left to wait for.
  s->add({[other, position = e->position] {
            if (streams().contains(other)) other->runTo(position);
          },
          {},
          {e}});
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventCreate(CUhandle *out, unsigned flags) {
  ENTER(Context);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (flags > 7) return CUDA_ERROR_INVALID_VALUE;
  *out = born(new Event);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUhandle h) {
  ENTER(Context);
  auto *e = get<Event>(h);
  requireIdle(e, __func__);
  destroy(e);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUhandle h, CUhandle stream) {
  ENTER(Context);
  auto *e = get<Event>(h);
  auto *s = get<Stream>(stream);
  e->stream = s;
  e->recorded = true;
  const uint64_t position = e->position = s->added() + 1;
  s->add({[=] {
            e->time = now();
            if (e->stream == s && e->position == position) e->stream = nullptr;
          },
          {},
          {e}});
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventSynchronize(CUhandle h) {
  ENTER(Context);
  auto *e = get<Event>(h);
  if (e->stream) e->stream->runTo(e->position);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventElapsedTime(float *ms, CUhandle from, CUhandle to) {
  ENTER(Context);
  REQUIRE(ms, Rule::BadPointer, "%s", __func__);
  const auto *a = get<Event>(from), *b = get<Event>(to);
  REQUIRE(a->recorded && b->recorded, Rule::BadValue, "%s: %s or %s was never recorded", __func__, a->name().c_str(), b->name().c_str());
  if (a->stream || b->stream) return CUDA_ERROR_NOT_READY;
  *ms = static_cast<float>((b->time - a->time) * 1e3);
  return CUDA_SUCCESS;
}
