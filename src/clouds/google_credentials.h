// Where Google's tokens come from, in the order of Google's own libraries (Application Default Credentials): the file that
// GOOGLE_APPLICATION_CREDENTIALS names, the one that `gcloud auth application-default login` wrote, the machine's own service account.
// Sources: google-auth; "Using OAuth 2.0 for server to server applications"; RFC 7523.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "clouds/oauth.h"

namespace stint {

/// What such a file holds.
struct GoogleKeyFile {
  enum class Kind : uint8_t { kServiceAccount, kUser } kind = Kind::kServiceAccount;
  std::string email, private_key, key_id;               ///< of a service account
  std::string client_id, client_secret, refresh_token;  ///< of a user
  std::string token_uri;
};
/// @return kInvalidInput naming what is missing, never repeating a secret.
Result<GoogleKeyFile> parse_google_key_file(std::string_view json, const std::string& where);

/// The signed assertion that a service account shows for a token of that scope.
Result<std::string> google_assertion(const GoogleKeyFile& key, const std::string& scope, Instant now);

/// The service account's key that GOOGLE_APPLICATION_CREDENTIALS names. @return kUnavailable: another kind of credentials, which signs nothing.
Result<GoogleKeyFile> google_signing_key(const Environment& environment);

/// What lets whoever has it read an object of Cloud Storage: a V4 signed address. Source: Cloud Storage, "Signatures", "Canonical requests".
/// @param path  escaped, `/bucket/key`. @param lasts  seven days at most. @return a query, without `?`.
Result<std::string> google_read_signature(const GoogleKeyFile& key, const std::string& host, const std::string& path, Instant at,
                                          Duration lasts);

struct GoogleCredentialOptions {
  Environment environment = process_environment();
  std::string scope = "https://www.googleapis.com/auth/devstorage.read_write";
  std::function<Instant()> clock;  ///< empty = the wall clock
};

/// For any number of threads. @return tokens; kNotFound when none of the places has any, naming them.
std::unique_ptr<TokenKeeper> google_tokens(const GoogleCredentialOptions& options = {});

}  // namespace stint
