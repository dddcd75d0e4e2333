// Source: Slurm manual, scontrol(1): update, release, hold, requeuehold; scancel(1), "--signal", "--batch".
#include "backends/slurm/slurm_orders.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

/// Ids, names of nodes, notes: nothing scontrol would take apart. Brackets and commas are of hostlists, & joins features.
bool is_plain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/=[],&").find(c) != std::string_view::npos;
  });
}

SlurmCommand change(const SlurmOrder& order, std::string what) {
  return {"scontrol", "update", "JobId=" + order.job, std::move(what)};
}

}  // namespace

Result<std::vector<SlurmCommand>> commands_of(const SlurmOrder& order) {
  std::vector<SlurmCommand> commands;
  const std::string note = to_text(order.note);
  const std::string nodes = fmt::format("{}", fmt::join(order.nodes, ","));
  for (const std::string& text : {order.job, note})
    if (!is_plain(text)) return invalid("'{}' is nothing to tell Slurm", excerpt(text));
  const SlurmCommand update = change(order, "AdminComment=" + note);
  switch (order.kind) {
    case SlurmOrderKind::kPlace: {
      if (!is_plain(nodes)) return invalid("'{}' are no names of nodes", excerpt(nodes));
      SlurmCommand place = update;
      place.push_back("ReqNodeList=" + nodes);
      if (order.set_nodes) place.push_back(fmt::format("NumNodes={}", order.nodes.size()));
      if (order.begin_now) place.emplace_back("StartTime=now");
      commands.push_back(std::move(place));
      commands.push_back({"scontrol", "release", order.job});
      break;
    }
    case SlurmOrderKind::kSignal:
      commands.push_back(update);
      commands.push_back({"scancel", "--signal=" + order.signal, "--full", order.job});
      break;
    case SlurmOrderKind::kRequeue:
      commands.push_back(update);
      commands.push_back({"scontrol", "requeuehold", order.job});
      break;
    case SlurmOrderKind::kTakeBack:
    case SlurmOrderKind::kHold:
      commands.push_back({"scontrol", "hold", order.job});
      commands.push_back(update);
      break;
    case SlurmOrderKind::kRelease:
      commands.push_back(update);
      commands.push_back({"scontrol", "release", order.job});
      break;
    case SlurmOrderKind::kPriority: commands.push_back(change(order, fmt::format("Priority={}", order.number))); break;
    case SlurmOrderKind::kNice: commands.push_back(change(order, fmt::format("Nice={}", order.number))); break;
    case SlurmOrderKind::kFeatures:
      if (!is_plain(order.features)) return invalid("'{}' are no features", excerpt(order.features));
      commands.push_back(change(order, "Features=" + order.features));
      break;
  }
  return commands;
}

std::string scontrol_lines(std::span<const SlurmCommand> commands) {
  std::string lines;
  for (const SlurmCommand& command : commands)
    lines += fmt::format("{}\n", fmt::join(command.begin() + 1, command.end(), " "));
  return lines;
}

std::string shell_line(const SlurmCommand& command) {
  std::string line;
  for (const std::string& word : command)
    line += fmt::format("{}{}", line.empty() ? "" : " ", word.find_first_of("[&") == std::string::npos ? word : "'" + word + "'");
  return line;
}

}  // namespace stint
