#include "host/jwt.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using nlohmann::json;

constexpr int kLeastRsaBits = 2'048;
constexpr size_t kMostKeys = 100;
constexpr size_t kLongestToken = 16'384;
constexpr size_t kHalf = 32;  // of an ES256 signature: r, then s

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* value) const {
    Free(value);
  }
};
using KeyPointer = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

KeyPointer make_key(const char* type, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1)
    return nullptr;
  return KeyPointer(key);
}

KeyPointer rsa_key(const json& jwk) {
  const auto n = from_base64url(text_of(jwk, "n")), e = from_base64url(text_of(jwk, "e"));
  if (!n || !e || n->empty() || e->empty()) return nullptr;
  const Number modulus(BN_bin2bn(bytes_of(*n), static_cast<int>(n->size()), nullptr));
  const Number exponent(BN_bin2bn(bytes_of(*e), static_cast<int>(e->size()), nullptr));
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!modulus || !exponent || !builder || BN_num_bits(modulus.get()) < kLeastRsaBits ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1)
    return nullptr;
  return make_key("RSA", builder.get());
}

/// A coordinate as its 32 octets. RFC 7518, 6.2.1.2 asks for all of them; some providers' libraries (PyJWT before 2.10) leave
/// out leading zeros, of one key in 128. What that yields must still be a point of the curve.
std::optional<std::string> coordinate_of(const json& jwk, const char* name) {
  const auto octets = from_base64url(text_of(jwk, name));
  if (!octets || octets->empty() || octets->size() > kHalf) return std::nullopt;
  return std::string(kHalf - octets->size(), '\0') + *octets;
}

KeyPointer p256_key(const json& jwk) {
  const auto x = coordinate_of(jwk, "x"), y = coordinate_of(jwk, "y");
  if (text_of(jwk, "crv") != "P-256" || !x || !y) return nullptr;
  const std::string point = "\x04" + *x + *y;  // not compressed
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1)
    return nullptr;
  return make_key("EC", builder.get());
}

/// r and s as OpenSSL wants them: a DER sequence.
std::optional<std::string> der_of(std::string_view signature) {
  if (signature.size() != 2 * kHalf) return std::nullopt;
  const std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> pair(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(bytes_of(signature), kHalf, nullptr);
  BIGNUM* s = BN_bin2bn(bytes_of(signature.substr(kHalf)), kHalf, nullptr);
  if (!pair || r == nullptr || s == nullptr || ECDSA_SIG_set0(pair.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return std::nullopt;
  }
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &der);
  if (size <= 0) return std::nullopt;
  std::string out(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

}  // namespace

std::optional<std::string> from_base64url(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    uint32_t value = 0;
    if (c >= 'A' && c <= 'Z')
      value = static_cast<uint32_t>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      value = static_cast<uint32_t>(c - 'a') + 26;
    else if (c >= '0' && c <= '9')
      value = static_cast<uint32_t>(c - '0') + 52;
    else if (c == '-' || c == '_')
      value = c == '-' ? 62 : 63;
    else
      return std::nullopt;
    bits = (bits << 6U) | value;
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> static_cast<unsigned>(have) & 255U);
  }
  // What is left over are zeros, else two texts would be one value.
  if (have == 6 || (bits & ((1U << static_cast<unsigned>(have)) - 1)) != 0) return std::nullopt;
  return out;
}

std::string to_base64url(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (const char c : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    for (have += 8; have >= 6; have -= 6)
      out += kAlphabet[bits >> static_cast<unsigned>(have - 6) & 63U];
  }
  if (have > 0) out += kAlphabet[bits << static_cast<unsigned>(6 - have) & 63U];
  return out;
}

struct KeySet::Keys {
  struct Key {
    std::string kid, algorithm;
    KeyPointer key;
  };
  std::vector<Key> keys;

  [[nodiscard]] const Key* find(std::string_view kid, std::string_view algorithm) const {
    const Key* found = nullptr;
    for (const Key& key : keys) {
      if (key.algorithm != algorithm || (!kid.empty() && key.kid != kid)) continue;
      if (found != nullptr) return nullptr;  // which of them is not said
      found = &key;
    }
    return found;
  }
};

Result<KeySet> KeySet::parse(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  const auto list = document.is_object() ? document.find("keys") : document.end();
  if (!document.is_object() || list == document.end() || !list->is_array())
    return invalid("JWKS: no object with a list \"keys\"");
  auto keys = std::make_shared<Keys>();
  for (const json& jwk : *list) {
    if (!jwk.is_object() || keys->keys.size() == kMostKeys) continue;
    if (const std::string use = text_of(jwk, "use"); !use.empty() && use != "sig") continue;
    const std::string type = text_of(jwk, "kty");
    const std::string algorithm = type == "RSA" ? "RS256" : type == "EC" ? "ES256" : "";
    if (const std::string named = text_of(jwk, "alg"); algorithm.empty() || (!named.empty() && named != algorithm)) continue;
    KeyPointer key = type == "RSA" ? rsa_key(jwk) : p256_key(jwk);
    if (key) keys->keys.push_back({text_of(jwk, "kid"), algorithm, std::move(key)});
  }
  if (keys->keys.empty()) return invalid("JWKS: no key for RS256 (of 2048 bits or more) or ES256");
  KeySet set;
  set.keys_ = std::move(keys);
  return set;
}

bool KeySet::has(std::string_view kid, std::string_view algorithm) const {
  return keys_ && keys_->find(kid, algorithm) != nullptr;
}

size_t KeySet::size() const { return keys_ ? keys_->keys.size() : 0; }

bool KeySet::verifies(std::string_view kid, std::string_view algorithm, std::string_view message,
                      std::string_view signature) const {
  const Keys::Key* key = keys_ ? keys_->find(kid, algorithm) : nullptr;
  if (key == nullptr) return false;
  std::string checked(signature);
  if (algorithm == "ES256") {
    const auto der = der_of(signature);
    if (!der) return false;
    checked = *der;
  }
  const std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  return context && EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key->key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(checked), checked.size(), bytes_of(message), message.size()) == 1;
}

bool looks_like_jwt(std::string_view token) { return token.size() <= kLongestToken && std::ranges::count(token, '.') == 2; }

Result<Jwt> parse_jwt(std::string_view token) {
  if (!looks_like_jwt(token)) return invalid("token: not three parts between dots");
  const std::vector<std::string_view> parts = split(token, '.');
  const auto header = from_base64url(parts[0]), claims = from_base64url(parts[1]), signature = from_base64url(parts[2]);
  if (!header || !claims || !signature) return invalid("token: its parts are not base64url");
  const json head = json::parse(*header, nullptr, false);
  if (!head.is_object()) return invalid("token: its header is no JSON object");
  if (head.contains("crit")) return invalid("token: its header asks for what is not known here (crit)");
  Jwt jwt{.algorithm = text_of(head, "alg"), .kid = text_of(head, "kid")};
  if (jwt.algorithm != "RS256" && jwt.algorithm != "ES256") return invalid("token: signed with neither RS256 nor ES256");
  if (head.contains("typ")) {
    // RFC 7515, 4.1.9: a media type, of which "application/" may be left out; compared without regard to case.
    jwt.type = to_lower(text_of(head, "typ"));
    if (jwt.type.starts_with("application/")) jwt.type.erase(0, std::string_view("application/").size());
    if (jwt.type.empty()) return invalid("token: its header's type is no text (typ)");
  }
  jwt.claims = *claims;
  jwt.message = std::string(token.substr(0, token.rfind('.')));
  jwt.signature = *signature;
  return jwt;
}

}  // namespace stint
