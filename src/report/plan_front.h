// The front of a joint plan, drawn: what a month costs against how long jobs take.
#pragma once

#include "advise/plan/joint_plan.h"
#include "report/html.h"

namespace stint {

/// Empty where no job was replayed.
Html plan_front_chart(const JointPlan& plan);

}  // namespace stint
