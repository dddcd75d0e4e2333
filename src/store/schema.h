// The tables of a History file and how they came to be. Drawn in docs/formats.md.
#pragma once

#include "store/sqlite.h"

namespace stint {

inline constexpr int kSchemaVersion = 11;
/// What came since adds tables only: a History of this version is read as it is, without what they would hold.
inline constexpr int kOldestReadable = 1;
/// The version that brought queue_record and partition_node.
inline constexpr int kQueueRecordsSince = 3;
/// The version that brought node_absence.
inline constexpr int kAbsencesSince = 4;
/// The version that brought bill_delivery: an older one counts all bill lines.
inline constexpr int kBillDeliveriesSince = 5;
/// The version that brought exchange_rate.
inline constexpr int kExchangeRatesSince = 6;
/// The version that brought bill_extent.
inline constexpr int kBillExtentsSince = 7;
/// The version that brought bill_source: an older one keeps such columns among the tags of each line.
inline constexpr int kBillSourcesSince = 8;
/// The version that brought run_owner.
inline constexpr int kRunOwnersSince = 9;
/// The version that brought node_rate: in an older one a machine has one rate.
inline constexpr int kNodeRatesSince = 10;
/// The version that brought machine_act.
inline constexpr int kMachineActsSince = 11;
/// What bill_extent says of bill lines, by kExtentKey.
inline constexpr std::string_view kExtentsOfLines =
    "SELECT import_id, provider, billing_account, billing_begin, category = 'Purchase' AS purchase, spend = 'compute' AS "
    "compute, "
    "CASE WHEN spend = 'compute' THEN resource_id ELSE '' END AS resource_id, "
    "CASE WHEN spend = 'compute' THEN resource_name ELSE '' END AS resource_name, "
    "CASE WHEN spend = 'compute' AND category = 'Usage' THEN instance_type ELSE '' END AS instance_type, "
    "min(charge_begin) AS charged_from, max(charge_end) AS charged_until FROM bill_line";
inline constexpr std::string_view kExtentKey = "1, 2, 3, 4, 5, 6, 7, 8, 9";
/// "STNT" in SQLite's header tells a History from other databases.
inline constexpr int64_t kApplicationId = 0x53544e54;

/// rollup_day.key: days in order, and within a day the series, so that an import appends and a period is a range.
constexpr int64_t rollup_key(int64_t day, int64_t series_id) { return day * (int64_t{1} << 32) + series_id; }
constexpr int64_t series_of_rollup_key(int64_t key) { return key & 0xffffffff; }
constexpr int64_t day_of_rollup_key(int64_t key) { return key >> 32; }

/// The holder that stands for "the device itself".
inline constexpr int64_t kNoHolder = 0;

/// Makes the tables in an empty database; otherwise checks that it is a History of a version this program can
/// read, and brings an older one up to date when `access` allows writing: in one transaction, as it was kept beside it
/// (copy_before_upgrade()).
/// @return error naming the remedy for a foreign database, a newer or a half-made History.
Status prepare_schema(Database& database, DatabaseAccess access);

Result<int> schema_version(Database& database);

/// Where a History of an older version is kept when it is brought up to date: "fleet.db.schema-1".
std::string copy_before_upgrade(const std::string& path, int version);

}  // namespace stint
