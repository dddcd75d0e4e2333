// Users, tokens and the like as columns, the same in each store of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/govern_store.h"

namespace stint {

std::string grants_text(const std::vector<Grant>& grants);
/// Texts without commas, such as tags and hashes.
std::string joined(const std::vector<std::string>& parts);
std::vector<std::string> parted(std::string_view text);

Result<User> user_of(std::string_view name, std::string_view grants, bool disabled, int64_t created_ns);
Client client_of(std::string_view name, bool disabled, std::string_view mandatory_tags, int64_t created_ns);

/// As it lies in a store.
std::string closed_secret(const GovernSecrets& secrets, const SecondFactor& factor);
/// @param store  its name, for messages. @return error where the key is missing or another one
Result<std::string> opened_secret(const GovernSecrets& secrets, const std::string& user, std::string_view text,
                                  const std::string& store);
/// Does it lie there unencrypted though there is a key?
bool is_to_be_sealed(const GovernSecrets& secrets, std::string_view text);

}  // namespace stint
