#include "host/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stint {
namespace {

/// Once per process, before any thread uses the library.
void start_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(code == CURLE_OK, "libcurl cannot start: {}", curl_easy_strerror(code));
}

std::string_view remedy_for(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return "give an address such as http://prometheus.example:9090";
    case CURLE_COULDNT_RESOLVE_HOST: return "check the host name and the network";
    case CURLE_COULDNT_CONNECT: return "check that the server runs and the port is right";
    case CURLE_OPERATION_TIMEDOUT: return "the server is slow or out of reach: try again, or ask for less at a time";
    case CURLE_PEER_FAILED_VERIFICATION: return "check the server's certificate and the name in the address";
    default: return "try again; if it stays so, ask the server's operator";
  }
}

struct Body {
  std::string text;
  size_t limit = 0;
  bool too_large = false;
  CURL* curl = nullptr;
  const std::function<bool(std::string_view)>* take = nullptr;  ///< of a body without end
  bool taken_enough = false;
};

size_t receive(char* data, size_t size, size_t count, void* to) {
  Body& body = *static_cast<Body*>(to);
  if (body.take != nullptr) {
    long status = 0;
    curl_easy_getinfo(body.curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200) {
      body.taken_enough = !(*body.take)({data, size * count});
      return body.taken_enough ? 0 : size * count;
    }
  }
  if (body.text.size() + size * count > body.limit) {
    body.too_large = true;
    return 0;
  }
  body.text.append(data, size * count);
  return size * count;
}

/// One line of the head; what comes before the last answer's (100 Continue) is replaced by it.
size_t receive_header(char* data, size_t size, size_t count, void* to) {
  auto& headers = *static_cast<std::vector<HttpField>*>(to);
  const std::string_view line(data, size * count);
  const size_t colon = line.find(':');
  if (line.starts_with("HTTP/"))
    headers.clear();
  else if (colon != std::string_view::npos && headers.size() < 256)
    headers.emplace_back(to_lower(trim(line.substr(0, colon))), trim(line.substr(colon + 1)));
  return size * count;
}

std::string encode_form(const std::vector<HttpField>& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    if (!text.empty()) text += '&';
    text += escape_url(name) + '=' + escape_url(value);
  }
  return text;
}

}  // namespace

struct HttpClient::Impl {
  struct Cleanup {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  HttpOptions options;
  std::unique_ptr<CURL, Cleanup> handle;

  void set_identity(CURL* curl) const {
    if (!options.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, options.ca_file.c_str());
    if (!options.certificate_file.empty()) {
      curl_easy_setopt(curl, CURLOPT_SSLCERT, options.certificate_file.c_str());
      curl_easy_setopt(curl, CURLOPT_SSLKEY, options.key_file.c_str());
    }
    if (!options.credentials.bearer_token.empty()) {
      curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
      curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, options.credentials.bearer_token.c_str());
    } else if (!options.credentials.user.empty()) {
      curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
      curl_easy_setopt(curl, CURLOPT_USERNAME, options.credentials.user.c_str());
      curl_easy_setopt(curl, CURLOPT_PASSWORD, options.credentials.password.c_str());
    }
  }

  void set_transfer(CURL* curl) const {
    if (options.proxy == HttpProxy::kNever) curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (options.bytes == HttpBytes::kVerbatim)
      curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    else
      curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
    if (options.send_bytes_per_second > 0)
      curl_easy_setopt(curl, CURLOPT_MAX_SEND_SPEED_LARGE, static_cast<curl_off_t>(options.send_bytes_per_second));
    if (options.stall_timeout > Duration()) {
      curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
      curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout.whole_seconds()));
    }
  }

  /// @param take  nullptr = the body is collected.
  Result<HttpResponse> request(const HttpCall& call, const std::function<bool(std::string_view)>* take = nullptr) {
    CURL* curl = handle.get();
    curl_easy_reset(curl);  // keeps the connection
    Body body{.limit = options.max_body_bytes, .curl = curl, .take = take};
    std::array<char, CURL_ERROR_SIZE> detail = {};
    const bool accepts =
        std::any_of(call.headers.begin(), call.headers.end(), [](const HttpField& h) { return h.first == "Accept"; });
    std::unique_ptr<curl_slist, FreeList> headers(
        curl_slist_append(nullptr, accepts ? "Expect:" : "Accept: application/json, text/plain, */*"));
    for (const auto& [name, value] : call.headers)
      curl_slist_append(headers.get(), fmt::format("{}: {}", name, value).c_str());
    curl_easy_setopt(curl, CURLOPT_URL, call.url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count_ns() / 1'000'000));
    if (take == nullptr) {
      curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.count_ns() / 1'000'000));
    } else {
      curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
      curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.timeout.whole_seconds()));
    }
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "stint");
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail.data());
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
    std::vector<HttpField> received;
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, receive_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &received);
    set_identity(curl);
    set_transfer(curl);
    if (call.method == "HEAD") {
      curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else if (call.method != "GET" || !call.body.empty()) {
      curl_slist_append(headers.get(),
                        fmt::format("Content-Type:{}{}", call.content_type.empty() ? "" : " ", call.content_type).c_str());
      curl_easy_setopt(curl, CURLOPT_POST, 1L);
      curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call.method.c_str());
      curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
      curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call.body.c_str());
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    const std::string_view place = std::string_view(call.url).substr(0, call.url.find('?'));  // a query says nothing to a reader
    const CURLcode code = curl_easy_perform(curl);
    if (body.too_large)
      return make_error(ErrorCode::kUnavailable, "{}: the answer is larger than {} MiB: ask for less at a time", place,
                        body.limit >> 20);
    if (code != CURLE_OK && !body.taken_enough)
      return make_error(ErrorCode::kUnavailable, "{}: {}: {}", place,
                        detail[0] != '\0' ? detail.data() : curl_easy_strerror(code), remedy_for(code));
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return HttpResponse{static_cast<int>(status), std::move(body.text), std::move(received)};
  }
};

HttpClient::HttpClient(HttpOptions options) {
  start_curl();
  impl_ = std::make_unique<Impl>(Impl{std::move(options), std::unique_ptr<CURL, Impl::Cleanup>(curl_easy_init())});
  CHECK(impl_->handle != nullptr, "libcurl gives no handle");
}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::get(const std::string& url) { return impl_->request({.url = url}); }

Result<HttpResponse> HttpClient::post_form(const std::string& url, const std::vector<HttpField>& fields) {
  return impl_->request(
      {.method = "POST", .url = url, .body = encode_form(fields), .content_type = "application/x-www-form-urlencoded"});
}

Result<HttpResponse> HttpClient::send(const HttpCall& call) { return impl_->request(call); }

Result<HttpResponse> HttpClient::follow(const HttpCall& call, const std::function<bool(std::string_view)>& take) {
  return impl_->request(call, &take);
}

const std::string* HttpResponse::header(std::string_view name) const {
  for (const auto& [header, value] : headers)
    if (header == name) return &value;
  return nullptr;
}

std::string escape_url(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace stint
