// The controller of one launch: buys its machine, follows it, buys another when it is taken back, and gives all back at the end.
//
// One turn: hear what the cloud answered and the machines told → decide_launch() → the book's step → rows on the disk → orders. What is
// decided lies in launch/, what is kept in launch_folder.h: after a kill -9 another controller goes on from there, with the same machine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "backends/capacity/clouds_capacity.h"
#include "backends/launch/launch_folder.h"
#include "base/result.h"
#include "clouds/object_store.h"
#include "launch/launch_decision.h"

namespace stint {

/// Whom it tells what.
struct LaunchTalk {
  std::function<void(const std::string& sentence)> say;
  std::function<void(std::string_view bytes)> output;  ///< of the command, as it comes
  /// Waits for so long. @return true when the person wants to leave: the machine stays.
  std::function<bool(Duration)> pause;
};

/// Reads LaunchPlan::clouds. @param source  for messages.
using CloudsReader = std::function<Result<CloudSettings>(std::string_view json, const std::string& source)>;

/// What the plan says of AWS, where it names no clouds by themselves.
Ec2Settings ec2_settings_of(const LaunchPlan& plan);

class LaunchController {
 public:
  /// Takes the folder. @return kConflict when another controller has it.
  static Result<std::unique_ptr<LaunchController>> open(const std::string& folder, LaunchTalk talk,
                                                        const CloudsReader& read_clouds,
                                                        const Environment& environment = process_environment());

  /// Until it is over and nothing of it is left, or the person leaves.
  /// @return false = left: it goes on from the folder.
  Result<bool> run();
  /// The same, with the end that a person wants.
  Result<bool> stop();
  /// Ends what bears its mark and is not known, and, of a launch that is over, all; makes none. @return how many were ended.
  Result<int64_t> sweep();

  [[nodiscard]] const LaunchPlan& plan() const { return state_.plan; }
  [[nodiscard]] const LaunchRecord& record() const { return state_.record; }
  /// That are there by its doing, as far as is known.
  [[nodiscard]] size_t machines() const { return state_.book.machines().size(); }

 private:
  LaunchController(LaunchFolder folder, LaunchState state, std::unique_ptr<ObjectStore> store, std::string root, LaunchTalk talk);
  void open_capacity(const CloudSettings& clouds, const Environment& environment);
  Status bring();
  Status turn(const CapacityAsk& ask);
  [[nodiscard]] CapacityAsk decide();
  [[nodiscard]] CapacityAsk ask_of_sweep() const;
  void hear();
  void hear_machines();
  [[nodiscard]] LaunchSight sight() const;
  bool pass_output_on(const std::string& machine, const LaunchReport& report);
  void tell(const CapacityNews& news);
  void tell_unread(const CapacityList& list);
  [[nodiscard]] std::string unread() const;
  [[nodiscard]] bool is_over() const { return record().end() || record().stopped(); }
  Result<bool> run_while(const std::function<CapacityAsk()>& ask, const std::function<bool()>& is_done);

  LaunchFolder folder_;
  LaunchState state_;
  std::unique_ptr<ObjectStore> store_;
  std::string root_;  ///< key of LaunchPlan::store
  LaunchTalk talk_;
  std::unique_ptr<Capacity> capacity_;
  std::map<std::string, HeardReport> reports_;
  std::set<std::string> heard_out_;  ///< machines that are gone and whose last words are known
  Instant next_look_;
  Instant last_news_, next_list_;
  std::string why_;  ///< told last
  bool is_sweep_ = false;
  std::vector<UnreadProvider> unread_;  ///< by the last list
  std::optional<int64_t> quiet_list_;   ///< the call of a list asked for while nothing was under way
  bool is_quiet_ = false;               ///< and its answer: nothing of ours is there but what the book knows
};

}  // namespace stint
