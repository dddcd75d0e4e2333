// SHA-256 of files and of bytes that come in pieces. For one text in memory: sha256_hex() of secret.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();
  void update(std::string_view bytes);
  /// 64 hexadecimal digits. Ends it: no update() after.
  [[nodiscard]] std::string digest();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// Of a file's bytes as they lie. @return kNotFound or kUnavailable naming the file.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace stint
