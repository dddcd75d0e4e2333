#include "backends/supervise/restore_point.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const CheckpointCopies::Hold& hold) {
  return {{"to", hold.position.to},  {"writer", hold.position.writer}, {"last", hold.position.last}, {"run", hold.run},
          {"claimed", hold.claimed}, {"unread", hold.unread},          {"lost", hold.lost}};
}

CheckpointCopies::Hold hold_of(const Json& json) {
  return {.position = {.to = json.at("to").get<std::string>(),
                       .writer = json.at("writer").get<std::string>(),
                       .last = json.at("last").get<int64_t>()},
          .run = json.at("run").get<std::string>(),
          .claimed = json.at("claimed").get<bool>(),
          .unread = json.at("unread").get<bool>(),
          .lost = json.at("lost").get<bool>()};
}

struct Candidate {
  StoredCheckpoint stored;
  bool is_copy = false;
};

/// Newest first; of two equally new ones the one that need not be copied back.
std::vector<Candidate> candidates_of(const std::string& folder, const std::vector<StoredCheckpoint>& copies) {
  std::vector<Candidate> all;
  if (const auto listed = list_checkpoints(folder); listed.ok())
    for (const Checkpoint& c : *listed)
      all.push_back({{.checkpoint = c, .newness = c.modified}});
  for (const StoredCheckpoint& c : copies)
    all.push_back({c, true});
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    if (a.stored.newness != b.stored.newness) return a.stored.newness > b.stored.newness;
    return natural_less(b.stored.checkpoint.name, a.stored.checkpoint.name);
  });
  return all;
}

/// The digest of one that lies here, when it proves good.
Result<std::string> prove(const std::string& folder, const Checkpoint& checkpoint, const KnownCheckpoint* known,
                          Unproven unproven) {
  if (known == nullptr && !checkpoint.has_list && unproven == Unproven::kRefused)
    return invalid("{}/{}: it was not seen complete, and it has no list of hashes", folder, checkpoint.name);
  TRY_ASSIGN(std::string digest, digest_of(folder, checkpoint));
  if (known != nullptr && known->digest != digest)
    return invalid("{}/{}: its bytes are not those that were proven good", folder, checkpoint.name);
  return digest;
}

bool is_damaged(const Error& error) { return error.code == ErrorCode::kInvalidInput || error.code == ErrorCode::kNotFound; }

/// Lists the copies and tells what else they say.
std::vector<StoredCheckpoint> look_at_copies(CheckpointCopies& copies, RestorePoint& point, Unproven& unproven) {
  auto listed = copies.list();
  point.notes = copies.take_notes();
  if (!listed.ok()) {
    point.unreachable = listed.error().message;
    point.hopeless = copies.is_hopeless(listed.error());
    return {};
  }
  point.copies_passed_over = std::move(listed->passed_over);
  point.listed = true;
  point.digests = std::move(listed->digests);
  point.state = std::move(listed->state);
  if (listed->anything) unproven = Unproven::kRefused;
  return std::move(listed->found);
}

}  // namespace

RestorePoint choose_restore_point(const std::string& folder, const CopyTarget& target, const CheckpointCopies::Hold& hold,
                                  const SupervisorState& state, Unproven unproven) {
  RestorePoint point;
  point.hold = hold;
  // Once the place is ours nothing newer can be there than what is known here.
  if (target.is_store() && hold.claimed && !hold.unread) {
    point = choose_restore_point(folder, nullptr, state, unproven);
    point.hold = hold;
    const bool newest_is_here =
        point.chosen && !state.checkpoints.empty() && point.chosen->digest == state.checkpoints.back().digest;
    if (newest_is_here || hold.lost) return point;
  }
  if (!target.exists()) return choose_restore_point(folder, nullptr, state, unproven);
  auto copies = open_copies(target, hold);
  if (copies.ok()) {
    RestorePoint::PassedOver before = std::move(point.passed_over);
    point = choose_restore_point(folder, copies->get(), state, unproven);
    point.passed_over.insert(point.passed_over.begin(), before.begin(), before.end());
    point.hold = (*copies)->hold();
    return point;
  }
  point = choose_restore_point(folder, nullptr, state, unproven);
  point.hold = hold;
  point.unreachable = copies.error().message;
  point.hopeless = copies.error().code != ErrorCode::kUnavailable;
  return point;
}

RestorePoint choose_restore_point(const std::string& folder, CheckpointCopies* copies, const SupervisorState& state,
                                  Unproven unproven) {
  RestorePoint point;
  std::vector<StoredCheckpoint> stored;
  if (copies != nullptr) stored = look_at_copies(*copies, point, unproven);
  for (const Candidate& c : candidates_of(folder, stored)) {
    const Checkpoint& checkpoint = c.stored.checkpoint;
    const KnownCheckpoint* known = state.find(checkpoint);
    // Copies get their name once they are whole.
    const auto digest = c.is_copy ? copies->fetch(c.stored, known == nullptr ? "" : known->digest, folder)
                                  : prove(folder, checkpoint, known, unproven);
    if (digest.ok()) {
      point.chosen = KnownCheckpoint{.name = checkpoint.name,
                                     .signature = checkpoint.signature(),
                                     .digest = *digest,
                                     .saved_at = checkpoint.modified,
                                     .copied = c.is_copy || (known != nullptr && known->copied)};
      point.fetched = c.is_copy;
      return point;
    }
    (c.is_copy ? point.copies_passed_over : point.passed_over).emplace_back(checkpoint.name, digest.error().message);
    if (c.is_copy && !is_damaged(digest.error())) {
      point.unreachable = digest.error().message;
      copies->could_not_read();
    }
    // One that only cannot be read now is left alone.
    if (!c.is_copy && digest.error().code == ErrorCode::kInvalidInput) (void)set_aside(folder, checkpoint.name);
  }
  return point;
}

std::string to_json(const RestorePoint& point) {
  const auto pairs = [](const RestorePoint::PassedOver& passed_over) {
    Json all = Json::array();
    for (const auto& [name, why] : passed_over)
      all.push_back(Json::array({name, why}));
    return all;
  };
  Json json = {{"chosen", nullptr},
               {"fetched", point.fetched},
               {"passed_over", pairs(point.passed_over)},
               {"copies_passed_over", pairs(point.copies_passed_over)},
               {"unreachable", point.unreachable},
               {"hopeless", point.hopeless},
               {"listed", point.listed},
               {"digests", point.digests},
               {"state", point.state},
               {"notes", point.notes},
               {"hold", json_of(point.hold)}};
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
    for (auto [to, name] :
         {std::pair(&point.passed_over, "passed_over"), std::pair(&point.copies_passed_over, "copies_passed_over")})
      for (const Json& pair : json.at(name))
        to->emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
    point.unreachable = json.at("unreachable").get<std::string>();
    point.hopeless = json.at("hopeless").get<bool>();
    point.listed = json.at("listed").get<bool>();
    point.digests = json.at("digests").get<std::vector<std::string>>();
    point.state = json.at("state").get<std::string>();
    point.notes = json.at("notes").get<std::vector<std::string>>();
    point.hold = hold_of(json.at("hold"));
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

std::string copy_and_tell(const CopyTask& task, const CopyTarget& target, const CheckpointCopies::Hold& hold,
                          const CopyOptions& options) {
  CopyAnswer answer{.hold = hold};
  auto copies = open_copies(target, hold);
  if (copies.ok()) {
    const auto sent = (*copies)->copy(task.folder, task.checkpoint, task.digest, task.then, options);
    answer.failure = sent.ok() ? "" : sent.error().message;
    answer.bytes = sent.ok() ? *sent : 0;
    answer.hold = (*copies)->hold();
    answer.notes = (*copies)->take_notes();
  } else {
    answer.failure = copies.error().message;
  }
  const Json json = {
      {"failure", answer.failure}, {"bytes", answer.bytes}, {"notes", answer.notes}, {"hold", json_of(answer.hold)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<CopyAnswer> parse_copy_answer(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    return CopyAnswer{.failure = json.at("failure").get<std::string>(),
                      .bytes = json.at("bytes").get<int64_t>(),
                      .notes = json.at("notes").get<std::vector<std::string>>(),
                      .hold = hold_of(json.at("hold"))};
  } catch (const std::exception& e) {
    return make_error(ErrorCode::kInternal, "what became of a copy cannot be read: {}", excerpt(e.what(), 200));
  }
}

}  // namespace stint
