#include "backends/supervise/supervisor_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStateVersion = 1;
// Restoring looks at the newest few: the record must not grow with the life of a job.
constexpr size_t kMostKnown = 200;

Json json_of(const Measured& m) { return {{"count", m.count}, {"last_ns", m.last.count_ns()}, {"total_ns", m.total.count_ns()}}; }

Measured measured_of(const Json& json) {
  return {.count = json.at("count").get<int64_t>(),
          .last = Duration::nanoseconds(json.at("last_ns").get<int64_t>()),
          .total = Duration::nanoseconds(json.at("total_ns").get<int64_t>())};
}

SupervisorState state_of(const Json& json) {
  SupervisorState state;
  for (const Json& c : json.at("checkpoints"))
    state.add({.name = c.at("name").get<std::string>(),
               .signature = c.at("signature").get<std::string>(),
               .digest = c.at("sha256").get<std::string>(),
               .saved_at = Instant::from_ns(c.at("saved_at_ns").get<int64_t>()),
               .copied = c.at("copied").get<bool>()});
  const Json& measured = json.at("measured");
  state.saving = measured_of(measured.at("saving"));
  state.interval = measured_of(measured.at("interval"));
  state.copying = measured_of(measured.at("copying"));
  state.loading = measured_of(measured.at("loading"));
  state.lost = measured_of(measured.at("lost"));
  state.starts = json.at("starts").get<int64_t>();
  state.alerts = json.at("alerts").get<int64_t>();
  state.supervised = Duration::nanoseconds(json.at("supervised_ns").get<int64_t>());
  // Not in the records of earlier releases.
  if (const auto copies = json.find("copies"); copies != json.end()) {
    state.copies = {.to = copies->at("to").get<std::string>(),
                    .writer = copies->at("writer").get<std::string>(),
                    .last = copies->at("last").get<int64_t>()};
    state.copied_bytes_per_second = copies->at("bytes_per_second").get<int64_t>();
    state.copied_at_a_bound = copies->at("at_a_bound").get<bool>();
  }
  return state;
}

}  // namespace

void Measured::add(Duration d) {
  ++count;
  last = d;
  total += d;
}

Duration Measured::mean() const { return count == 0 ? Duration() : Duration::nanoseconds(total.count_ns() / count); }

const KnownCheckpoint* SupervisorState::find(const Checkpoint& checkpoint) const {
  const auto known =
      std::find_if(checkpoints.begin(), checkpoints.end(), [&](const KnownCheckpoint& k) { return k.name == checkpoint.name; });
  return known != checkpoints.end() && known->signature == checkpoint.signature() ? &*known : nullptr;
}

void SupervisorState::add(KnownCheckpoint known) {
  remove(known.name);
  checkpoints.push_back(std::move(known));
  if (checkpoints.size() > kMostKnown) checkpoints.erase(checkpoints.begin());
}

void SupervisorState::remove(std::string_view name) {
  std::erase_if(checkpoints, [&](const KnownCheckpoint& k) { return k.name == name; });
}

std::string state_path_in(const std::string& folder) { return folder + "/.stint-run.json"; }

std::string to_json(const SupervisorState& state) {
  Json known = Json::array();
  for (const KnownCheckpoint& k : state.checkpoints)
    known.push_back({{"name", k.name},
                     {"signature", k.signature},
                     {"sha256", k.digest},
                     {"saved_at_ns", k.saved_at.ns()},
                     {"copied", k.copied}});
  const Json json = {{"version", kStateVersion},
                     {"checkpoints", std::move(known)},
                     {"measured",
                      {{"saving", json_of(state.saving)},
                       {"interval", json_of(state.interval)},
                       {"copying", json_of(state.copying)},
                       {"loading", json_of(state.loading)},
                       {"lost", json_of(state.lost)}}},
                     {"starts", state.starts},
                     {"alerts", state.alerts},
                     {"supervised_ns", state.supervised.count_ns()},
                     {"copies",
                      {{"to", state.copies.to},
                       {"writer", state.copies.writer},
                       {"last", state.copies.last},
                       {"bytes_per_second", state.copied_bytes_per_second},
                       {"at_a_bound", state.copied_at_a_bound}}}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<SupervisorState> parse_supervisor_state(std::string_view text, const std::string& where) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version").get<int>() != kStateVersion)
      return invalid("{}: version {} where this program knows {}: it was written by another release", where,
                     json.at("version").dump(), kStateVersion);
    return state_of(json);
  } catch (const std::exception& e) {
    return invalid("{}: is damaged: {}; take it away to go on without what it knows", where, excerpt(e.what(), 200));
  }
}

}  // namespace stint
