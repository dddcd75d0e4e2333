// Views as JSON objects: the shapes of the API and of `--json`. Money is a decimal text with its currency, times are UTC.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/engine/views.h"
#include "sched/explanation.h"

namespace stint {

struct BackgroundState;

/// Of a job of an array, or of a whole one: {"id", "size"}, its place `index`, and how many `jobs` of it are in each state where that was asked for.
nlohmann::ordered_json array_json(const JobView& job);
nlohmann::ordered_json to_json(const JobView& job);
nlohmann::ordered_json to_json(const NodeView& node);
nlohmann::ordered_json to_json(const QueueView& queue);
nlohmann::ordered_json to_json(const BudgetView& budget);
nlohmann::ordered_json to_json(const EventView& event);
nlohmann::ordered_json to_json(const EngineView& engine);
nlohmann::ordered_json to_json(const BackgroundState& state);
/// null: there is none.
nlohmann::ordered_json money_json(const std::optional<Money>& amount);

}  // namespace stint
