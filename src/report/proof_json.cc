#include "report/proof_json.h"

#include "report/json_list.h"
#include "report/utf8.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json figure(const ProofFigure& f) { return {{"mean", f.mean}, {"p10", f.p10}, {"p90", f.p90}}; }

Json jobs(const ProofJobs& j) {
  return {{"waiting_mean_s", j.waiting_mean_s},
          {"completion_mean_s", j.completion_mean_s},
          {"completion_p95_s", j.completion_p95_s},
          {"lost_gpu_hours", j.lost_gpu_hours},
          {"unfinished", j.unfinished}};
}

Json proof_json(const Proof& p) {
  Json notes = Json::array();
  for (const std::string& note : p.notes)
    notes.push_back(printable(note));
  const bool tried = p.verdict != ProofVerdict::kArithmetic;
  const bool replayed = tried && p.method == ProofMethod::kJobs;
  const bool served = tried && p.method == ProofMethod::kRequests;
  return {{"verdict", name_of(p.verdict)},
          {"reason", printable(p.reason)},
          {"method", tried ? Json(name_of(p.method)) : Json(nullptr)},
          {"saving_per_month", tried ? Json(p.saving_per_month.to_double()) : Json(nullptr)},
          {"saving_p10", tried ? Json(p.saving_p10.to_double()) : Json(nullptr)},
          {"saving_p90", tried ? Json(p.saving_p90.to_double()) : Json(nullptr)},
          {"jobs", p.jobs},
          {"services", p.services},
          {"waiting_s", replayed ? figure(p.waiting_s) : Json(nullptr)},
          {"completion_pct", replayed ? figure(p.completion_pct) : Json(nullptr)},
          {"throughput_pct", replayed || served ? figure(p.throughput_pct) : Json(nullptr)},
          {"latency_pct", served ? figure(p.latency_pct) : Json(nullptr)},
          {"lost_gpu_hours", replayed ? figure(p.lost_gpu_hours) : Json(nullptr)},
          {"before", replayed ? jobs(p.before) : Json(nullptr)},
          {"after", replayed ? jobs(p.after) : Json(nullptr)},
          {"weeks", p.weeks},
          {"seeds", p.seeds},
          {"notes", notes}};
}

}  // namespace

Json to_json(const std::optional<Proof>& proof) { return proof ? proof_json(*proof) : Json(nullptr); }

Json to_json(const std::optional<PlanProof>& proof) {
  if (!proof) return nullptr;
  return {{"by_jobs_per_month", proof->by_jobs.to_double()},
          {"by_requests_per_month", proof->by_requests.to_double()},
          {"by_bill_per_month", proof->by_bill.to_double()},
          {"by_arithmetic_per_month", proof->by_sum.to_double()},
          {"together", proof_json(proof->together)}};
}

}  // namespace stint
