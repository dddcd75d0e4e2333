#include "backends/supervise/object_copies.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "backends/supervise/copy_record.h"
#include "backends/system_error.h"
#include "base/utf8.h"
#include "clouds/object_transfer.h"
#include "host/clock.h"
#include "host/secret.h"
#include "host/sha256.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

/// Restoring looks at the newest few.
constexpr size_t kMostLookedAt = 20;
constexpr int kClaimRounds = 20;
constexpr int kStreams = 4;
constexpr size_t kWriterBytes = 6, kDigestInKey = 16;
/// Of a request: a copy that fails is tried again as a whole, from where it was.
constexpr int kTries = 6;
/// What others have not finished for so long, by the store's clock, is left over.
constexpr Duration kLeftOverAfter = Duration::hours(24);

std::string host_name() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// What makes a bucket or container, by its provider's own tool. @param name  as ObjectStore::name() tells it.
std::string command_that_makes(const std::string& name) {
  if (name.starts_with("gs://")) return fmt::format("`gcloud storage buckets create {}`", name);
  if (name.starts_with("az://")) return "`az storage container create`";
  return fmt::format("`aws s3 mb {}`", name);
}

bool is_damage(const Error& error) { return error.code == ErrorCode::kInvalidInput || error.code == ErrorCode::kNotFound; }

/// `data/WRITER-DIGEST/` of a key below it; "" = it lies elsewhere.
std::string data_of(std::string_view key) {
  constexpr std::string_view kData = "data/";
  if (!key.starts_with(kData)) return "";
  const size_t slash = key.find('/', kData.size());
  return slash == std::string_view::npos ? "" : std::string(key.substr(0, slash + 1));
}

/// Runs `work(i)` for each i below `count` on a few threads; the first error ends it.
Status for_each_of(size_t count, size_t workers, const std::function<Status(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  Status result;
  const auto go_on = [&] {
    for (size_t i = next++; i < count; i = next++)
      if (const Status done = work(i); !done.ok()) {
        const std::scoped_lock lock(mutex);
        if (result.ok()) result = done;
        next = count;
      }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(workers, count); ++i)
    threads.emplace_back(go_on);
  go_on();
  for (std::thread& thread : threads)
    thread.join();
  return result;
}

/// Large files fill the way with their parts, one after another; small ones go side by side.
Status for_each_file(const std::vector<CopiedFile>& files, size_t side_by_side,
                     const std::function<Status(const CopiedFile&)>& work) {
  std::vector<const CopiedFile*> small;
  for (const CopiedFile& f : files)
    if (f.file.size.count() <= TransferOptions().part_bytes)
      small.push_back(&f);
    else
      TRY(work(f));
  return for_each_of(small.size(), side_by_side, [&](size_t i) { return work(*small[i]); });
}

class ObjectCopies final : public CheckpointCopies {
 public:
  ObjectCopies(const CopyTarget& target, const Hold& hold, OpenStore open, std::unique_ptr<ObjectStore> store, std::string prefix)
      : target_(target), open_(std::move(open)), store_(std::move(store)), prefix_(std::move(prefix)) {
    hold_ = hold;
    if (hold_.position.writer.empty() || hold_.position.to != target.to)
      hold_.position = {.to = target.to, .writer = random_hex(kWriterBytes)};
  }

  Result<StoredCheckpoints> list() override {
    // Claimed first, so that no other run adds to what is read.
    if (!hold_.claimed) TRY(claim(Claim::kTakeOver));
    StoredCheckpoints stored;
    TRY_ASSIGN(std::vector<int64_t> numbers, record_numbers());
    // What another run wrote since belongs to it.
    std::erase_if(numbers, [&](int64_t n) { return n > hold_.position.last; });
    std::set<std::string> whole;
    Instant newest_record;
    for (auto it = numbers.rbegin(); it != numbers.rend() && stored.found.size() < kMostLookedAt; ++it) {
      const auto record = read_record(*it);
      if (!record.ok() && !is_damage(record.error())) return record.error();
      if (!record.ok()) {
        stored.anything = true;
        stored.passed_over.emplace_back(key_of_record(*it), record.error().message);
      } else if (record->kind == CopyRecord::Kind::kCheckpoint) {
        if (stored.found.empty()) stored.state = record->state;
        whole.insert(record->data);
        stored.digests.push_back(record->digest);
        stored.found.push_back({.checkpoint = record->checkpoint(), .place = std::to_string(*it)});
      }
    }
    stored.anything |= !stored.found.empty();
    order_by_number(stored.found);
    add_half_uploaded(whole, stored);
    hold_.unread = false;
    return stored;
  }

  Result<std::string> fetch(const StoredCheckpoint& stored, const std::string& expected, const std::string& folder) override {
    TRY_ASSIGN(const CopyRecord record, read_record(std::stoll(stored.place)));
    if (!expected.empty() && record.digest != expected)
      return invalid("{}{}: its bytes are not those that were proven good", where(), record.name);
    const std::string draft = draft_of(folder, record.name);
    std::error_code failed;
    fs::remove_all(draft, failed);
    for (const CopiedFile& f : record.files)
      fs::create_directories(fs::path(draft + "/" + f.file.name).parent_path(), failed);
    Status done = for_each_file(record.files, kStreams, [&](const CopiedFile& f) { return fetch_one(record, f, draft); });
    if (done.ok()) done = install_draft(folder, record.checkpoint());
    if (done.ok()) return record.digest;
    fs::remove_all(draft, failed);
    return done.error();
  }

  Result<int64_t> copy(const std::string& folder, const Checkpoint& checkpoint, const std::string& digest,
                       const SupervisorState& then, const CopyOptions& options) override {
    // One that did not read what is there must not hide it.
    if (!hold_.claimed) TRY(claim(Claim::kIfNothingIsNew));
    if (hold_.unread) return lose(Claim::kIfNothingIsNew);
    TRY(check_still_ours());
    std::unique_ptr<ObjectStore> paced;
    if (options.bytes_per_second > 0) {
      TRY_ASSIGN(paced, open_(store_options(options.bytes_per_second)));
    }
    TRY_ASSIGN(CopyRecord record, record_of(folder, checkpoint, digest));
    TRY_ASSIGN(const int64_t sent, send_files(paced ? *paced : *store_, folder, record, options));
    SupervisorState state = then;
    state.copies = {};
    record.state = to_json(state);
    const int64_t claimed = hold_.position.last;
    record.number = claimed + 1;
    TRY_ASSIGN(const bool won, write_record(record));
    if (!won) return lose();
    hold_.position.last = record.number;
    TRY(check_still_ours());
    tidy(record);
    return sent;
  }

  [[nodiscard]] bool is_hopeless(const Error& error) const override {
    if (is_damage(error)) return true;
    const CloudFailure why = store_->last_failure();
    return why == CloudFailure::kCredential || why == CloudFailure::kForbidden || why == CloudFailure::kPlace;
  }

 private:
  [[nodiscard]] std::string where() const { return store_->name() + prefix_; }
  [[nodiscard]] std::string key(const std::string& rest) const { return prefix_ + rest; }
  [[nodiscard]] ObjectStoreOptions store_options(int64_t bytes_per_second) const {
    return {.send_bytes_per_second = bytes_per_second, .encryption_key = target_.encryption_key, .tries = kTries};
  }

  // ---- records ------------------------------------------------------------------------------------------------------

  /// Ascending.
  Result<std::vector<int64_t>> record_numbers() {
    auto listed = store_->list(key("log/"));
    if (!listed.ok()) return with_remedy(listed.error());
    std::vector<int64_t> numbers;
    for (const ObjectInfo& info : *listed)
      if (const int64_t n = number_of_record(std::string_view(info.key).substr(prefix_.size())); n > 0) numbers.push_back(n);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  [[nodiscard]] Error with_remedy(Error error) const {
    // An empty listing is no error: what is not there is the bucket or container. Credentials that are nowhere are another matter.
    if (error.code == ErrorCode::kNotFound && store_->last_failure() == CloudFailure::kNotFound)
      error.message +=
          fmt::format(": make the {} first ({}), or correct --sync-to",
                      store_->name().starts_with("az://") ? "container" : "bucket", command_that_makes(store_->name()));
    return error;
  }

  Result<CopyRecord> read_record(int64_t number) {
    TRY_ASSIGN(const std::string text, store_->get(key(key_of_record(number))));
    TRY_ASSIGN(CopyRecord record, parse_copy_record(text, where() + key_of_record(number)));
    if (record.number != number) return invalid("{}{}: is another's record", where(), key_of_record(number));
    return record;
  }

  [[nodiscard]] CopyRecord new_record(CopyRecord::Kind kind) const {
    CopyRecord record;
    record.kind = kind;
    record.writer = hold_.position.writer;
    record.run = hold_.run;
    record.host = host_name();
    record.at = now();
    return record;
  }

  /// @return whether it is there now; false = another has the number.
  Result<bool> write_record(const CopyRecord& record) {
    const std::string text = to_json(record), at = key(key_of_record(record.number));
    const Status put = store_->put(at, text, {.if_there = IfThere::kRefuse});
    if (put.ok()) return true;
    if (put.error().code != ErrorCode::kConflict) return with_remedy(put.error());
    // The answer to an earlier try may have been lost.
    const auto there = store_->get(at);
    if (!there.ok() && there.error().code == ErrorCode::kNotFound) return false;
    if (!there.ok()) return there.error();
    return *there == text;
  }

  // ---- whose place it is --------------------------------------------------------------------------------------------

  enum class Claim : uint8_t {
    kTakeOver,        ///< what is there will be read
    kIfNothingIsNew,  ///< it was not read
  };

  Status claim(Claim how) {
    for (int round = 0; round < kClaimRounds; ++round) {
      TRY_ASSIGN(const std::vector<int64_t> numbers, record_numbers());
      const int64_t newest = numbers.empty() ? 0 : numbers.back();
      if (how == Claim::kIfNothingIsNew && newest > hold_.position.last) {
        TRY_ASSIGN(hold_.claimed, is_of_this_run(newest));
        if (!hold_.claimed) return lose(how);
        hold_.position.last = newest;
        return {};
      }
      CopyRecord record = new_record(CopyRecord::Kind::kClaim);
      record.number = newest + 1;
      TRY_ASSIGN(const bool won, write_record(record));
      if (!won) continue;
      hold_.claimed = true;
      hold_.unread = newest > hold_.position.last;
      hold_.position.last = record.number;
      if (store_->put(key(key_of_record(record.number)), to_json(record), {.if_there = IfThere::kRefuse}).ok())
        notes_.push_back(
            fmt::format("{}: does not heed `If-None-Match`: nothing here keeps two runs from copying over each other", where()));
      return {};
    }
    return make_error(ErrorCode::kUnavailable, "{}: others claim it all the time", where());
  }

  Status check_still_ours() {
    TRY_ASSIGN(const std::vector<int64_t> numbers, record_numbers());
    if (numbers.empty() || numbers.back() <= hold_.position.last) return {};
    TRY_ASSIGN(const bool ours, is_of_this_run(numbers.back()));
    if (!ours) return lose();
    hold_.position.last = numbers.back();
    return {};
  }

  /// A worker that was killed, or got no answer, may have written a record and not told it.
  Result<bool> is_of_this_run(int64_t number) {
    const auto record = read_record(number);
    if (record.ok()) return record->run == hold_.run && record->writer == hold_.position.writer;
    return is_damage(record.error()) ? Result<bool>(false) : Result<bool>(record.error());
  }

  Error lose(Claim how = Claim::kTakeOver) {
    hold_.lost = true;
    std::string who = how == Claim::kTakeOver ? "another stint run" : "what a stint run saved that this one does not go on from";
    if (const auto numbers = record_numbers(); numbers.ok() && !numbers->empty())
      if (const auto newest = read_record(numbers->back()); newest.ok())
        who += fmt::format(" (on {}, since {})", newest->host.empty() ? "a machine without a name" : newest->host,
                           format_utc(newest->at));
    return make_error(ErrorCode::kConflict,
                      "{}: {} {}: nothing more is copied there from here. End one of the two, or give each its own "
                      "--sync-to",
                      where(), who, how == Claim::kTakeOver ? "has this place" : "is there");
  }

  // ---- up -----------------------------------------------------------------------------------------------------------

  Result<CopyRecord> record_of(const std::string& folder, const Checkpoint& checkpoint, const std::string& digest) const {
    CopyRecord record = new_record(CopyRecord::Kind::kCheckpoint);
    record.name = checkpoint.name;
    record.digest = digest;
    record.data = fmt::format("data/{}-{}/", record.writer, digest.substr(0, kDigestInKey));
    record.is_folder = checkpoint.is_folder;
    record.has_list = checkpoint.has_list;
    std::map<std::string, std::string> hashes;
    for (const CheckpointFile& file : checkpoint.files) {
      if (!is_utf8(file.name)) return invalid("{}/{}: its name is not UTF-8: rename it", folder, file.name);
      const std::string path = folder + "/" + file.name;
      struct stat status = {};
      if (::stat(path.c_str(), &status) != 0) return system_error(path, "cannot be read");
      TRY_ASSIGN(std::string sha256, sha256_of_file(path));
      hashes[file.name] = sha256;
      record.files.push_back({.file = file, .sha256 = std::move(sha256), .mode = status.st_mode & 0777U});
    }
    if (digest_of_hashes(hashes) != digest) return invalid("{}/{}: changed while it was copied", folder, checkpoint.name);
    return record;
  }

  /// What is there whole is not sent again. @return bytes that were sent.
  Result<int64_t> send_files(ObjectStore& store, const std::string& folder, const CopyRecord& record,
                             const CopyOptions& options) const {
    const bool bound = options.bytes_per_second > 0;
    const TransferOptions transfer{.streams = bound ? 1 : kStreams};
    std::atomic<int64_t> sent = 0;
    const auto began = std::chrono::steady_clock::now();
    const auto send_one = [&](const CopiedFile& f) -> Status {
      const std::string at = key(record.data + f.file.name);
      if (const auto there = store.head(at); there.ok() && there->sha256 == f.sha256 && there->size == f.file.size.count())
        return {};
      TRY(send_file(store, folder + "/" + f.file.name, at, {.size = f.file.size.count(), .sha256 = f.sha256}, IfThere::kReplace,
                    transfer));
      sent += f.file.size.count();
      if (!bound) return {};
      const Duration due = Duration::from_seconds(static_cast<double>(sent) / static_cast<double>(options.bytes_per_second));
      const Duration taken = Duration::nanoseconds(std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count());
      if (due > taken) options.sleep(due - taken);
      return {};
    };
    TRY(for_each_file(record.files, bound ? 1 : kStreams, send_one));
    return sent.load();
  }

  // ---- down ---------------------------------------------------------------------------------------------------------

  Status fetch_one(const CopyRecord& record, const CopiedFile& f, const std::string& draft) const {
    const std::string path = draft + "/" + f.file.name;
    TRY(fetch_file(*store_, key(record.data + f.file.name), path, {.size = f.file.size.count(), .sha256 = f.sha256}));
    const int64_t ns = f.file.modified.ns();
    const int64_t whole = ns / 1'000'000'000 - (ns % 1'000'000'000 < 0 ? 1 : 0);
    const timespec time = {.tv_sec = whole, .tv_nsec = ns - whole * 1'000'000'000};
    const std::array<timespec, 2> times = {time, time};
    if (::chmod(path.c_str(), f.mode) != 0 || ::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) != 0)
      return system_error(path, "cannot be written");
    return {};
  }

  /// A later record is of later work, whatever the clocks of the machines said.
  static void order_by_number(std::vector<StoredCheckpoint>& newest_first) {
    Instant latest;
    for (auto it = newest_first.rbegin(); it != newest_first.rend(); ++it)
      it->newness = latest = std::max(latest, it->checkpoint.modified);
  }

  /// What came after the newest record and no record names.
  void add_half_uploaded(const std::set<std::string>& whole, StoredCheckpoints& to) {
    if (to.found.empty() && !to.passed_over.empty()) return;
    Instant since;
    if (!to.found.empty()) {
      const auto record = store_->head(key(key_of_record(std::stoll(to.found.front().place))));
      if (!record.ok()) return;
      since = record->modified;
    }
    std::set<std::string> told;
    const auto look_at = [&](std::string_view full) {
      const std::string_view rest = full.substr(prefix_.size());
      const std::string data = data_of(rest);
      if (data.empty() || whole.contains(data) || !told.insert(data).second) return;
      const std::string_view file = rest.substr(data.size());
      to.passed_over.emplace_back(std::string(file.substr(0, file.find('/'))),
                                  fmt::format("its upload to {} did not come to its end", where()));
    };
    if (const auto objects = store_->list(key("data/")); objects.ok())
      for (const ObjectInfo& info : *objects)
        if (info.modified >= since) look_at(info.key);
    if (const auto uploads = store_->unfinished_uploads(key("data/")); uploads.ok())
      for (const UnfinishedUpload& upload : *uploads)
        look_at(upload.key);
  }

  // ---- taking away --------------------------------------------------------------------------------------------------

  /// After a record of ours: the place is ours, and nothing of ours is on its way. What cannot be taken away now is later.
  void tidy(const CopyRecord& newest) {
    if (const auto uploads = store_->unfinished_uploads(key(fmt::format("data/{}-", newest.writer))); uploads.ok())
      for (const UnfinishedUpload& upload : *uploads)
        store_->abort_upload(upload.key, upload.id);
    const auto numbers = record_numbers();
    if (!numbers.ok()) return;
    std::set<std::string> kept = {newest.data};
    std::vector<int64_t> old;
    std::set<std::string> dropped;
    size_t checkpoints = 1;
    for (auto it = numbers->rbegin(); it != numbers->rend(); ++it) {
      if (*it >= newest.number) continue;
      // All are kept: only the claim that this record follows on is of no use any more.
      if (target_.keep == 0 && *it != newest.number - 1) break;
      const auto record = read_record(*it);
      if (!record.ok()) return;
      if (record->kind == CopyRecord::Kind::kClaim) {
        old.push_back(*it);
      } else if (target_.keep == 0 || checkpoints < static_cast<size_t>(target_.keep)) {
        ++checkpoints;
        kept.insert(record->data);
      } else {
        old.push_back(*it);
        dropped.insert(record->data);
      }
    }
    // Records first: none may name what is gone.
    for (const int64_t number : old)
      if (!store_->remove(key(key_of_record(number))).ok()) return;
    if (target_.keep > 0) remove_unnamed(kept, dropped, newest.writer);
  }

  void remove_unnamed(const std::set<std::string>& kept, const std::set<std::string>& dropped, const std::string& writer) {
    const auto objects = store_->list(key("data/"));
    if (!objects.ok()) return;
    Instant newest;
    for (const ObjectInfo& info : *objects)
      newest = std::max(newest, info.modified);
    const std::string ours = fmt::format("data/{}-", writer);
    for (const ObjectInfo& info : *objects) {
      const std::string data = data_of(std::string_view(info.key).substr(prefix_.size()));
      if (data.empty() || kept.contains(data)) continue;
      if (data.starts_with(ours) || dropped.contains(data) || newest - info.modified > kLeftOverAfter)
        (void)store_->remove(info.key);
    }
  }

  CopyTarget target_;
  OpenStore open_;
  std::unique_ptr<ObjectStore> store_;
  std::string prefix_;
};

}  // namespace

Result<std::unique_ptr<CheckpointCopies>> open_object_copies(const CopyTarget& target, const CheckpointCopies::Hold& hold) {
  TRY_ASSIGN(const ObjectUrl url, parse_object_url(target.to));
  return open_object_copies(target, hold, [url](const ObjectStoreOptions& options) { return open_object_store(url, options); });
}

Result<std::unique_ptr<CheckpointCopies>> open_object_copies(const CopyTarget& target, const CheckpointCopies::Hold& hold,
                                                             OpenStore open) {
  TRY_ASSIGN(const ObjectUrl url, parse_object_url(target.to));
  TRY_ASSIGN(auto store, open({.encryption_key = target.encryption_key, .tries = kTries}));
  std::string prefix = url.key;
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  return std::unique_ptr<CheckpointCopies>(
      std::make_unique<ObjectCopies>(target, hold, std::move(open), std::move(store), std::move(prefix)));
}

}  // namespace stint
