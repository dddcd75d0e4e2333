#include "report/serving_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/counted.h"

namespace stint {
namespace {

using batching::ArrivalPlan;
using batching::DeviceTuning;
using batching::TunedSetup;

double to_ms(Duration d) { return d.to_seconds() * 1e3; }

std::string name_of(const batching::DeviceProfile& profile) { return profile.device.empty() ? "as measured" : profile.device; }

std::string promise_text(const batching::TuneOptions& options) {
  std::string arrivals = "Poisson arrivals";
  if (options.arrivals.kind == ArrivalPlan::Kind::kBursty)
    arrivals = fmt::format("bursts at {:g}× the mean rate for {:g} % of the time, {:g} s each", options.arrivals.burst_factor,
                           options.arrivals.burst_share * 100, options.arrivals.burst_length.to_seconds());
  return fmt::format("{:g} requests/s, {:g} % of them within {:g} ms; {}", options.per_second,
                     static_cast<double>(options.promise.permille) / 10, to_ms(options.promise.limit), arrivals);
}

void add_answer(Table& table, const batching::DeviceProfile& profile, const DeviceTuning& device, bool best) {
  const TunedSetup& a = *device.answer;
  const bool priced = !profile.price.per_hour().is_zero();
  table.add_row({name_of(profile), fmt::format("{}", a.replicas), fmt::format("{}", a.setup.instances),
                 fmt::format("{}", a.setup.max_batch), fmt::format("{:.2f}", to_ms(a.setup.max_wait)),
                 fmt::format("{:.2f}", to_ms(a.at_promise)), fmt::format("{:.1f}", a.mean_batch),
                 fmt::format("{:.0f}", a.busy * 100), fmt::format("{:.0f}", device.most_per_second),
                 priced ? device.cost.per_hour().to_text() : "", priced ? device.per_million.to_text() : ""},
                best ? Tone::kStrong : Tone::kPlain);
}

nlohmann::ordered_json setup_json(const TunedSetup& s) {
  return {{"replicas", s.replicas},
          {"instances", s.setup.instances},
          {"max_batch", s.setup.max_batch},
          {"max_wait_ms", to_ms(s.setup.max_wait)},
          {"latency_ms_at_promise", to_ms(s.at_promise)},
          {"runs_kept_share", s.kept_share},
          {"mean_batch", s.mean_batch},
          {"busy_share", s.busy}};
}

}  // namespace

std::string serving_text(const ServingView& view, Screen screen) {
  std::string out = promise_text(view.options) + "\n\n";
  Table table({{"device"},
               {"replicas", Align::kRight},
               {"instances", Align::kRight, 0, 3},
               {"max batch", Align::kRight, 0, 1},
               {"wait ms", Align::kRight, 0, 2},
               {"latency ms", Align::kRight},
               {"mean batch", Align::kRight, 0, 5},
               {"busy %", Align::kRight, 0, 4},
               {"kept up to /s", Align::kRight, 0, 3},
               {"cost/h", Align::kRight},
               {"per million", Align::kRight, 0, 1}});
  for (const DeviceTuning& device : view.tuning.devices)
    if (device.answer) add_answer(table, view.profiles[device.profile], device, view.tuning.best == device.profile);
  if (!table.empty()) out += table.render(screen) + "\n";
  for (const DeviceTuning& device : view.tuning.devices) {
    const std::string name = name_of(view.profiles[device.profile]);
    if (!device.answer)
      out += wrapped(fmt::format("{}: the promise cannot be made: {}.", name, device.reason), screen) + "\n";
    else if (device.neighbour)
      out += fmt::format("{}: with {} it is kept in {:.0f} % of {} simulated runs, with {} in {:.0f} %.\n", name,
                         counted(device.answer->replicas, "replica"), device.answer->kept_share * 100, view.options.runs,
                         device.neighbour->replicas, device.neighbour->kept_share * 100);
    else
      out += fmt::format("{}: with {} it is kept in {:.0f} % of {} simulated runs.\n", name,
                         counted(device.answer->replicas, "replica"), device.answer->kept_share * 100, view.options.runs);
  }
  return fitted(out, screen);
}

std::string serving_json(const ServingView& view) {
  nlohmann::ordered_json json = {
      {"requests_per_second", view.options.per_second},
      {"promise", {{"limit_ms", to_ms(view.options.promise.limit)}, {"permille", view.options.promise.permille}}},
      {"runs", view.options.runs},
      {"seed", view.options.seed},
      {"devices", nlohmann::ordered_json::array()}};
  for (const DeviceTuning& device : view.tuning.devices) {
    const batching::DeviceProfile& profile = view.profiles[device.profile];
    nlohmann::ordered_json row = {{"device", profile.device}};
    if (!device.answer) row["reason"] = device.reason;
    if (device.answer) {
      row["answer"] = setup_json(*device.answer);
      if (device.neighbour) row["refused_neighbour"] = setup_json(*device.neighbour);
      row["kept_up_to_requests_per_second"] = device.most_per_second;
      if (!profile.price.per_hour().is_zero()) {
        row["cost_per_hour"] = device.cost.per_hour().to_decimal();
        row["cost_per_million"] = device.per_million.to_decimal();
      }
    }
    row["best"] = view.tuning.best == device.profile;
    json["devices"].push_back(row);
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace stint
