#include "catalog/providers/provider.h"

#include <array>

#include "base/quoting.h"
#include "base/short_money.h"
#include "catalog/providers/providers.h"

namespace stint {
namespace {

/// One that Stint knows by name alone: what is to be done there stands in a comment.
class OtherProvider final : public Provider {
 public:
  constexpr OtherProvider()
      : Provider({.id = {},
                  .name_in_bills = {},
                  .terraform_resource = {},
                  .spot_label = "stint/market",
                  .spot_label_value = "spot",
                  .spot_notice = Duration::minutes(2),
                  .first_zone = "-1",
                  .sale_of_commitment = {},
                  .return_of_savings_plan = {}}) {}

  [[nodiscard]] std::string region_of_zone(std::string_view) const override { return {}; }

  [[nodiscard]] std::string machine_command(const PlannedNode& node, MachineAction action,
                                            const std::string& to_instance_type) const override {
    constexpr std::array<std::string_view, 4> kVerbs = {"stop", "start", "give back", "replace"};
    return fmt::format("# {} {}{}: no command known for provider '{}'", kVerbs[static_cast<size_t>(action)],
                       shell_quoted(node.name), to_instance_type.empty() ? "" : " by " + shell_quoted(to_instance_type),
                       shell_quoted(node.provider));
  }
  [[nodiscard]] std::string spot_command(const PlannedNode& node) const override {
    return fmt::format("# buy {} on spot: no command known for provider '{}'", shell_quoted(node.name),
                       shell_quoted(node.provider));
  }
  [[nodiscard]] std::string create_command(const PlannedNode& node) const override {
    return fmt::format("# start {} again, a {}: no command known for provider '{}'", shell_quoted(node.name),
                       shell_quoted(node.instance_type), shell_quoted(node.provider));
  }
  [[nodiscard]] Lines buy(const Commit& c) const override {
    return {fmt::format("# commit to {} × {} for {} at provider {}", c.count, shell_quoted(c.instance_type),
                        is_three_years(c.term) ? "three years" : "a year", shell_quoted(c.provider))};
  }
  [[nodiscard]] Lines buy(const SavingsPlan& c) const override {
    return {fmt::format("# savings plan of {} an hour for {} at provider {}: bought in its billing console",
                        short_money(c.per_hour), is_three_years(c.term) ? "three years" : "a year", shell_quoted(c.provider))};
  }
  [[nodiscard]] Lines type_arguments(const std::string&) const override { return {}; }
  [[nodiscard]] Lines market_arguments(Market) const override { return {}; }
  [[nodiscard]] Lines region_arguments(const std::string&) const override { return {}; }
  [[nodiscard]] Lines schedule_blocks(const PlannedNode&, size_t, size_t, size_t) const override { return {}; }
};

}  // namespace

const Provider& provider_of(std::string_view id) {
  static constexpr OtherProvider kOther;
  for (const Provider* provider : {&aws_provider(), &gcp_provider(), &azure_provider()})
    if (provider->facts().id == id) return *provider;
  return kOther;
}

std::string machine_command(const PlannedNode& node, MachineAction action, const std::string& to_instance_type) {
  return provider_of(node.provider).machine_command(node, action, to_instance_type);
}
std::string spot_command(const PlannedNode& node) { return provider_of(node.provider).spot_command(node); }
std::string create_command(const PlannedNode& node) { return provider_of(node.provider).create_command(node); }

std::string to_fill_in(std::string_view what, std::string_view command) { return fmt::format("# fill in {}: {}", what, command); }

std::string before_last_dash(std::string_view zone) {
  const size_t dash = zone.rfind('-');
  return dash == std::string_view::npos ? std::string() : std::string(zone.substr(0, dash));
}

std::string last_part(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string block_name(const std::string& text) {
  std::string out = "stint_";
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    out += plain ? c : '_';
  }
  return out;
}

std::string cron_time(size_t hour_of_week) { return fmt::format("0 {} * * {}", hour_of_week % 24, (hour_of_week / 24 + 1) % 7); }

}  // namespace stint
