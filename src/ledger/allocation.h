// Allocation: the ledger by what Kubernetes calls things: namespace, controller, pod, label. Its rows, idle money included, sum to what
// the machines cost, to the nano-unit, and those of a client to what the client's statement says.
//
// The shape is that of OpenCost's allocations (codec/bills/opencost_writer.h writes them). The ledger is one told by hold (hold_ledger.h).
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/ledger.h"
#include "model/hold.h"
#include "model/run_owner.h"

namespace stint {

enum class AllocationDimension {
  kClient,
  kNamespace,
  kControllerKind,
  kController,
  kPod,
  kContainer,
  kNode,
  kTeam,
  kProject,
  kEnvironment,
  kLabel
};

struct AllocationKey {
  AllocationDimension dimension = AllocationDimension::kNamespace;
  std::string label;  ///< its key, of kLabel
};

/// `namespace`, `controller,label:app`: at most eight, parted by commas. @return error that names what cannot be told apart.
Result<std::vector<AllocationKey>> parse_allocation_keys(std::string_view text);
/// As they are written.
std::string text_of(std::span<const AllocationKey> keys);
/// What tells a pod's container: namespace, pod, container.
std::vector<AllocationKey> keys_of_containers();

/// Names of OpenCost for idle money, and for what has no value of a key.
inline constexpr std::string_view kIdleAllocation = "__idle__";
inline constexpr std::string_view kUnallocated = "__unallocated__";

/// What a hold is called. Empty = it has none.
struct AllocationProperties {
  std::string node, ns, controller_kind, controller, pod, container, client, team, project, environment;
  std::vector<Tag> labels;  ///< ascending by key
};

struct AllocationRow {
  std::string name;                               ///< values of the keys, joined by `/`
  AllocationProperties properties;                ///< what all of it has in common
  Interval when;                                  ///< first to last hold; the window where that is not known
  Money cpu;                                      ///< compute of machines without GPUs
  Money gpu;                                      ///< compute of machines with GPUs: their whole price is carried by their GPUs
  Money storage, network;                         ///< own, and the share of what is common
  Money shared;                                   ///< share of other common cost: support, tax, untagged services
  Money external;                                 ///< tagged services that are none of the above
  Money idle;                                     ///< share of idle money; 0 unless it is spread
  Money gpu_inactive;                             ///< of `gpu`, held but not used
  Money gpu_unknown;                              ///< of `gpu`, held without telemetry
  int64_t micro_gpu_hours = 0;                    ///< held, millionths
  double cpu_core_hours = 0, ram_byte_hours = 0;  ///< asked for
  [[nodiscard]] double gpu_hours() const { return static_cast<double>(micro_gpu_hours) / 1e6; }
  [[nodiscard]] Money total() const { return cpu + gpu + storage + network + shared + external + idle; }
  /// Used part of the GPU money whose use is known, 0 to 1. none = no telemetry.
  [[nodiscard]] std::optional<double> gpu_efficiency() const;
};

/// Names of holds.
class HoldNames {
 public:
  /// All must outlive this. @param tenants  of the ledger.
  HoldNames(const History& history, const RunOwners& owners, const HoldTable& holds, const TenantTable& tenants)
      : history_(history), owners_(owners), holds_(holds), tenants_(tenants) {}

  [[nodiscard]] AllocationProperties properties(TenantId id) const;
  /// none = it is a tenant as a whole.
  [[nodiscard]] const Hold* hold(TenantId id) const;
  /// Values of `keys` joined by `/`, kUnallocated where there is none; just that where there is none at all.
  [[nodiscard]] static std::string name(const AllocationProperties& properties, std::span<const AllocationKey> keys);

 private:
  const History& history_;
  const RunOwners& owners_;
  const HoldTable& holds_;
  const TenantTable& tenants_;
};

enum class AllocationIdle {
  kSeparate,  ///< a row kIdleAllocation
  kSpread,    ///< over the rows, in proportion to their compute money
  kLeftOut,
};

struct AllocationOptions {
  std::vector<AllocationKey> by;
  AllocationIdle idle = AllocationIdle::kSeparate;
  /// Only what is theirs; idle money belongs to no client and is left out. none = all.
  std::optional<std::set<std::string>> clients;
};

struct Allocation {
  Interval window;
  std::vector<AllocationRow> rows;  ///< ascending by name
  [[nodiscard]] Money total() const;
};

inline constexpr size_t kMostAllocationSteps = 1'000;
/// The window in pieces of that length, the last one as long as is left; none = as a whole.
/// @return error for a step of less than a minute, and for too many.
Result<std::vector<Interval>> allocation_steps(Interval window, std::optional<Duration> step);

/// @param window  shown as asked for; the ledger's period is what is known of it.
Allocation allocate(const History& history, const RunOwners& owners, const HoldTable& holds, const Ledger& ledger,
                    Interval window, const AllocationOptions& options);

}  // namespace stint
