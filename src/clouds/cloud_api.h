// The JSON APIs of Google and Azure that make machines: requests with a bearer token, and what a failure leaves open.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "clouds/cloud_http.h"
#include "clouds/oauth.h"
#include "clouds/order_failure.h"

namespace stint {

struct CloudCall {
  std::string method = "GET";
  std::string url;
  std::string body;  ///< JSON, or none
  std::string what;  ///< for messages: `Compute Engine instances.insert in us-central1-a`
};

struct CloudApiOptions {
  Status address;                       ///< an error: nothing is sent, and this is why
  int tries = 3;                        ///< of one request
  std::function<void(Duration)> sleep;  ///< empty = this thread's
  std::function<bool()> stopping;       ///< true: no further try is made
  /// Reads an answer that is no success.
  std::function<CloudFault(int status, std::string_view body)> read_fault;
  /// @param source  of the token.
  std::function<std::string(CloudFailure, const std::string& source)> remedy;
};

/// For any number of threads.
class CloudApi {
 public:
  CloudApi(std::unique_ptr<TokenKeeper> tokens, CloudApiOptions options);

  /// @return an answer of 2xx that is a JSON object, or empty. @param failure  set with an error.
  Result<HttpResponse> send(const CloudCall& call, OrderFailure& failure);
  /// By the service's clock, as far as it is known.
  [[nodiscard]] Instant now() const { return http_.now(); }
  /// Waits as between two tries. @return false when it is to stop.
  [[nodiscard]] bool pause(Duration time) const;

 private:
  std::unique_ptr<TokenKeeper> tokens_;
  CloudApiOptions options_;
  CloudHttp http_;
};

/// An address of an API that stands in for a cloud's, or the cloud's own; without a slash at its end.
/// @return kInvalidInput naming the variable for what is neither https nor this machine.
Result<std::string> api_address(const std::string& variable, const std::string& value, const std::string& own);

/// What a machine is called in a cloud where names are unique in a project or group: of its name what may stand there, and 16
/// hexadecimal digits of owner and name. Lower case letters, digits and `-`, at most 54, a letter first.
std::string cloud_machine_name(std::string_view owner, std::string_view machine);

}  // namespace stint
