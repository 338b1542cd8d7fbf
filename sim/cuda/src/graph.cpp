#include "graph.h"

#include <algorithm>

#include "stream.h"

namespace cudasim {
namespace {

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelParams {
  CUhandle function;
  uint32_t grid[3], block[3];
  uint32_t dynamicShared;
  void **params, **extra;
  CUhandle kernel, context;
};

// CUgraphEdgeData
struct EdgeData {
  uint8_t fromPort, toPort, kind, reserved[5];
};

Launch launchOf(const KernelParams &p) {
  REQUIRE(!p.extra && !p.kernel && !p.context, Rule::BadValue, "node parameters that the stand-in does not know");
  const auto *f = get<Function>(p.function);
  REQUIRE(p.grid[0] > 0 && p.grid[0] < 1u << 31 && p.grid[1] == 1 && p.grid[2] == 1, Rule::Launch, "%s: a grid of %u×%u×%u",
          f->entry.c_str(), p.grid[0], p.grid[1], p.grid[2]);
  REQUIRE(p.block[0] > 0 && p.block[0] <= f->kernel->max_threads && p.block[1] == 1 && p.block[2] == 1, Rule::Launch,
          "%s: a block of %u×%u×%u; the kernel takes %u", f->entry.c_str(), p.block[0], p.block[1], p.block[2], f->kernel->max_threads);
  // Metal source declares the array with its size, so the executor needs no size. Only the launch is checked.
  REQUIRE(p.dynamicShared == f->dynamic, Rule::Launch, "%s: %u bytes of dynamic shared memory; the kernel needs %u", f->entry.c_str(),
          p.dynamicShared, f->dynamic);
  REQUIRE(p.dynamicShared <= f->allowed, Rule::Launch, "%s: %u bytes of dynamic shared memory; cuFuncSetAttribute allowed %u",
          f->entry.c_str(), p.dynamicShared, f->allowed);
  REQUIRE(p.params, Rule::BadPointer, "%s: no parameters", f->entry.c_str());
  Launch l{f, p.grid[0], p.block[0], {}};
  for (uint32_t i = 0; i < f->params; i++) {
    REQUIRE(p.params[i], Rule::BadPointer, "%s, parameter %u", f->entry.c_str(), i);
    l.params.push_back(*static_cast<const CUdeviceptr *>(p.params[i]));
  }
  return l;
}

}  // namespace
}  // namespace cudasim

using namespace cudasim;

EXPORT CUresult cuGraphCreate(CUhandle *out, unsigned flags) {
  ENTER(Context);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  *out = born(new Graph);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphDestroy(CUhandle h) {
  ENTER(Context);
  auto *g = get<Graph>(h);
  for (Node *n : g->nodes) destroy(n);
  destroy(g);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphAddKernelNode_v2(CUhandle *out, CUhandle graph, const CUhandle *after, uint64_t count, const KernelParams *params) {
  ENTER(Context);
  REQUIRE(out && params && (after || !count), Rule::BadPointer, "%s", __func__);
  auto *g = get<Graph>(graph);
  auto n = std::make_unique<Node>();
  n->owned = false;  // the graph owns its nodes
  n->graph = g;
  n->index = g->nodes.size();
  n->launch = launchOf(*params);
  for (uint64_t i = 0; i < count; i++) {
    const auto *other = get<Node>(after[i]);
    REQUIRE(other->graph == g, Rule::BadHandle, "%s: %s is in another graph", __func__, other->name().c_str());
    n->after.push_back(other->index);
  }
  g->nodes.push_back(n.get());
  *out = born(n.release());
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphAddDependencies_v2(CUhandle graph, const CUhandle *from, const CUhandle *to, const EdgeData *data, uint64_t count) {
  ENTER(Context);
  REQUIRE(!count || (from && to && data), Rule::BadPointer, "%s", __func__);
  const auto *g = get<Graph>(graph);
  for (uint64_t i = 0; i < count; i++) {
    const auto *first = get<Node>(from[i]);
    auto *second = get<Node>(to[i]);
    REQUIRE(first->graph == g && second->graph == g, Rule::BadHandle, "%s: a node of another graph", __func__);
    REQUIRE(first->index < second->index, Rule::BadValue, "%s: %s before %s", __func__, first->name().c_str(), second->name().c_str());
    const bool whole = !data[i].fromPort && !data[i].kind, early = data[i].fromPort == 1 && data[i].kind == 1;
    REQUIRE((whole || early) && !data[i].toPort && std::ranges::count(data[i].reserved, 0) == 5, Rule::BadValue,
            "%s: an edge from port %u of kind %u", __func__, data[i].fromPort, data[i].kind);
    // With a programmatic edge the second kernel may begin early and waits itself. TestEntries in
    // gen/ptx checks that it does.
    second->after.push_back(first->index);
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUhandle *out, CUhandle graph, uint64_t flags) {
  ENTER(Context);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  auto *e = new Executable;
  for (const Node *n : get<Graph>(graph)->nodes) {
    e->launches.push_back(n->launch);
    e->after.push_back(n->after);
    std::vector<bool> before(n->index);
    for (const size_t a : n->after) {
      before[a] = true;
      for (size_t i = 0; i < e->before[a].size(); i++) before[i] = before[i] || e->before[a][i];
    }
    e->before.push_back(std::move(before));
  }
  *out = born(e);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecDestroy(CUhandle h) {
  ENTER(Context);
  auto *e = get<Executable>(h);
  requireIdle(e, __func__);
  destroy(e);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphLaunch(CUhandle h, CUhandle stream) {
  ENTER(Context);
  const auto *e = get<Executable>(h);
  auto *s = get<Stream>(stream);
  Work w{[e] { e->run(); }, {}, {e}};
  for (const Launch &l : e->launches) {
    REQUIRE(find(l.function->handle) == l.function, Rule::BadHandle, "%s: its kernel's module is unloaded", __func__);
    w.objects.push_back(l.function);
    for (const CUdeviceptr p : l.params) {
      memory::Block *b = memory::device(p, 1, l.function->entry.c_str());
      memory::expect(b);
      w.ranges.push_back({b->base, b->base + b->bytes});
    }
  }
  s->add(std::move(w));
  return CUDA_SUCCESS;
}
