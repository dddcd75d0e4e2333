#include "cli/tls_options.h"

#include "cli/parser.h"

namespace stint {

void add_tls_options(Command& command, TlsOptions& tls, bool& plain_beyond_loopback) {
  Option* certificate =
      command.add_option("--tls-certificate", tls.certificate_file, "PEM file: the server's certificate with its chain");
  Option* key = command.add_option("--tls-key", tls.key_file, "PEM file: its key, not encrypted");
  certificate->needs(key);
  key->needs(certificate);
  command.add_option("--tls-client-ca", tls.client_ca_file, "PEM file: clients must show a certificate signed by one of these")
      ->needs(certificate);
  command
      .add_option("--tls-client-crl", tls.client_crl_file,
                  "PEM file: lists of the certificates that those authorities have revoked; read again at a reload")
      ->needs("--tls-client-ca");
  command.add_flag("--plain-beyond-loopback", plain_beyond_loopback,
                   "listen without TLS also beyond this machine: tokens can then be read on the way");
}

}  // namespace stint
