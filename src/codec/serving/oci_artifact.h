// An OCI artifact that holds a model repository, as its registry's API tells of it: one layer for each file, whose title is the file's path,
// as `oras push` makes it.
//
// Sources: Open Container Initiative, Image Format 1.1 (manifest, descriptor, annotations) and Distribution 1.1 (pull); Docker, Registry
// token authentication (challenge, token).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/serving/model_sums.h"

namespace stint {

/// `oci://HOST[:PORT]/REPOSITORY[:TAG|@sha256:DIGEST]`; without either the tag is `latest`.
struct OciPlace {
  std::string host;        ///< with the port, where one is named
  std::string repository;  ///< `team/models`
  std::string reference;   ///< a tag, or `sha256:` and 64 hexadecimal digits
};
Result<OciPlace> parse_oci_place(std::string_view text);

/// The files of a manifest, by path, with their hashes. @return error naming the layer that is no file of its own, and how to push one.
Result<ModelSums> read_oci_manifest(std::string_view json, const std::string& source);

/// Where a registry says that a token is to be had: of `WWW-Authenticate: Bearer realm="…",service="…",scope="…"`.
struct OciChallenge {
  std::string realm, service, scope;
};
Result<OciChallenge> read_oci_challenge(std::string_view header, const std::string& source);
/// `token`, else `access_token`. @return error that repeats nothing of what was there.
Result<std::string> read_oci_token(std::string_view json, const std::string& source);

}  // namespace stint
