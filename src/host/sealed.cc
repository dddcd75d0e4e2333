#include "host/sealed.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "host/file.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr size_t kSealKeyBytes = 32, kNonceBytes = 12, kTagBytes = 16, kSaltBytes = 16;
constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr std::string_view kSealed = "sealed:";

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype([](EVP_CIPHER_CTX* context) { EVP_CIPHER_CTX_free(context); })>;

const unsigned char* octets(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* octets(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string random_octets(size_t count) { return bytes_of_hex(random_hex(count)); }

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char c : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

/// Cipher text and tag.
std::string encrypt(std::string_view key, std::string_view nonce, std::string_view plain, std::string_view beside) {
  const Cipher cipher(EVP_CIPHER_CTX_new());
  std::string out(plain.size() + kTagBytes, '\0');
  int size = 0;
  const bool done = cipher && EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, octets(key), octets(nonce)) == 1 &&
                    EVP_EncryptUpdate(cipher.get(), nullptr, &size, octets(beside), static_cast<int>(beside.size())) == 1 &&
                    EVP_EncryptUpdate(cipher.get(), octets(out), &size, octets(plain), static_cast<int>(plain.size())) == 1 &&
                    EVP_EncryptFinal_ex(cipher.get(), octets(out) + size, &size) == 1 &&
                    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, octets(out) + plain.size()) == 1;
  CHECK(done, "AES-256-GCM of {} bytes", plain.size());
  return out;
}

/// none: it was not encrypted so, or changed.
std::optional<std::string> decrypt(std::string_view key, std::string_view nonce, std::string_view sealed,
                                   std::string_view beside) {
  if (sealed.size() < kTagBytes) return std::nullopt;
  const std::string_view text = sealed.substr(0, sealed.size() - kTagBytes);
  std::string tag(sealed.substr(text.size()));
  const Cipher cipher(EVP_CIPHER_CTX_new());
  std::string out(text.size(), '\0');
  int size = 0;
  const bool good = cipher && EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, octets(key), octets(nonce)) == 1 &&
                    EVP_DecryptUpdate(cipher.get(), nullptr, &size, octets(beside), static_cast<int>(beside.size())) == 1 &&
                    EVP_DecryptUpdate(cipher.get(), octets(out), &size, octets(text), static_cast<int>(text.size())) == 1 &&
                    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, octets(tag)) == 1 &&
                    EVP_DecryptFinal_ex(cipher.get(), octets(out) + out.size(), &size) == 1;
  return good ? std::optional(std::move(out)) : std::nullopt;
}

/// Of the piece with that number: its nonce. A stream's key is its own, so numbers do not come twice under one key.
std::string nonce_of(uint64_t piece, bool last) {
  std::string nonce(kNonceBytes, '\0');
  for (size_t i = 0; i < sizeof piece; ++i)
    nonce[i] = static_cast<char>(piece >> (8 * i) & 0xff);
  nonce.back() = last ? 1 : 0;
  return nonce;
}

std::string key_of_stream(std::string_view key, std::string_view salt) {
  return bytes_of_hex(hmac_sha256_hex(key, "stream " + std::string(salt)));
}

std::string purpose_of_file(const std::string& path) { return "secret file " + path.substr(path.rfind('/') + 1); }

}  // namespace

Result<SealKey> SealKey::read(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_secret_file(path));
  const bool is_hex = text.size() == 2 * kSealKeyBytes && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!is_hex) return invalid("{}: is no key: it holds 64 hexadecimal digits, as `openssl rand -hex 32` prints them", path);
  return SealKey(bytes_of_hex(to_lower(text)));
}

SealKey SealKey::of(std::string bytes) {
  CHECK(bytes.size() == kSealKeyBytes, "a key of {} bytes", bytes.size());
  return SealKey(std::move(bytes));
}

std::string SealKey::seal(std::string_view plain, std::string_view purpose) const {
  // The nonces of values are random: 2^32 values under one key are safe, and there are as many as users.
  const std::string nonce = random_octets(kNonceBytes);
  return std::string(kSealed) + hex_of(nonce + encrypt(bytes_, nonce, plain, purpose));
}

Result<std::string> SealKey::unseal(std::string_view sealed, std::string_view purpose) const {
  const auto refuse = [] { return invalid("was encrypted with another key, or has been changed"); };
  if (!is_sealed(sealed)) return refuse();
  const std::string_view digits = sealed.substr(kSealed.size());
  if (digits.size() % 2 != 0 || digits.size() < 2 * kNonceBytes || digits.find_first_not_of("0123456789abcdef") != digits.npos)
    return refuse();
  const std::string bytes = bytes_of_hex(digits);
  auto plain =
      decrypt(bytes_, std::string_view(bytes).substr(0, kNonceBytes), std::string_view(bytes).substr(kNonceBytes), purpose);
  if (!plain) return refuse();
  return std::move(*plain);
}

bool is_sealed(std::string_view text) { return text.starts_with(kSealed); }

Result<std::string> read_secret_file(const std::string& path, const SealKey* key) {
  if (path.empty()) return std::string();
  TRY_ASSIGN(const std::string text, read_kept_file(path));
  if (!is_sealed(text)) return text;
  if (key == nullptr) return invalid("{}: is encrypted: name the file with its key (stint daemon --secrets-key)", path);
  const Result<std::string> secret = key->unseal(text, purpose_of_file(path));
  if (!secret.ok()) return invalid("{}: {}, or was sealed under another name", path, secret.error().message);
  return secret;
}

Status seal_secret_file(const std::string& path, const SealKey& key) {
  TRY_ASSIGN(const std::string text, read_kept_file(path));
  if (is_sealed(text)) return make_error(ErrorCode::kConflict, "{}: is encrypted already", path);
  return write_secret(path, key.seal(text, purpose_of_file(path)) + "\n");
}

struct SealWriter::Impl {
  std::string key;
  Sink sink;
  std::string start;  ///< still to be written
  std::string waiting;
  uint64_t piece = 0;

  Status put(std::string_view plain, bool last) {
    if (!start.empty()) TRY(sink(std::exchange(start, "")));
    return sink(encrypt(key, nonce_of(piece++, last), plain, ""));
  }
};

SealWriter::SealWriter(const SealKey& key, Sink sink) : impl_(std::make_unique<Impl>()) {
  const std::string salt = random_octets(kSaltBytes);
  impl_->key = key_of_stream(key.bytes_, salt);
  impl_->start = std::string(kSealedStream) + salt;
  impl_->sink = std::move(sink);
}
SealWriter::SealWriter(SealWriter&&) noexcept = default;
SealWriter::~SealWriter() = default;

Status SealWriter::write(std::string_view bytes) {
  std::string& waiting = impl_->waiting;
  while (!bytes.empty()) {
    // A full piece is written when more follows: only then is it known not to be the last.
    if (waiting.size() == kPieceBytes) {
      TRY(impl_->put(waiting, false));
      waiting.clear();
    }
    const size_t taken = std::min(bytes.size(), kPieceBytes - waiting.size());
    waiting += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
  }
  return {};
}

Status SealWriter::finish() { return impl_->put(impl_->waiting, true); }

struct SealReader::Impl {
  std::string master;
  std::function<Result<std::string_view>()> source;
  std::string key, bytes, plain;
  uint64_t piece = 0;
  bool source_ended = false, ended = false;

  /// Until so many bytes are here, or the source has ended.
  Status fill(size_t wanted) {
    while (bytes.size() < wanted && !source_ended) {
      TRY_ASSIGN(const std::string_view more, source());
      source_ended = more.empty();
      bytes += more;
    }
    return {};
  }
};

SealReader::SealReader(const SealKey& key, std::function<Result<std::string_view>()> source) : impl_(std::make_unique<Impl>()) {
  impl_->master = key.bytes_;
  impl_->source = std::move(source);
}
SealReader::~SealReader() = default;

Result<std::string_view> SealReader::read() {
  Impl& s = *impl_;
  constexpr size_t kWhole = kPieceBytes + kTagBytes;
  if (s.ended) return std::string_view();
  if (s.key.empty()) {
    TRY(s.fill(kSaltBytes));
    if (s.bytes.size() < kSaltBytes) return invalid("what is encrypted is cut off at its beginning");
    s.key = key_of_stream(s.master, std::string_view(s.bytes).substr(0, kSaltBytes));
    s.bytes.erase(0, kSaltBytes);
  }
  TRY(s.fill(kWhole + 1));
  const bool last = s.bytes.size() <= kWhole;
  const std::string_view sealed = std::string_view(s.bytes).substr(0, kWhole);
  auto plain = decrypt(s.key, nonce_of(s.piece++, last), sealed, "");
  if (!plain) return invalid("what is encrypted was encrypted with another key, has been changed, or is cut off");
  s.plain = std::move(*plain);
  s.bytes.erase(0, std::min(kWhole, s.bytes.size()));
  s.ended = last;
  return std::string_view(s.plain);
}

}  // namespace stint
