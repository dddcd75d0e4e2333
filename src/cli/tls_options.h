// How a server of ours is told what it shows and asks for when clients connect: the same for all of them.
#pragma once

#include "host/http_server.h"

namespace stint {

class Command;

/// Adds --tls-certificate, --tls-key, --tls-client-ca, --tls-client-crl and --plain-beyond-loopback. What is given must outlive the parsing.
void add_tls_options(Command& command, TlsOptions& tls, bool& plain_beyond_loopback);

}  // namespace stint
