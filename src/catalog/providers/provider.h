// What Stint knows of a provider of machines, in one table: names, commands, Terraform, labels, notice. A file for each cloud.
//
// Pure text: nothing here calls a cloud. Every name that comes from outside goes through base/quoting.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/change.h"
#include "model/fleet_plan.h"

namespace stint {

enum class MachineAction { kStop, kStart, kGiveBack, kResize };

struct ProviderFacts {
  std::string_view id;                  ///< as bills and inventories are read: "aws"; "" = a provider that Stint does not know
  std::string_view name_in_bills;       ///< as it calls itself in FOCUS
  std::string_view terraform_resource;  ///< that a machine is; "" = no fragments are written
  std::string_view spot_label;          ///< that its managed Kubernetes gives nodes bought on spot, and its value
  std::string_view spot_label_value;
  Duration spot_notice;                 ///< between the notice of an interruption and the end
  std::string_view first_zone;          ///< what follows a region's name in the name of its first zone
  std::string_view sale_of_commitment;  ///< how a commitment that was bought is got rid of, for a person; "" = not
  std::string_view return_of_savings_plan;
};

class Provider {
 public:
  using Lines = std::vector<std::string>;

  explicit constexpr Provider(ProviderFacts facts) : facts_(facts) {}
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  [[nodiscard]] const ProviderFacts& facts() const { return facts_; }
  /// @return "" where the name is no zone's.
  [[nodiscard]] virtual std::string region_of_zone(std::string_view zone) const = 0;

  // ---- commands of a shell; where Stint does not know all of one, a comment: see to_fill_in() ----
  /// @param to_instance_type  kResize only.
  [[nodiscard]] virtual std::string machine_command(const PlannedNode& node, MachineAction action,
                                                    const std::string& to_instance_type) const = 0;
  /// Starts a machine like `node` on spot.
  [[nodiscard]] virtual std::string spot_command(const PlannedNode& node) const = 0;
  /// Starts a machine like `node` on demand: one that was given back, or was bought on another market.
  [[nodiscard]] virtual std::string create_command(const PlannedNode& node) const = 0;
  [[nodiscard]] virtual Lines buy(const Commit& commitment) const = 0;
  [[nodiscard]] virtual Lines buy(const SavingsPlan& plan) const = 0;
  /// Gives back what of it can be given back; empty where nothing can.
  [[nodiscard]] virtual Lines undo(const Commit&) const { return {}; }
  [[nodiscard]] virtual Lines undo(const SavingsPlan&) const { return {}; }

  // ---- Terraform: arguments in the block of a machine, or blocks beside it; none without `terraform_resource` ----
  [[nodiscard]] virtual Lines type_arguments(const std::string& instance_type) const = 0;
  [[nodiscard]] virtual Lines market_arguments(Market to) const = 0;
  [[nodiscard]] virtual Lines region_arguments(const std::string& region) const = 0;
  /// What schedule_blocks() of this provider need once.
  [[nodiscard]] virtual Lines schedule_role() const { return {}; }
  /// Off from one hour of the week to another (0 = Monday 00:00 UTC). @param number  of this stretch among the machine's, from 1.
  [[nodiscard]] virtual Lines schedule_blocks(const PlannedNode& node, size_t from, size_t to, size_t number) const = 0;
  [[nodiscard]] virtual Lines commitment_block(const Commit&) const {
    return {"# no resource of Terraform buys this commitment: use the command"};
  }

 protected:
  ~Provider() = default;

 private:
  ProviderFacts facts_;
};

/// @param id  as canonical_provider() (model/bill.h) gives it. @return for one that is not known, a provider whose `id` is "".
const Provider& provider_of(std::string_view id);

/// A command that lacks what only its reader knows is a comment, so that a file of commands runs as it is or not at all.
/// @param what  the words in capitals that stand for it in the command, and what they mean
std::string to_fill_in(std::string_view what, std::string_view command);

/// What the node's own provider says; see the members of these names.
std::string machine_command(const PlannedNode& node, MachineAction action, const std::string& to_instance_type = "");
std::string spot_command(const PlannedNode& node);
std::string create_command(const PlannedNode& node);

/// A Terraform block's name: letters, digits, _ and -, and no digit first.
std::string block_name(const std::string& text);
/// "0 22 * * 5": cron counts the days from Sunday. @param hour_of_week  0 = Monday 00:00 UTC.
std::string cron_time(size_t hour_of_week);

}  // namespace stint
