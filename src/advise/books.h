// Books: what each node costs per month under the plan so far. A Change is priced here and nowhere else.
//
// A node's monthly cost starts as its money of the period, per month; a Change replaces the costs of the nodes it
// touches, and its saving is before − after. Since every saving is a difference of exact amounts on the books the
// earlier changes left, the savings sum to bill − plan to the last nano-unit.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advise/node_facts.h"
#include "advise/price_lookup.h"
#include "model/change.h"
#include "sim/spot_math.h"

namespace stint {

/// Part of a pool's machines that goes to spot, in whole machines, rounded up; the rest stays on demand so that the work never stands still.
inline constexpr int64_t kSpotSharePct = 85;

/// One node under the plan.
struct PlanNode {
  /// What of it no commitment covers.
  struct Committed {
    std::vector<uint16_t> open_s;  ///< seconds on demand, per hour of the period
    Money open_monthly;            ///< what these cost
  };
  std::string provider, region, instance_type;
  Market market = Market::kUnknown;
  Money monthly;
  std::vector<uint16_t> on_s;          ///< seconds on, per hour of the period
  std::optional<Committed> committed;  ///< bought by a change
  bool gone = false;
  bool structure_changed = false;  ///< stopped, resized, shared or moved off GPUs: once per node
  bool market_changed = false;     ///< once per node
  bool in_savings_plan = false;    ///< once per node
  bool hours_changed = false;
  WeekHours off = {};  ///< by a change

  [[nodiscard]] int64_t seconds() const;
  /// On demand, and what that costs: all of it where nothing was committed to.
  [[nodiscard]] const std::vector<uint16_t>& open_s() const { return committed ? committed->open_s : on_s; }
  [[nodiscard]] Money open_monthly() const { return committed ? committed->open_monthly : monthly; }
};

/// Seconds on by hour, when no reservation is kept longer than `to`: of each stretch of hours the first `to`. A stretch of n × `from` is n
/// reservations one after another, so a machine that is never off is kept for `to` of every `from`.
/// @param from  > 0
std::vector<uint16_t> limited_hours(std::vector<uint16_t> on_s, Duration from, Duration to);
/// Seconds on by hour that sum to `wanted_s`, as far as there are so many: for less each hour gives the same part, for more each is on for the same
/// part of what it was `before`, and then of what is left of it.
std::vector<uint16_t> stretched_hours(std::vector<uint16_t> on_s, const std::vector<uint16_t>& before, int64_t wanted_s);

class Books {
 public:
  /// @param facts, prices  must outlive this.
  Books(const FleetFacts& facts, const PriceLookup& prices);

  [[nodiscard]] const PlanNode& of(NodeId id) const { return nodes_[id.index()]; }
  [[nodiscard]] Money total() const;
  [[nodiscard]] const FleetFacts& facts() const { return facts_; }
  [[nodiscard]] const PriceLookup& prices() const { return prices_; }
  /// Where the node is under the plan; its zone only while it stays in its region.
  [[nodiscard]] SpotPlace place_of(NodeId id) const;
  /// Interruptions it would meet there on spot.
  [[nodiscard]] InterruptionRate spot_rate(NodeId id) const;
  /// What an hour of the node costs now; none when it is free, gone or never on.
  [[nodiscard]] std::optional<Money> hourly(NodeId id) const;

  /// The same of the hours that no commitment covers.
  [[nodiscard]] std::optional<Money> open_hourly(NodeId id) const;

  /// Money per month the change would save on these books; negative when it costs more.
  /// @return error when a node is not known, is gone, was changed in that way before, or a price is not known.
  [[nodiscard]] Result<Money> saving_of(const Change& change) const;
  /// Applies it. @return what it saves, as saving_of; on error the books are as before.
  Result<Money> apply(const Change& change);
  /// Applies it, and its machines cost so much that it saves what a replay of it showed: a change of market or region by what an hour costs, any
  /// other by the hours that they are on, as far as a day has them. Where nothing of them is left to cost anything, the books' own figure stands.
  /// @return what it saves on the books from now on.
  Result<Money> apply_as_replayed(const Change& change, Money replayed);

 private:
  struct Outcome {
    size_t node = 0;
    PlanNode after;
  };
  Result<std::vector<Outcome>> outcome_of(const Change& change) const;
  Result<std::vector<Outcome>> outcome(const StopNodes& c) const;
  Result<std::vector<Outcome>> outcome(const ScheduleOff& c) const;
  Result<std::vector<Outcome>> outcome(const ResizeNodes& c) const;
  Result<std::vector<Outcome>> outcome(const ShareGpus& c) const;
  Result<std::vector<Outcome>> outcome(const SwitchMarket& c) const;
  Result<std::vector<Outcome>> outcome(const Commit& c) const;
  Result<std::vector<Outcome>> outcome(const SavingsPlan& c) const;
  Result<std::vector<Outcome>> outcome(const LimitReservation& c) const;
  Result<std::vector<Outcome>> outcome(const MoveOffGpu& c) const;
  Result<std::vector<Outcome>> outcome(const MoveRegion& c) const;

  /// Commitments to `count` of these nodes cover in every hour the first ones; the others stay on demand.
  /// @param committed, open  per month: what the commitments cost, and what is still on demand.
  void cover(std::vector<Outcome>& nodes, int64_t count, Money committed, Money open) const;
  Result<std::vector<Outcome>> open(const std::vector<std::string>& nodes) const;
  Status claim_structure(std::vector<Outcome>& nodes) const;
  /// The first `count` of them are there whenever so many of all were: whatever ran on the others runs there.
  static void stand_in_for_all(std::vector<Outcome>& nodes, const std::vector<size_t>& kept);
  std::optional<Money> hourly_of(Money monthly, int64_t seconds) const;
  Money monthly_at(Money hourly, const PlanNode& node) const;
  /// The same node bought as another type, in another region or on another market.
  Status reprice(PlanNode& node) const;

  const FleetFacts& facts_;
  const PriceLookup& prices_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::vector<PlanNode> nodes_;
};

}  // namespace stint
