#include "backends/direct_backend.h"

#include <csignal>
#include <iterator>

#include "base/check.h"

namespace stint {

void DirectBackend::submit(std::vector<Order> orders) {
  for (const Order& order : orders)
    carry_out(order);
}

void DirectBackend::refuse(const Order& order, RefusalKind kind, std::string detail) {
  answers_.emplace_back(
      Refusal{.order = order.kind, .kind = kind, .key = order.key, .at = order.at, .detail = std::move(detail)});
}

void DirectBackend::carry_out(const Order& order) {
  const auto told = told_.find(order.key);
  switch (order.kind) {
    case OrderKind::kStart: {
      CHECK(order.launch && order.launch->key == order.key, "a start without its launch");
      if (told != told_.end()) return answers_.emplace_back(told->second), void();
      const Status started = start(*order.launch, order.at);
      if (!started.ok())
        refuse(order, started.error().code == ErrorCode::kUnavailable ? RefusalKind::kNotNow : RefusalKind::kNotSo,
               started.error().message);
      return;
    }
    case OrderKind::kSignal:
      if (told != told_.end() && told->second.kind != ReportKind::kStarted) return;
      if (const Status sent = signal(order.key, order.signal); !sent.ok())
        refuse(order, RefusalKind::kNotKnown, sent.error().message);
      return;
    case OrderKind::kStop: return stop_what_may_be(order);
    case OrderKind::kForget: {
      const Status forgotten = forget(order.key);
      const bool known = told != told_.end();
      if (!forgotten.ok() && forgotten.error().code != ErrorCode::kNotFound)
        return refuse(order, RefusalKind::kRuns, forgotten.error().message);
      if (!forgotten.ok() && !known) return refuse(order, RefusalKind::kNotKnown, forgotten.error().message);
      if (known) told_.erase(told);
      return;
    }
    case OrderKind::kDismiss: return;  // there are none
  }
}

/// A launch that is not known has left as soon as it is told to, and does not begin when its own order comes after that.
void DirectBackend::stop_what_may_be(const Order& order) {
  if (const auto told = told_.find(order.key); told != told_.end() && told->second.kind != ReportKind::kStarted)
    return answers_.emplace_back(told->second), void();
  const Status stopped = stop(order.key, order.grace, order.at);
  if (stopped.ok() || stopped.error().code != ErrorCode::kNotFound) return;
  Report report{.kind = ReportKind::kEnded, .key = order.key, .at = order.at, .status = {}, .cause = EndCause::kStopped};
  report.status.signal = SIGTERM;
  report.detail = "stopped before it began";
  told_.emplace(order.key, report);
  answers_.emplace_back(std::move(report));
}

std::vector<BackendEvent> DirectBackend::drain(Instant now) {
  std::vector<BackendEvent> events = std::exchange(answers_, {});
  for (Report& report : poll(now)) {
    told_.insert_or_assign(report.key, report);
    events.emplace_back(std::move(report));
  }
  for (MachineReport& report : poll_machines(now))
    events.emplace_back(std::move(report));
  return events;
}

std::optional<Instant> DirectBackend::next_event_at() const { return answers_.empty() ? next_report_at() : Instant(); }

}  // namespace stint
