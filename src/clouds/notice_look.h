// Asks a machine's own metadata whether its cloud has announced its end.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "clouds/cloud_notice.h"
#include "clouds/metadata_address.h"

namespace stint {

struct SeenNotice {
  CloudNotice notice;
  Duration left;  ///< until the end that it announces, when it was seen
};

/// For one thread.
class NoticeLook {
 public:
  virtual ~NoticeLook() = default;
  /// One look. May wait for news, at most 10 s where all is well.
  /// @return an error when it cannot be told whether there is a notice: no answer, or one that makes no sense.
  virtual Result<SeenNotice> look() = 0;
  /// How long to wait before the next look, as the provider advises.
  [[nodiscard]] virtual Duration pause() const = 0;
};

/// @return kInvalidInput of metadata_address().
Result<std::unique_ptr<NoticeLook>> open_notice_look(CloudProvider provider,
                                                     const Environment& environment = process_environment());

/// Tells Azure that it need not wait for NotBefore: the machine may go. @param id  of the notice.
Status acknowledge_azure_notice(const std::string& id, const Environment& environment = process_environment());

}  // namespace stint
