// Graphs: nodes are ordered only by what their streams were ordered by during the capture.
#include <algorithm>

#include "machine/capture.hpp"
#include "machine/driver.hpp"

namespace fakegpu {
namespace {

/// The nodes' clocks. Nodes that no path connects have components of their own, so that an access
/// of one is not ordered with one of the other, although one thread runs all of them.
class Nodes {
 public:
  Nodes(Machine& machine, const Graph& graph, const Clock& start)
      : machine_(machine), graph_(graph), start_(start), last_of_(graph.jobs.size(), false) {}

  /// The clock of the next node, in the order of the capture.
  Accessor add(const Context& context) {
    const std::size_t number = clocks_.size();
    const Job& job = graph_.jobs[number];
    Clock& clock = clocks_.emplace_back(start_);
    std::size_t component = 0;
    for (const std::uint64_t before : job.after) {
      clock.join(clocks_[before - 1]);
      if (last_of_[before - 1]) component = components_[before - 1];
    }
    if (component == 0) component = machine_.new_component();
    for (const std::uint64_t before : job.after)
      if (components_[before - 1] == component) last_of_[before - 1] = false;
    components_.push_back(component);
    last_of_[number] = true;
    return {{component, clock.tick(component)}, &clock, &context, job.kernel};
  }

  Clock end() const {
    Clock all = start_;
    for (const Clock& clock : clocks_) all.join(clock);
    return all;
  }

 private:
  Machine& machine_;
  const Graph& graph_;
  const Clock start_;
  std::deque<Clock> clocks_{};
  std::vector<std::size_t> components_{};
  std::vector<bool> last_of_;  // the node is the latest one of its component
};

/// An order in which the nodes may run: that of the capture, or late nodes as early as possible.
std::vector<std::size_t> order_of(const Graph& graph, Order order) {
  std::vector<std::size_t> result;
  std::set<std::uint64_t> done;
  const auto ready = [&](std::size_t node) {
    const Job& job = graph.jobs[node];
    return !done.contains(node + 1) &&
           std::includes(done.begin(), done.end(), job.after.begin(), job.after.end());
  };
  while (result.size() < graph.jobs.size()) {
    std::size_t next = graph.jobs.size();
    for (std::size_t node = 0; node < graph.jobs.size(); ++node)
      if (ready(node) && (next == graph.jobs.size() || order == Order::kLatest)) next = node;
    done.insert(next + 1);
    result.push_back(next);
  }
  return result;
}

/// The launch is captured, or the legacy stream cannot be used now.
int launch_into(Call& call, const Graph& graph, Stream& stream) {
  for (const Job& job : graph.jobs)
    if (const int code = submit(call, stream, job)) return code;
  return kSuccess;
}

}  // namespace

int graph_instantiate(Call& call, Handle* out, Handle handle) {
  const Graph* graph = call.machine.graphs.alive(handle);
  if (graph == nullptr || out == nullptr) return kInvalidValue;
  Graph copy = *graph;
  copy.executable = true;
  *out = call.machine.graphs.add(std::move(copy))->handle;
  return kSuccess;
}

int graph_launch(Call& call, Handle handle, Handle stream_handle) {
  Graph* graph = call.machine.graphs.alive(handle);
  if (graph == nullptr || !graph->executable) return kInvalidValue;
  Stream* stream = nullptr;
  if (const int code = find_stream(call, stream_handle, stream)) return code;
  Machine& machine = call.machine;
  if (stream->capture != nullptr) return launch_into(call, *graph, *stream);
  if (const int code = refuse_implicit(*stream, true)) return code;
  machine.next_call = call.number;
  machine.enqueue(*stream, {}, graph->launched);
  Nodes nodes(machine, *graph, stream->clock);
  for (const Job& job : graph->jobs) check_job(call, *stream, nodes.add(*stream->context), job);
  for (const std::size_t node : order_of(*graph, machine.settings.order))
    machine.enqueue(*stream, graph->jobs[node].run, {});
  stream->clock.join(nodes.end());
  graph->launched = machine.snapshot(*stream);
  return kSuccess;
}

int graph_destroy(Call& call, Handle handle) {
  Graph* graph = call.machine.graphs.alive(handle);
  if (graph == nullptr) return kInvalidValue;
  graph->alive = false;
  return kSuccess;
}

}  // namespace fakegpu
