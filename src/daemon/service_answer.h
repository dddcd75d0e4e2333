// Waiting for the service's answer.
#pragma once

#include <future>

#include "base/result.h"

namespace stint {

/// @param ask  hands the answer it is given to a command of the service. Not on the service's own thread, which would wait for itself.
template <typename View, typename Ask>
Result<View> answer_of(const Ask& ask) {
  std::promise<Result<View>> done;
  ask([&done](const Result<View>& answer) { done.set_value(answer); });
  return done.get_future().get();
}

}  // namespace stint
