// An authority, a server at 127.0.0.1 and the client `ann`, made anew for each test: nothing that expires lies in the tree.
#pragma once

#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/check.h"
#include "host/scratch_dir.h"

namespace stint {

struct TestingCertificates {
  std::string authority, server_certificate, server_key, client_certificate, client_key, authority_key;
};

namespace testing_certificates {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

inline Key make_key() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

/// @param issuer  nullptr = signs itself. @param extension  value of `nid`.
inline Certificate make_certificate(const std::string& name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key, int nid,
                                    const char* extension) {
  static long serial = 0;
  Certificate made(X509_new(), X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key);
  X509_NAME* subject = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.c_str()),
                             static_cast<int>(name.size()), -1, 0);
  X509_set_issuer_name(made.get(), issuer == nullptr ? subject : X509_get_subject_name(issuer));
  X509_EXTENSION* added = X509V3_EXT_conf_nid(nullptr, nullptr, nid, extension);
  CHECK(added != nullptr, "no extension {}", extension);
  X509_add_ext(made.get(), added, -1);
  X509_EXTENSION_free(added);
  CHECK(X509_sign(made.get(), issuer_key, EVP_sha256()) > 0, "cannot sign");
  return made;
}

inline std::string write_certificate(const std::string& path, X509* certificate) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  CHECK(file != nullptr && PEM_write_X509(file, certificate) == 1, "cannot write {}", path);
  std::fclose(file);
  return path;
}

inline std::string write_key(const std::string& path, EVP_PKEY* key) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  CHECK(file != nullptr && PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "cannot write {}", path);
  std::fclose(file);
  CHECK(chmod(path.c_str(), 0600) == 0, "cannot keep {} from others", path);
  ::chmod(path.c_str(), 0600);
  return path;
}

}  // namespace testing_certificates

inline TestingCertificates write_certificates(const ScratchDir& dir) {
  namespace make = testing_certificates;
  const make::Key authority_key = make::make_key();
  const make::Key server_key = make::make_key();
  const make::Key client_key = make::make_key();
  const auto authority = make::make_certificate("Testing authority", authority_key.get(), nullptr, authority_key.get(),
                                                NID_basic_constraints, "critical,CA:TRUE");
  const auto server = make::make_certificate("server", server_key.get(), authority.get(), authority_key.get(),
                                             NID_subject_alt_name, "IP:127.0.0.1");
  const auto client =
      make::make_certificate("ann", client_key.get(), authority.get(), authority_key.get(), NID_ext_key_usage, "clientAuth");
  return {make::write_certificate(dir / "authority.pem", authority.get()),
          make::write_certificate(dir / "server.pem", server.get()),
          make::write_key(dir / "server.key", server_key.get()),
          make::write_certificate(dir / "client.pem", client.get()),
          make::write_key(dir / "client.key", client_key.get()),
          make::write_key(dir / "authority.key", authority_key.get())};
}

/// The authority's list of revoked certificates: of none, or of the client's.
enum class Revoked { kNone, kClient };
/// @param good_for_s  until there must be a newer one; < 0: there should have been one
inline void write_revoked(const std::string& path, const TestingCertificates& files, Revoked what, long good_for_s = 3600) {
  namespace make = testing_certificates;
  const auto read = [](const std::string& file, const auto& parse) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_file(file.c_str(), "r"), BIO_free);
    CHECK(bio, "cannot read {}", file);
    return parse(bio.get());
  };
  const auto certificate = [](BIO* bio) {
    return make::Certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr), X509_free);
  };
  const auto authority = read(files.authority, certificate);
  const auto client = read(files.client_certificate, certificate);
  const auto key = read(files.authority_key, [](BIO* bio) {
    return make::Key(PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr), EVP_PKEY_free);
  });
  const std::unique_ptr<X509_CRL, decltype(&X509_CRL_free)> list(X509_CRL_new(), X509_CRL_free);
  X509_CRL_set_version(list.get(), 1);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(authority.get()));
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> made(X509_gmtime_adj(nullptr, -7200), ASN1_TIME_free);
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> next(X509_gmtime_adj(nullptr, good_for_s), ASN1_TIME_free);
  X509_CRL_set1_lastUpdate(list.get(), made.get());
  X509_CRL_set1_nextUpdate(list.get(), next.get());
  if (what == Revoked::kClient) {
    X509_REVOKED* entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(client.get()));
    X509_REVOKED_set_revocationDate(entry, made.get());
    X509_CRL_add0_revoked(list.get(), entry);
  }
  X509_CRL_sort(list.get());
  CHECK(X509_CRL_sign(list.get(), key.get(), EVP_sha256()) > 0, "cannot sign");
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new_file(path.c_str(), "w"), BIO_free);
  CHECK(out && PEM_write_bio_X509_CRL(out.get(), list.get()) == 1, "cannot write {}", path);
}

enum class TlsVersion { k11 = TLS1_1_VERSION, k12 = TLS1_2_VERSION };

/// Whether a client that can do just this version comes to terms with the server.
inline bool tls_handshake_succeeds(uint16_t port, TlsVersion version) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_security_level(context.get(), 0);  // else this library would refuse the old version itself
  SSL_CTX_set_min_proto_version(context.get(), static_cast<int>(version));
  SSL_CTX_set_max_proto_version(context.get(), static_cast<int>(version));
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "cannot connect");
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_fd(ssl.get(), connection);
  const bool agreed = SSL_connect(ssl.get()) == 1;
  close(connection);
  return agreed;
}

}  // namespace stint
