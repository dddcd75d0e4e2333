#include "host/certificate_name.h"

#include <gtest/gtest.h>

#include "host/testing_certificates.h"

namespace stint {
namespace {

namespace make = testing_certificates;

std::string name_with(const std::string& common_name, int nid, const char* extension) {
  const make::Key key = make::make_key();
  return name_in_certificate(make::make_certificate(common_name, key.get(), nullptr, key.get(), nid, extension).get());
}

TEST(CertificateName, AlternativeNamesComeBeforeTheCommonName) {
  EXPECT_EQ(name_with("ann", NID_ext_key_usage, "clientAuth"), "ann");
  EXPECT_EQ(name_with("ann", NID_subject_alt_name, "DNS:bot.acme.example,email:ann@acme.example"), "ann@acme.example");
  EXPECT_EQ(name_with("ann", NID_subject_alt_name, "IP:127.0.0.1,DNS:bot.acme.example,DNS:other.example"), "bot.acme.example");
  EXPECT_EQ(name_with("ann", NID_subject_alt_name, "IP:127.0.0.1"), "ann");
  EXPECT_EQ(name_with("Jürgen", NID_ext_key_usage, "clientAuth"), "Jürgen");
}

/// `admin`, a NUL and `.guest`: an authority signs it for the guest, and C takes it for the admin.
TEST(CertificateName, ATextThatEndsEarlyIsNoName) {
  EXPECT_EQ(name_with(std::string("admin\0.guest", 12), NID_ext_key_usage, "clientAuth"), "");
  EXPECT_EQ(name_with("admin\n", NID_ext_key_usage, "clientAuth"), "");
  EXPECT_EQ(name_with("", NID_ext_key_usage, "clientAuth"), "");
}

TEST(CertificateName, TwoCommonNamesAreNone) {
  const make::Key key = make::make_key();
  const make::Certificate two = make::make_certificate("guest", key.get(), nullptr, key.get(), NID_ext_key_usage, "clientAuth");
  X509_NAME* subject = X509_get_subject_name(two.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("admin"), -1, -1, 0);
  EXPECT_EQ(name_in_certificate(two.get()), "");
}

}  // namespace
}  // namespace stint
