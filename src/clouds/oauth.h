// Bearer tokens of Google and Azure: asked for, kept until five minutes before they expire, renewed without a restart.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "clouds/cloud_http.h"

namespace stint {

struct BearerToken {
  std::string token;
  Duration lives;      ///< from its issue
  std::string source;  ///< where it comes from, for messages
};

/// An answer of an OAuth 2 token endpoint or of a metadata service: `access_token`, `expires_in` (a number, or one as text, as Azure's).
/// @return kInvalidInput, never repeating what was there; of an error document its `error` and `error_description`.
Result<BearerToken> parse_bearer_token(std::string_view json, const std::string& source);

/// For any number of threads.
class TokenKeeper {
 public:
  /// @param get  asks for a new one.
  TokenKeeper(std::function<Result<BearerToken>()> get, std::function<Instant()> clock)
      : get_(std::move(get)), clock_(std::move(clock)) {}

  enum class Renew : uint8_t { kWhenOld, kNow };
  Result<BearerToken> get(Renew renew);

 private:
  std::function<Result<BearerToken>()> get_;
  std::function<Instant()> clock_;
  std::mutex mutex_;
  std::optional<BearerToken> held_;
  Instant expires_;
};

/// Asks an endpoint for a token. @param what  for messages: where the credentials come from.
Result<BearerToken> ask_for_token(CloudHttp& http, const HttpCall& call, const std::string& what);
/// A POST of a form.
HttpCall form_call(const std::string& url, const std::vector<HttpField>& fields);
/// For token endpoints: no redirects, small answers.
HttpOptions token_http_options();
/// May secrets be sent there? https, or this machine.
bool is_safe_for_secrets(std::string_view url);

}  // namespace stint
