#include "codec/serving/oci_artifact.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const std::string kA(64, 'a'), kB(64, 'b');

std::string failure(std::string_view text) {
  const auto place = parse_oci_place(text);
  return place.ok() ? "" : place.error().message;
}

TEST(OciPlace, IsHostRepositoryAndReference) {
  const auto place = parse_oci_place("oci://127.0.0.1:5000/team/models:v3").value();
  EXPECT_EQ(place.host, "127.0.0.1:5000");
  EXPECT_EQ(place.repository, "team/models");
  EXPECT_EQ(place.reference, "v3");
  EXPECT_EQ(parse_oci_place("oci://ghcr.io/acme/m").value().reference, "latest");
  EXPECT_EQ(parse_oci_place("oci://ghcr.io/acme/m@sha256:" + kA).value().reference, "sha256:" + kA);
  const auto both = parse_oci_place("oci://ghcr.io/acme/m:v3@sha256:" + kA).value();
  EXPECT_EQ(both.repository, "acme/m");
  EXPECT_EQ(both.reference, "sha256:" + kA) << "the digest decides";
}

TEST(OciPlace, WhatIsNoneIsRefused) {
  EXPECT_THAT(failure("oci://ghcr.io"), HasSubstr("names no repository"));
  EXPECT_THAT(failure("oci://ghcr.io/Acme/m"), HasSubstr("lower case"));
  EXPECT_THAT(failure("oci://ghcr.io/../m"), HasSubstr("no name of a repository"));
  EXPECT_THAT(failure("oci://ghcr.io/m:a b"), HasSubstr("no tag"));
  EXPECT_THAT(failure("oci://ghcr.io/m@sha512:00"), HasSubstr("no digest"));
  EXPECT_THAT(failure("oci://user@host/m"), HasSubstr("no host"));
  EXPECT_THAT(failure("oci:///m"), HasSubstr("no host"));
}

TEST(OciManifest, FilesAreItsTitledLayers) {
  const auto files = read_oci_manifest(
      R"({"schemaVersion":2,"layers":[{"digest":"sha256:)" + kA +
          R"(","size":3,"annotations":{"org.opencontainers.image.title":"iris/1/model.onnx"}},{"digest":"sha256:)" + kB +
          R"(","annotations":{"org.opencontainers.image.title":"./iris/model.json"}}]})",
      "oci://h/m:v1");
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_THAT(*files, ElementsAre(Pair("iris/1/model.onnx", kA), Pair("iris/model.json", kB)));
}

TEST(OciManifest, WhatIsNoFileIsRefusedWithAWayOut) {
  const auto said = [](const std::string& json) { return read_oci_manifest(json, "m").error().message; };
  EXPECT_THAT(said("<html>"), HasSubstr("no manifest"));
  EXPECT_THAT(said("[]"), HasSubstr("no manifest"));
  EXPECT_THAT(said(R"({"manifests":[]})"), HasSubstr("by its digest"));
  EXPECT_THAT(said(R"({"layers":[]})"), HasSubstr("oras push"));
  EXPECT_THAT(said(R"({"layers":[7]})"), HasSubstr("layer 1: its digest is"));
  EXPECT_THAT(said(R"({"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:)" + kA + R"("}]})"),
              HasSubstr("layer 1 (application/vnd.oci.image.layer.v1.tar+gzip) is an archive"));
  EXPECT_THAT(said(R"({"layers":[{"digest":"sha256:)" + kA +
                   R"(","annotations":{"org.opencontainers.image.title":"../../etc/passwd"}}]})"),
              HasSubstr("m (a line for each layer):1: ../../etc/passwd is no file of a model"));
  EXPECT_THAT(
      said(R"({"layers":[{"digest":"sha256:)" + kA + R"(","annotations":{"org.opencontainers.image.title":"a/b\n0  c/d"}}]})"),
      HasSubstr("its title is no path"));
  EXPECT_THAT(said(R"({"layers":[{"digest":"sha256:)" + kA +
                   R"(","annotations":{"org.opencontainers.image.title":"iris","io.deis.oras.content.unpack":"true"}}]})"),
              HasSubstr("is an archive"));
}

TEST(OciToken, IsAskedForWhereTheRegistrySays) {
  const auto challenge =
      read_oci_challenge(R"(Bearer realm="https://auth.example/token",service="registry",scope="repository:a/b:pull,push")", "h");
  ASSERT_TRUE(challenge.ok());
  EXPECT_EQ(challenge->realm, "https://auth.example/token");
  EXPECT_EQ(challenge->service, "registry");
  EXPECT_EQ(challenge->scope, "repository:a/b:pull,push");
  EXPECT_THAT(read_oci_challenge("Basic realm=\"x\"", "h").error().message, HasSubstr("another way"));
  EXPECT_THAT(read_oci_challenge("Bearer service=\"x\"", "h").error().message, HasSubstr("does not say where"));
  EXPECT_THAT(read_oci_challenge("Bearer realm=\"x", "h").error().message, HasSubstr("does not say where"));
  EXPECT_EQ(read_oci_token(R"({"token":"abc"})", "h").value(), "abc");
  EXPECT_EQ(read_oci_token(R"({"access_token":"def"})", "h").value(), "def");
  EXPECT_FALSE(read_oci_token(R"({"token":"a\nb"})", "h").ok());
  EXPECT_FALSE(read_oci_token("no", "h").ok());
}

}  // namespace
}  // namespace stint
