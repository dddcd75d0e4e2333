// Where the files of a model repository are fetched from: an object store, HTTPS, or a registry of OCI artifacts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

class ModelOrigin {
 public:
  virtual ~ModelOrigin() = default;
  /// SHA256SUMS as it is there, or what says the same.
  virtual Result<std::string> sums() = 0;
  /// Into a file that is not there yet. @return error, without it, where its bytes are not what the hash says
  virtual Status fetch(const std::string& path, const std::string& sha256, const std::string& to) = 0;
};

/// Does it name such a place, and no folder?
bool is_model_place(std::string_view text);

/// @param place  s3://…, gs://…, az://…, https://…, oci://…; without TLS on this machine alone. @param token  for HTTPS, and for a registry
/// likewise or USER:PASSWORD; "" = none
Result<std::unique_ptr<ModelOrigin>> open_model_origin(const std::string& place, const std::string& token);

/// `127.0.0.1:80`, `localhost`, `[::1]`, with or without a port.
bool is_this_machine(std::string_view host);

}  // namespace stint
