// A client that may go before its request has come to its model, or after: then the request leaves the queue.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "serve/served_model.h"

namespace stint::serve {

/// Any thread.
class Leaver {
 public:
  void gone() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    if (id_) take_out();
  }
  [[nodiscard]] bool has_gone() {
    const std::lock_guard lock(mutex_);
    return gone_;
  }
  void submitted(std::weak_ptr<ServedModel> model, batching::RequestId id) {
    const std::lock_guard lock(mutex_);
    model_ = std::move(model);
    id_ = id;
    if (gone_) take_out();
  }

 private:
  void take_out() {
    if (const auto model = model_.lock()) model->cancel(*id_);
  }
  std::mutex mutex_;
  bool gone_ = false;
  std::weak_ptr<ServedModel> model_;
  std::optional<batching::RequestId> id_;
};

}  // namespace stint::serve
