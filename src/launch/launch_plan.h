// What a launch is to do: the plan of `stint launch`, made once and durable before the first order, and what it tells a Capacity.
//
// The same document lies in the object store for the machines, which take from it what to run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "capacity/capacity_book.h"

namespace stint {

/// Machines of one type in one zone on one market that would do.
struct LaunchOffer {
  std::string instance_type, zone;
  Market market = Market::kSpot;  ///< or on-demand
  Rate rate;                      ///< when the plan was made
  std::string provider = "aws";
  std::string region = {};  ///< "" = LaunchPlan::region
  bool operator==(const LaunchOffer&) const = default;

  /// "us-east-1a"; where the cloud picks the zone, the region.
  [[nodiscard]] const std::string& place() const { return zone.empty() ? region : zone; }
  /// "p5.48xlarge/us-east-1a/spot": also its pool's name.
  [[nodiscard]] std::string name() const;
};

struct LaunchPlan {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::string name;   ///< is_launch_name()
  std::string owner;  ///< the mark of its machines
  std::string store;  ///< `s3://bucket/prefix/NAME`: all that machine and controller tell each other lies below
  // What runs.
  std::vector<std::string> command;
  Pairs environment;
  std::string data;               ///< where the data lie, for the command alone; "" = not said
  std::string checkpoint_folder;  ///< of the working directory
  int64_t keep = 3;               ///< copies of checkpoints
  int64_t retries = 3;            ///< on one machine, in a row without a new checkpoint
  std::string code_sha256;        ///< of the packed working directory
  int64_t code_bytes = 0;
  std::string program, program_sha256;  ///< address of the stint that the machines run
  // On what.
  std::string gpu_model;  ///< "" = no GPU is asked for
  int32_t gpus = 0;
  std::vector<LaunchOffer> offers;  ///< best first, of each market by itself
  std::optional<Rate> limit;        ///< no more for a machine
  /// JSON: `aws`, `gcp` and `azure` as `power` of the daemon's configuration has them; "" = AWS, by what follows.
  std::string clouds;
  std::string region, image, launch_template, key_name, instance_profile;
  Pairs subnets, tags;  ///< zone → subnet
  std::vector<std::string> security_groups;
  // Until when.
  Instant begun;
  std::optional<Instant> deadline;
  Duration takes;     ///< the command alone, on one machine, uninterrupted; 0 = not known, and there is no deadline
  Duration start_up;  ///< from the order until the command works again, what it has to redo included
  Duration lifetime;  ///< a machine ends by itself then
  Duration look_every, list_lag, ready_within;

  bool operator==(const LaunchPlan&) const = default;
  [[nodiscard]] const LaunchOffer* offer(std::string_view pool) const;
};

/// 1 to 40 of a–z, 0–9 and `-`, a letter first: it stands in names of machines, objects and folders.
bool is_launch_name(std::string_view text);

/// One document, two blanks deep, with an end of line.
std::string to_json(const LaunchPlan& plan);
/// @param source  for messages: a file's name. @return kInvalidInput naming it and the line.
Result<LaunchPlan> parse_launch_plan(std::string_view json, const std::string& source);

/// The plan's offers as pools. Whatever happens there is one machine at a time.
CapacityRules capacity_rules_of(const LaunchPlan& plan);

}  // namespace stint
