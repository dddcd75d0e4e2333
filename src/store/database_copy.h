// Copies databases while others write to them.
//
// All are copied as of one moment: each is locked against writers, a reader's snapshot taken of each, and the locks let go, which
// takes no longer than writers in progress do. The copying itself reads the snapshots and keeps no writer waiting.
// Source: https://www.sqlite.org/backup.html and https://www.sqlite.org/isolation.html
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace stint {

/// Is this a file of SQLite's? By its first bytes.
bool is_database(const std::string& path);

/// @param paths  of databases; their copies have the same names in `folder`, where no such files are yet. Each is durable and
///   passes SQLite's own check, else the error names it.
Status copy_databases(const std::vector<std::string>& paths, const std::string& folder);

/// SQLite's check of a file's structure. @return error naming what it finds first.
Status check_database(const std::string& path);

}  // namespace stint
