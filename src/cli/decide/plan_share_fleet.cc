#include "cli/decide/plan_share_fleet.h"

#include "cli/output.h"
#include "report/share_view.h"

namespace stint {

Status print_fleet_sharing(const PlanFleetOptions& options, ShareFormat format, const std::string& output) {
  TRY_ASSIGN(const auto fleet, PlanFleet::open(options));
  const ShareView view{options.history, fleet->facts().period, fleet->facts().currency,
                       plan_sharing(fleet->view(), fleet->records().usage)};
  const Screen screen = output.empty() ? screen_of_stdout() : Screen();
  return write_output(output, format == ShareFormat::kJson ? share_json(view) : share_text(view, screen));
}

}  // namespace stint
