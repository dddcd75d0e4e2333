// Addresses of objects: `s3://bucket/key`, `gs://bucket/key`, `az://account/container/key`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

enum class CloudProvider : uint8_t { kAws, kGoogle, kAzure };

struct ObjectUrl {
  CloudProvider provider = CloudProvider::kAws;
  std::string account;  ///< Azure alone
  std::string bucket;   ///< or container
  std::string key;      ///< of an object or, with or without a slash at its end, of a folder; may be empty

  /// `s3://bucket/`: what a key is put behind.
  [[nodiscard]] std::string base() const;
  [[nodiscard]] std::string text() const { return base() + key; }
};

/// Does it begin with s3://, gs:// or az://?
bool is_object_url(std::string_view text);
/// @return kInvalidInput naming what is missing or not allowed: names of buckets, accounts and containers, `.` and `..` in keys.
Result<ObjectUrl> parse_object_url(std::string_view text);

}  // namespace stint
