#include "store/bill_delivery.h"

#include <xxhash.h>

#include <algorithm>

#include "base/counted.h"
#include "store/history_impl.h"
#include "store/schema.h"

namespace stint {
namespace {

/// What is charged, without how much: the same in a later delivery of the bill.
uint64_t charge_digest(const BillLine& line) {
  std::string bytes;
  const auto number = [&bytes](int64_t v) { bytes.append(reinterpret_cast<const char*>(&v), sizeof v); };
  number(line.charge_period.begin.ns());
  number(static_cast<int64_t>(line.category));
  number(line.commitment_unused ? 1 : 0);
  for (const std::string* text :
       {&line.sub_account, &line.service, &line.resource_id, &line.resource_type, &line.sku, &line.region, &line.instance_type})
    number(static_cast<int64_t>(text->size())), bytes.append(*text);
  return XXH3_64bits(bytes.data(), bytes.size());
}

void sort_once(std::vector<uint64_t>& digests) {
  std::ranges::sort(digests);
  digests.erase(std::ranges::unique(digests).begin(), digests.end());
}

size_t count_shared(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  size_t shared = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j)
      ++shared, ++i, ++j;
    else if (*i < *j)
      ++i;
    else
      ++j;
  }
  return shared;
}

/// Deliveries of one bill hold mostly the same charges; parts of one do not.
bool is_same_bill(size_t shared, size_t a, size_t b) { return 2 * shared >= std::min(a, b); }

constexpr std::string_view kOfScope = "provider = ?1 AND billing_account = ?2 AND billing_begin = ?3";

/// Digests of the charges of `imports` in the scope.
Result<std::vector<uint64_t>> stored_charges(Database& database, const std::vector<int64_t>& imports, std::string_view provider,
                                             std::string_view account, int64_t billing_begin) {
  TRY_ASSIGN(Statement statement, database.prepare(fmt::format("SELECT {} FROM bill_line WHERE {} AND import_id IN ({})",
                                                               column_list<BillLine>(), kOfScope, fmt::join(imports, ", "))));
  statement.bind(1, provider);
  statement.bind(2, account);
  statement.bind(3, billing_begin);
  std::vector<uint64_t> digests;
  for (;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) break;
    TRY_ASSIGN(const BillLine line, read_row<BillLine>(statement, 0, database.path()));
    digests.push_back(charge_digest(line));
  }
  sort_once(digests);
  return digests;
}

/// Bytes of which some counts no more may be delivered again: they are not known under their own name until all of them counts.
constexpr const char* kForgetReplaced =
    "UPDATE import SET fingerprint = fingerprint || '#' || id WHERE id = ? AND instr(fingerprint, '#') = 0";
constexpr const char* kKnowAgain =
    "UPDATE OR IGNORE import SET fingerprint = substr(fingerprint, 1, instr(fingerprint, '#') - 1) WHERE instr(fingerprint, '#') "
    "> 0 "
    "AND NOT EXISTS (SELECT 1 FROM bill_delivery d WHERE d.import_id = import.id AND d.superseded_by IS NOT NULL)";

constexpr std::string_view kAzureAmortised = "azure", kAzureActual = "azure-actual";

bool are_azure_views(std::string_view a, std::string_view b) {
  return (a == kAzureAmortised && b == kAzureActual) || (a == kAzureActual && b == kAzureAmortised);
}

/// Over a row of `{0}`: another delivery counts in its place.
constexpr std::string_view kSuperseded =
    "EXISTS (SELECT 1 FROM bill_delivery d WHERE d.import_id = {0}.import_id AND d.provider = {0}.provider AND "
    "d.billing_account = {0}.billing_account AND d.billing_begin = {0}.billing_begin AND d.superseded_by IS NOT NULL)";
/// Over a row of `{0}`: it is of Azure's actual cost, and the amortised cost of its bill counts.
constexpr std::string_view kBesideAmortised =
    "EXISTS (SELECT 1 FROM bill_delivery d JOIN import own ON own.id = d.import_id AND own.kind = 'azure-actual' JOIN import "
    "winner "
    "ON winner.id = d.superseded_by AND winner.kind = 'azure' WHERE d.import_id = {0}.import_id AND d.provider = {0}.provider "
    "AND "
    "d.billing_account = {0}.billing_account AND d.billing_begin = {0}.billing_begin AND EXISTS (SELECT 1 FROM bill_delivery a "
    "JOIN import i ON i.id = a.import_id AND i.kind = 'azure' WHERE a.provider = d.provider AND a.billing_account = "
    "d.billing_account AND a.billing_begin = d.billing_begin AND a.superseded_by IS NULL))";
/// What only the actual export holds.
constexpr std::string_view kBuysCommitment = "commitment_id <> '' AND category IN ('Purchase', 'Adjustment')";

/// Is there a bill of which both views were delivered?
Result<bool> has_azure_views(Database& database) {
  TRY_ASSIGN(
      const int64_t some,
      database.integer("SELECT EXISTS (SELECT 1 FROM bill_delivery d JOIN import own ON own.id = d.import_id AND own.kind = "
                       "'azure-actual' JOIN import winner ON winner.id = d.superseded_by AND winner.kind = 'azure')"));
  return some != 0;
}

Status run_with(Database& database, std::string_view sql, std::initializer_list<int64_t> values) {
  TRY_ASSIGN(Statement statement, database.prepare(sql));
  int index = 0;
  for (const int64_t value : values)
    statement.bind(++index, value);
  return statement.run();
}

Status drop_within_transaction(Database& database, int64_t id, DroppedImport& out) {
  TRY_ASSIGN(Statement found, database.prepare("SELECT kind, source, imported_at, accepted, (SELECT count(*) FROM bill_delivery "
                                               "WHERE import_id = import.id) FROM import WHERE id = ?"));
  found.bind(1, id);
  TRY_ASSIGN(const bool row, found.step());
  if (!row)
    return make_error(ErrorCode::kNotFound, "{}: there is no import {}: `stint history imports` lists them", database.path(), id);
  out.record = {.kind = std::string(found.bytes(0)),
                .source = std::string(found.bytes(1)),
                .fingerprint = {},
                .imported_at = Instant::from_ns(found.integer(2)),
                .accepted = static_cast<uint64_t>(found.integer(3))};
  const bool bills = found.integer(4) > 0;
  found.reset();
  if (!bills)
    return make_error(
        ErrorCode::kConflict,
        "{}: import {} ({}, {}) brought no bill: only bills can be taken out again, other imports have merged with what was "
        "there: import into a new History without it",
        database.path(), id, out.record.kind, out.record.source);
  TRY_ASSIGN(Statement waiting, database.prepare("SELECT DISTINCT import_id FROM bill_delivery WHERE superseded_by = ?"));
  waiting.bind(1, id);
  for (;;) {
    TRY_ASSIGN(const bool one, waiting.step());
    if (!one) break;
    out.brought_back.push_back(waiting.integer(0));
  }
  waiting.reset();
  // Who replaced this one now replaces what this one had replaced.
  TRY(run_with(
      database,
      "UPDATE bill_delivery SET superseded_by = (SELECT max(own.superseded_by) FROM bill_delivery own WHERE own.import_id = ?1 "
      "AND own.provider = bill_delivery.provider AND own.billing_begin = bill_delivery.billing_begin) WHERE superseded_by = ?1",
      {id}));
  TRY_ASSIGN(Statement counts,
             database.prepare("SELECT count(*) FROM bill_delivery WHERE import_id = ? AND superseded_by IS NULL"));
  std::vector<int64_t> back;
  for (const int64_t candidate : out.brought_back) {
    counts.bind(1, candidate);
    TRY_ASSIGN(const bool some, counts.step());
    if (some && counts.integer(0) > 0) back.push_back(candidate);
    counts.reset();
  }
  out.brought_back = std::move(back);
  for (const std::string_view table : {"bill_delivery", "bill_extent", "bill_source", "bill_line", "rejection"})
    TRY(run_with(database, fmt::format("DELETE FROM {} WHERE import_id = ?", table), {id}));
  TRY(run_with(database, "DELETE FROM import WHERE id = ?", {id}));
  return run_with(database, kKnowAgain, {});
}

}  // namespace

void DeliveryBook::add(const BillLine& line) {
  const auto same = [&line](const Scope& s) {
    return std::get<2>(s) == line.billing_period.begin.ns() && std::get<1>(s) == line.billing_account &&
           std::get<0>(s) == line.provider;
  };
  if (last_ == nullptr || !same(last_->first))
    last_ = &*scopes_.try_emplace({line.provider, line.billing_account, line.billing_period.begin.ns()}).first;
  if (files_.empty()) files_.push_back(source_);
  auto& by_file = last_->second.by_file;
  if (by_file.size() < files_.size()) by_file.resize(files_.size());
  by_file[files_.size() - 1].push_back(charge_digest(line));
}

std::string DeliveryBook::text_of(const Scope& scope) {
  const auto& [provider, account, begin] = scope;
  return fmt::format("{}{} for the month of {}", provider.empty() ? "an unnamed provider" : provider,
                     account.empty() ? "" : " account " + account, format_date(Instant::from_ns(begin)).substr(0, 7));
}

Status DeliveryBook::settle(Database& database) {
  for (auto& [scope, charges] : scopes_) {
    for (std::vector<uint64_t>& digests : charges.by_file)
      sort_once(digests);
    TRY(check_files(scope, charges));
    TRY(settle_scope(database, scope, charges));
  }
  if (scopes_.empty()) return {};
  return run_with(database,
                  fmt::format("INSERT INTO bill_extent {} WHERE import_id = ? GROUP BY {}", kExtentsOfLines, kExtentKey),
                  {import_id_});
}

/// Parts of one delivery share next to nothing; two deliveries of one bill do.
Status DeliveryBook::check_files(const Scope& scope, const Charges& charges) const {
  std::vector<std::pair<uint64_t, size_t>> seen;  // ascending: a charge and the first file that holds it
  for (size_t file = 0; file < charges.by_file.size(); ++file) {
    const std::vector<uint64_t>& own = charges.by_file[file];
    std::vector<size_t> shared(file);
    std::vector<std::pair<uint64_t, size_t>> joined;
    joined.reserve(seen.size() + own.size());
    auto at = seen.begin();
    for (const uint64_t digest : own) {
      while (at != seen.end() && at->first < digest)
        joined.push_back(*at++);
      if (at != seen.end() && at->first == digest)
        ++shared[at->second];
      else
        joined.emplace_back(digest, file);
    }
    joined.insert(joined.end(), at, seen.end());
    seen = std::move(joined);
    for (size_t earlier = 0; earlier < file; ++earlier) {
      const size_t least = std::min(own.size(), charges.by_file[earlier].size());
      if (least == 0 || !is_same_bill(shared[earlier], own.size(), charges.by_file[earlier].size())) continue;
      return make_error(
          ErrorCode::kConflict,
          "{} and {} hold the same charges of {} ({} of {}): they are two deliveries of one bill, not parts of one. "
          "Import them one after the other, the newest last",
          files_[earlier], files_[file], text_of(scope), shared[earlier], least);
    }
  }
  return {};
}

Status DeliveryBook::settle_scope(Database& database, const Scope& scope, const Charges& charges) {
  const auto& [provider, account, begin] = scope;
  TRY_ASSIGN(
      Statement add,
      database.prepare("INSERT INTO bill_delivery (provider, billing_account, billing_begin, import_id) VALUES (?, ?, ?, ?)"));
  add.bind(1, provider);
  add.bind(2, account);
  add.bind(3, begin);
  add.bind(4, import_id_);
  TRY(add.run());
  // An export that names no account may be of any.
  TRY_ASSIGN(
      Statement find,
      database.prepare("SELECT d.import_id, i.kind, i.source, d.billing_account, d.superseded_by, coalesce(s.kind, '') "
                       "FROM bill_delivery d JOIN import i ON i.id = d.import_id LEFT JOIN import s ON s.id = d.superseded_by "
                       "WHERE d.provider = ?1 AND d.billing_begin = ?3 AND d.import_id <> ?4 AND "
                       "(d.billing_account = ?2 OR d.billing_account = '' OR ?2 = '') ORDER BY d.import_id"));
  find.bind(1, provider);
  find.bind(2, account);
  find.bind(3, begin);
  find.bind(4, import_id_);
  std::vector<Other> same_kind, other_kinds;
  for (;;) {
    TRY_ASSIGN(const bool row, find.step());
    if (!row) break;
    Other other{find.integer(0), std::string(find.bytes(1)), std::string(find.bytes(2)), std::string(find.bytes(3)),
                std::nullopt,    std::string(find.bytes(5))};
    if (!find.is_null(4)) other.superseded_by = find.integer(4);
    if (other.kind != kind_) {
      if (!other.superseded_by) other_kinds.push_back(std::move(other));
    } else if (other.billing_account == account && (!other.superseded_by || other.superseder_kind != kind_)) {
      same_kind.push_back(std::move(other));
    }
  }
  find.reset();
  TRY(settle_same_kind(database, scope, charges, same_kind));
  return settle_other_kinds(database, scope, other_kinds);
}

Status DeliveryBook::settle_same_kind(Database& database, const Scope& scope, const Charges& charges,
                                      const std::vector<Other>& others) {
  if (others.empty()) return {};
  std::vector<const Other*> replaced;
  std::vector<int64_t> compared;
  for (const Other& other : others) {
    if (options_.as != DeliveryAs::kPart || other.source == source_) replaced.push_back(&other);
    if (options_.as == DeliveryAs::kSeen || (options_.as == DeliveryAs::kPart && other.source != source_))
      compared.push_back(other.import_id);
  }
  if (!compared.empty()) {
    std::vector<uint64_t> own;
    for (const std::vector<uint64_t>& of_file : charges.by_file)
      own.insert(own.end(), of_file.begin(), of_file.end());
    sort_once(own);
    TRY_ASSIGN(const auto stored, stored_charges(database, compared, std::get<0>(scope), std::get<1>(scope), std::get<2>(scope)));
    const size_t shared = count_shared(own, stored);
    const bool same = is_same_bill(shared, own.size(), stored.size());
    const Other& newest = *std::ranges::find(others, compared.back(), &Other::import_id);
    if (options_.as == DeliveryAs::kSeen && !same)
      return make_error(
          ErrorCode::kConflict,
          "{}: holds {} of the {} charges of {} that import {} ({}) brought: it may be another part of that bill or a new "
          "delivery of it. Say --part to count it beside, or --replace to take it instead; all parts in one import are one "
          "delivery",
          source_, shared, stored.size(), text_of(scope), newest.import_id, newest.source);
    if (options_.as == DeliveryAs::kPart && same)
      return make_error(
          ErrorCode::kConflict,
          "{}: no part beside import {} ({}): it holds {} of the same charges of {}, and they would count twice. Import it "
          "without --part, and it takes the place of that one",
          source_, newest.import_id, newest.source, shared, text_of(scope));
  }
  for (const Other* other : replaced)
    TRY(supersede(database, scope, *other));
  return {};
}

Status DeliveryBook::settle_other_kinds(Database& database, const Scope& scope, const std::vector<Other>& others) {
  for (const Other& other : others) {
    if (options_.prefer == kind_) {
      TRY(supersede(database, scope, other));
    } else if (options_.prefer == other.kind) {
      TRY(stand_behind(database, scope, other));
    } else if (options_.prefer.empty() && are_azure_views(kind_, other.kind)) {
      TRY(join_azure_views(database, scope, other));
    } else {
      return make_error(
          ErrorCode::kConflict,
          "{}: the bill of {} is there already, as {} (import {}, {}): both exports would count the same money. `--prefer {}` "
          "takes this one instead, `--prefer {}` keeps it beside without counting it",
          source_, text_of(scope), other.kind, other.import_id, other.source, kind_, other.kind);
    }
  }
  return {};
}

/// This one is kept; the other counts.
Status DeliveryBook::stand_behind(Database& database, const Scope& scope, const Other& other) {
  TRY_ASSIGN(Statement mine,
             database.prepare(fmt::format("UPDATE bill_delivery SET superseded_by = ?4 WHERE {} AND import_id = ?5", kOfScope)));
  mine.bind(1, std::get<0>(scope));
  mine.bind(2, std::get<1>(scope));
  mine.bind(3, std::get<2>(scope));
  mine.bind(4, other.import_id);
  mine.bind(5, import_id_);
  return mine.run();
}

/// The amortised view counts, the other one in its purchases of commitments. What no commitment covers must be the same in both.
Status DeliveryBook::join_azure_views(Database& database, const Scope& scope, const Other& other) {
  if (kind_ == kAzureActual) {
    TRY(stand_behind(database, scope, other));
  } else {
    TRY(supersede(database, scope, other));
  }
  notes_.push_back(fmt::format(
      "{} has both exports now (imports {} and {}): the amortised one counts, and of the actual one what bought commitments",
      text_of(scope), other.import_id, import_id_));
  TRY_ASSIGN(Statement sums, database.prepare(fmt::format(
                                 "SELECT coalesce(sum(billed) FILTER (WHERE import_id = ?4), 0) - coalesce(sum(billed) FILTER "
                                 "(WHERE import_id = ?5), 0), max(billed_currency) FROM bill_line WHERE {} AND "
                                 "commitment_id = '' AND import_id IN (?4, ?5)",
                                 kOfScope)));
  sums.bind(1, std::get<0>(scope));
  sums.bind(2, std::get<1>(scope));
  sums.bind(3, std::get<2>(scope));
  sums.bind(4, import_id_);
  sums.bind(5, other.import_id);
  TRY(sums.step());
  const auto currency = Currency::parse(sums.bytes(1));
  if (sums.integer(0) != 0 && currency.ok())
    notes_.push_back(fmt::format("what no commitment covers differs by {} between the two: export both anew, of the same days",
                                 Money::nanos(sums.integer(0), *currency).to_text(2)));
  return {};
}

Status DeliveryBook::supersede(Database& database, const Scope& scope, const Other& other) {
  const auto& [provider, account, begin] = scope;
  const auto bind = [&](Statement& s) {
    s.bind(1, provider);
    s.bind(2, other.billing_account);
    s.bind(3, begin);
    s.bind(4, other.import_id);
  };
  TRY_ASSIGN(Statement mark,
             database.prepare(fmt::format("UPDATE bill_delivery SET superseded_by = ?5 WHERE {} AND import_id = ?4", kOfScope)));
  bind(mark);
  mark.bind(5, import_id_);
  TRY(mark.run());
  const bool purchases_count = kind_ == kAzureAmortised && other.kind == kAzureActual;
  if (!purchases_count) TRY(run_with(database, kForgetReplaced, {other.import_id}));
  TRY_ASSIGN(Statement count,
             database.prepare(fmt::format("SELECT count(*) FROM bill_line WHERE {} AND import_id = ?4", kOfScope)));
  bind(count);
  TRY(count.step());
  replaced_.push_back({other.import_id, other.source, provider, other.billing_account, Instant::from_ns(begin),
                       static_cast<uint64_t>(count.integer(0)), other.kind != kind_, purchases_count});
  return {};
}

Result<std::string> lines_that_count(Database& database, std::string_view table) {
  TRY_ASSIGN(const int version, schema_version(database));
  if (version < kBillDeliveriesSince) return std::string();
  TRY_ASSIGN(const int64_t superseded,
             database.integer("SELECT EXISTS (SELECT 1 FROM bill_delivery WHERE superseded_by IS NOT NULL)"));
  if (superseded == 0) return std::string();
  const std::string counts = fmt::format("NOT {}", fmt::format(fmt::runtime(kSuperseded), table));
  TRY_ASSIGN(const bool views, has_azure_views(database));
  if (!views) return " AND " + counts;
  const std::string_view bought = table == "bill_line" ? kBuysCommitment : "purchase";
  return fmt::format(" AND ({} OR ({} AND {}))", counts, bought, fmt::format(fmt::runtime(kBesideAmortised), table));
}

Result<std::string> counted_line_columns(Database& database) {
  std::string columns = column_list<BillLine>();
  TRY_ASSIGN(const int version, schema_version(database));
  if (version < kBillDeliveriesSince) return columns;
  TRY_ASSIGN(const bool views, has_azure_views(database));
  if (!views) return columns;
  constexpr std::string_view kColumn = ", effective, ";
  const size_t at = columns.find(kColumn);
  CHECK(at != std::string::npos, "no column `effective` among {}", columns);
  return columns.replace(
      at, kColumn.size(),
      fmt::format(", CASE WHEN {} THEN 0 ELSE effective END, ", fmt::format(fmt::runtime(kSuperseded), "bill_line")));
}

Result<std::string> bill_extents(Database& database) {
  TRY_ASSIGN(const int version, schema_version(database));
  if (version >= kBillExtentsSince) return std::string("bill_extent");
  return fmt::format("({} GROUP BY {}) AS bill_extent", kExtentsOfLines, kExtentKey);
}

Result<std::vector<ImportListing>> HistoryFile::imports() {
  Database& database = impl_->database;
  std::vector<ImportListing> out;
  TRY_ASSIGN(Statement records,
             database.prepare("SELECT id, kind, source, fingerprint, imported_at, accepted, rejected, duplicates "
                              "FROM import ORDER BY id"));
  for (;;) {
    TRY_ASSIGN(const bool row, records.step());
    if (!row) break;
    out.push_back({records.integer(0),
                   {.kind = std::string(records.bytes(1)),
                    .source = std::string(records.bytes(2)),
                    .fingerprint = std::string(records.bytes(3)),
                    .imported_at = Instant::from_ns(records.integer(4)),
                    .accepted = static_cast<uint64_t>(records.integer(5)),
                    .rejected = static_cast<uint64_t>(records.integer(6)),
                    .duplicates = static_cast<uint64_t>(records.integer(7))},
                   {}});
  }
  TRY_ASSIGN(const int version, schema_version(database));
  const bool kept = version >= kBillDeliveriesSince;
  // Money may have an amount of zero in no currency: such lines belong to the currency of the others.
  TRY_ASSIGN(
      Statement bills,
      database.prepare(fmt::format(
          "SELECT l.import_id, l.provider, l.billing_account, l.billing_begin, max(l.billing_end), min(l.charge_begin), "
          "max(l.charge_end), count(*), sum(l.billed), sum(l.effective), l.billed_currency, {} FROM bill_line l {} "
          "GROUP BY 1, 2, 3, 4, 11 ORDER BY 1, 2, 3, 4, 11",
          kept ? "d.superseded_by" : "NULL",
          kept ? "LEFT JOIN bill_delivery d ON d.import_id = l.import_id AND d.provider = l.provider AND d.billing_account = "
                 "l.billing_account AND d.billing_begin = l.billing_begin"
               : "")));
  for (;;) {
    TRY_ASSIGN(const bool row, bills.step());
    if (!row) break;
    const auto at = std::ranges::lower_bound(out, bills.integer(0), {}, &ImportListing::id);
    const auto currency = Currency::parse(bills.bytes(10));
    if (at == out.end() || at->id != bills.integer(0) || !currency.ok())
      return invalid("{}: damaged: bill lines of import {}: restore it from a backup", database.path(), bills.integer(0));
    ImportedBill& bill = at->bills.emplace_back();
    bill.provider = bills.bytes(1);
    bill.billing_account = bills.bytes(2);
    bill.billing = {Instant::from_ns(bills.integer(3)), Instant::from_ns(bills.integer(4))};
    bill.charged = {Instant::from_ns(bills.integer(5)), Instant::from_ns(bills.integer(6))};
    bill.lines = static_cast<uint64_t>(bills.integer(7));
    bill.billed = Money::nanos(bills.integer(8), *currency);
    bill.effective = Money::nanos(bills.integer(9), *currency);
    if (!bills.is_null(11)) bill.superseded_by = bills.integer(11);
  }
  for (ImportListing& import : out)
    for (ImportedBill& bill : import.bills) {
      if (!bill.superseded_by || import.record.kind != kAzureActual) continue;
      const auto by = std::ranges::find(out, *bill.superseded_by, &ImportListing::id);
      bill.purchases_count = by != out.end() && by->record.kind == kAzureAmortised;
    }
  return out;
}

Result<DroppedImport> HistoryFile::drop_import(int64_t id) {
  if (impl_->mode == OpenMode::kReadOnly)
    return make_error(ErrorCode::kConflict, "{}: opened for reading only", impl_->database.path());
  Database& database = impl_->database;
  DroppedImport out;
  TRY(database.execute("BEGIN IMMEDIATE"));
  Status done = drop_within_transaction(database, id, out);
  if (done.ok()) done = database.execute("COMMIT");
  if (!done.ok() && database.in_transaction()) (void)database.execute("ROLLBACK").ok();
  TRY(done);
  return out;
}

}  // namespace stint
