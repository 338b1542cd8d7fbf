// Autorelease pools: one stack per thread.
#include <vector>

#include "export.h"
#include "objc.h"
#include "report.h"

namespace metalsim {
namespace {

struct Pool {
  std::vector<Object *> objects;
};

thread_local std::vector<Pool *> pools;

}  // namespace

Object *Object::autorelease() {
  REQUIRE(!pools.empty(), Rule::PoolMissing, "%s", nameOf(this).c_str());
  REQUIRE(owned > pending, Rule::OverRelease, "%s is autoreleased more often than owned",
          nameOf(this).c_str());
  pending++;
  pools.back()->objects.push_back(this);
  return this;
}

}  // namespace metalsim

using namespace metalsim;

EXPORT void *objc_autoreleasePoolPush() {
  std::lock_guard guard(apiLock());
  pools.push_back(new Pool);
  report::poolDepth(+1);
  return pools.back();
}

EXPORT void objc_autoreleasePoolPop(void *token) {
  std::lock_guard guard(apiLock());
  REQUIRE(!pools.empty(), Rule::PoolUnbalanced, "this thread has no pool; was it locked to one OS thread?");
  REQUIRE(pools.back() == token, Rule::PoolUnbalanced, "this is not the innermost pool of the thread");
  Pool *pool = pools.back();
  // As in Apple's runtime, the pool still accepts objects while it drains.
  for (size_t i = 0; i < pool->objects.size(); i++) {
    pool->objects[i]->pending--;
    pool->objects[i]->release();
  }
  pools.pop_back();
  delete pool;
  report::poolDepth(-1);
}
