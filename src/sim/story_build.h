// Small steps from which the stories' fleets are put together.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/prng.h"
#include "sim/story.h"

namespace stint {

/// AWS's p4d.24xlarge in us-east-1 (catalog/prices.csv): both stories rent it.
inline Rate p4d_rate() { return Rate::per_hour(Money::nanos(21'957'642'000)); }

/// What is bought: an instance type at its list price.
struct StoryType {
  std::string provider;
  std::string region;
  std::string instance_type;
  std::string gpu_model;  ///< canonical catalogue name
  std::string gpu_name;   ///< as the driver writes it
  int64_t gpu_count = 0;
  int64_t gpu_memory_mib = 0;
  double gpu_tdp_w = 0;
  int64_t vcpus = 0;
  int64_t memory_gib = 0;
  Rate on_demand;
};

/// Adds a machine on demand that is there all month. @return its index in Story::nodes
size_t add_node(Story& story, const StoryType& type, const std::string& name, StoryTelemetry telemetry, Prng& prng);
/// Adds a piece of work. @return its index in Story::works
size_t add_work(Story& story, StoryWork work);
/// `work` holds that GPU all month, as pods do; the pod is replaced once, on the 14th day.
void hold_all_month(Story& story, size_t node, size_t gpu, size_t work, Prng& prng);
/// Of the month, from its first hour on.
struct HeldHours {
  int64_t begin = 0, end = 0;
  int64_t busy = 0;  ///< of them, together
};
/// `work` holds the GPU for those hours.
void hold_hours(Story& story, size_t node, size_t gpu, size_t work, const HeldHours& hours);

/// A lane is a set of GPUs on which one job follows another.
struct Lane {
  std::vector<size_t> nodes;  ///< every job takes `gpus` on each of these
  std::vector<size_t> gpus;
  std::vector<size_t> works;  ///< jobs are drawn from these
  int64_t shortest_hours = 2;
  int64_t longest_hours = 12;
  int64_t longest_gap_hours = 8;
  int hang_percent = 0;  ///< of jobs: hang after a third of their time and are held to the end
  bool recorded = true;  ///< Slurm knows of them
};
/// Fills a lane for the month. Jobs start on working days between 07:00 and 20:00 UTC and run through the night.
void schedule(Story& story, const Lane& lane, Prng prng);
/// One recorded job on whole nodes, held from `begin_hour` to `end_hour`, busy for the first `busy_hours`.
void schedule_reservation(Story& story, const std::vector<size_t>& nodes, size_t work, int64_t begin_hour, int64_t end_hour,
                          int64_t busy_hours);
inline constexpr int kFirstStoryJob = 41207;
/// Gives the recorded jobs their numbers, ascending by start.
void number_runs(Story& story, int first = kFirstStoryJob);

/// What is bought beside machines, at its list price.
struct StoryItem {
  const char* service;
  const char* category;  ///< FOCUS ServiceCategory
  const char* usage_type;
  const char* description;
  const char* unit;
  int64_t quantity;
  const char* unit_price;  ///< a decimal, USD
};
void add_charges(Story& story, const std::string& provider, const std::string& region, std::initializer_list<StoryItem> items);
/// A last charge of AWS, for its support, that brings the month to Story::bill exactly; it must come out positive.
void add_balance(Story& story);
/// Rate × hours present, over all machines.
Money compute_cost(const Story& story);

}  // namespace stint
