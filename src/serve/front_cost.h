// What a request costs before and behind its batch: HTTP, reading the tensors, writing the answer, and the system's part of all that.
//
// One thread has all connections, so this bounds how many requests a server answers, however little the model takes.
#pragma once

#include "serve/model_source.h"

namespace stint::serve {

/// Processor time for a request of one item with the sizes that were measured: an inference server on loopback, without TLS, of a model that
/// only takes and gives such tensors, in binary, answers one client as fast as it can for a fraction of a second. Nothing else may run in this
/// process meanwhile.
Result<Duration> measure_front(const Measurement& of);

}  // namespace stint::serve
