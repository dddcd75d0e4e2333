#include "cli/tls_options.h"

#include <CLI/CLI.hpp>

namespace stint {

void add_tls_options(CLI::App& command, TlsOptions& tls, bool& plain_beyond_loopback) {
  CLI::Option* certificate =
      command.add_option("--tls-certificate", tls.certificate_file, "PEM file: the server's certificate with its chain");
  CLI::Option* key = command.add_option("--tls-key", tls.key_file, "PEM file: its key, not encrypted");
  certificate->needs(key);
  key->needs(certificate);
  command.add_option("--tls-client-ca", tls.client_ca_file, "PEM file: clients must show a certificate signed by one of these")
      ->needs(certificate);
  command.add_flag("--plain-beyond-loopback", plain_beyond_loopback,
                   "listen without TLS also beyond this machine: tokens can then be read on the way");
}

}  // namespace stint
