// Parquet files as CSV, read by DuckDB's shared library, which is loaded at run time: in a process apart, so that a damaged file
// that makes the library fail is an error here. Values keep every digit; lists, maps and structures become JSON; times are UTC.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

/// By its first bytes.
bool is_parquet_file(const std::string& path);

/// The library: STINT_DUCKDB, else libduckdb.so as the loader finds it. @return error that says what to install when it is not there.
Status find_duckdb();

/// Gives the file as CSV with a header to `use`, in pieces.
/// @return error of `use`; when the library is not there; when the file is damaged, or needs more memory than a gigabyte.
Status read_parquet(const std::string& path, const std::function<Status(std::string_view)>& use);

}  // namespace stint
