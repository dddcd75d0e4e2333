// One import into a History file: a Sink whose rows go straight into one transaction, and whose samples become
// hourly rollups, gathered per series and day before they are written.
#include <xxhash.h>

#include <algorithm>
#include <map>

#include "base/counted.h"
#include "base/text.h"
#include "codec/bills/source_columns.h"
#include "codec/importer.h"
#include "store/history_impl.h"
#include "store/kept_columns.h"
#include "store/schema.h"
#include "telemetry/rollup_builder.h"

namespace stint {
namespace {

/// Hours held in memory before the days they belong to are written: about 400 bytes each.
constexpr size_t kMaxOpenHours = 800'000;
/// Days outside are broken clocks: 1970 … 2243.
constexpr int64_t kLastDay = 100'000;

/// INSERT with as many parameters as columns: `first` columns come before those of the row.
template <typename T>
std::string insert_sql(std::string_view first) {
  NameColumns names;
  const T row{};
  RowFields<T>::visit(names, row);
  std::vector<std::string> columns = names.names;
  size_t before = 0;
  if (!first.empty())
    for (const std::string_view column : split(first, ','))
      columns.insert(columns.begin() + static_cast<ptrdiff_t>(before++), std::string(column));
  const std::vector<std::string_view> marks(columns.size(), "?");
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", RowFields<T>::table, fmt::join(columns, ", "), fmt::join(marks, ", "));
}

/// Which GPUs a run held is told while it runs (squeue) and not afterwards (sacct): what was known stays known.
const std::string kKeepIndexes =
    R"(CASE WHEN excluded.allocations NOT GLOB '*"gpus":[[][0-9]*' AND allocations GLOB '*"gpus":[[][0-9]*' )"
    "THEN allocations ELSE excluded.allocations END";

/// ` ON CONFLICT (key) DO UPDATE SET …`: the later row replaces the earlier one whole.
template <typename T>
std::string replace_clause(std::string_view key) {
  NameColumns names;
  const T row{};
  RowFields<T>::visit(names, row);
  std::string sql = fmt::format(" ON CONFLICT ({}) DO UPDATE SET import_id = excluded.import_id", key);
  for (const std::string& name : names.names)
    sql += fmt::format(", {0} = {1}", name, name == "allocations" ? kKeepIndexes : "excluded." + name);
  return sql;
}

/// What Slurm says of a job that runs leaves out why it waited.
const std::string kKeepWaiting =
    " ON CONFLICT (origin, run_id, restart) DO UPDATE SET queue = excluded.queue, qos = excluded.qos, "
    "reason = CASE WHEN excluded.reason = '' THEN reason ELSE excluded.reason END, eligible = coalesce(excluded.eligible, "
    "eligible)";

std::string node_sql() {
  MergeClauses merge;
  const Node row{};
  RowFields<Node>::visit(merge, row);
  return insert_sql<Node>("") + fmt::format(" ON CONFLICT (name) DO UPDATE SET {} RETURNING id", fmt::join(merge.clauses, ", "));
}

/// Collects bound values for a hash instead of a statement, texts with their length so that fields cannot run together.
class DigestBinder {
 public:
  void bind(int, int64_t v) { bytes_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void bind(int index, std::string_view text) {
    bind(index, static_cast<int64_t>(text.size()));
    bytes_.append(text);
  }
  void bind_null(int) { bytes_ += '\xff'; }
  [[nodiscard]] std::string digest() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes_.data(), bytes_.size()));
    return {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest};
  }

 private:
  std::string bytes_;
};

std::string digest_of(const BillLine& line) {
  DigestBinder digest;
  BindColumns<DigestBinder> bind{digest};
  RowFields<BillLine>::visit(bind, line);
  return digest.digest();
}

struct Statements {
  Statement node, find_device, find_device_by_index, find_device_without_uuid, add_device, complete_device, find_holder,
      add_holder, find_series, add_series, read_day, write_day, run, run_owner, absence, rate, forget_rates, queue_record,
      partition, bill_line, find_bill_line, kept_columns, price, exchange_rate, tenant_rule, rejection;

  static Result<Statements> prepare(Database& db) {
    Statements s;
    TRY_ASSIGN(s.node, db.prepare(node_sql()));
    // A device is found by UUID where there is one, else by its place; see resolve_device().
    TRY_ASSIGN(s.find_device,
               db.prepare("SELECT id FROM device WHERE node_id = ? AND uuid = ? AND mig_instance = ? ORDER BY id"));
    TRY_ASSIGN(s.find_device_by_index,
               db.prepare("SELECT id FROM device WHERE node_id = ? AND gpu_index = ? AND mig_instance = ? ORDER BY id DESC"));
    TRY_ASSIGN(s.find_device_without_uuid,
               db.prepare("SELECT id FROM device WHERE node_id = ? AND uuid = '' AND gpu_index = ? AND mig_instance = ?"));
    TRY_ASSIGN(s.add_device, db.prepare("INSERT INTO device (node_id, uuid, gpu_index, model, mig_profile, mig_instance) "
                                        "VALUES (?, ?, ?, ?, ?, ?)"));
    TRY_ASSIGN(
        s.complete_device,
        db.prepare("UPDATE device SET uuid = CASE WHEN ?2 = '' THEN uuid ELSE ?2 END, "
                   "gpu_index = CASE WHEN ?3 < 0 THEN gpu_index ELSE ?3 END, model = CASE WHEN ?4 = '' THEN model ELSE ?4 END, "
                   "mig_profile = CASE WHEN ?5 = '' THEN mig_profile ELSE ?5 END WHERE id = ?1"));
    TRY_ASSIGN(s.find_holder, db.prepare("SELECT id FROM holder WHERE ns = ? AND pod = ? AND container = ? AND job = ? AND "
                                         "process = ? AND user = ? AND account = ?"));
    TRY_ASSIGN(s.add_holder, db.prepare(insert_sql<Holder>("")));
    TRY_ASSIGN(s.find_series, db.prepare("SELECT id FROM series WHERE device_id = ? AND holder_id = ? AND metric = ?"));
    TRY_ASSIGN(s.add_series, db.prepare("INSERT INTO series (device_id, holder_id, metric) VALUES (?, ?, ?)"));
    TRY_ASSIGN(s.read_day, db.prepare("SELECT data FROM rollup_day WHERE key = ?"));
    TRY_ASSIGN(s.write_day, db.prepare("INSERT INTO rollup_day (key, data) VALUES (?, ?) "
                                       "ON CONFLICT (key) DO UPDATE SET data = excluded.data"));
    TRY_ASSIGN(s.run, db.prepare(insert_sql<Run>("import_id,origin") + replace_clause<Run>("origin, run_id, restart")));
    TRY_ASSIGN(s.run_owner, db.prepare(insert_sql<RunOwner>("origin") +
                                       " ON CONFLICT (origin, run_id, restart) DO UPDATE SET owner_kind = excluded.owner_kind, "
                                       "labels = excluded.labels"));
    TRY_ASSIGN(s.absence, db.prepare(insert_sql<NodeAbsence>("") +
                                     " ON CONFLICT (node, absent_from) DO UPDATE SET absent_until = max(absent_until, "
                                     "excluded.absent_until)"));
    TRY_ASSIGN(s.rate, db.prepare(insert_sql<NodeRate>("") +
                                  " ON CONFLICT (node, paid_from) DO UPDATE SET rate = excluded.rate, rate_currency = "
                                  "excluded.rate_currency"));
    TRY_ASSIGN(s.forget_rates, db.prepare("DELETE FROM node_rate WHERE node = ?"));
    TRY_ASSIGN(s.queue_record, db.prepare(insert_sql<QueueRecord>("origin") + kKeepWaiting));
    TRY_ASSIGN(s.partition, db.prepare(insert_sql<PartitionNode>("") + " ON CONFLICT DO NOTHING"));
    TRY_ASSIGN(s.bill_line, db.prepare(insert_sql<BillLine>("import_id,digest")));
    TRY_ASSIGN(s.kept_columns, KeptColumnsWriter::prepare(db));
    TRY_ASSIGN(
        s.find_bill_line,
        db.prepare("SELECT 1 FROM bill_line l JOIN bill_delivery d ON d.import_id = l.import_id AND d.provider = l.provider AND "
                   "d.billing_account = l.billing_account AND d.billing_begin = l.billing_begin WHERE l.digest = ? AND "
                   "l.import_id <> ? AND d.superseded_by IS NULL AND "
                   "(SELECT source FROM import WHERE id = l.import_id) <> ?"));
    TRY_ASSIGN(s.price, db.prepare(insert_sql<PriceRow>("import_id") +
                                   replace_clause<PriceRow>("provider, instance_type, region, market, term, payment") +
                                   " WHERE excluded.as_of >= as_of"));
    TRY_ASSIGN(s.exchange_rate,
               db.prepare(insert_sql<ExchangeRate>("import_id") + replace_clause<ExchangeRate>("day, base, price_currency")));
    TRY_ASSIGN(s.tenant_rule, db.prepare(insert_sql<TenantRule>("import_id") + replace_clause<TenantRule>("pattern")));
    TRY_ASSIGN(s.rejection, db.prepare("INSERT INTO rejection (import_id, line, reason) VALUES (?, ?, ?)"));
    return s;
  }
};

class ImportTransaction final : public HistoryFile::Import {
 public:
  ImportTransaction(HistoryFile::Impl& impl, Statements statements, int64_t import_id, ImportRecord record,
                    DeliveryOptions delivery)
      : impl_(impl),
        sql_(std::move(statements)),
        import_id_(import_id),
        kept_columns_(std::move(sql_.kept_columns), import_id),
        record_(std::move(record)),
        deliveries_(import_id, record_.kind, record_.source, std::move(delivery)) {
    impl_.importing = true;
  }

  ~ImportTransaction() override {
    sql_ = {};
    if (!committed_ && impl_.database.in_transaction()) (void)impl_.database.execute("ROLLBACK").ok();
    impl_.importing = false;
  }

  SeriesId series(const SeriesKey& key) override {
    const auto [it, fresh] = ids_.try_emplace(key, static_cast<uint32_t>(series_.size()));
    if (fresh) {
      const Result<int64_t> stored = failure_.ok() ? resolve_series(key) : Result<int64_t>(failure_.error());
      if (!stored) note(stored.error());
      // Two keys may name one stored series (a device with and without its UUID): they share the open hour.
      const int64_t id = stored ? *stored : 0;
      const auto [same, first] = by_stored_id_.try_emplace(id, it->second);
      if (first) {
        series_.push_back({id, 0, {}});
        builder_.declare(it->second, key.metric);
      } else {
        it->second = same->second;
      }
    }
    return it->second;
  }

  void samples(SeriesId id, std::span<const Sample> samples) override { builder_.add(id, samples); }
  void stale(SeriesId id, Instant at) override { builder_.interrupt(id, at); }

  void node(const Node& node) override {
    if (!failure_.ok()) return;
    if (const auto id = upsert_node(node); !id) return note(id.error());
    for (const Interval when : node.absent)
      put(sql_.absence, NodeAbsence{node.name, when}, 1);
    for (const RatePoint& of : node.rates)
      put(sql_.rate, NodeRate{node.name, of}, 1);
    if (node.rate && node.rates.empty()) note(forget_rates(node.name));  // who says one rate means all times
    ++rows_;
  }

  void run(const Run& run) override {
    bind_two(sql_.run, origin());
    write(sql_.run, run, 3);
  }

  void run_owner(const RunOwner& owner) override {
    sql_.run_owner.bind(1, origin());
    put(sql_.run_owner, owner, 2);
  }

  void queue_record(const QueueRecord& record) override {
    sql_.queue_record.bind(1, origin());
    put(sql_.queue_record, record, 2);
  }

  void partition(const PartitionNode& partition) override { put(sql_.partition, partition, 1); }

  /// Equal lines within one import are separate lines. A part may repeat what another one said word for word: it is the same line.
  void bill_line(const BillLine& line) override {
    if (!failure_.ok()) return;
    const std::string digest = digest_of(line);
    if (deliveries_.options().as == DeliveryAs::kPart) {
      const auto known = is_known(digest);
      if (!known) return note(known.error());
      if (*known) {
        ++record_.duplicates;
        return;
      }
    }
    deliveries_.add(line);
    sql_.bill_line.bind(1, import_id_);
    sql_.bill_line.bind_blob(2, digest);
    const auto kept = std::ranges::find(line.tags, kSourceColumnsTag, &Tag::first);
    if (kept == line.tags.end()) return write(sql_.bill_line, line, 3);
    without_columns_ = line;
    without_columns_.tags.erase(without_columns_.tags.begin() + (kept - line.tags.begin()));
    write(sql_.bill_line, without_columns_, 3);
    if (failure_.ok()) note(kept_columns_.add(impl_.database.last_insert_id(), kept->second));
  }

  void begin_file(std::string_view name) override {
    file_ = name;
    deliveries_.begin_file(name);
  }

  void price(const PriceRow& price) override {
    sql_.price.bind(1, import_id_);
    write(sql_.price, price, 2);
  }

  void exchange_rate(const ExchangeRate& rate) override {
    sql_.exchange_rate.bind(1, import_id_);
    write(sql_.exchange_rate, rate, 2);
  }

  void tenant_rule(const TenantRule& rule) override {
    sql_.tenant_rule.bind(1, import_id_);
    write(sql_.tenant_rule, rule, 2);
  }

  void note(std::string_view text) override { notes_.emplace_back(text); }

  void reject(uint64_t line, std::string_view reason) override {
    const bool named = !file_.empty() && file_ != record_.source;
    if (first_rejections_.size() < kFirstRejections)
      first_rejections_.push_back({named ? file_ : record_.source, line, std::string(reason)});
    if (++record_.rejected > kRejectionsKept || !failure_.ok()) return;
    sql_.rejection.bind(1, import_id_);
    sql_.rejection.bind(2, static_cast<int64_t>(line));
    const std::string in_file = named ? fmt::format("{}: {}", file_, reason) : std::string();
    sql_.rejection.bind(3, named ? std::string_view(in_file) : reason);
    note(sql_.rejection.run());
  }

  Result<ImportRecord> commit(std::string_view fingerprint) override {
    CHECK(!committed_, "import of {} committed twice", record_.source);
    builder_.flush();
    write_open_days();
    TRY(failure_);
    TRY(kept_columns_.flush());
    TRY(deliveries_.settle(impl_.database));
    notes_.insert(notes_.end(), deliveries_.notes().begin(), deliveries_.notes().end());
    record_.fingerprint = fingerprint;
    record_.accepted = rows_ + builder_.accepted() - repeated_samples_ - misdated_samples_;
    record_.duplicates += builder_.duplicates() + repeated_samples_;
    TRY(write_record());
    sql_ = {};
    TRY(impl_.database.execute("COMMIT"));
    committed_ = true;
    // Best effort: the log folds into the file now rather than at the next import; readers may prevent it.
    (void)impl_.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").ok();
    return record_;
  }

  [[nodiscard]] ImportReach reach() const override {
    const auto is_device = [](const auto& entry) { return !entry.first.uuid.empty() || entry.first.index >= 0; };
    return {nodes_.size(), static_cast<uint64_t>(std::count_if(devices_.begin(), devices_.end(), is_device))};
  }
  [[nodiscard]] const std::vector<RejectedRow>& first_rejections() const override { return first_rejections_; }
  [[nodiscard]] const std::vector<std::string>& notes() const override { return notes_; }
  [[nodiscard]] const std::vector<ReplacedBill>& replaced_bills() const override { return deliveries_.replaced(); }

 private:
  struct OpenHour {
    int hour_of_day;
    Rollup rollup;
  };
  /// A series and the day of it that is being gathered.
  struct Series {
    int64_t stored_id;
    int64_t day;
    std::vector<OpenHour> hours;
  };

  void note(const Status& status) {
    if (!status.ok() && failure_.ok()) failure_ = status;
  }

  void bind_two(Statement& statement, std::string_view second) {
    statement.bind(1, import_id_);
    statement.bind(2, second);
  }

  /// Binds `row` from parameter `first` on and runs.
  template <typename T>
  void write(Statement& statement, const T& row, int first) {
    if (!failure_.ok()) return;
    put(statement, row, first);
    ++rows_;
  }

  /// The same for what comes with a row and is none itself.
  template <typename T>
  void put(Statement& statement, const T& row, int first) {
    if (!failure_.ok()) return;
    BindColumns<Statement> bind{statement, first};
    RowFields<T>::visit(bind, row);
    note(statement.run());
  }

  /// In force word for word, from another import.
  Result<bool> is_known(const std::string& digest) {
    sql_.find_bill_line.bind_blob(1, digest);
    sql_.find_bill_line.bind(2, import_id_);
    sql_.find_bill_line.bind(3, record_.source);
    const auto known = sql_.find_bill_line.step();
    sql_.find_bill_line.reset();
    return known;
  }

  /// Run ids are unique within it.
  [[nodiscard]] std::string_view origin() const {
    const ImportFormat* format = find_import_format(record_.kind);
    return format == nullptr || format->runs_as.empty() ? std::string_view(record_.kind) : format->runs_as;
  }

  /// The id in the first column of the first row, if there is one.
  static Result<std::optional<int64_t>> first_id(Statement& statement) {
    TRY_ASSIGN(const bool row, statement.step());
    const auto id = row ? std::optional(statement.integer(0)) : std::nullopt;
    statement.reset();
    return id;
  }

  Result<int64_t> upsert_node(const Node& node) {
    BindColumns<Statement> bind{sql_.node};
    RowFields<Node>::visit(bind, node);
    TRY_ASSIGN(const auto id, first_id(sql_.node));
    CHECK(id.has_value(), "node {} was neither added nor merged", node.name);
    nodes_[node.name] = *id;
    return *id;
  }

  Status forget_rates(const std::string& node) {
    sql_.forget_rates.bind(1, node);
    return sql_.forget_rates.run();
  }

  Result<int64_t> resolve_node(const std::string& name) {
    if (const auto it = nodes_.find(name); it != nodes_.end()) return it->second;
    Node node;
    node.name = name;
    return upsert_node(node);
  }

  Result<std::optional<int64_t>> find_device(int64_t node_id, const DeviceKey& key) {
    const auto by_index = [&](Statement& statement) {
      statement.bind(1, node_id);
      statement.bind(2, int64_t{key.index});
      statement.bind(3, int64_t{key.mig_instance});
      return first_id(statement);
    };
    if (key.uuid.empty()) {
      // Without a UUID the newest card in that place is meant; without a place either, the machine itself.
      return by_index(key.index < 0 ? sql_.find_device_without_uuid : sql_.find_device_by_index);
    }
    sql_.find_device.bind(1, node_id);
    sql_.find_device.bind(2, key.uuid);
    sql_.find_device.bind(3, int64_t{key.mig_instance});
    TRY_ASSIGN(const auto named, first_id(sql_.find_device));
    if (named || key.index < 0) return named;
    // Another source knew the place only: the UUID belongs to it.
    return by_index(sql_.find_device_without_uuid);
  }

  Result<int64_t> resolve_device(const DeviceKey& key) {
    if (const auto it = devices_.find(key); it != devices_.end()) return it->second;
    TRY_ASSIGN(const int64_t node_id, resolve_node(key.node));
    TRY_ASSIGN(const auto found, find_device(node_id, key));
    Statement& write = found ? sql_.complete_device : sql_.add_device;
    write.bind(1, found ? *found : node_id);
    write.bind(2, key.uuid);
    write.bind(3, int64_t{key.index});
    write.bind(4, key.model);
    write.bind(5, key.mig_profile);
    if (!found) write.bind(6, int64_t{key.mig_instance});
    TRY(write.run());
    return devices_[key] = found ? *found : impl_.database.last_insert_id();
  }

  Result<int64_t> resolve_holder(const Holder& holder) {
    if (holder.empty()) return kNoHolder;
    if (const auto it = holders_.find(holder); it != holders_.end()) return it->second;
    BindColumns<Statement> bind_find{sql_.find_holder};
    RowFields<Holder>::visit(bind_find, holder);
    TRY_ASSIGN(const auto found, first_id(sql_.find_holder));
    if (found) return holders_[holder] = *found;
    BindColumns<Statement> bind_add{sql_.add_holder};
    RowFields<Holder>::visit(bind_add, holder);
    TRY(sql_.add_holder.run());
    return holders_[holder] = impl_.database.last_insert_id();
  }

  Result<int64_t> resolve_series(const SeriesKey& key) {
    TRY_ASSIGN(const int64_t device_id, resolve_device(key.device));
    TRY_ASSIGN(const int64_t holder_id, resolve_holder(key.holder));
    const auto bind = [&](Statement& statement) {
      statement.bind(1, device_id);
      statement.bind(2, holder_id);
      statement.bind(3, static_cast<int64_t>(key.metric));
    };
    bind(sql_.find_series);
    TRY_ASSIGN(const auto found, first_id(sql_.find_series));
    if (found) return *found;
    bind(sql_.add_series);
    TRY(sql_.add_series.run());
    return impl_.database.last_insert_id();
  }

  void on_hour(SeriesId id, int64_t hour_index, const Rollup& rollup) {
    if (!failure_.ok()) return;
    const int64_t day = hour_index >= 0 ? hour_index / 24 : -1;
    if (day < 0 || day > kLastDay) {
      misdated_samples_ += rollup.count;
      reject(0, fmt::format("{} dated {}: correct the clock of the source", counted(rollup.count, "sample"),
                            format_utc(rollup.first)));
      record_.rejected += rollup.count - 1;
      return;
    }
    Series& series = series_[id.index()];
    if (!series.hours.empty() && series.day != day) write_day(series);
    series.day = day;
    series.hours.push_back({static_cast<int>(hour_index % 24), rollup});
    if (++open_hours_ > kMaxOpenHours) write_open_days();
  }

  void write_open_days() {
    for (Series& series : series_)
      if (!series.hours.empty()) write_day(series);
  }

  /// Joins what is gathered of a day with what is stored of it.
  void write_day(Series& series) {
    open_hours_ -= series.hours.size();
    if (failure_.ok()) note(merge_day(series));
    series.hours.clear();
    series.hours.shrink_to_fit();
  }

  Status merge_day(Series& series) {
    const int64_t key = rollup_key(series.day, series.stored_id);
    sql_.read_day.bind(1, key);
    TRY_ASSIGN(const bool stored, sql_.read_day.step());
    RollupDay day;
    day.day_index = series.day;
    if (stored) {
      auto decoded = decode_rollup_day(series.day, sql_.read_day.bytes(0));
      if (!decoded.ok()) {
        sql_.read_day.reset();
        return make_error(decoded.error().code, "{}: {}", impl_.database.path(), decoded.error().message);
      }
      day = std::move(decoded).value();
    }
    sql_.read_day.reset();
    for (const OpenHour& open : series.hours)
      join(day.hours[static_cast<size_t>(open.hour_of_day)], open.rollup);
    const auto [first, last] =
        std::minmax_element(series.hours.begin(), series.hours.end(),
                            [](const OpenHour& a, const OpenHour& b) { return a.hour_of_day < b.hour_of_day; });
    first_hour_ = std::min(first_hour_, series.day * 24 + first->hour_of_day);
    last_hour_ = std::max(last_hour_, series.day * 24 + last->hour_of_day);

    const std::string bytes = encode(day);
    sql_.write_day.bind(1, key);
    sql_.write_day.bind_blob(2, bytes);
    TRY(sql_.write_day.run());
    if (!stored) ++rollup_days_;
    return {};
  }

  void join(std::optional<Rollup>& hour, const Rollup& more) {
    if (!hour) {
      hour = more;
      return;
    }
    const uint32_t before = hour->count;
    hour->merge(more);
    // The stored hour covers more and stays: these samples tell nothing new.
    if (hour->count == before) repeated_samples_ += more.count;
  }

  Status write_record() {
    TRY_ASSIGN(
        Statement statement,
        impl_.database.prepare("UPDATE import SET fingerprint = ?, accepted = ?, rejected = ?, duplicates = ?, rollup_days = ?, "
                               "telemetry_begin = ?, telemetry_end = ? WHERE id = ?"));
    statement.bind(1, record_.fingerprint);
    statement.bind(2, static_cast<int64_t>(record_.accepted));
    statement.bind(3, static_cast<int64_t>(record_.rejected));
    statement.bind(4, static_cast<int64_t>(record_.duplicates));
    statement.bind(5, rollup_days_);
    if (first_hour_ <= last_hour_) {
      statement.bind(6, Instant::from_hour_index(first_hour_).ns());
      statement.bind(7, Instant::from_hour_index(last_hour_ + 1).ns());
    }
    statement.bind(8, import_id_);
    Status written = statement.run();
    if (!written.ok() && written.error().code == ErrorCode::kConflict)
      return make_error(ErrorCode::kConflict, "{}: the same bytes were imported in the meantime: nothing to do", record_.source);
    return written;
  }

  HistoryFile::Impl& impl_;
  Statements sql_;
  const int64_t import_id_;
  KeptColumnsWriter kept_columns_;
  BillLine without_columns_;  ///< here for its memory: see bill_line()
  ImportRecord record_;
  DeliveryBook deliveries_;
  std::string file_;  ///< of several, the one that rows come from now
  Status failure_;    ///< the first error of the database; nothing is written after it
  bool committed_ = false;

  std::map<std::string, int64_t> nodes_;
  std::map<DeviceKey, int64_t> devices_;
  std::map<Holder, int64_t> holders_;
  std::map<SeriesKey, SeriesId> ids_;
  std::map<int64_t, SeriesId> by_stored_id_;
  std::vector<Series> series_;  ///< by SeriesId
  RollupBuilder builder_{[this](SeriesId id, int64_t hour, const Rollup& rollup) { on_hour(id, hour, rollup); }};
  size_t open_hours_ = 0;

  std::vector<RejectedRow> first_rejections_;
  std::vector<std::string> notes_;
  uint64_t rows_ = 0;
  uint64_t repeated_samples_ = 0;
  uint64_t misdated_samples_ = 0;
  int64_t rollup_days_ = 0;
  int64_t first_hour_ = INT64_MAX;
  int64_t last_hour_ = INT64_MIN;
};

/// The row that everything imported refers to; write_record() completes it.
Result<int64_t> add_import_row(Database& database, const ImportRecord& record) {
  TRY_ASSIGN(Statement statement,
             database.prepare("INSERT INTO import (kind, source, fingerprint, imported_at, accepted, rejected, "
                              "duplicates, rollup_days) VALUES (?, ?, '', ?, 0, 0, 0, 0)"));
  statement.bind(1, record.kind);
  statement.bind(2, record.source);
  statement.bind(3, record.imported_at.ns());
  TRY(statement.run());
  return database.last_insert_id();
}

}  // namespace

Result<std::unique_ptr<HistoryFile::Import>> make_import(HistoryFile::Impl& impl, std::string_view kind, std::string_view source,
                                                         Instant now, DeliveryOptions delivery) {
  TRY_ASSIGN(Statements statements, Statements::prepare(impl.database));
  // Takes the right to write at once, so that a second importer waits here and not after its work.
  TRY(impl.database.execute("BEGIN IMMEDIATE"));
  ImportRecord record{.kind = std::string(kind), .source = std::string(source), .fingerprint = {}, .imported_at = now};
  const auto id = add_import_row(impl.database, record);
  if (!id) {
    (void)impl.database.execute("ROLLBACK").ok();
    return id.error();
  }
  return std::unique_ptr<HistoryFile::Import>(
      std::make_unique<ImportTransaction>(impl, std::move(statements), *id, std::move(record), std::move(delivery)));
}

}  // namespace stint
