// Which alerts fire and have fired, who has been told what about them, and what is silenced.
//
// The book changes by entries alone: the same entries in the same order make the same book, so whoever keeps the entries keeps
// the book over restarts. An alert is told to each receiver once when it fires, again after a while, and once when it has
// ended; each telling has a key that is the same when it has to be repeated. A silence keeps what it matches from being told,
// not from being listed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "telemetry/alert_evaluator.h"
#include "telemetry/alert_matcher.h"

namespace stint {

/// What others are told. Equal labels = the same alert: receivers tell alerts apart by them alone.
struct AlertMessage {
  AlertLabels labels;
  std::map<std::string, std::string> annotations;
  Instant starts_at;
  std::optional<Instant> ends_at;  ///< none = still firing
  bool operator==(const AlertMessage&) const = default;
};

/// @param client  whose matter it is; empty = the operators'.
AlertMessage message_of(const AlertRule& rule, const AlertSubject& who, const AlertChange& change, const std::string& client);

/// To one receiver, the last time.
struct AlertTold {
  bool firing = false;
  Instant at;
  int64_t times = 0;  ///< as firing, in all
  bool operator==(const AlertTold&) const = default;
};

struct BookedAlert {
  int64_t id = 0;  ///< from 1, over restarts
  std::string rule;
  AlertSubject who;
  std::string client;
  double value = 0;  ///< when it fired; at its end the last that was measured
  Instant fired;
  AlertMessage message;                   ///< ends_at: it has ended
  bool ended_silenced = false;            ///< only those who know of it hear that it has ended
  std::map<std::string, AlertTold> told;  ///< by receiver
  [[nodiscard]] bool firing() const { return !message.ends_at; }
  bool operator==(const BookedAlert&) const = default;
};

struct Silence {
  int64_t id = 0;  ///< from 1, over restarts
  std::vector<AlertMatcher> matchers;
  Instant from;
  Instant until;  ///< exclusive
  std::string by;
  std::string comment;
  bool operator==(const Silence&) const = default;
};

// What changes the book.
struct AlertFired {
  BookedAlert alert;
};
struct AlertEnded {
  int64_t id = 0;
  Instant at;
  double value = 0;
  bool silenced = false;
};
struct AlertWasTold {
  int64_t id = 0;
  std::string receiver;
  bool firing = false;
  Instant at;
};
struct AlertSilenced {
  Silence silence;
};
struct SilenceExpired {
  int64_t id = 0;
  Instant at;
};
/// The book begins anew: what follows is all that was kept of it. Ids go on.
struct AlertBookAnew {
  int64_t next_alert = 1;
  int64_t next_silence = 1;
};
struct AlertKept {
  BookedAlert alert;
};
struct SilenceKept {
  Silence silence;
};
using AlertEntry =
    std::variant<AlertFired, AlertEnded, AlertWasTold, AlertSilenced, SilenceExpired, AlertBookAnew, AlertKept, SilenceKept>;

/// How much is kept of what has ended and has been told.
struct AlertRetention {
  Duration age = Duration::hours(30 * 24);  ///< since its end
  size_t count = 500;                       ///< the newest
  bool operator==(const AlertRetention&) const = default;
};

/// Somebody who is told.
struct AlertAudience {
  std::string receiver;
  std::vector<AlertMatcher> wants;  ///< all must match; empty = everything
  Duration again;                   ///< told again while it fires
};

/// Something to tell.
struct AlertNotice {
  int64_t id = 0;
  std::string key;  ///< of this telling, and of its repetition after a failure or a restart; of no other
  AlertMessage message;
};

class AlertBook {
 public:
  using ClientOf = std::function<std::string(const AlertSubject&)>;

  /// What the evaluator's changes are to the book; not applied yet. @param client_of  whose matter a subject is now.
  [[nodiscard]] std::vector<AlertEntry> entries_for(const AlertEvaluator& evaluator, std::span<const AlertChange> changes,
                                                    const ClientOf& client_of) const;
  /// Ends of those that fire under rules there no longer are.
  [[nodiscard]] std::vector<AlertEntry> entries_for_rules(std::span<const AlertRule> rules, Instant now) const;

  /// What makes this very book out of any: to be kept in place of all entries so far.
  [[nodiscard]] std::vector<AlertEntry> entries_anew() const;
  /// How many those are.
  [[nodiscard]] size_t size() const { return 1 + alerts_.size() + silences_.size(); }

  /// @return error for an entry that does not follow from those before: about an alert or a silence that is not there.
  Status apply(const AlertEntry& entry);

  [[nodiscard]] const std::map<int64_t, BookedAlert>& alerts() const { return alerts_; }
  [[nodiscard]] const std::map<int64_t, Silence>& silences() const { return silences_; }
  [[nodiscard]] int64_t next_silence() const { return next_silence_; }
  /// Ids of the silences that hold for it now, ascending.
  [[nodiscard]] std::vector<int64_t> silenced_by(const AlertLabels& labels, Instant now) const;

  /// What the audience has to be told now, oldest first, at most `limit`.
  [[nodiscard]] std::vector<AlertNotice> due(const AlertAudience& audience, Instant now, size_t limit) const;
  /// How many that would be without a limit.
  [[nodiscard]] int64_t waiting(const AlertAudience& audience, Instant now) const;
  /// When the next telling falls due by time alone: one told before that still fires, or a silence that ends. none = none does.
  [[nodiscard]] std::optional<Instant> next_due(const AlertAudience& audience, Instant now) const;

  /// Lets go of what has ended and been told and is not `kept`, of the oldest untold beyond `kMostUntold`, and of silences over
  /// for a day. @return how many were let go untold.
  int64_t prune(std::span<const AlertAudience> audiences, Instant now, const AlertRetention& kept = {});
  static constexpr size_t kMostUntold = 10'000;

 private:
  Status apply_anew(const AlertEntry& entry);
  [[nodiscard]] bool is_due(const AlertAudience& audience, const BookedAlert& alert, Instant now) const;

  std::map<int64_t, BookedAlert> alerts_;
  std::map<std::pair<std::string, AlertSubject>, int64_t> firing_;  // those of alerts_ that fire
  std::map<int64_t, Silence> silences_;
  int64_t next_alert_ = 1;
  int64_t next_silence_ = 1;
};

}  // namespace stint
