#include "store/database_copy.h"

#include <filesystem>
#include <fstream>

#include "store/sqlite.h"

namespace stint {
namespace {

constexpr Duration kPatience = Duration::seconds(30);

std::string name_of_file(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// One connection to each, with a transaction begun by `begin`.
Result<std::vector<Database>> connect_all(const std::vector<std::string>& paths, DatabaseAccess access,
                                          const std::string& begin) {
  std::vector<Database> out;
  for (const std::string& path : paths) {
    TRY_ASSIGN(Database database, Database::open(path, access, kPatience));
    TRY(database.execute(begin));
    out.push_back(std::move(database));
  }
  return out;
}

/// Connections whose snapshots are all of the same moment. No writer of ours holds two databases: none waits for another.
Result<std::vector<Database>> take_snapshots(const std::vector<std::string>& paths) {
  TRY_ASSIGN(const std::vector<Database> locks, connect_all(paths, DatabaseAccess::kReadWrite, "BEGIN IMMEDIATE"));
  return connect_all(paths, DatabaseAccess::kReadOnly, "BEGIN; SELECT count(*) FROM sqlite_schema");
}

}  // namespace

bool is_database(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::string begin(kMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kMagic;
}

Status check_database(const std::string& path) {
  TRY_ASSIGN(Database database, Database::open(path, DatabaseAccess::kReadWrite));
  TRY_ASSIGN(Statement check, database.prepare("PRAGMA integrity_check(1)"));
  TRY_ASSIGN(const bool row, check.step());
  const std::string found = row ? std::string(check.bytes(0)) : "nothing";
  if (found != "ok") return invalid("{}: damaged: {}", path, found);
  return {};
}

Status copy_databases(const std::vector<std::string>& paths, const std::string& folder) {
  TRY_ASSIGN(std::vector<Database> snapshots, take_snapshots(paths));
  for (Database& snapshot : snapshots) {
    const std::string copy = folder + "/" + name_of_file(snapshot.path());
    TRY(snapshot.copy_to(copy));
    TRY(check_database(copy));
  }
  return {};
}

}  // namespace stint
