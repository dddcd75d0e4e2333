#include "collect/slurm_client.h"

#include "codec/slurm/slurm_job.h"
#include "host/file.h"
#include "host/slurm_programs.h"

namespace stint {
namespace {

Status feed(std::unique_ptr<Importer> (*make)(const ImportOptions&, Sink&), const std::string& source, std::string_view answer,
            Instant asked_at, Sink& sink) {
  const auto importer = make({.source = source, .node = "", .zoneless = {}, .at = asked_at}, sink);
  TRY(importer->feed(answer));
  return importer->finish();
}

}  // namespace

Result<SlurmOutcome> import_slurm(HistoryFile& history, const SlurmImport& import, Instant now) {
  if (import.window.empty()) return invalid("the time to import is empty: --since must lie before --until");
  const SlurmPrograms programs{.folder = import.programs, .patience = import.patience};
  SlurmOutcome outcome;
  TRY_ASSIGN(const std::string nodes, programs.ask("scontrol", {"show", "node", "-d"}));
  TRY_ASSIGN(const std::string queue, programs.ask("squeue", {"--json"}));
  const Result<std::string> accounting = programs.ask("sacct", sacct_arguments(import.window));
  if (!accounting.ok())
    outcome.notes.push_back(
        fmt::format("no accounting, so only what is in the queue now was read: {}", accounting.error().message));

  TRY_ASSIGN(const auto transaction, history.begin_import("slurm", "slurm", now));
  TRY(feed(make_slurm_importer, "scontrol show node", nodes, now, *transaction));
  // The queue last: it knows which GPUs.
  if (accounting.ok()) TRY(feed(make_sacct_importer, "sacct", *accounting, now, *transaction));
  TRY(feed(make_slurm_importer, "squeue --json", queue, now, *transaction));
  TRY_ASSIGN(outcome.import.record, transaction->commit(fingerprint_of_bytes(fmt::format("slurm at {}", now.ns()))));
  outcome.import.reach = transaction->reach();
  outcome.import.first_rejections = transaction->first_rejections();
  return outcome;
}

}  // namespace stint
