// Shapes: what distinguishes jobs for the question "does it fit?". Jobs of one shape fit or fail together, so that one
// answer serves all that wait. A shape is plain when it asks for nothing but whole GPUs: then counting is enough.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/id.h"
#include "sched/job.h"
#include "sched/place/cluster.h"
#include "sched/policy.h"
#include "sched/queues/queue_usage.h"

namespace stint::sched {

using ShapeId = Id<struct ShapeTag>;

/// Tasks of one size, in a plain shape.
struct ShapePart {
  int32_t gpus = 0;  ///< whole GPUs of one node, for each
  int32_t tasks = 0;
};

struct Shape {
  RequestId request;
  GangId gang;
  int32_t tasks = 1;
  int32_t min_tasks = 1;
  bool preemptible = true;
  bool plain = false;            ///< nothing but whole GPUs: no topology, sub-groups, CPU, memory, constraints
  std::vector<ShapePart> parts;  ///< plain: largest first, in the order the tasks are placed
  std::vector<int32_t> order;    ///< plain: offsets of the tasks in the job, largest first
  Amounts total;                 ///< of all tasks
};

/// Does best fit by whole GPUs do what the policy asks for, where nothing but whole GPUs is asked for?
constexpr bool counts_only(Placement p) { return p == Placement::kBestFit || p == Placement::kStint; }

class ShapeTable {
 public:
  /// @param counting  false: no shape is plain.
  explicit ShapeTable(bool counting) : counting_(counting) {}

  GangId intern(const Gang& gang);
  [[nodiscard]] const Gang* gang(GangId g) const { return g.valid() ? &gangs_[g.index()] : nullptr; }

  /// Equal jobs (request, gang, task counts, preemptible) get equal ids.
  ShapeId intern(const JobSpec& job, const Cluster& cluster);
  [[nodiscard]] const Shape& operator[](ShapeId s) const { return shapes_[s.index()]; }
  [[nodiscard]] size_t size() const { return shapes_.size(); }
  /// Request of the job's i-th task.
  [[nodiscard]] RequestId request_of(const Shape& shape, int32_t task) const;

 private:
  friend struct SnapshotParts;
  using Key = std::tuple<uint32_t, uint32_t, int32_t, int32_t, bool>;
  [[nodiscard]] Shape make(const JobSpec& job, const Cluster& cluster) const;

  bool counting_;
  std::vector<Gang> gangs_;
  std::vector<Shape> shapes_;
  std::map<Key, ShapeId> ids_;
  Key last_key_{};  // traces repeat themselves: most jobs have the shape of one shortly before
  ShapeId last_;
};

}  // namespace stint::sched
