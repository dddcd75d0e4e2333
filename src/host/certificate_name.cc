#include "host/certificate_name.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace stint {
namespace {

bool is_name(std::string_view text) {
  constexpr char kDelete = 0x7f;
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != kDelete; });
}

std::string name_of(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return "";
  std::string name(reinterpret_cast<const char*>(utf8), static_cast<size_t>(size));
  OPENSSL_free(utf8);
  return is_name(name) ? name : "";
}

const ASN1_STRING* first_of(const GENERAL_NAMES* names, int type) {
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == type) return static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(name, nullptr));
  }
  return nullptr;
}

}  // namespace

std::string name_in_certificate(X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)), GENERAL_NAMES_free);
  if (names)
    for (const int type : {GEN_EMAIL, GEN_DNS})
      if (const ASN1_STRING* found = first_of(names.get(), type)) return name_of(found);
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return "";
  return name_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

}  // namespace stint
