// The clouds that provider_of() knows, and what they share; not for others.
#pragma once

#include "catalog/providers/provider.h"

namespace stint {

const Provider& aws_provider();
const Provider& gcp_provider();
const Provider& azure_provider();

/// The last part of a path such as //compute.googleapis.com/projects/p/zones/z/instances/NAME.
std::string last_part(const std::string& path);
/// Of a zone that is called as its region, a dash and one word more; "" without a dash.
std::string before_last_dash(std::string_view zone);
inline bool is_three_years(CommitmentTerm term) { return term == CommitmentTerm::kThreeYears; }

}  // namespace stint
