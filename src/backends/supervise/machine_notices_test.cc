#include "backends/supervise/machine_notices.h"

#include <gtest/gtest.h>

#include <deque>

namespace stint {
namespace {

/// Tells what it was given, the last of it again and again.
class ScriptedLook final : public NoticeLook {
 public:
  explicit ScriptedLook(std::deque<Result<SeenNotice>> script) : script_(std::move(script)) {}
  Result<SeenNotice> look() override {
    ++looks;
    Result<SeenNotice> next = script_.front();
    if (script_.size() > 1) script_.pop_front();
    return next;
  }
  [[nodiscard]] Duration pause() const override { return Duration::seconds(5); }
  int looks = 0;

 private:
  std::deque<Result<SeenNotice>> script_;
};

SeenNotice taken(const char* when = "2027-01-01T00:02:00Z") {
  return {.notice = {.kind = CloudNoticeKind::kTaken,
                     .what = "terminate",
                     .at = parse_instant(when).value(),
                     .longest = Duration::minutes(2),
                     .typical = Duration::seconds(115),
                     .id = "",
                     .alone = false},
          .left = Duration::seconds(110)};
}
Result<SeenNotice> silent() { return make_error(ErrorCode::kUnavailable, "no answer"); }
bool no_pause(Duration) { return true; }

TEST(MachineNotices, ANoticeIsNewsOnce) {
  ScriptedLook look({SeenNotice{}, SeenNotice{}, silent(), taken()});
  const NoticeNews news = await_notice_news(look, {}, no_pause).value();
  EXPECT_EQ(news.seen.notice, taken().notice);
  EXPECT_EQ(news.seen.left, Duration::seconds(110));
  EXPECT_EQ(look.looks, 4);
  // A time that moves with each look is the same notice; one that comes sooner is another.
  ScriptedLook moving({taken("2027-01-01T00:02:05Z"), taken("2027-01-01T00:01:55Z"), taken("2027-01-01T00:01:00Z")});
  EXPECT_EQ(await_notice_news(moving, news, no_pause).value().seen.notice.at, parse_instant("2027-01-01T00:01:00Z").value());
}

TEST(MachineNotices, OneThatIsGoneIsBelievedTheSecondTime) {
  ScriptedLook look({SeenNotice{}, taken(), SeenNotice{}, silent(), SeenNotice{}, SeenNotice{}});
  const NoticeNews news = await_notice_news(look, {.seen = taken(), .failure = ""}, no_pause).value();
  EXPECT_EQ(news.seen.notice.kind, CloudNoticeKind::kNone);
  EXPECT_EQ(look.looks, 6) << "neither one look without it, nor silence, takes a notice back";
}

TEST(MachineNotices, SilenceIsToldAfterAMinuteAndItsEndAtOnce) {
  ScriptedLook look({silent()});
  const NoticeNews news = await_notice_news(look, {.seen = taken(), .failure = ""}, no_pause).value();
  EXPECT_EQ(look.looks, 12) << "at 5 s each";
  EXPECT_EQ(news.failure, "no answer");
  EXPECT_EQ(news.seen.notice, taken().notice) << "what was known holds";
  ScriptedLook again({silent(), taken()});
  const NoticeNews back = await_notice_news(again, news, no_pause).value();
  EXPECT_EQ(back.failure, "");
  EXPECT_EQ(back.seen.notice, taken().notice);
}

TEST(MachineNotices, WhoeverWaitsMayStop) {
  ScriptedLook look({SeenNotice{}});
  EXPECT_FALSE(await_notice_news(look, {}, [&](Duration) { return look.looks < 3; }));
  EXPECT_EQ(look.looks, 3);
}

TEST(MachineNotices, NewsGoFromProcessToProcess) {
  const NoticeNews news{.seen = taken(), .failure = "a \"quoted\" \xff"};
  const auto read = parse_notice_news(to_json(news));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->seen.notice, news.seen.notice);
  EXPECT_EQ(read->seen.left, news.seen.left);
  for (const char* text : {"", "{}", "[]", R"({"kind":9,"left_ns":0,"failure":""})"})
    EXPECT_FALSE(parse_notice_news(text).ok()) << text;
}

}  // namespace
}  // namespace stint
