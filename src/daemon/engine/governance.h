// Budgets, quotas and approvals: the books that admission asks, what changes them, and what is told of budgets.
//
// What was decided at a door is in the record (why a job needs approval), never decided again when the log is read; the books
// follow from records and the policy as it was then.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/engine/run_costs.h"

namespace stint {

/// In place of a person's name, none of which has a blank.
inline constexpr const char* kApprovedByItself = "stint itself";

/// @return error naming what is wrong with it.
Result<BudgetRule> parse_budget_rule(JsonParser& parser, std::string_view json, Currency currency);

class Governance {
 public:
  struct View {
    FleetConfig& fleet;  ///< its policy
    const std::vector<NodeBook>& nodes;
    const std::vector<JobBook>& jobs;
    const std::map<std::string, sched::QueueId, std::less<>>& queue_ids;
    const bool& machines_come;
    const FleetPrices& prices;
    const RunCosts& costs;
  };
  Governance(const View& view, GovernBook& book) : s_(view), book_(book) {}

  /// Per account: the month of an instant, what runs until then included; and what may still come.
  struct Standing {
    Interval month;
    std::vector<Spend> spent, promised;
    // Of what runs: nano-units an hour, and what it costs by the end of the month beyond what is promised, as jobs without a time
    // limit go on and on.
    std::vector<Int128> burning, unbounded;
    std::vector<Int128> dearer;  ///< what the rest of the month costs beyond that, as prices change
  };
  struct Outlook {
    Int128 burning = 0;
    Int128 dearer = 0;     ///< see Standing
    Int128 month_end = 0;  ///< spent by then
    bool over = false;
    bool certain_over = false;        ///< by what is promised, and what runs without a time limit
    std::optional<Instant> runs_out;  ///< within the month
  };

  // The policy, and what follows from it.
  void set_policy(GovernPolicy policy);
  /// Machines have come or gone.
  void set_kinds();
  [[nodiscard]] std::vector<std::string> allowed_nodes(std::string_view client) const;
  [[nodiscard]] MostCost most_cost_of(const JobRequest& request) const;

  // Budgets: those of the configuration, then those set by command.
  [[nodiscard]] std::vector<const BudgetRule*> all_budgets() const;
  [[nodiscard]] Standing standing(Instant at) const;
  [[nodiscard]] BudgetStanding standing_of(const BudgetRule& rule, const std::vector<Spend>& spent,
                                           const std::vector<Spend>& promised) const;
  /// Work goes on at the rate of now and the prices that are known ahead, or all that is promised is spent, whichever is more.
  [[nodiscard]] Outlook outlook_of(const BudgetRule& rule, const Standing& standing, Instant at) const;
  Status apply_budget(JsonParser& parser, const Record& record);
  [[nodiscard]] Instant next_watch() const;
  /// @return events that tell of thresholds that were reached and of promises that go beyond a budget, once each a month.
  std::vector<EventView> watch_budgets(Instant now);

  // What runs again.
  /// The budget that another attempt of the job could overrun, and that does not merely warn; empty = none.
  /// @param since  the rule that attempts like it are paid by; before it none is asked
  [[nodiscard]] std::string overrun_by_another(const JobBook& job, AttemptsPaid since, Instant at) const;
  /// Another attempt of it needs approval: nothing is promised to it until then. @return why
  std::string ask_for_another(JobBook& job, const std::string& budget);
  /// What an attempt can cost is promised anew.
  void promise_again(JobBook& job);

  // At the door.
  /// @return why somebody must approve it first; empty = no approval is needed. Claims what it asks for until the step is written.
  Result<std::string> admit_submit(const JobRequest& request, Instant at, AdmissionRefusal* why);
  /// What the submits of the step that is being put together claim.
  [[nodiscard]] const SpendBook& claims() const { return claims_; }
  void set_claims(SpendBook claims) { claims_ = std::move(claims); }
  /// Time has passed, or a step was applied.
  void look_again() { standing_now_.reset(); }

  // Approvals.
  /// nullptr: it needed none, or is of the log and has it in its row.
  [[nodiscard]] const ApprovalView* approval_of(const JobBook& job) const;
  /// Jobs are approved by themselves or with all of their array, whose first one names them.
  [[nodiscard]] static int64_t first_decided_with(const JobBook& job) { return job.array_first > 0 ? job.array_first : job.id; }
  /// Those of them that are in memory: all, as long as one waits for approval.
  [[nodiscard]] std::span<const JobBook> decided_with(int64_t first) const;
  /// The first job of those decided together that waits for approval; 0 = none does.
  [[nodiscard]] int64_t first_unapproved(int64_t first) const;
  /// Jobs wait for approval for want of money: when a budget has room again, the oldest that would be let in now is. One at a time, as
  /// what it may cost is promised with it.
  std::optional<Record> approve_one_that_fits(Instant at, Instant shown_at);

 private:
  [[nodiscard]] bool governed() const;
  [[nodiscard]] Spend cost_of_attempt(const JobBook& job) const;
  [[nodiscard]] std::string overrun_by(const JobBook& job, Int128 more_nanos, Instant at) const;
  [[nodiscard]] bool would_be_let_in(std::span<const JobBook> together, Instant at);
  [[nodiscard]] bool pays(const BudgetRule& rule, uint32_t queue, std::string_view project) const;
  [[nodiscard]] AdmissionFacts facts_of(const JobRequest& request, Instant at);
  [[nodiscard]] Status check_backlog_of(const JobRequest& request, AdmissionRefusal* why) const;

  View s_;
  GovernBook& book_;
  SpendBook claims_;
  std::optional<Standing> standing_now_;  // as of the last step or look
  Instant approvals_looked_at_;
};

}  // namespace stint
