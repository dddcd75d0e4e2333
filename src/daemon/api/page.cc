#include "daemon/api/page.h"

#include <zlib.h>

#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "host/file.h"
#include "host/http_coding.h"

/// Made by src/CMakeLists.txt from the files of page/ and third_party/uplot; ends with a name that is null.
extern "C" {
struct StintPageFile {
  const char* name;
  const char* begin;
  const char* end;
};
extern const StintPageFile stint_page_files[];
}

namespace stint {
namespace {

constexpr std::string_view kIndex = "index.html";
constexpr std::string_view kBaseMark = "{{base}}";  ///< in the index: where the other files lie

struct PageFile {
  std::string_view type;
  std::string bytes;
  std::string packed;
};

struct PageFiles {
  std::string fingerprint;  ///< of all of them
  std::map<std::string, PageFile, std::less<>> by_name;
};

std::string_view content_type(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  CHECK(name.ends_with(".svg"), "page file {}: of no known type", name);
  return "image/svg+xml";
}

std::string gzip(std::string_view bytes) {
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream = {};
  CHECK(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK, "no memory");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "the bound is no bound");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

PageFiles make_files() {
  PageFiles files;
  std::string all;
  for (const StintPageFile* file = stint_page_files; file->name != nullptr; ++file) {
    const std::string_view bytes(file->begin, static_cast<size_t>(file->end - file->begin));
    all += fmt::format("{} {}\n{}", file->name, bytes.size(), bytes);
    files.by_name[file->name] = {.type = content_type(file->name), .bytes = std::string(bytes), .packed = {}};
  }
  files.fingerprint = fingerprint_of_bytes(all).substr(0, 16);
  std::string& index = files.by_name.at(std::string(kIndex)).bytes;
  const std::string base = fmt::format("/page/{}/", files.fingerprint);
  for (size_t at = index.find(kBaseMark); at != std::string::npos; at = index.find(kBaseMark, at))
    index.replace(at, kBaseMark.size(), base);
  for (auto& [name, file] : files.by_name)
    file.packed = gzip(file.bytes);
  return files;
}

const PageFiles& page_files() {
  static const PageFiles files = make_files();
  return files;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

/// What every answer of the page allows a browser: its own files and the daemon, nothing else.
std::vector<std::pair<std::string, std::string>> safe_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

/// @param name  of a file there is.
HttpReply reply_with(const HttpRequest& request, std::string_view name) {
  const PageFiles& files = page_files();
  const PageFile& file = files.by_name.find(name)->second;
  const bool packed = accepts(request, ContentCoding::kGzip);
  const std::string tag = fmt::format("\"{}{}\"", files.fingerprint, packed ? "-gzip" : "");
  HttpReply reply{.status = 200, .content_type = std::string(file.type), .headers = {}, .body = {}};
  reply.headers = safe_headers();
  reply.headers.emplace_back("ETag", tag);
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  reply.headers.emplace_back("Cache-Control", name == kIndex ? "no-cache" : "public, max-age=31536000, immutable");
  if (const std::string* seen = request.header("if-none-match"); seen != nullptr && seen->find(tag) != std::string::npos) {
    reply.status = 304;
    return reply;
  }
  if (packed) reply.headers.emplace_back("Content-Encoding", "gzip");
  reply.body = packed ? file.packed : file.bytes;
  return reply;
}

}  // namespace

HttpReply page_notice(int status, std::string_view title, std::string_view text) {
  const std::string base = fmt::format("/page/{}/", page_files().fingerprint);
  HttpReply reply{.status = status, .content_type = "text/html; charset=utf-8", .headers = safe_headers(), .body = {}};
  reply.body = fmt::format(
      R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Stint: {1}</title>
<link rel="icon" href="{0}icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="{0}style.css">
<script src="{0}theme.js"></script>
</head>
<body>
<main id="main" class="center"><div class="login">
<h1>{1}</h1>
<p>{2}</p>
<a class="button primary" href="/login">Try again</a>
<a class="button" href="/">Back to the page</a>
</div></main>
</body>
</html>
)",
      base, escaped(title), escaped(text));
  return reply;
}

std::optional<HttpReply> page_reply(const HttpRequest& request) {
  if (request.method != "GET") return std::nullopt;
  const std::vector<std::string>& path = request.parts.segments;
  if (path.empty()) return reply_with(request, kIndex);
  if (path.size() != 3 || path[0] != "page" || path[1] != page_files().fingerprint) return std::nullopt;
  if (path[2] == kIndex || !page_files().by_name.contains(path[2])) return std::nullopt;
  return reply_with(request, path[2]);
}

}  // namespace stint
