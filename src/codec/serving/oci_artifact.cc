#include "codec/serving/oci_artifact.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kOciScheme = "oci://";
constexpr std::string_view kDigestPrefix = "sha256:";
constexpr std::string_view kTitleNote = "org.opencontainers.image.title";
constexpr std::string_view kUnpackNote = "io.deis.oras.content.unpack";
constexpr const char* kHowToPush = "push each file as one layer: `oras push REGISTRY/NAME:TAG */model.json */*/*`";

bool consists_of(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
}

bool is_sha256_digest(std::string_view text) {
  return text.starts_with(kDigestPrefix) && text.size() == kDigestPrefix.size() + kSha256Digits &&
         consists_of(text.substr(kDigestPrefix.size()), "0123456789abcdef");
}

bool is_repository_name(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  return text.size() <= 255 && std::ranges::all_of(split(text, '/'), [&](std::string_view part) {
           return consists_of(part, kLetters) && part[0] != '.' && part[0] != '-' && part[0] != '_';
         });
}

bool is_tag(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return text.size() <= 128 && consists_of(text, kLetters) && text[0] != '.' && text[0] != '-';
}

std::string member_text(const Json& object, std::string_view name) {
  const auto at = object.is_object() ? object.find(name) : object.end();
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

}  // namespace

Result<OciPlace> parse_oci_place(std::string_view text) {
  const auto wrong = [&](std::string_view what) {
    return invalid("{}: {}: expected oci://HOST/NAME:TAG or oci://HOST/NAME@sha256:…", excerpt(text), what);
  };
  if (!text.starts_with(kOciScheme)) return wrong("names no registry");
  std::string_view rest = text.substr(kOciScheme.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return wrong("names no repository");
  OciPlace place{.host = std::string(rest.substr(0, slash)), .repository = "", .reference = "latest"};
  if (!consists_of(place.host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]")) return wrong("no host");
  rest.remove_prefix(slash + 1);
  if (const size_t at = rest.find('@'); at != std::string_view::npos) {
    place.reference = rest.substr(at + 1);
    if (!is_sha256_digest(place.reference)) return wrong("no digest of SHA-256");
    rest = rest.substr(0, at);
    if (const size_t colon = rest.find(':'); colon != std::string_view::npos) rest = rest.substr(0, colon);  // the digest decides
  } else if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    place.reference = rest.substr(colon + 1);
    if (!is_tag(place.reference)) return wrong("no tag");
    rest = rest.substr(0, colon);
  }
  if (!is_repository_name(rest)) return wrong("no name of a repository (lower case)");
  place.repository = rest;
  return place;
}

Result<ModelSums> read_oci_manifest(std::string_view text, const std::string& source) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return invalid("{}: the registry's answer is no manifest", source);
  if (json.contains("manifests"))
    return invalid("{}: is an index of several artifacts: name one of them by its digest, NAME@sha256:…", source);
  const auto layers = json.find("layers");
  if (layers == json.end() || !layers->is_array() || layers->empty())
    return invalid("{}: the manifest names no layers: {}", source, kHowToPush);
  std::string sums;
  size_t number = 0;
  for (const Json& layer : *layers) {
    ++number;
    const std::string digest = member_text(layer, "digest");
    const auto annotations = layer.is_object() ? layer.find("annotations") : layer.end();
    const Json none = Json::object();
    const Json& notes = layer.is_object() && annotations != layer.end() ? *annotations : none;
    const std::string title = member_text(notes, kTitleNote);
    if (!is_sha256_digest(digest))
      return invalid("{}: layer {}: its digest is {}, and no SHA-256: push it anew", source, number, excerpt(digest));
    if (title.empty() || member_text(notes, kUnpackNote) == "true")
      return invalid("{}: layer {} ({}) is an archive or has no title: {}", source, number,
                     excerpt(member_text(layer, "mediaType")), kHowToPush);
    if (title.find_first_of("\r\n") != std::string::npos) return invalid("{}: layer {}: its title is no path", source, number);
    sums += digest.substr(kDigestPrefix.size()) + "  " + title + "\n";
  }
  return read_model_sums(sums, source + " (a line for each layer)");
}

Result<OciChallenge> read_oci_challenge(std::string_view header, const std::string& source) {
  constexpr std::string_view kBearer = "bearer ";
  if (!to_lower(header.substr(0, kBearer.size())).starts_with(kBearer))
    return invalid("{}: the registry asks for another way of authentication than tokens: {}", source, excerpt(header));
  OciChallenge challenge;
  std::string_view rest = header.substr(kBearer.size());
  while (!rest.empty()) {
    const size_t equals = rest.find("=\"");
    const size_t end = equals == std::string_view::npos ? equals : rest.find('"', equals + 2);
    if (end == std::string_view::npos) break;
    const std::string_view name = trim(rest.substr(0, equals));
    const std::string value(rest.substr(equals + 2, end - equals - 2));
    if (name == "realm") challenge.realm = value;
    if (name == "service") challenge.service = value;
    if (name == "scope") challenge.scope = value;
    rest.remove_prefix(std::min(rest.size(), end + 1));
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(", ")));
  }
  if (challenge.realm.empty()) return invalid("{}: the registry asks for a token and does not say where it is to be had", source);
  return challenge;
}

Result<std::string> read_oci_token(std::string_view text, const std::string& source) {
  const Json json = Json::parse(text, nullptr, false);
  for (const char* name : {"token", "access_token"})
    if (std::string token = json.is_discarded() ? "" : member_text(json, name);
        !token.empty() && token.find_first_of("\r\n") == std::string::npos)
      return token;
  return invalid("{}: its answer holds no token", source);
}

}  // namespace stint
