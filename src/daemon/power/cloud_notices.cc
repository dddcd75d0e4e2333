#include "daemon/power/cloud_notices.h"

#include <chrono>
#include <cstdio>

#include "base/text.h"

namespace stint {

CloudNotices::CloudNotices(Service& service, std::string node, CloudProvider cloud, std::unique_ptr<NoticeLook> look)
    : service_(service), node_(std::move(node)), cloud_(cloud), look_(std::move(look)), thread_([this] { watch(); }) {}

CloudNotices::~CloudNotices() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  wakes_.notify_all();
  thread_.join();
}

bool CloudNotices::wait(Duration pause) {
  std::unique_lock lock(mutex_);
  return !wakes_.wait_for(lock, std::chrono::nanoseconds(pause.count_ns()), [this] { return stopped_; });
}

void CloudNotices::watch() {
  NoticeNews known;
  // Told again and again: whoever else speaks of the machine's health may have called it well meanwhile.
  const auto between_looks = [this](Duration pause) {
    if (in_force_) service_.report_machines({*in_force_});
    return wait(pause);
  };
  while (auto news = await_notice_news(*look_, known, between_looks)) {
    hear(*news, known);
    known = std::move(*news);
    if (!wait(Duration())) return;
  }
}

void CloudNotices::hear(const NoticeNews& news, const NoticeNews& before) {
  if (news.failure != before.failure) {
    if (news.failure.empty())
      fmt::print(stderr, "stint: {} tells of notices again\n", name_of(cloud_));
    else
      fmt::print(stderr, "stint: {} does not tell of notices: {}; an interruption may come without one\n", name_of(cloud_),
                 news.failure);
    return;
  }
  MachineReport report;
  report.machine.node.name = node_;
  const CloudNotice& notice = news.seen.notice;
  if (ends_machine(notice)) {
    const bool taken = notice.kind == CloudNoticeKind::kTaken;
    report.news = MachineNews::kDraining;
    report.cause = taken ? MachineCause::kSpot : MachineCause::kMaintenance;
    report.until = service_.clock().now() + news.seen.left;
    report.detail = fmt::format("{} {} ({})", name_of(cloud_), taken ? "takes it back" : "stops it", excerpt(notice.what));
  } else if (ends_machine(before.seen.notice)) {
    report.news = MachineNews::kThere;
    report.detail = fmt::format("{} takes its notice back", name_of(cloud_));
    in_force_.reset();
  } else {
    return;  // of a machine that is only more likely than others to be taken back nothing follows: there is no other to go to
  }
  service_.report_machines({std::move(report)});
}

}  // namespace stint
