// Audit: from History, telemetry and prices to what the fleet costs, where the waste is and what to change.
//
// Every saving is arithmetic on the fleet's own hours: the finding's evidence holds the factors. Findings are
// applied one after another to the same books (stop → schedule → limit → right-size → share → region → spot →
// commit), each on what the ones before left, so that the savings add up to the plan and nothing counts twice. Where the
// History has jobs they are run again with each finding (advise/prove/prove.h), and what does not survive that is not advised.
#pragma once

#include <memory>

#include "advise/audit_input.h"
#include "advise/audit_report.h"

namespace stint {

struct FleetFacts;

Result<AuditReport> audit(const AuditInput& input);

/// A fleet's facts, worked out once, from which several plans can be made.
class Auditor {
 public:
  /// @param input  what it refers to must outlive this.
  static Result<Auditor> create(const AuditInput& input);
  Auditor(Auditor&&) noexcept;
  Auditor& operator=(Auditor&&) noexcept;
  ~Auditor();

  /// @param prove  whether findings are replayed, as the input says.
  enum class Prove : uint8_t { kNo, kYes };
  [[nodiscard]] Result<AuditReport> plan(const PlanChoice& choice, Prove prove) const;
  /// Findings alone, in the order of application, and what they save together: quick, for searching.
  struct Draft {
    std::vector<Finding> findings;
    Money saving_per_month;
    Money plan_per_month;
  };
  [[nodiscard]] Draft draft(const PlanChoice& choice) const;
  [[nodiscard]] const FleetFacts& facts() const;
  [[nodiscard]] const AuditInput& input() const;

 private:
  struct Impl;
  explicit Auditor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
