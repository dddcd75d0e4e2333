// Bills of a calendar month: what each client the caller sees has to pay.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/problem.h"
#include "daemon/api/view_json.h"
#include "daemon/bill_book.h"
#include "sim/story_text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

std::string month_name(Instant month) { return format_utc(month).substr(0, 7); }

/// Of the query; else that of now.
Result<Interval> month_asked(const Call& call) {
  const std::string* text = call->request.parts.parameter("month");
  return text == nullptr ? Result<Interval>(month_of(call->at)) : parse_month(*text);
}

double gpu_hours(const ClientBillLine& line) { return static_cast<double>(line.micro_gpu_hours) / 1e6; }

Json line_json(const ClientBillLine& line) {
  return {{"queue", line.queue},
          {"node", line.node},
          {"runs", line.runs},
          {"gpu_hours", gpu_hours(line)},
          {"amount", line.amount.to_decimal()}};
}

/// What runs now has cost in that month, by client: not posted, so on no bill yet.
std::map<std::string, Money> still_running(const Engine& engine, const Principal& who, Interval month) {
  std::map<std::string, Money> sums;
  const auto mine = [&who](std::string_view client) { return who.may(Permission::kSeeJobs, client); };
  for (const RunView& run : engine.runs(engine.now(), mine)) {
    if (run.ended) continue;
    const Interval part = intersect({run.unposted_from, engine.now()}, month);
    if (part.empty()) continue;
    const Money cost = run.rate.over(part.length());
    const auto [sum, is_new] = sums.try_emplace(run.client, cost);
    if (!is_new) sum->second += cost;
  }
  return sums;
}

/// A bill for everybody who has a posting, or something that runs.
Json bills_json(std::vector<ClientBill> bills, const std::map<std::string, Money>& running, Currency currency) {
  for (const auto& [client, amount] : running)
    if (std::ranges::find(bills, client, &ClientBill::client) == bills.end()) bills.push_back({.client = client, .lines = {}});
  std::ranges::sort(bills, {}, &ClientBill::client);
  Json list = Json::array();
  for (const ClientBill& bill : bills) {
    const ClientBillLine total = bill.total();
    Json lines = Json::array();
    for (const ClientBillLine& line : bill.lines)
      lines.push_back(line_json(line));
    const auto live = running.find(bill.client);
    list.push_back({{"client", bill.client},
                    {"lines", std::move(lines)},
                    {"runs", total.runs},
                    {"gpu_hours", gpu_hours(total)},
                    {"total", money_json(bill.lines.empty() ? Money::nanos(0, currency) : total.amount)},
                    {"running", money_json(live == running.end() ? Money::nanos(0, currency) : live->second)}});
  }
  return list;
}

std::string bill_csv(const ClientBill& bill, const std::string& month) {
  std::string csv = "month,client,queue,machine,runs,gpu_hours,amount,currency\n";
  for (const ClientBillLine& line : bill.lines)
    csv += fmt::format("{},{},{},{},{},{:.6f},{},{}\n", month, csv_field(bill.client), csv_field(line.queue),
                       csv_field(line.node), line.runs, gpu_hours(line), line.amount.to_decimal(), line.amount.currency().code());
  return csv;
}

}  // namespace

void api_bills(const ApiContext& api, const Call& call) {
  const Result<Interval> month = month_asked(call);
  if (!month.ok()) return api.answer(call, month.error());
  if (api.options.bills == nullptr) return api.answer(call, problem(503, "this daemon keeps no bills"));
  api.options.bills->ask([api, call, month = *month](const Result<const BillSums*>& sums) {
    if (!sums.ok()) return api.answer(call, sums.error());
    const auto mine = [&](std::string_view client) { return call->who.may(Permission::kSeeJobs, client); };
    std::vector<ClientBill> bills = (*sums)->of(month.begin);
    std::erase_if(bills, [&](const ClientBill& bill) { return !mine(bill.client); });
    std::vector<Instant> months = (*sums)->months(mine);
    if (const Instant present = month_of(call->at).begin; months.empty() || months.front() < present)
      months.insert(months.begin(), present);
    api.service.ask([api, call, month, bills = std::move(bills), months = std::move(months),
                     problems = (*sums)->problems](const Engine& engine) {
      Json names = Json::array();
      for (const Instant m : months)
        names.push_back(month_name(m));
      const Currency currency = engine.overview().burn.per_hour().currency();
      api.answer(call, 200,
                 {{"month", month_name(month.begin)},
                  {"problems", problems},
                  {"months", std::move(names)},
                  {"bills", bills_json(bills, still_running(engine, call->who, month), currency)}});
    });
  });
}

void api_bills_csv(const ApiContext& api, const Call& call) {
  const Result<Interval> month = month_asked(call);
  if (!month.ok()) return api.answer(call, month.error());
  const std::string& client = call->names[0];
  if (!call->who.may(Permission::kSeeJobs, client))
    return api.answer(call, make_error(ErrorCode::kNotFound, "no client {}", excerpt(client)));
  if (api.options.bills == nullptr) return api.answer(call, problem(503, "this daemon keeps no bills"));
  call->client = client;
  api.options.bills->ask([api, call, client, month = *month](const Result<const BillSums*>& sums) {
    if (!sums.ok()) return api.answer(call, sums.error());
    const std::vector<ClientBill> bills = (*sums)->of(month.begin);
    const auto bill = std::ranges::find(bills, client, &ClientBill::client);
    const std::string name = month_name(month.begin);
    // The name in the header is plain: what else a client may be called stays out of it.
    std::string file;
    for (const char c : client)
      file += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ? c : '-';
    api.answer(call, HttpReply{200,
                               "text/csv; charset=utf-8",
                               {{"Content-Disposition", fmt::format("attachment; filename=\"bill-{}-{}.csv\"", file, name)}},
                               bill_csv(bill == bills.end() ? ClientBill{.client = client, .lines = {}} : *bill, name)});
  });
}

}  // namespace stint
