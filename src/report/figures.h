// How figures of an audit are written for people, the same in the terminal and on the page.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/audit_report.h"

namespace stint {

/// Amounts of one report: whole units, or cents where the whole bill is below a thousand. Without the currency,
/// which headings name.
class AmountText {
 public:
  explicit AmountText(const AuditReport& report);
  [[nodiscard]] std::string operator()(Money m) const;
  /// What an instance costs a month; "–" where it is not known.
  [[nodiscard]] std::string cost_of(const NodeAudit& n) const { return n.priced ? (*this)(n.cost_per_month) : "–"; }
  /// "−1,200": what a change takes off.
  [[nodiscard]] std::string minus(Money m) const { return "−" + (*this)(m); }

 private:
  int decimals_ = 0;
};

/// Without the currency, which headings name.
std::string amount_text(Money m, int decimals = 0);
/// `1,234.50`, without the currency.
inline std::string cents_text(Money m) { return amount_text(m, 2); }
/// "–" where it is not known.
inline std::string cents_or_dash(const std::optional<Money>& m) { return m ? cents_text(*m) : "–"; }

/// "7 %", "7.2 %".
std::string shown_percent(double value, int decimals = 0);
/// "–" where it is not known.
std::string percent_or_dash(const std::optional<double>& value, int decimals = 1);
/// "18,600": nearest whole number.
std::string grouped(double value);
/// "1 job", "18,600 jobs".
std::string grouped_count(int64_t n, std::string_view noun);
/// In 10⁹ bytes with one decimal; "–" where it is not known.
std::string gigabytes(const std::optional<Bytes>& bytes);
/// part / whole in percent; 0 when the whole is 0.
double share_pct(Money part, Money whole);

/// "Idle or not attributed" for "".
std::string shown_client(std::string_view client);
/// "allocated, but idle" for "inactive"; a name that is no idle cause stays.
std::string shown_cause(std::string_view cause);

/// A head of a client's bill, with the fill and the colour variable it is drawn in.
struct SpendPart {
  std::string_view name;
  std::string_view css_class;
  std::string_view colour;
  Money ClientSpend::* amount;
};
/// The heads under which anybody spent anything.
std::vector<SpendPart> spend_parts(const AuditReport& report);

/// What counts as low in lists of instances.
inline constexpr double kListedBelowPct = 30;
bool is_low(const NodeAudit& node);

}  // namespace stint
