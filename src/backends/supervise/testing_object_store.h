// An object store in memory, which several clients share; what a test wants to go wrong, does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "clouds/object_store.h"
#include "host/sha256.h"

namespace stint {

struct TestingBucket {
  struct Object {
    std::string bytes, sha256;
    Instant modified;
  };
  std::mutex mutex;
  std::map<std::string, Object> objects;
  std::map<std::string, std::map<int, std::string>> uploads;  ///< parts by the key that they are for
  Instant time = Instant::from_ns(1'700'000'000'000'000'000);
  bool heeds_conditions = true;
  int answers_lost = 0;  ///< so many conditional writes are done, and their repetition is what answers
  int64_t bytes_taken = 0;
  CloudFailure last_failure = CloudFailure::kServer;
  /// Called before an object or a part is stored; an error is the answer, and nothing is stored. May use the bucket.
  std::function<Status(const std::string& key)> before_put;
  /// The same before anything is read or listed.
  std::function<Status(const std::string& key)> before_get;

  [[nodiscard]] std::vector<std::string> keys(const std::string& prefix) {
    std::vector<std::string> found;
    for (const auto& [key, object] : objects)
      if (key.starts_with(prefix)) found.push_back(key);
    return found;
  }
};

class TestingObjectStore final : public ObjectStore {
 public:
  explicit TestingObjectStore(TestingBucket& bucket) : bucket_(bucket) {}

  [[nodiscard]] std::string name() const override { return "s3://bucket/"; }
  [[nodiscard]] CloudFailure last_failure() const override { return bucket_.last_failure; }
  Status put(const std::string& key, std::string bytes, const PutOptions& options) override {
    if (bucket_.before_put) TRY(bucket_.before_put(key));
    const std::scoped_lock lock(bucket_.mutex);
    return store(key, std::move(bytes), options);
  }
  Result<std::string> get(const std::string& key, int64_t offset, int64_t length) override {
    if (bucket_.before_get) TRY(bucket_.before_get(key));
    const std::scoped_lock lock(bucket_.mutex);
    const auto found = bucket_.objects.find(key);
    if (found == bucket_.objects.end()) return none(key);
    const std::string& bytes = found->second.bytes;
    if (offset >= static_cast<int64_t>(bytes.size())) return std::string();
    return bytes.substr(static_cast<size_t>(offset), length < 0 ? std::string::npos : static_cast<size_t>(length));
  }
  Result<std::string> link(const std::string& key, Duration) override { return "http://127.0.0.1/" + key; }
  Result<ObjectInfo> head(const std::string& key) override {
    const std::scoped_lock lock(bucket_.mutex);
    const auto found = bucket_.objects.find(key);
    if (found == bucket_.objects.end()) return none(key);
    return info_of(key, found->second, found->second.sha256);
  }
  Result<std::vector<ObjectInfo>> list(const std::string& prefix) override {
    if (bucket_.before_get) TRY(bucket_.before_get(prefix));
    const std::scoped_lock lock(bucket_.mutex);
    std::vector<ObjectInfo> all;
    for (const auto& [key, object] : bucket_.objects)
      if (key.starts_with(prefix)) all.push_back(info_of(key, object, ""));
    return all;
  }
  Status remove(const std::string& key) override {
    const std::scoped_lock lock(bucket_.mutex);
    bucket_.objects.erase(key);
    return {};
  }
  [[nodiscard]] Parts parts() const override { return Parts::kInAnyOrder; }
  Result<std::string> begin_upload(const std::string& key, const PutOptions&) override {
    const std::scoped_lock lock(bucket_.mutex);
    bucket_.uploads.try_emplace(key);
    return key;
  }
  Result<std::vector<ObjectPart>> parts_of(const std::string& key, const std::string&) override {
    const std::scoped_lock lock(bucket_.mutex);
    std::vector<ObjectPart> held;
    for (const auto& [number, bytes] : bucket_.uploads[key])
      held.push_back({.number = number,
                      .size = static_cast<int64_t>(bytes.size()),
                      .tag = digest_of_part(bytes),
                      .digest = digest_of_part(bytes)});
    return held;
  }
  [[nodiscard]] std::string digest_of_part(std::string_view bytes) const override {
    Sha256 hash;
    hash.update(bytes);
    return hash.digest();
  }
  Result<ObjectPart> put_part(const std::string& key, const std::string&, PartPlace place, std::string bytes) override {
    if (bucket_.before_put) TRY(bucket_.before_put(key));
    const std::scoped_lock lock(bucket_.mutex);
    ObjectPart part{
        .number = place.number, .size = static_cast<int64_t>(bytes.size()), .tag = digest_of_part(bytes), .digest = ""};
    bucket_.bytes_taken += part.size;
    bucket_.uploads[key][place.number] = std::move(bytes);
    return part;
  }
  Status complete_upload(const std::string& key, const std::string&, const std::vector<ObjectPart>&,
                         const PutOptions& options) override {
    const std::scoped_lock lock(bucket_.mutex);
    std::string all;
    for (const auto& [number, bytes] : bucket_.uploads[key])
      all += bytes;
    bucket_.bytes_taken -= static_cast<int64_t>(all.size());  // counted by its parts
    TRY(store(key, std::move(all), options));
    bucket_.uploads.erase(key);
    return {};
  }
  void abort_upload(const std::string& key, const std::string&) override {
    const std::scoped_lock lock(bucket_.mutex);
    bucket_.uploads.erase(key);
  }
  Result<std::vector<UnfinishedUpload>> unfinished_uploads(const std::string& prefix) override {
    const std::scoped_lock lock(bucket_.mutex);
    std::vector<UnfinishedUpload> all;
    for (const auto& [key, parts] : bucket_.uploads)
      if (key.starts_with(prefix)) all.push_back({.key = key, .id = key});
    return all;
  }

 private:
  [[nodiscard]] static Error none(const std::string& key) { return make_error(ErrorCode::kNotFound, "{}: no such thing", key); }
  [[nodiscard]] static ObjectInfo info_of(const std::string& key, const TestingBucket::Object& object,
                                          const std::string& sha256) {
    return {
        .key = key, .size = static_cast<int64_t>(object.bytes.size()), .modified = object.modified, .sha256 = sha256, .tag = ""};
  }
  Status store(const std::string& key, std::string bytes, const PutOptions& options) {
    if (options.if_there == IfThere::kRefuse && bucket_.heeds_conditions && bucket_.objects.contains(key))
      return make_error(ErrorCode::kConflict, "{}: it is there already", key);
    bucket_.bytes_taken += static_cast<int64_t>(bytes.size());
    bucket_.time = bucket_.time + Duration::seconds(1);
    bucket_.objects[key] = {.bytes = std::move(bytes), .sha256 = options.sha256, .modified = bucket_.time};
    if (options.if_there == IfThere::kRefuse && bucket_.answers_lost > 0 && bucket_.answers_lost-- > 0)
      return make_error(ErrorCode::kConflict, "{}: it is there already", key);
    return {};
  }

  TestingBucket& bucket_;
};

}  // namespace stint
