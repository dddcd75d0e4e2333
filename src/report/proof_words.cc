#include "report/proof_words.h"

#include "base/counted.h"
#include "report/replay_figures.h"

namespace stint {
namespace {

std::string range(Money low, Money high) { return fmt::format("{} to {}", low.to_text(), high.to_text()); }

std::string change_in_pct(const ProofFigure& f) { return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f})", f.mean, f.p10, f.p90); }

std::string drawn(const Proof& proof) {
  std::string text = counted(proof.weeks, "week") + " drawn again";
  if (proof.seeds > 1) text += fmt::format(", {} drawings of interruptions", proof.seeds);
  return text;
}

void add_jobs(std::vector<std::string>& lines, const Proof& proof) {
  lines.push_back(fmt::format("waiting: {} → {} on average", shown_seconds(proof.before.waiting_mean_s),
                              shown_seconds(proof.after.waiting_mean_s)));
  lines.push_back(fmt::format("submission to end: {} → {} on average, {}; 95 % end within {} → {}",
                              shown_seconds(proof.before.completion_mean_s), shown_seconds(proof.after.completion_mean_s),
                              change_in_pct(proof.completion_pct), shown_seconds(proof.before.completion_p95_s),
                              shown_seconds(proof.after.completion_p95_s)));
  lines.push_back(fmt::format("throughput: {:.1f} % of the work done before gets done ({:.1f} to {:.1f})",
                              proof.throughput_pct.mean, proof.throughput_pct.p10, proof.throughput_pct.p90));
  lines.push_back(fmt::format("work done again: {:.1f} → {:.1f} GPU-hours; jobs that do not finish: {:.1f} → {:.1f}",
                              proof.before.lost_gpu_hours, proof.after.lost_gpu_hours, proof.before.unfinished,
                              proof.after.unfinished));
}

void add_services(std::vector<std::string>& lines, const Proof& proof) {
  lines.push_back(
      fmt::format("latency: p99 is {:.0f} % of what it is now where it suffers most ({:.0f} to {:.0f}), of {} on GPUs",
                  proof.latency_pct.mean, proof.latency_pct.p10, proof.latency_pct.p90, counted(proof.services, "service")));
  lines.push_back(fmt::format("throughput: {:.1f} % of the requests served in time now still are ({:.1f} to {:.1f})",
                              proof.throughput_pct.mean, proof.throughput_pct.p10, proof.throughput_pct.p90));
}

}  // namespace

std::string shown_proof(const Finding& f) {
  if (!f.proof) return "–";
  if (f.proof->verdict == ProofVerdict::kArithmetic) return "arithmetic";
  return f.proof->method == ProofMethod::kBill ? "billed again" : "replayed";
}

std::vector<std::string> proof_lines(const Proof& proof) {
  if (proof.verdict == ProofVerdict::kArithmetic) return {"arithmetic, not replayed: " + proof.reason};
  std::vector<std::string> lines;
  lines.push_back(proof.verdict == ProofVerdict::kSurvives ? "survives" : "does not survive: " + proof.reason);
  lines.push_back(fmt::format("saves {} a month on top of the findings before it ({}; the middle 80 %, {})",
                              proof.saving_per_month.to_text(), range(proof.saving_p10, proof.saving_p90), drawn(proof)));
  if (proof.method == ProofMethod::kJobs) add_jobs(lines, proof);
  if (proof.method == ProofMethod::kRequests) add_services(lines, proof);
  lines.insert(lines.end(), proof.notes.begin(), proof.notes.end());
  return lines;
}

std::vector<std::string> plan_proof_lines(const AuditReport& report) {
  if (!report.proof) return {};
  const PlanProof& plan = *report.proof;
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "of the saving, {} a month rests on changes replayed with the fleet's jobs, {} on changes replayed with the hours of its "
      "services, {} on hours billed again, {} on arithmetic alone",
      plan.by_jobs.to_text(), plan.by_requests.to_text(), plan.by_bill.to_text(), plan.by_sum.to_text()));
  const Proof& all = plan.together;
  if (all.verdict == ProofVerdict::kArithmetic) {
    lines.push_back("no job was replayed: " + all.reason);
    return lines;
  }
  lines.push_back(fmt::format("the replayed changes together: {} run again, {} a month saved ({}; the middle 80 %, {})",
                              counted(all.jobs, "job"), all.saving_per_month.to_text(), range(all.saving_p10, all.saving_p90),
                              drawn(all)));
  add_jobs(lines, all);
  lines.insert(lines.end(), all.notes.begin(), all.notes.end());
  return lines;
}

}  // namespace stint
