// Whom a client certificate names.
#pragma once

#include <openssl/x509.h>

#include <string>

namespace stint {

/// The first e-mail address among its alternative names, else the first DNS name there, else its common name, of which it has one.
/// @return empty where there is none, and where it has a character that is no part of a name (a NUL, other controls): a program that reads
///   up to that character would take its bearer for somebody else.
std::string name_in_certificate(X509* certificate);

}  // namespace stint
