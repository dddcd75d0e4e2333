#include "sim/story_build.h"

#include <algorithm>

#include "base/check.h"
#include "catalog/providers/provider.h"

namespace stint {
namespace {

constexpr int64_t kHoursPerDay = 24;

int64_t hours_of(const Story& story) { return story.period.length().count_ns() / kHour.count_ns(); }

std::string hexadecimal(Prng& prng, int digits) {
  std::string text;
  for (int i = 0; i < digits; ++i)
    text += "0123456789abcdef"[prng.below(16)];
  return text;
}

/// As Kubernetes names pods: no vowels, no digits that look like them.
std::string pod_suffix(Prng& prng, int letters) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  for (int i = 0; i < letters; ++i)
    text += kLetters[prng.below(kLetters.size())];
  return text;
}

std::string make_uuid(Prng& prng) {
  std::string uuid = "GPU";
  for (const int digits : {8, 4, 4, 4, 12})
    uuid += "-" + hexadecimal(prng, digits);
  return uuid;
}

std::string make_resource_id(const StoryType& type, const std::string& name, Prng& prng) {
  if (type.provider == "aws") return "i-0" + hexadecimal(prng, 16);
  if (type.provider == "gcp")
    return fmt::format("//compute.googleapis.com/projects/ml-prod/zones/{}-a/instances/{}", type.region, name);
  return fmt::format("/subscriptions/7c1e0f52/resourcegroups/ml-prod/providers/microsoft.compute/virtualmachines/{}", name);
}

/// The next hour at or after `hour` at which people start jobs.
int64_t next_working_hour(const Story& story, int64_t hour, Prng& prng) {
  while (true) {
    const Instant t = story.period.begin + kHour * hour;
    const int of_day = to_civil(t).hour;
    if (weekday(t) < 5 && of_day >= 7 && of_day < 20) return hour;
    const bool later_today = weekday(t) < 5 && of_day < 7;
    hour += later_today ? 7 - of_day : kHoursPerDay - of_day;
    if (later_today) hour += static_cast<int64_t>(prng.below(4));
  }
}

Run record_of(const Story& story, const StoryWork& work, const std::vector<size_t>& nodes, int64_t gpus_per_node,
              const StoryHold& hold) {
  Run run;
  run.name = work.tenant.workload;
  run.holder.user = work.holder.user;
  run.holder.account = work.holder.account;
  run.kind = work.kind;
  run.state = hold.busy_until < hold.end ? RunState::kTimeout : RunState::kCompleted;
  run.started = story.at(hold.begin);
  run.submitted = *run.started - Duration::minutes(7);
  run.ended = story.at(hold.end);
  const Duration held = *run.ended - *run.started;
  run.time_limit = run.state == RunState::kTimeout ? held : held + Duration::hours(4);
  const Node& first = story.nodes[nodes.front()].node;
  const int64_t count = static_cast<int64_t>(nodes.size());
  run.gpus_requested = gpus_per_node * count;
  run.cpus = first.vcpus * gpus_per_node / first.gpu_count * count;
  run.memory = Bytes::of(first.memory.count() / first.gpu_count * gpus_per_node * count);
  for (const size_t node : nodes)
    run.allocations.push_back({story.nodes[node].node.name, {}, gpus_per_node});
  return run;
}

void hold_on(Story& story, const std::vector<size_t>& nodes, const std::vector<size_t>& gpus, const StoryHold& hold) {
  for (const size_t node : nodes)
    for (const size_t gpu : gpus)
      story.nodes[node].gpus[gpu].holds.push_back(hold);
}

}  // namespace

size_t add_node(Story& story, const StoryType& type, const std::string& name, StoryTelemetry telemetry, Prng& prng) {
  StoryNode made;
  made.node.name = name;
  made.node.resource_id = make_resource_id(type, name, prng);
  made.node.provider = type.provider;
  made.node.region = type.region;
  made.node.zone = type.region + std::string(provider_of(type.provider).facts().first_zone);
  made.node.instance_type = type.instance_type;
  made.node.market = Market::kOnDemand;
  made.node.gpu_model = type.gpu_model;
  made.node.gpu_count = type.gpu_count;
  made.node.vcpus = type.vcpus;
  made.node.memory = Bytes::gibi(type.memory_gib);
  made.node.rate = type.on_demand;
  made.gpu_name = type.gpu_name;
  made.memory_mib = type.gpu_memory_mib;
  made.tdp_w = type.gpu_tdp_w;
  made.telemetry = telemetry;
  made.gpus.resize(static_cast<size_t>(type.gpu_count));
  for (StoryGpu& gpu : made.gpus)
    gpu.uuid = make_uuid(prng);
  made.present = {story.period};
  story.nodes.push_back(std::move(made));
  return story.nodes.size() - 1;
}

size_t add_work(Story& story, StoryWork work) {
  story.works.push_back(std::move(work));
  return story.works.size() - 1;
}

void hold_all_month(Story& story, size_t node, size_t gpu, size_t work, Prng& prng) {
  // Two generations of the pod: a deployment's pods carry a template hash and a suffix.
  const int64_t rollout = 13 * kHoursPerDay * kStepsPerHour + 10 * kStepsPerHour;
  const int64_t ends[] = {rollout, story.steps()};
  const std::string deployment = story.works[work].holder.pod;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    StoryWork pod = story.works[work];
    pod.holder.pod = fmt::format("{}-{}-{}", deployment, pod_suffix(prng, 9), pod_suffix(prng, 5));
    story.nodes[node].gpus[gpu].holds.push_back({add_work(story, pod), begin, end, end, 1.0, -1});
    begin = end;
  }
}

void hold_hours(Story& story, size_t node, size_t gpu, size_t work, const HeldHours& hours) {
  const int64_t begin = hours.begin * kStepsPerHour;
  story.nodes[node].gpus[gpu].holds.push_back(
      {work, begin, hours.end * kStepsPerHour, begin + hours.busy * kStepsPerHour, 1.0, -1});
}

void schedule(Story& story, const Lane& lane, Prng prng) {
  int64_t hour = static_cast<int64_t>(prng.below(6));
  while (true) {
    hour = next_working_hour(story, hour, prng);
    const int64_t length = lane.shortest_hours +
                           static_cast<int64_t>(prng.below(static_cast<uint64_t>(lane.longest_hours - lane.shortest_hours + 1)));
    if (hour + length > hours_of(story)) return;
    StoryHold hold;
    hold.work = lane.works[prng.below(lane.works.size())];
    hold.begin = hour * kStepsPerHour + static_cast<int64_t>(prng.below(kStepsPerHour));
    hold.end = hold.begin + length * kStepsPerHour - static_cast<int64_t>(prng.below(kStepsPerHour));
    const bool hangs = static_cast<int>(prng.below(100)) < lane.hang_percent;
    hold.busy_until = hangs ? hold.begin + (hold.end - hold.begin) / 3 : hold.end;
    hold.level = 0.85 + 0.3 * prng.uniform();
    if (lane.recorded) {
      hold.run = static_cast<int>(story.runs.size());
      story.runs.push_back(record_of(story, story.works[hold.work], lane.nodes, static_cast<int64_t>(lane.gpus.size()), hold));
    }
    hold_on(story, lane.nodes, lane.gpus, hold);
    hour += length + 1 + static_cast<int64_t>(prng.below(static_cast<uint64_t>(lane.longest_gap_hours)));
  }
}

void schedule_reservation(Story& story, const std::vector<size_t>& nodes, size_t work, int64_t begin_hour, int64_t end_hour,
                          int64_t busy_hours) {
  const size_t per_node = story.nodes[nodes.front()].gpus.size();
  const int64_t begin = begin_hour * kStepsPerHour;
  const StoryHold hold{
      work, begin, end_hour * kStepsPerHour, begin + busy_hours * kStepsPerHour, 1.0, static_cast<int>(story.runs.size())};
  Run run = record_of(story, story.works[work], nodes, static_cast<int64_t>(per_node), hold);
  run.state = RunState::kCompleted;  // a script that sleeps to the end of its reservation ends well
  story.runs.push_back(std::move(run));
  std::vector<size_t> gpus(per_node);
  for (size_t i = 0; i < per_node; ++i)
    gpus[i] = i;
  hold_on(story, nodes, gpus, hold);
}

void number_runs(Story& story, int first) {
  std::vector<size_t> order(story.runs.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return *story.runs[i].started; });
  for (size_t rank = 0; rank < order.size(); ++rank)
    story.runs[order[rank]].id = std::to_string(first + static_cast<int>(rank));
}

void add_charges(Story& story, const std::string& provider, const std::string& region, std::initializer_list<StoryItem> items) {
  for (const StoryItem& item : items) {
    auto price = Money::parse(item.unit_price);
    CHECK(price.ok(), "unit price {} of {}", item.unit_price, item.description);
    story.charges.push_back({provider, region, item.service, item.category, item.usage_type, item.description, item.unit,
                             item.quantity, *price, scale(*price, item.quantity, 1)});
  }
}

void add_balance(Story& story) {
  Money sum = compute_cost(story);
  for (const StoryCharge& other : story.charges)
    sum += other.amount;
  const Money rest = story.bill - sum;
  CHECK(rest > Money(), "the parts of story {} exceed its bill by {}", story.name, (-rest).to_text());
  story.charges.push_back(
      {"aws", "us-east-1", "AWSSupport", "Other", "Dollar", "AWS Support, agreed fee", "Month", 1, rest, rest});
}

Money compute_cost(const Story& story) {
  Money sum;
  for (const StoryNode& node : story.nodes)
    for (const Interval present : node.present)
      sum += node.node.rate->over(present.length());
  return sum;
}

}  // namespace stint
