#include "backends/slurm/slurm_driver.h"

#include <future>

#include "base/counted.h"
#include "codec/importer.h"

namespace stint {
namespace {

/// The books grow with every job: from so many on they are started again.
constexpr size_t kMostJobsKept = 50'000;
/// … and after so long: between two passes the books reckon, accounting knows to the second what each job held.
constexpr Duration kBooksLast = Duration::hours(1);

/// Keeps runs of an import, and nothing else.
class RunsOf final : public Sink {
 public:
  SeriesId series(const SeriesKey&) override { return SeriesId(0); }
  void samples(SeriesId, std::span<const Sample>) override {}
  void stale(SeriesId, Instant) override {}
  void node(const Node&) override {}
  void run(const Run& run) override { runs.push_back(run); }
  void bill_line(const BillLine&) override {}
  void price(const PriceRow&) override {}
  void tenant_rule(const TenantRule&) override {}
  void reject(uint64_t, std::string_view) override { ++rejected; }

  std::vector<Run> runs;
  size_t rejected = 0;
};

}  // namespace

Result<SlurmView> SlurmDriver::read(SlurmPass& pass) const {
  SlurmView view;
  // Most of a pass is the time Slurm's programs take: both at once.
  auto asked = std::async(std::launch::async, [this] { return drive_.programs.ask("scontrol", {"show", "node", "-o", "-d"}); });
  const Result<std::string> queued = drive_.programs.ask("squeue", {"--json"});
  TRY_ASSIGN(const std::string nodes, asked.get());
  TRY_ASSIGN(const std::string jobs, queued);
  TRY_ASSIGN(view.machines, read_slurm_machines(nodes));
  TRY_ASSIGN(SlurmQueue queue, read_slurm_queue(jobs));
  view.entries = std::move(queue.entries);
  for (std::string& why : queue.rejected)
    pass.notes.push_back(std::move(why));
  return view;
}

void SlurmDriver::begin(Instant now, const SlurmView& view, SlurmPass& pass) {
  RunsOf past;
  const auto answer = drive_.programs.ask("sacct", sacct_arguments({now - drive_.history, now}));
  if (answer.ok()) {
    const auto importer = make_sacct_importer({.source = "sacct", .node = "", .zoneless = {}, .at = {}}, past);
    const Status read = [&]() -> Status {
      TRY(importer->feed(*answer));
      return importer->finish();
    }();
    if (!read.ok()) pass.notes.push_back(read.error().message);
    if (past.rejected > 0) pass.notes.push_back(counted(past.rejected, "row") + " of accounting could not be read");
  } else {
    pass.notes.push_back(
        fmt::format("no accounting, so nothing that was counts in shares and budgets: {}", answer.error().message));
  }
  mirror_.begin(now, view, past.runs);
  pass.began = true;
  begun_at_ = now;
}

void SlurmDriver::advise(Instant now, const SlurmView& view, SlurmPass& pass) const {
  SlurmLine line = mirror_.line(now, view);
  pass.waiting += line.paid.size() + line.unpaid.size();
  const std::vector<SlurmOrder> orders = advise_on(line, view.machines, drive_.rules, *drive_.line);
  pass.orders.insert(pass.orders.end(), orders.begin(), orders.end());
  for (std::string& note : line.notes)
    pass.notes.push_back(std::move(note));
}

/// Signals go by scancel, the rest by one scontrol.
void SlurmDriver::tell(SlurmPass& pass) const {
  std::vector<SlurmCommand> lines;
  const auto note = [&](const Error& error) { pass.notes.push_back(error.message); };
  const auto tell_lines = [&] {
    if (lines.empty()) return;
    const auto told = drive_.programs.ask("scontrol", {"-Q"}, scontrol_lines(lines));
    if (!told.ok()) pass.notes.push_back("Slurm did not follow all orders; what it did not do is decided again");
    lines.clear();
  };
  for (const SlurmCommand& command : pass.commands) {
    if (command.front() == "scontrol") {
      lines.push_back(command);
      continue;
    }
    tell_lines();
    const auto told = drive_.programs.ask(command.front(), {command.begin() + 1, command.end()});
    if (!told.ok()) note(told.error());
  }
  tell_lines();
}

Result<SlurmPass> SlurmDriver::pass() {
  SlurmPass pass;
  const Instant started = clock_.now();
  TRY_ASSIGN(SlurmView view, read(pass));
  const Instant at = clock_.now();
  if (!mirror_.follows(view) || mirror_.jobs_kept() > kMostJobsKept || at - begun_at_ > kBooksLast) begin(at, view, pass);
  const Instant begun = clock_.now();
  told_at_ = begun;
  pass.orders = mirror_.pass(begun, view);
  pass.notes.insert(pass.notes.end(), mirror_.notes().begin(), mirror_.notes().end());
  pass.waiting = mirror_.waiting();
  pass.running = mirror_.running();
  if (drive_.line) advise(begun, view, pass);
  for (const SlurmOrder& order : pass.orders) {
    auto commands = commands_of(order);
    if (!commands.ok()) {
      pass.notes.push_back(fmt::format("job {}: {}", order.job, commands.error().message));
      continue;
    }
    for (SlurmCommand& command : *commands)
      pass.commands.push_back(std::move(command));
  }
  pass.budgets = mirror_.budgets();
  const Instant decided = clock_.now();
  if (drive_.carry_out) tell(pass);
  pass.machines = std::move(view.machines);
  pass.reading = at - started;
  pass.deciding = decided - begun;
  pass.telling = clock_.now() - decided;
  return pass;
}

}  // namespace stint
