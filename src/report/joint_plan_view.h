// A joint plan for people and programs.
#pragma once

#include <string>

#include "advise/plan/joint_plan.h"
#include "report/table.h"

namespace stint {

/// Steps in their order with what each saves on top of those before, the front of cost against time, the proof, what was left out.
std::string joint_plan_text(const JointPlan& plan, Screen screen);
/// Its findings are those of an audit, so `stint replay --change FILE` reads it (docs/formats.md, "Joint plan").
std::string joint_plan_json(const JointPlan& plan);
/// One page with its drawings inside.
std::string joint_plan_html(const JointPlan& plan);

}  // namespace stint
