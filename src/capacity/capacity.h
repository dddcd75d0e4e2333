// What makes and ends machines: a cloud, an operator's program, a node group, or a simulated cloud (simulated_cloud.h).
//
// Every order names its machine, and a name is made at most once: told twice it does no harm. Whoever gives orders keeps what it
// intends first (capacity_book.h); an answer may be lost, and then the list of what is there says what happened. Nothing waits here:
// what became of an order is heard later.
// Source: the fifteen behaviours that users of other tools miss: machines leaked by an error after they were made, stockouts taken for
// quotas, partial gangs that are paid for while they wait (docs/capacity.md names the threads).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "model/machine.h"

namespace stint {

/// Machines of one type in one zone on one market: they are out of stock, and have a price, together.
struct CapacityPool {
  std::string name;           ///< "p5.48xlarge/us-east-1a/spot"; unique
  Machine machine;            ///< what each is; its own name is given when it is made. `rate` is paid where no offer says another
  int32_t order = 0;          ///< the lower are taken first, whatever they cost: the primary provider before the overflow
  int32_t most = 1'000'000;   ///< at once, those that come and go included
  std::optional<Rate> limit;  ///< no more is paid for one
  /// They exist, and are switched on and off by these names, in this order. Empty = they are made as needed, and have new names.
  std::vector<std::string> names;
  bool operator==(const CapacityPool&) const = default;
};

/// Makes these machines.
struct CreateOrder {
  int64_t call = 0;                ///< number of this order
  std::vector<std::string> names;  ///< each known by its name from now on: a second order with it makes no second machine
  std::string pool;
  Machine machine;
  std::string owner;                   ///< a mark on each by which its owner finds it again
  bool together = false;               ///< all of them or none, where the provider can do that in one step
  std::optional<Duration> ends_after;  ///< the provider ends it by itself then, should its owner be gone
};

/// Ends these. One that is not there is no error, and keeps no other from ending.
struct DestroyOrder {
  struct Target {
    std::string name;
    std::string id;  ///< the provider's; empty = all that bear the name
  };
  int64_t call = 0;
  std::vector<Target> targets;
};

enum class CapacityOutcome : uint8_t {
  kReady,        ///< it can be used (create)
  kMade,         ///< it comes, and the list will say when it is ready
  kGone,         ///< it is not there any more, or never was (destroy)
  kStockout,     ///< not made: the pool has none at present
  kQuota,        ///< not made: the account may not have more of them
  kThrottled,    ///< nothing was done: too many requests
  kCredentials,  ///< nothing was done: who asks is not known, or may not
  kRefused,      ///< not made, nor would it be if asked again: the order is wrong
  kUnknown,      ///< it may have been done or not: no answer, or one that says nothing
};
std::string_view name_of(CapacityOutcome outcome);

/// What became of one machine of an order.
struct CapacityAnswer {
  int64_t call = 0;
  std::string name;
  CapacityOutcome outcome = CapacityOutcome::kUnknown;
  std::string detail;  ///< the provider's words
};

enum class ListedState : uint8_t { kComing, kReady, kGoing };

struct ListedMachine {
  std::string id;  ///< the provider's, of this very machine; empty where it has none
  std::string name;
  std::string owner;
  ListedState state = ListedState::kComing;
};

/// A provider whose machines could not be listed to their end.
struct UnreadProvider {
  std::string provider;  ///< as its machines name it; empty = of all machines
  std::string name;      ///< for people: "Google Cloud"
  std::string why;
};

/// All there is that bears some owner's mark. It may be behind: what was made a moment ago may be missing.
struct CapacityList {
  int64_t call = 0;
  std::vector<UnreadProvider> unread;  ///< of their machines it says nothing of what is missing
  std::vector<ListedMachine> machines;
};

/// What a pool has to offer.
struct CapacityOffer {
  std::string pool;
  std::optional<Rate> rate;           ///< of one machine, now
  std::optional<int32_t> quota_left;  ///< so many more may be had
};

/// What the provider announces of a machine.
struct CapacityNotice {
  std::string name;
  std::optional<Instant> until;  ///< it will be gone then; none: it is more likely than others to be taken back
  bool maintenance = false;      ///< by its owner's work, not by its market
  std::string detail;
};

/// What was heard and not told before, in order.
struct CapacityHeard {
  std::vector<CapacityAnswer> answers;
  std::vector<CapacityList> lists;
  std::vector<CapacityOffer> offers;
  std::vector<CapacityNotice> notices;
};

/// Owned and called by one thread. Orders are begun, never waited for; their outcome comes with hear().
class Capacity {
 public:
  virtual ~Capacity() = default;
  /// "program", "simulated cloud".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Asks for what all pools offer. Where nothing is known of that, nothing is heard.
  virtual void offer(Instant now) = 0;
  // Each is answered once for each name.
  virtual void create(const CreateOrder& order, Instant now) = 0;
  virtual void destroy(const DestroyOrder& order, Instant now) = 0;
  virtual void list(int64_t call, Instant now) = 0;
  /// Answers, lists, offers and notices up to `now`.
  virtual CapacityHeard hear(Instant now) = 0;
  /// When hear() will have something to tell, where that is known; none = ask regularly.
  [[nodiscard]] virtual std::optional<Instant> next_at() const = 0;
};

}  // namespace stint
