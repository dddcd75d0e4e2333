#include "backends/supervise/machine_notices.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

/// So long without sense is told; the metadata of a machine that is busy may hiccup.
constexpr Duration kSilence = Duration::minutes(1);
/// A time that is told anew at each look differs by less.
constexpr Duration kSameTime = Duration::seconds(10);
constexpr int kSightings = 2;
constexpr Duration kWatcherPause = Duration::minutes(1);

bool is_sooner(const CloudNotice& now, const CloudNotice& known) {
  return ends_machine(now) && known.at && (!now.at || *now.at < *known.at - kSameTime);
}

/// Of the same event of the provider, with no earlier end?
bool is_known(const CloudNotice& now, const CloudNotice& known) {
  return now.kind == known.kind && now.what == known.what && now.id == known.id && !is_sooner(now, known);
}

bool pause_for(Duration d) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(d.count_ns()));
  return true;
}

std::string seconds_left(Duration d) { return fmt::format("{:.1f}", d.to_seconds()); }

}  // namespace

bool ends_machine(const CloudNotice& notice) {
  return notice.kind == CloudNoticeKind::kMaintenance || notice.kind == CloudNoticeKind::kTaken;
}

std::optional<NoticeNews> await_notice_news(NoticeLook& look, const NoticeNews& known,
                                            const std::function<bool(Duration)>& sleep) {
  int other_sightings = 0;
  Duration failed_for;
  do {
    const auto seen = look.look();
    if (!seen.ok()) {
      // What cannot be read says nothing: a notice that is known stays.
      other_sightings = 0;
      failed_for += look.pause();
      if (known.failure.empty() && failed_for >= kSilence) return NoticeNews{.seen = known.seen, .failure = seen.error().message};
      continue;
    }
    failed_for = Duration();
    if (is_known(seen->notice, known.seen.notice)) {
      if (!known.failure.empty()) return NoticeNews{.seen = known.seen, .failure = ""};
      other_sightings = 0;
      continue;
    }
    const bool is_less = ends_machine(known.seen.notice) && !ends_machine(seen->notice);
    if (!is_less || ++other_sightings >= kSightings) return NoticeNews{.seen = *seen, .failure = ""};
  } while (sleep(look.pause()));
  return std::nullopt;
}

std::string to_json(const NoticeNews& news) {
  const CloudNotice& n = news.seen.notice;
  Json json = {{"kind", static_cast<int>(n.kind)},
               {"what", n.what},
               {"longest_ns", n.longest.count_ns()},
               {"typical_ns", n.typical.count_ns()},
               {"id", n.id},
               {"alone", n.alone},
               {"left_ns", news.seen.left.count_ns()},
               {"failure", news.failure}};
  if (n.at) json["at"] = format_utc(*n.at);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<NoticeNews> parse_notice_news(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    NoticeNews news{.seen = {.notice = {}, .left = Duration::nanoseconds(json.at("left_ns").get<int64_t>())},
                    .failure = json.at("failure").get<std::string>()};
    CloudNotice& n = news.seen.notice;
    const int kind = json.at("kind").get<int>();
    if (kind < 0 || kind > static_cast<int>(CloudNoticeKind::kTaken)) return invalid("a notice of kind {}", kind);
    n.kind = static_cast<CloudNoticeKind>(kind);
    n.what = json.at("what").get<std::string>();
    n.longest = Duration::nanoseconds(json.at("longest_ns").get<int64_t>());
    n.typical = Duration::nanoseconds(json.at("typical_ns").get<int64_t>());
    n.id = json.at("id").get<std::string>();
    n.alone = json.at("alone").get<bool>();
    if (json.contains("at")) {
      TRY_ASSIGN(n.at, parse_instant(json.at("at").get<std::string>()));
    }
    return news;
  } catch (const Json::exception& e) {
    return invalid("no news of notices: {}", e.what());
  }
}

std::optional<MachineNotices::Leave> MachineNotices::step(Instant now, Duration lead) {
  if (!cloud_) return std::nullopt;
  if (watcher_)
    if (auto answer = watcher_->poll()) {
      watcher_.reset();
      auto news = answer->ok() ? parse_notice_news(**answer) : Result<NoticeNews>(answer->error());
      if (!news.ok()) next_start_ = now + kWatcherPause;
      hear(news.ok() ? *news : NoticeNews{.seen = known_.seen, .failure = news.error().message}, now);
    }
  if (!watcher_ && now >= next_start_) {
    auto started = WorkerProcess::start([cloud = *cloud_, known = known_] {
      const auto look = open_notice_look(cloud);
      return to_json(look.ok() ? *await_notice_news(**look, known, pause_for)
                               : NoticeNews{.seen = known.seen, .failure = look.error().message});
    });
    next_start_ = now + kWatcherPause;
    if (started.ok()) watcher_.emplace(std::move(started).value());
  }
  const auto due = due_at(lead);
  if (!due || now < *due) return std::nullopt;
  told_ = true;
  SeenNotice then = known_.seen;
  then.left = std::max(Duration(), *gone_at_ - now);
  return Leave{.left = then.left, .why = announcement(then), .fields = fields_of(then)};
}

std::optional<Instant> MachineNotices::due_at(Duration lead) const {
  if (!gone_at_ || told_) return std::nullopt;
  return *gone_at_ - lead;
}

std::optional<pid_t> MachineNotices::watcher() const { return watcher_ ? std::optional(watcher_->pid()) : std::nullopt; }

void MachineNotices::hear(const NoticeNews& news, Instant now) {
  const NoticeNews before = std::exchange(known_, news);
  if (news.failure != before.failure) {
    if (news.failure.empty())
      log_.tell(now, "notices_reachable", fmt::format("{} tells of notices again", name_of(*cloud_)));
    else
      log_.tell(
          now, "notices_unreachable",
          fmt::format("{} does not tell of notices: {}; an interruption may come without one{}", name_of(*cloud_), news.failure,
                      *cloud_ == CloudProvider::kAws ? " (in a container the instance's metadata needs a hop limit of 2)" : ""));
  }
  // The watcher ended with its answer: the next begins at once.
  if (news.failure.empty()) next_start_ = now;
  if (!is_known(news.seen.notice, before.seen.notice)) hear_of_end(news, now);
}

void MachineNotices::hear_of_end(const NoticeNews& news, Instant now) {
  const SeenNotice& seen = news.seen;
  if (ends_machine(seen.notice)) {
    const Instant gone_at = now + seen.left;
    // One that comes sooner than what the command was told is told, too.
    if (!gone_at_ || gone_at < *gone_at_) {
      gone_at_ = gone_at;
      told_ = false;
      log_.tell(now, "cloud_notice", announcement(seen), fields_of(seen));
    }
    return;
  }
  if (gone_at_) {
    gone_at_.reset();
    withdrawn_ = std::exchange(told_, false);
    log_.tell(now, "notice_withdrawn", fmt::format("{} takes its notice back", name_of(*cloud_)));
  }
  if (seen.notice.kind == CloudNoticeKind::kRebalance)
    log_.tell(now, "rebalance",
              fmt::format("{} says that this machine is more likely than others to be taken back: nothing is decided yet",
                          name_of(*cloud_)));
}

std::string MachineNotices::announcement(const SeenNotice& seen) const {
  return fmt::format("{} {} ({}) in {} s", name_of(*cloud_),
                     seen.notice.kind == CloudNoticeKind::kTaken ? "takes this machine back" : "stops this machine",
                     excerpt(seen.notice.what), seconds_left(seen.left));
}

SupervisorLog::Fields MachineNotices::fields_of(const SeenNotice& seen) const {
  return {{"cloud", std::string(name_of(*cloud_))},
          {"kind", std::string(word_of(seen.notice.kind))},
          {"what", seen.notice.what},
          {"seconds_left", seconds_left(seen.left)}};
}

void MachineNotices::acknowledge(Instant now) {
  const CloudNotice& notice = known_.seen.notice;
  if (!gone_at_ || cloud_ != CloudProvider::kAzure || notice.id.empty()) return;
  if (!notice.alone) {
    log_.tell(now, "note", "the notice is not acknowledged: other machines would go with this one");
    return;
  }
  const Status done = acknowledge_azure_notice(notice.id);
  log_.tell(now, done.ok() ? "acknowledged" : "note",
            done.ok() ? "the notice is acknowledged: the machine may go"
                      : fmt::format("the notice is not acknowledged: {}", done.error().message));
}

}  // namespace stint
