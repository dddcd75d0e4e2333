#include "report/waiting_text.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "report/short_text.h"
#include "report/waiting_line.h"

namespace stint {
namespace {

using sched::Explanation;
using sched::Obstacle;
using sched::Remedy;
using sched::RemedyKind;
using sched::Standing;

std::string gpus(int64_t milli) { return fmt::format("{:.10g}", static_cast<double>(milli) / 1000); }

/// "2 h 10", "12 min": with the care that a guess deserves.
std::string about(Duration d) {
  const int64_t s = d.whole_seconds();
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min", s / 60);
  if (s < 2 * 86'400) return s % 3600 < 60 ? fmt::format("{} h", s / 3600) : fmt::format("{} h {:02}", s / 3600, s % 3600 / 60);
  return s % 86'400 < 3600 ? fmt::format("{} days", s / 86'400) : fmt::format("{} days {} h", s / 86'400, s % 86'400 / 3600);
}

class Words {
 public:
  Words(const Explanation& explanation, const WaitingNames& names) : e_(explanation), names_(names) {}

  [[nodiscard]] std::string standing() const {
    switch (e_.standing) {
      case Standing::kUnknown: return "is not submitted yet";
      case Standing::kRunning: return "runs";
      case Standing::kEnded: return "has ended";
      case Standing::kNominated: return "waits for those to leave whose room it gets";
      case Standing::kReserved: return "waits; room is reserved for it";
      case Standing::kWaiting: return "waits";
    }
    return "";
  }

  [[nodiscard]] std::string obstacle() const {
    switch (e_.obstacle) {
      case Obstacle::kNone: return "";
      case Obstacle::kOnHold: return "it is on hold until someone releases it";
      case Obstacle::kNotBefore: return "its own earliest start has not come";
      case Obstacle::kDeferred: return deferred();
      case Obstacle::kDependency: return fmt::format("job {} must succeed first", job(e_.behind));
      case Obstacle::kBeingMade: return fmt::format("job {} is making what it makes", job(e_.behind));
      case Obstacle::kArray: return "as many jobs of its array as may be are there already";
      case Obstacle::kClosed: return fmt::format("queue {} starts nothing at this hour", queue(e_.at_queue));
      case Obstacle::kQueueLimit: return fmt::format("queue {} is at its limit", queue(e_.at_queue));
      case Obstacle::kBudget: return budget(*e_.budget);
      case Obstacle::kGuarantee:
        return fmt::format("queue {} holds all that is guaranteed to it, and the job cannot be preempted", queue(e_.at_queue));
      case Obstacle::kNoRoom:
        return fmt::format("{} more {} would have to be free", gpus(e_.missing_gpu_milli), noun(e_.missing_gpu_milli));
      case Obstacle::kFragmented: return "enough GPUs are free, but not together";
      case Obstacle::kOthersShares: return "GPUs have that part left, but jobs are on them that it shares no GPU with";
      case Obstacle::kSlowed:
        return "GPUs have that part left, but beside the jobs on them it would be slowed by more than it allows, or would slow "
               "one of "
               "them by more than that one allows";
      case Obstacle::kConstraint: return "no machine is of the kind it asks for";
      case Obstacle::kBehindGang: return fmt::format("room is kept for job {}", job(e_.behind));
      case Obstacle::kBehindOrder: return "others go first";
    }
    return "";
  }

  [[nodiscard]] std::string remedy(const Remedy& r) const {
    switch (r.kind) {
      case RemedyKind::kMoreGpus: {
        std::string text = counted(r.amount, "more free GPU starts", "more free GPUs start") + " it now";
        if (!r.per_hour) return text;
        text += fmt::format("; {} more like {}: {} an hour", counted(r.machines, "machine"), names_.node(r.like),
                            r.per_hour->per_hour().to_text());
        return text + (r.cost ? fmt::format(", at most {} for the job", r.cost->to_text()) : "");
      }
      case RemedyKind::kEvictLower: {
        const std::string whose = r.other_queue.valid()
                                      ? fmt::format(" of queue {}, but priority counts inside a queue only", queue(r.other_queue))
                                      : "";
        return fmt::format("stopping job {} (lower priority{}) starts it now; {}", job(r.job), whose, loss(r));
      }
      case RemedyKind::kHigherPriority: return fmt::format("at priority {} it starts now; {}", r.amount, loss(r));
      case RemedyKind::kWait:
        return fmt::format("waiting costs nothing: it starts at {} as things stand", short_utc(r.at) + " UTC");
      case RemedyKind::kNotDeferred: return fmt::format("if it is not put off it starts now, for {} more", r.cost->to_text());
      case RemedyKind::kRaiseLimit: return fmt::format("the limit must be raised by {} {}", gpus(r.amount), noun(r.amount));
      case RemedyKind::kRaiseBudget: return fmt::format("the budget must be raised by more than {}", r.cost->to_text());
    }
    return "";
  }

  [[nodiscard]] std::string job(sched::JobId j) const { return names_.job(j); }
  [[nodiscard]] std::string ahead() const {
    return fmt::format("{} waiting {} before it", e_.jobs_ahead, e_.jobs_ahead == 1 ? "job goes" : "jobs go");
  }

  /// Lines, each with what is before it and after it; none where nothing is learnt.
  [[nodiscard]] std::string expectations() const {
    std::string lines;
    if (e_.expected && e_.expected->like > 0)
      lines += fmt::format("  expected to run {} (from {} of the same {}; 80 %: {} to {})\n", about(e_.expected->typical),
                           counted(e_.expected->like, "job"), sched::name_of(e_.expected->likeness), about(e_.expected->low),
                           about(e_.expected->high));
    else if (e_.expected)
      lines += fmt::format("  expected to run {}, as it says itself\n", about(e_.expected->typical));
    if (e_.likely_start)
      lines +=
          fmt::format("  likely to start at {} UTC ({} to {}, as jobs before it run short or long): a guess, no promise\n",
                      short_utc(e_.likely_start->at), short_utc(e_.likely_start->earliest), short_utc(e_.likely_start->latest));
    return lines;
  }

 private:
  static const char* noun(int64_t gpu_milli) { return gpu_milli == 1'000 ? "GPU" : "GPUs"; }
  [[nodiscard]] std::string queue(sched::QueueId q) const { return names_.queue(q); }

  [[nodiscard]] std::string budget(const sched::BudgetStanding& b) const {
    return fmt::format("queue {} has spent {} of its budget of {}, burns {} an hour now, and {}", queue(b.queue),
                       b.spent.to_text(), b.budget.to_text(), b.burn.per_hour().to_text(),
                       b.renewed_at ? fmt::format("gets a new one at {}", short_utc(*b.renewed_at) + " UTC") : "gets no other");
  }

  [[nodiscard]] std::string deferred() const {
    std::string text = "it may wait for a cheaper hour, and does";
    if (e_.starts_at) text += fmt::format(", until {} UTC", short_utc(*e_.starts_at));
    if (!e_.deferral) return text;
    text += fmt::format(": its GPUs cost {} from then on", e_.deferral->cost.to_text());
    if (e_.deferral->cost_now) text += fmt::format(", {} from now on", e_.deferral->cost_now->to_text());
    return text + fmt::format("; to meet its deadline it must start by {} UTC", short_utc(e_.deferral->latest_start));
  }

  static std::string loss(const Remedy& r) {
    const std::string work = fmt::format("{} GPU-seconds of work are lost", r.lost_gpu_seconds);
    return r.cost ? fmt::format("{}, worth {}", work, r.cost->to_text()) : work;
  }

  const Explanation& e_;
  const WaitingNames& names_;
};

}  // namespace

WaitingNames names_in(const sim::Workload& workload) {
  return {.job = [&](sched::JobId j) { return workload.jobs[j.index()].name; },
          .queue = [&](sched::QueueId q) { return workload.queues[q.index()].name; },
          .node = [&](NodeId n) { return workload.nodes[n.index()].node.name; }};
}

std::string waiting_text(const Explanation& explanation, const WaitingNames& names, sched::JobId job, Instant now) {
  const Words words(explanation, names);
  std::string text = fmt::format("Job {} at {}: {}", words.job(job), short_utc(now) + " UTC", words.standing());
  if (const std::string obstacle = words.obstacle(); !obstacle.empty()) text += ": " + obstacle;
  text += "\n";
  if (const int64_t ahead = explanation.jobs_ahead; ahead > 0) text += fmt::format("  {}\n", words.ahead());
  text += words.expectations();
  for (const Remedy& remedy : explanation.remedies)
    text += "  - " + words.remedy(remedy) + "\n";
  return text;
}

std::string waiting_line(const Explanation& explanation, const WaitingNames& names) {
  const Words words(explanation, names);
  std::string line = words.obstacle();
  if (explanation.standing == Standing::kNominated) line = "the room it gets is being freed";
  if (explanation.standing == Standing::kReserved) line = "room is reserved for it" + (line.empty() ? "" : ": " + line);
  if (explanation.jobs_ahead > 0 && !line.empty()) line += "; " + words.ahead();
  return line;
}

}  // namespace stint
