#include "documents/workload_file.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "documents/workload_row.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

constexpr std::string_view kVersion = "stint-workload/1";
// CPUs and memory that no job asks for are not the question.
constexpr int64_t kPlenty = int64_t{1} << 40;
constexpr int64_t kMostNodes = 100'000;
constexpr int64_t kMostTasks = 1'000'000;
constexpr int64_t kMostJobs = 10'000'000;
constexpr int64_t kMostRank = 1'000'000'000;

struct SectionColumns {
  std::string_view name;
  std::string_view columns;  // separated by blanks
  std::string_view required;
};
constexpr std::array<SectionColumns, 6> kSections = {{
    {"queues", "name parent deserved limit weight priority budget budget_period budget_from currency hours", "name"},
    {"prices", "name from per_hour currency", "name from per_hour"},
    {"nodes",
     "name count gpu_model gpus gpu_memory cpu memory provider region zone instance_type market per_hour currency prices from "
     "until",
     "name gpus"},
    {"jobs",
     "name count array at_once queue submitted run_time tasks min_tasks gpus share gpu_memory mig shares_with cpu memory "
     "gpu_models "
     "priority preemptible not_before deadline time_limit expected min_runtime checkpoint save restart retries failures "
     "fails_after "
     "cancelled after makes ran_on deferrable study losses",
     "name queue submitted run_time"},
    {"studies", "name first_rung most reduction", "name"},
    {"outages", "node cause notice down up", "node down"},
}};

const SectionColumns* find_section(std::string_view name) {
  const auto it = std::ranges::find(kSections, name, &SectionColumns::name);
  return it == kSections.end() ? nullptr : &*it;
}

Result<uint32_t> find_name(const std::map<std::string, uint32_t, std::less<>>& names, std::string_view kind,
                           std::string_view name) {
  const auto it = names.find(name);
  if (it == names.end()) return invalid("no {} '{}' stands above", kind, excerpt(name));
  return it->second;
}

Status add_name(std::map<std::string, uint32_t, std::less<>>& names, std::string_view name, size_t index) {
  if (name.empty()) return invalid("a name is missing");
  if (!names.emplace(name, static_cast<uint32_t>(index)).second) return invalid("the name '{}' stands twice", excerpt(name));
  return {};
}

/// Index of the name, which is new or known.
template <typename Table>
uint32_t index_of(std::map<std::string, uint32_t, std::less<>>& names, Table& table, std::string_view name) {
  const auto [it, added] = names.emplace(name, static_cast<uint32_t>(table.size()));
  if (added) table.emplace_back(name);
  return it->second;
}

Result<Currency> stated_currency(const WorkloadRow& row) {
  const std::string_view code = trim(row.text("currency"));
  return code.empty() ? Currency() : Currency::parse(code);
}

Result<Rate> rate_of(const WorkloadRow& row) {
  TRY_ASSIGN(const Currency currency, stated_currency(row));
  const std::string_view cell = trim(row.text("per_hour"));
  TRY_ASSIGN(const Rate rate, Rate::parse_per_hour(cell.empty() ? "0" : cell, currency));
  if (rate.per_hour() < Money::nanos(0, currency)) return invalid("per_hour '{}' is below 0", excerpt(cell));
  return rate;
}

Result<std::optional<sched::Budget>> budget_of(WorkloadRow& row) {
  const std::string_view cell = trim(row.text("budget"));
  if (cell.empty()) {
    if (!row.text("budget_period").empty() || !row.text("budget_from").empty()) row.wrong("budget", "an amount of money");
    return std::optional<sched::Budget>();
  }
  TRY_ASSIGN(const Currency currency, stated_currency(row));
  sched::Budget budget;
  TRY_ASSIGN(budget.amount, Money::parse(cell, currency));
  if (budget.amount.count_nanos() < 0) row.wrong("budget", "an amount of money, 0 or more");
  budget.period = row.duration("budget_period", budget.period);
  budget.from = row.instant("budget_from", budget.from);
  return std::optional(budget);
}

Result<sim::OutageCause> cause_of(std::string_view cell) {
  using enum sim::OutageCause;
  if (cell.empty()) return kNodeFailure;
  for (const sim::OutageCause cause : {kNodeFailure, kGpuFailure, kSpotInterruption, kMaintenance})
    if (cell == sim::name_of(cause)) return cause;
  return invalid("cause '{}' is not node-failure, gpu-failure, spot-interruption or maintenance", excerpt(cell));
}

}  // namespace

WorkloadReader::WorkloadReader(std::string source) : source_(source), csv_(CsvOptions{.source = std::move(source)}) {}

Status WorkloadReader::feed(std::string_view bytes) {
  while (true) {
    TRY_ASSIGN(const bool ready, csv_.next(bytes));
    if (!ready) return {};
    TRY(record(csv_.record()));
  }
}

Result<sim::Workload> WorkloadReader::finish() {
  TRY_ASSIGN(const bool ready, csv_.finish());
  if (ready) TRY(record(csv_.record()));
  if (!have_version_) return invalid("{}: empty; the first line must be {}", source_, kVersion);
  if (workload_.nodes.empty() || workload_.jobs.empty()) return invalid("{}: needs a node and a job", source_);
  if (const Status sound = sim::check_workload(workload_); !sound.ok()) return invalid("{}: {}", source_, sound.error().message);
  return std::move(workload_);
}

Status WorkloadReader::record(const CsvRecord& r) {
  const std::string_view first = trim(r.fields[0]);
  const auto here = [&](const Status& done) -> Status {
    return done.ok() ? done : Status(invalid("{}:{}: {}", source_, r.line, done.error().message));
  };
  if (!have_version_) {
    if (first != kVersion) return here(invalid("the first line must be {}", kVersion));
    have_version_ = true;
    return {};
  }
  if (first.starts_with('#')) return {};
  if (r.fields.size() == 1 && first.starts_with('[') && first.ends_with(']')) {
    section_ = first.substr(1, first.size() - 2);
    have_header_ = false;
    if (find_section(section_) == nullptr)
      return here(invalid("no section '{}': queues, prices, nodes, studies, jobs, outages", excerpt(section_)));
    return {};
  }
  if (section_.empty()) return here(invalid("a row before the first section, such as [nodes]"));
  if (!have_header_) return here(header(r));
  if (r.malformed || r.fields.size() != header_.size())
    return here(invalid("{} fields, expected {}", r.fields.size(), header_.size()));
  WorkloadRow row(r, header_);
  if (section_ == "queues") return here(queue(row));
  if (section_ == "prices") return here(price(row));
  if (section_ == "studies") return here(study(row));
  if (section_ == "nodes") return here(node(row));
  return here(section_ == "jobs" ? job(row) : outage(row));
}

Status WorkloadReader::header(const CsvRecord& r) {
  const SectionColumns& section = *find_section(section_);
  const std::vector<std::string_view> required = split(section.required, ' ');
  TRY_ASSIGN(header_, CsvHeader::create(r, required));
  const std::vector<std::string_view> known = split(section.columns, ' ');
  for (const std::string& name : header_.names())
    if (std::ranges::find(known, to_lower(name)) == known.end())
      return invalid("[{}] has no column '{}': {}", section_, excerpt(name), section.columns);
  have_header_ = true;
  return {};
}

Status WorkloadReader::queue(WorkloadRow& row) {
  sched::QueueSpec queue;
  queue.name = row.text("name");
  TRY(add_name(queues_, queue.name, workload_.queues.size()));
  if (const std::string_view parent = row.text("parent"); !parent.empty()) {
    TRY_ASSIGN(const uint32_t index, find_name(queues_, "queue", parent));
    if (index == workload_.queues.size()) return invalid("queue '{}' is its own parent", excerpt(parent));
    queue.parent = sched::QueueId(index);
  }
  if (!row.text("deserved").empty()) queue.deserved.gpu_milli = row.scaled("deserved", 3, 0);
  if (!row.text("limit").empty()) queue.limit.gpu_milli = row.scaled("limit", 3, 0);
  queue.over_quota_weight = static_cast<double>(row.scaled("weight", 6, 1'000'000)) / 1e6;
  queue.priority = static_cast<int32_t>(row.integer("priority", -kMostRank, kMostRank, queue.priority));
  TRY_ASSIGN(queue.budget, budget_of(row));
  if (const std::string_view hours = trim(row.text("hours")); !hours.empty()) {
    const std::optional<WeekHours> closed = parse_closed_hours(hours);
    if (!closed)
      row.wrong("hours", "20:00-06:00: the whole hours of each day, UTC, in which its jobs start");
    else
      queue.closed = *closed;
  }
  queue.created = static_cast<int32_t>(workload_.queues.size());
  workload_.queues.push_back(std::move(queue));
  return row.status();
}

Status WorkloadReader::study(WorkloadRow& row) {
  constexpr int64_t kMost = 1'000'000'000'000;
  sim::Study study;
  study.name = row.text("name");
  study.rules.first_rung = row.integer("first_rung", 1, kMost, study.rules.first_rung);
  study.rules.most = row.integer("most", 1, kMost, study.rules.most);
  study.rules.reduction = row.integer("reduction", 2, kMost, study.rules.reduction);
  TRY(row.status());
  TRY(add_name(studies_, study.name, workload_.studies.size()));
  workload_.studies.push_back(std::move(study));
  return {};
}

Status WorkloadReader::price(WorkloadRow& row) {
  const std::string_view name = row.text("name");
  if (!prices_.contains(name)) {
    TRY(add_name(prices_, name, workload_.prices.size()));
    workload_.prices.push_back({.name = std::string(name), .points = {}});
  }
  TRY_ASSIGN(const Rate rate, rate_of(row));
  workload_.prices[prices_.find(name)->second].points.push_back({.from = row.instant("from", Instant()), .rate = rate});
  return row.status();
}

Status WorkloadReader::node(WorkloadRow& row) {
  sim::SimNode node;
  node.node.gpu_model = row.text("gpu_model");
  node.node.gpus = static_cast<int32_t>(row.integer("gpus", 0, sched::kMaxGpusPerNode, 0));
  node.node.gpu_memory = row.size("gpu_memory");
  node.node.cpu_milli = row.scaled("cpu", 3, kPlenty);
  node.node.memory = row.text("memory").empty() ? Bytes::of(kPlenty) : row.size("memory");
  node.provider = row.text("provider");
  node.region = row.text("region");
  node.zone = row.text("zone");
  node.instance_type = row.text("instance_type");
  if (const std::string_view market = trim(row.text("market")); !market.empty()) {
    TRY_ASSIGN(node.market, parse_market(market));
  }
  TRY_ASSIGN(node.rate, rate_of(row));
  if (const std::string_view series = row.text("prices"); !series.empty()) {
    TRY_ASSIGN(const uint32_t index, find_name(prices_, "price series", series));
    node.prices = static_cast<int32_t>(index);
  }
  node.present_from = row.instant("from", node.present_from);
  node.present_until = row.instant("until", node.present_until);
  const int64_t count = row.integer("count", 1, kMostNodes, 1);
  TRY(row.status());
  if (static_cast<int64_t>(workload_.nodes.size()) + count > kMostNodes) return invalid("more than {} nodes", kMostNodes);
  for (int64_t i = 1; i <= count; ++i) {
    const std::string_view name = row.text("name");
    node.node.name = count == 1 || name.empty() ? std::string(name) : fmt::format("{}-{}", name, i);
    TRY(add_name(nodes_, node.node.name, workload_.nodes.size()));
    workload_.nodes.push_back(node);
  }
  return {};
}

Result<sched::RequestId> WorkloadReader::request(WorkloadRow& row) {
  sched::Request request;
  request.gpus = static_cast<int32_t>(row.integer("gpus", 0, sched::kMaxGpusPerNode, 0));
  request.milli = static_cast<int32_t>(row.scaled("share", 3, 0));
  if (request.milli >= sched::kMilli) row.wrong("share", "a part of one GPU, above 0 and below 1");
  request.gpu_memory = row.size("gpu_memory");
  auto mig = parse_mig_asks(row.text("mig"));
  if (!mig.ok()) return invalid("mig {}", mig.error().message);
  request.mig = std::move(mig).value();
  const int kinds = (request.gpus > 0 ? 1 : 0) + (request.milli > 0 ? 1 : 0) + (request.gpu_memory.count() > 0 ? 1 : 0) +
                    (request.mig.empty() ? 0 : 1);
  if (kinds > 1) return invalid("only one of gpus, share, gpu_memory and mig may be asked for");
  request.cpu_milli = row.scaled("cpu", 3, 0);
  request.memory = row.size("memory");
  request.shares_with = std::string(row.text("shares_with"));
  if (!request.shares_with.empty() && request.milli == 0 && request.gpu_memory.count() == 0)
    row.wrong("shares_with", "only where share or gpu_memory asks for a part of a GPU");
  if (!row.text("gpu_models").empty())
    for (const std::string_view model : split(row.text("gpu_models"), '|'))
      request.gpu_models.emplace_back(model);
  auto& known = workload_.requests;
  const auto it = std::ranges::find(known, request);
  const auto id = sched::RequestId(static_cast<uint32_t>(it - known.begin()));
  if (it == known.end()) known.push_back(std::move(request));
  return id;
}

Status WorkloadReader::job(WorkloadRow& row) {
  sim::SimJob job;
  job.name = row.text("name");
  sched::JobSpec& spec = job.spec;
  TRY_ASSIGN(const uint32_t queue, find_name(queues_, "queue", row.text("queue")));
  spec.queue = sched::QueueId(queue);
  TRY_ASSIGN(spec.request, request(row));
  spec.submitted = row.instant("submitted", Instant());
  job.run_time = row.duration("run_time", Duration());
  spec.tasks = static_cast<int32_t>(row.integer("tasks", 1, kMostTasks, 1));
  spec.min_tasks = static_cast<int32_t>(row.integer("min_tasks", 1, kMostTasks, spec.tasks));
  spec.priority = static_cast<int32_t>(row.integer("priority", -kMostRank, kMostRank, spec.priority));
  spec.preemptible = row.flag("preemptible", true);
  spec.not_before = row.instant("not_before", spec.not_before);
  spec.deadline = row.instant("deadline", spec.deadline);
  spec.time_limit = row.duration("time_limit", spec.time_limit);
  spec.expected = row.duration("expected", spec.expected);
  spec.min_runtime = row.duration("min_runtime", spec.min_runtime);
  spec.checkpoint.interval = row.duration("checkpoint", spec.checkpoint.interval);
  spec.checkpoint.save = row.duration("save", spec.checkpoint.save);
  spec.checkpoint.restart = row.duration("restart", spec.checkpoint.restart);
  spec.retries = static_cast<int32_t>(row.integer("retries", 0, kMostTasks, 0));
  job.failures = static_cast<int32_t>(row.integer("failures", 0, kMostTasks, 0));
  job.fails_after = row.duration("fails_after", job.fails_after);
  job.cancelled = row.instant("cancelled", job.cancelled);
  if (!row.text("after").empty())
    for (const std::string_view name : split(row.text("after"), '|')) {
      const auto needed = jobs_.find(name);
      if (needed == jobs_.end()) return invalid("no job '{}' stands above", excerpt(name));
      for (uint32_t index = needed->second.first; index < needed->second.second; ++index)
        spec.after.emplace_back(index);
    }
  if (!row.text("ran_on").empty())
    for (const std::string_view name : split(row.text("ran_on"), '|'))
      job.ran_on.emplace_back(name);
  spec.deferrable = row.flag("deferrable", false);
  if (const std::string_view study = row.text("study"); !study.empty()) {
    TRY_ASSIGN(const uint32_t index, find_name(studies_, "study", study));
    spec.study = sched::StudyId(index);
  }
  if (!row.text("losses").empty())
    for (const std::string_view cell : split(row.text("losses"), '|')) {
      const std::optional<int64_t> loss = parse_scaled(cell, 6);
      if (!loss) return invalid("losses '{}': a number with at most six places for each rung, separated by |", excerpt(cell));
      job.losses_micro.push_back(*loss);
    }
  if (const std::string_view product = row.text("makes"); !product.empty())
    spec.makes = sched::ProductId(index_of(products_, workload_.products, product));
  spec.at_once = static_cast<int32_t>(row.integer("at_once", 1, kMostTasks, 0));
  const int64_t count = row.integer("count", 1, kMostJobs, 1);
  TRY(row.status());
  return add_jobs(row, job, count);
}

/// A row with a count, or one that names an array, is of an array; without a name for it, the row's own.
Status WorkloadReader::add_jobs(const WorkloadRow& row, const sim::SimJob& job, int64_t count) {
  if (static_cast<int64_t>(workload_.jobs.size()) + count > kMostJobs) return invalid("more than {} jobs", kMostJobs);
  std::string_view array = row.text("array");
  if (array.empty() && count > 1) array = job.name;
  if (array.empty() && job.spec.at_once > 0) return invalid("at_once is of an array: give it a name in array, or a count");
  const auto first = static_cast<uint32_t>(workload_.jobs.size());
  if (count > 1) TRY(add_job(job.name, {first, first + static_cast<uint32_t>(count)}));
  for (int64_t i = 1; i <= count; ++i) {
    sim::SimJob& added = workload_.jobs.emplace_back(job);
    if (!array.empty()) added.spec.array = sched::ArrayId(index_of(arrays_, workload_.arrays, array));
    if (count > 1) added.name = fmt::format("{}-{}", job.name, i);
    const auto index = static_cast<uint32_t>(workload_.jobs.size() - 1);
    TRY(add_job(added.name, {index, index + 1}));
  }
  return {};
}

Status WorkloadReader::add_job(std::string_view name, Range jobs) {
  if (name.empty()) return invalid("a name is missing");
  if (!jobs_.emplace(name, jobs).second) return invalid("the name '{}' stands twice", excerpt(name));
  return {};
}

Status WorkloadReader::outage(WorkloadRow& row) {
  TRY_ASSIGN(const uint32_t node, find_name(nodes_, "node", row.text("node")));
  sim::Outage outage;
  outage.node = NodeId(node);
  TRY_ASSIGN(outage.cause, cause_of(trim(row.text("cause"))));
  outage.down = row.instant("down", Instant());
  outage.notice = row.instant("notice", outage.down);
  outage.up = row.instant("up", outage.up);
  TRY(row.status());
  workload_.outages.push_back(outage);
  return {};
}

}  // namespace stint
