// --batch-curve SERVICE=FILE: measured batch times of services, from `stint serve measure`, of a Triton server or of perf_analyzer.
#pragma once

#include <string>
#include <vector>

#include "advise/batch_curves.h"
#include "base/result.h"

namespace stint {

class Command;

void add_batch_curve_option(Command& command, std::vector<std::string>& curves);
/// Reads the files. @return error naming the option or the file that is wrong.
Result<BatchCurves> load_batch_curves(const std::vector<std::string>& curves);

}  // namespace stint
