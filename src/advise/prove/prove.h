// Proof: a Change is tried on the fleet's own jobs, with a scheduler, prices and spot interruptions, before it is shown as a saving.
//
// Every trial replays the same jobs over the same time, with the changes kept so far and one more. Cost, waiting, completion and work
// lost are compared week by week and seed by seed; weeks and seeds drawn again give the interval (a paired block bootstrap). A
// change that saves nothing, leaves work undone or makes jobs take much longer does not survive. Commitments change no job: the
// hours their machines were in use are billed again.
//
// Interruptions come as often as is believed of each place, drawn from that belief as well as in time (advise/prove/spot_belief.h). Otherwise
// spot is tried as the finding assumes it: the machines that it names, work that saves at Daly's interval where it is not recorded how it
// saves, a machine on demand while spot is away; the notes of a proof say so.
// Sources: Künsch 1989 (blocks); Daly 2006 (sim/spot_math.h).
#pragma once

#include <memory>
#include <string>

#include "advise/books.h"
#include "advise/prove/proof.h"
#include "advise/prove/proof_workload.h"
#include "catalog/catalog.h"

namespace stint {

/// More work of the same habits: jobs of these kinds again, evenly chosen, each when the one it repeats is submitted.
struct MoreWork {
  std::vector<WorkloadKind> kinds;  ///< of the machines they ran on; none = all jobs
  double factor = 1;                ///< so many times as many jobs, from 0 on
};

class Prover {
 public:
  /// Without jobs only commitments can be proven. @param facts, catalog  must outlive it. @return error for a policy that is none.
  static Result<Prover> create(const History& history, const FleetFacts& facts, const Catalog& catalog, ProofOptions options);
  Prover(Prover&&) noexcept;
  Prover& operator=(Prover&&) noexcept;
  ~Prover();

  /// `change` on top of those kept. @param books  as the changes kept so far left them.
  Proof try_change(const Change& change, const Books& books);
  /// The change tried last stays for those that follow.
  void keep();
  /// All that were kept together, against the fleet as it is.
  [[nodiscard]] Proof whole() const;
  /// These changes in this order, against the fleet as it is, whatever was kept; those that cannot be replayed are left out.
  /// @param seeds  fewer than the options say, for a quick look.
  [[nodiscard]] Proof together(const std::vector<Change>& changes, int seeds) const;
  /// The same with more work. The figures of jobs are of the kinds named alone, before and after with as many of them.
  [[nodiscard]] Proof carry(const std::vector<Change>& changes, const MoreWork& more, int seeds) const;
  /// By name, what left a machine out of the replay.
  [[nodiscard]] const ProofWorkload& base() const;

 private:
  class Impl;
  explicit Prover(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
