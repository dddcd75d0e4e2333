// What machines there are by our doing, and what is to become of them: the state machine between wishes and a Capacity.
//
//   step(now, wishes, heard) → rows that must be durable first, then orders; and what became of machines
//
// The rules, each with its test:
//   - An intention is a row before its order is given. After a crash what was intended and is not known to have happened is *unsure*:
//     it counts as if it were there, and is looked for by its name before it is asked for again, under the same name.
//   - What bears our mark and is not in the book, and what bears a name twice, is ended (the sweep).
//   - Of a provider that could not be read nothing is taken for gone.
//   - A pool without stock is left alone for minutes, with all others of its type, zone and market, and the next tried in the same
//     step. A quota is no stockout: longer, for all zones of the region, and it says so. A provider that throttles or does not know us is not asked at all for a while, whatever the pool.
//   - A list that shows a machine is as good as the answer to its only order: nothing waits for an answer that was lost.
//   - A machine whose end is seen is told gone at once. Its name is kept, and counts, while an order to make it may come true.
//   - "Not found" after an answer that it was made means wait, until it had its time to get ready; then it is ended, and counted.
//   - Together is all or none: if one of them cannot be had, the others end at once, and none is handed over before all are ready.
//   - A machine that is to be taken back is no longer counted for its wish, so its replacement comes while it is still there.
//   - Never more machines than allowed, in a pool and in all, nor more money an hour, in all and for each client: what comes, what goes
//     and what is unsure included.
// A pure machine: it knows no clock and gives no order itself. A copy is a snapshot; recover() makes it from the rows.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capacity/capacity.h"

namespace stint {

struct CapacityRules {
  std::string owner;                        ///< our mark
  std::vector<CapacityPool> pools;          ///< names differ
  int32_t most = 1'000'000;                 ///< machines of all pools
  std::optional<Rate> most_burn;            ///< of all of them
  std::map<std::string, Rate> client_burn;  ///< the same, of those made for that client
  /// Of a wish's spot machines no more than this part is of one pool, as long as others can be had: one reclaim took 29 of 30.
  double spread = 1;

  bool lists = true;                            ///< the Capacity can list. If not, names alone keep it from making one twice
  Duration list_every = Duration::minutes(1);   ///< at least; while something is unsure or comes as often as `settle`
  Duration offer_every = Duration::minutes(5);  ///< 0 = never
  Duration settle =
      Duration::seconds(30);  ///< a list is behind by less, and an order is carried out by less after `answer_within`
  Duration answer_within = Duration::minutes(2);   ///< an order that is not answered by then may have been done or not
  Duration ready_within = Duration::minutes(15);   ///< from the order until it can be used
  Duration stockout_for = Duration::minutes(5);    ///< doubles with each in a row …
  Duration stockout_most = Duration::minutes(40);  ///< … up to this
  Duration quota_for = Duration::hours(1);         ///< and what was refused as wrong
  Duration throttled_for = Duration::seconds(2);   ///< doubles with each in a row …
  Duration throttled_most = Duration::minutes(2);  ///< … up to this
  Duration again_after = Duration::minutes(1);     ///< of what failed and may go well
  std::optional<Duration> lifetime;                ///< machines are made to end by themselves then
};

/// So many machines are wanted. Wishes are told with every step; earlier ones are served first.
struct CapacityWish {
  std::string id;      ///< the same wish in the next step
  std::string client;  ///< on whose account
  int32_t machines = 0;
  bool together = false;             ///< all or none of them, in one pool
  std::vector<std::string> pools;    ///< that may serve it; empty = all
  std::vector<std::string> names;    ///< exactly these, of pools that have names; `machines` is how many
  std::vector<std::string> first;    ///< of a pool that has names: these before the others
  std::vector<std::string> without;  ///< of a pool that has names: none of these is begun
  std::optional<Rate> limit;         ///< no more for one machine
  int32_t most = 1'000'000;          ///< of it at once, those that are ending or taken back included
};

/// What the caller wants of a step.
struct CapacityAsk {
  std::vector<CapacityWish> wishes;   ///< all there are; on their way for another, machines end
  std::vector<std::string> drain;     ///< they are not needed: each takes no more work, and goes when it is released …
  std::vector<std::string> keep;      ///< … or is needed after all
  std::vector<std::string> released;  ///< it has no work and is to go
};

enum class MadeState : uint8_t {
  kAsked,    ///< an order to make it was given
  kUnsure,   ///< it was made or not
  kComing,   ///< it was made
  kReady,    ///< it can be used
  kLeaving,  ///< the same, but for new work: until it is taken back, or is released
  kEnding,   ///< an order to end it was given
  kOff,      ///< of a pool with names: it is not on
};
std::string_view name_of(MadeState state);

struct MadeMachine {
  std::string pool;
  std::string wish;
  std::string client;
  MadeState state = MadeState::kAsked;
  Instant asked;                 ///< the last order to make it
  Instant begun;                 ///< the first order to make it: paid for since, as far as is known
  std::optional<Instant> until;  ///< it will be taken back
  Rate rate;                     ///< as of its order
  std::string id;                ///< the provider's; empty = not known, or it has none
  int64_t gang = 0;              ///< number of the attempt to get several together; 0 = alone
  int32_t tries = 0;             ///< orders to make it
  bool answered = false;         ///< it is ready, and its gang is not
  bool at_risk = false;          ///< its replacement is looked for, then it is drained
  bool was_ready = false;        ///< it has been handed over, and its end was not told
  bool unsure = false;           ///< ending, and an order to make it may still be under way
  std::string detail;            ///< why it ends

  bool operator==(const MadeMachine&) const = default;
};

enum class CapacityEvent : uint8_t {
  kAsked,
  kReady,     ///< it is handed over, or kept: it takes work
  kDraining,  ///< it is no longer to take work
  kLost,      ///< handed over, and gone without a word
  kGone,      ///< it is not there any more
  kFailed,    ///< an order failed, or it was not ready in time
  kSwept,     ///< bore our mark and was not known: it is ended
  kPoolShut,  ///< its pool is left alone for a while; `machine` is empty
};

struct CapacityNews {
  CapacityEvent event = CapacityEvent::kAsked;
  std::string machine;
  std::string pool;
  Rate rate;
  bool was_ready = false;        ///< it had been handed over
  bool maintenance = false;      ///< kDraining: not its market
  std::optional<Instant> until;  ///< of kDraining and kPoolShut
  std::string detail;
};

/// What a wish lacks, and why no pool serves it.
struct CapacityShortage {
  std::string wish;
  int32_t missing = 0;
  std::string why;
  std::map<std::string, std::string> names;  ///< of a wish for exactly these: why each does not come
};

struct CapacityStep {
  std::vector<std::string> rows;  ///< to be durable before the orders are given
  std::vector<CreateOrder> creates;
  std::vector<DestroyOrder> destroys;
  std::optional<int64_t> list;  ///< its call
  bool offer = false;
  std::vector<CapacityNews> news;
  std::vector<CapacityShortage> shortages;
  std::optional<Instant> wake;  ///< the next step, should nothing be heard before
};

class CapacityBook {
 public:
  explicit CapacityBook(CapacityRules rules) : rules_(std::move(rules)) {}
  /// @param rows  of all steps, oldest first, or what compacted() gave and those since.
  /// @return error for a row that is none, by its number.
  static Result<CapacityBook> recover(CapacityRules rules, std::span<const std::string> rows, Instant now);

  /// From now on.
  void change_rules(CapacityRules rules) { rules_ = std::move(rules); }
  /// It is there, or is off, and was so before this book began. Goes into the rows of the next step.
  void adopt(const std::string& name, MadeMachine machine);
  /// It is no longer ours, whatever it does.
  void forget(const std::string& name);

  /// @param now  not before the last step's.
  CapacityStep step(Instant now, const CapacityAsk& ask, const CapacityHeard& heard);
  /// The rows could not be written, so no order of this step was given: nothing was done.
  void not_given(const CapacityStep& step);
  /// Its pool, or the machine of a pool that has names ("POOL/NAME"), may be asked again.
  void open(const std::string& key);
  /// The next step asks for a list, whenever the last was.
  void look_now() { list_at_ = Instant(); }

  [[nodiscard]] const std::map<std::string, MadeMachine>& machines() const { return machines_; }
  struct Shut {
    Instant until;
    int32_t times = 0;
    std::string why;
    bool operator==(const Shut&) const = default;
  };
  /// Pools that are left alone, and machines of pools that have names as "POOL/NAME"; some until instants that have passed.
  [[nodiscard]] const std::map<std::string, Shut>& shut() const { return shut_; }
  [[nodiscard]] const CapacityRules& rules() const { return rules_; }
  /// Of all machines, those that come and go included.
  [[nodiscard]] Money burn() const;
  struct Counts {
    int64_t made = 0;       ///< orders answered well
    int64_t swept = 0;      ///< ended that were not known, or were there twice
    int64_t late = 0;       ///< not ready in time
    int64_t stockouts = 0;  ///< answers
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// All that recover() needs in place of the rows so far.
  [[nodiscard]] std::vector<std::string> compacted() const;

 private:
  struct Pending {
    enum class Kind : uint8_t { kCreate, kDestroy, kSweep, kList } kind = Kind::kCreate;
    std::set<std::string> names;
    Instant given;
    std::set<std::string> shown = {};  ///< of them, by a list: the order has been carried out, though no answer was heard
  };
  struct Tally {
    int32_t machines = 0;
    std::map<std::string, int32_t> of_pool, of_wish;
    Money burn;
    std::map<std::string, Money> of_client;
    void add(const std::string& pool, const CapacityWish& wish, Rate rate, int32_t count);
  };
  /// What was chosen for a wish so far.
  struct Choice {
    Tally all;                               ///< with it
    std::map<std::string, int32_t> of_pool;  ///< machines of the wish, likewise
    std::map<const CapacityPool*, std::vector<std::string>> names;
  };
  struct Pause {
    Instant until;
    int32_t times = 0;
    std::string why;
  };
  using Made = std::map<std::string, MadeMachine>::iterator;

  void take_answer(const CapacityAnswer& answer, CapacityStep& out);
  void take_unmade(Made machine, const CapacityAnswer& answer, CapacityStep& out);
  void take_list(const CapacityList& list, CapacityStep& out);
  void take_listed(const ListedMachine& listed, Instant as_of, CapacityStep& out);
  void take_stillborn(Made machine, CapacityStep& out);
  void take_shown(const std::string& name, MadeMachine& made);
  void take_missing(Made machine, Instant as_of, bool is_asked_for, CapacityStep& out);
  void take_notice(const CapacityNotice& notice, CapacityStep& out);
  void take_ask(const CapacityAsk& ask, CapacityStep& out);
  void give_up_waiting(CapacityStep& out);
  void finish_gangs(CapacityStep& out);
  void end_late_and_leaving(CapacityStep& out);
  void match(const std::vector<CapacityWish>& wishes, CapacityStep& out);
  void serve(const CapacityWish& wish, int32_t missing, CapacityStep& out);
  std::string choose(const CapacityPool& pool, const CapacityWish& wish, int32_t count, bool spread, Choice& choice);
  void serve_names(const CapacityWish& wish, CapacityStep& out);
  void replace_at_risk(const CapacityWish& wish, CapacityStep& out);
  void retry_unsure(CapacityStep& out);
  void order_list(CapacityStep& out);
  void order_ends(CapacityStep& out);
  void sweep(const std::string& name, const std::string& id, CapacityStep& out);
  [[nodiscard]] bool is_old_news(const ListedMachine& listed, Instant as_of) const;
  [[nodiscard]] bool is_unread(const MadeMachine& made, const CapacityList& list) const;

  [[nodiscard]] const CapacityPool* pool_of(std::string_view name) const;
  [[nodiscard]] std::string shut_key(const MadeMachine& machine, const std::string& name) const;
  [[nodiscard]] Rate rate_of(const CapacityPool& pool) const;
  [[nodiscard]] Tally tally() const;
  [[nodiscard]] std::set<std::string> ordered(Pending::Kind kind) const;
  [[nodiscard]] std::vector<std::string> free_names(const CapacityPool& pool, const CapacityWish& wish) const;
  /// Why the pool cannot give `count` more now; empty = it can.
  [[nodiscard]] std::string obstacle(const CapacityPool& pool, const CapacityWish& wish, int32_t count, const Tally& tally) const;
  [[nodiscard]] std::string paused(const CapacityPool& pool) const;
  void make(const CapacityPool& pool, const CapacityWish& wish, std::vector<std::string> names, int64_t gang, CapacityStep& out);
  void begin_end(Made machine, std::string why);
  void break_gang(int64_t gang, const std::string& name, const std::string& why);
  void remove(Made machine, CapacityStep& out, CapacityEvent event, std::string detail);
  void tell_gone(Made machine, CapacityStep& out);
  void hand_over(Made machine, CapacityStep& out);
  void shut_pool(const std::string& key, Duration how_long, std::string why, CapacityStep& out);
  void pause(std::string_view provider, std::string why, Duration first, Duration most);
  [[nodiscard]] CapacityNews news_of(CapacityEvent event, const std::string& name, const MadeMachine& machine) const;
  void write_rows(CapacityStep& out);
  void find_wake(CapacityStep& out) const;
  Status read_row(std::string_view row);

  CapacityRules rules_;
  std::map<std::string, MadeMachine> machines_;
  std::map<std::string, Shut> shut_;
  int64_t number_ = 0;  ///< of the last new name and the last gang: never used again
  Counts counts_;
  struct Ended {
    std::string id;  ///< the provider's; empty = it has none
    Instant at;
  };
  // Not in the rows:
  Instant now_;
  int64_t call_ = 0;
  std::map<int64_t, Pending> pending_;
  std::map<std::string, Pause> paused_;           ///< by provider
  std::map<std::string, CapacityOffer> offers_;   ///< by pool
  std::map<std::string, Instant> swept_;          ///< by id or name, when its end was ordered
  std::map<std::string, Ended> ended_;            ///< by name: taken out of the book
  std::map<std::string, Instant> missing_since_;  ///< ready, and not in a list
  std::map<std::string, Instant> end_ordered_;    ///< the last order to end it
  std::set<std::string> absent_;                  ///< unsure, and not in this step's list, which is new enough
  struct Changed {
    std::set<std::string> machines, shut;
    bool number = false;
  };
  Changed changed_;                ///< what needs a row
  Changed written_;                ///< what the last step gave rows for
  Instant list_at_;                ///< the next
  std::optional<Instant> listed_;  ///< the last was asked for
  Instant offer_at_;               ///< the next
};

}  // namespace stint
