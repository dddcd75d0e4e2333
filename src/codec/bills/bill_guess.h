// What to say to somebody whose file is not the bill it was given for: what it seems to be, or what to export and where.
#pragma once

#include <string_view>

#include "base/result.h"
#include "codec/csv.h"

namespace stint {

/// @param format  name of the format it was given for: "focus", "cur", "azure", "azure-actual", "gcp".
/// @param missing  the columns that are not there, as a list.
Error wrong_bill(std::string_view format, const CsvHeader& header, std::string_view missing);

/// The names of `required` that the header lacks, separated by commas.
std::string missing_columns(const CsvHeader& header, std::span<const std::string_view> required);

/// What a file is that is no text, by its first bytes; "" = it may be text.
std::string_view binary_kind(std::string_view first_bytes);

}  // namespace stint
