// Allocations in the shape of OpenCost's allocation API, so that what reads OpenCost can compare line by line.
//
// Source: OpenCost documentation, "API", /allocation; the fields of core/pkg/opencost/allocation_json.go. Amounts are JSON numbers with all
// decimals of the ledger: they sum to what the machines cost, to the nano-unit. What is not measured is null, as OpenCost writes it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ledger/allocation.h"

namespace stint {

/// `{"code":200,"status":"success","data":[{"NAME":{…}},…],"warning":…}`, one map per step.
/// @param warning  what a reader must know; "" = nothing.
std::string opencost_answer(std::span<const Allocation> steps, std::string_view warning);

}  // namespace stint
