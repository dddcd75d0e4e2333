#include "backends/supervise/restore_point.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct Candidate {
  Checkpoint checkpoint;
  bool is_copy = false;
};

/// Newest first; of two equally new ones the one that need not be copied back.
std::vector<Candidate> candidates_of(const std::string& folder, const std::string& copies) {
  std::vector<Candidate> all;
  const auto add = [&](const std::string& from, bool is_copy) {
    auto listed = list_checkpoints(from);
    if (!listed.ok()) return;
    for (Checkpoint& c : *listed)
      all.push_back({std::move(c), is_copy});
  };
  add(folder, false);
  if (!copies.empty()) add(copies, true);
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    if (a.checkpoint.modified != b.checkpoint.modified) return a.checkpoint.modified > b.checkpoint.modified;
    return natural_less(b.checkpoint.name, a.checkpoint.name);
  });
  return all;
}

/// Its digest, when it proves good.
Result<std::string> prove(const std::string& from, const Candidate& candidate, const SupervisorState& state, Unproven unproven) {
  const KnownCheckpoint* known = state.find(candidate.checkpoint);
  // Copies get their name once they are whole.
  if (known == nullptr && !candidate.checkpoint.has_list && !candidate.is_copy && unproven == Unproven::kRefused)
    return invalid("{}/{}: it was not seen complete, and it has no list of hashes", from, candidate.checkpoint.name);
  TRY_ASSIGN(std::string digest, digest_of(from, candidate.checkpoint));
  if (known != nullptr && known->digest != digest)
    return invalid("{}/{}: its bytes are not those that were proven good", from, candidate.checkpoint.name);
  return digest;
}

}  // namespace

RestorePoint choose_restore_point(const std::string& folder, const std::string& copies, const SupervisorState& state,
                                  Unproven unproven) {
  RestorePoint point;
  for (const Candidate& c : candidates_of(folder, copies)) {
    const auto digest = prove(c.is_copy ? copies : folder, c, state, unproven);
    Status usable = digest.ok() ? Status() : Status(digest.error());
    if (usable.ok() && c.is_copy) usable = copy_checkpoint(copies, c.checkpoint, *digest, folder, {});
    if (usable.ok()) {
      const KnownCheckpoint* known = state.find(c.checkpoint);
      point.chosen = KnownCheckpoint{.name = c.checkpoint.name,
                                     .signature = c.checkpoint.signature(),
                                     .digest = *digest,
                                     .saved_at = c.checkpoint.modified,
                                     .copied = c.is_copy || (known != nullptr && known->copied)};
      point.fetched = c.is_copy;
      return point;
    }
    point.passed_over.emplace_back(c.checkpoint.name, usable.error().message);
    // One that only cannot be read now is left alone.
    if (!c.is_copy && usable.error().code == ErrorCode::kInvalidInput) (void)set_aside(folder, c.checkpoint.name);
  }
  return point;
}

std::string to_json(const RestorePoint& point) {
  Json passed_over = Json::array();
  for (const auto& [name, why] : point.passed_over)
    passed_over.push_back(Json::array({name, why}));
  Json json = {{"chosen", nullptr}, {"fetched", point.fetched}, {"passed_over", std::move(passed_over)}};
  if (const auto& c = point.chosen)
    json["chosen"] = {{"name", c->name},
                      {"signature", c->signature},
                      {"sha256", c->digest},
                      {"saved_at_ns", c->saved_at.ns()},
                      {"copied", c->copied}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<RestorePoint> parse_restore_point(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    RestorePoint point;
    point.fetched = json.at("fetched").get<bool>();
    for (const Json& pair : json.at("passed_over"))
      point.passed_over.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
    if (const Json& c = json.at("chosen"); !c.is_null())
      point.chosen = KnownCheckpoint{.name = c.at("name").get<std::string>(),
                                     .signature = c.at("signature").get<std::string>(),
                                     .digest = c.at("sha256").get<std::string>(),
                                     .saved_at = Instant::from_ns(c.at("saved_at_ns").get<int64_t>()),
                                     .copied = c.at("copied").get<bool>()};
    return point;
  } catch (const std::exception& e) {
    return make_error(ErrorCode::kInternal, "a restore point cannot be read: {}", excerpt(e.what(), 200));
  }
}

}  // namespace stint
