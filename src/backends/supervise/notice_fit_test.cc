#include "backends/supervise/notice_fit.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMibPerSecond = int64_t{1} << 20;

NoticeQuestion question() {
  // 40 GiB at 200 MiB a second are 204.8 s; writing them takes 20 s.
  return {.notice = Duration::seconds(120),
          .size = Bytes::gibi(int64_t{40}),
          .bytes_per_second = 200 * kMibPerSecond,
          .at_a_bound = false,
          .saving = Duration::seconds(20)};
}

TEST(NoticeFit, IsSavingAndSendingAgainstTheNotice) {
  EXPECT_EQ(notice_needed(question()), Duration::from_seconds(224.8));
  EXPECT_EQ(judge_notice(question()), NoticeFit::kTooShort);
  NoticeQuestion q = question();
  q.notice = Duration::seconds(225);
  EXPECT_EQ(judge_notice(q), NoticeFit::kFits);
  q.notice = Duration::seconds(224);
  EXPECT_EQ(judge_notice(q), NoticeFit::kTooShort);
}

TEST(NoticeFit, SaysWhatWouldFit) {
  const std::string text = notice_text(question(), "step-7");
  EXPECT_THAT(
      text,
      HasSubstr(
          "as large as step-7 does NOT fit the notice of 120 s: saving takes 20 s, 40 GiB at 200 MiB per second then 205 s"));
  // 100 s are left for sending: 40 GiB ÷ 100 s = 409.6 MiB per second; 200 MiB/s · 100 s = 19.5 GiB.
  EXPECT_THAT(text, HasSubstr("a notice of 225 s, 410 MiB per second, checkpoints of at most 19.5 GiB"));
  NoticeQuestion q = question();
  q.saving = Duration::seconds(130);  // no way is fast enough
  EXPECT_THAT(notice_text(q, "step-7"), Not(HasSubstr("checkpoints of at most")));
  EXPECT_THAT(notice_text(q, "step-7"), HasSubstr("a notice of 335 s; or save more often"));
}

TEST(NoticeFit, ABoundSaysOnlyWhatIsEnough) {
  NoticeQuestion q = question();
  q.at_a_bound = true;
  EXPECT_EQ(judge_notice(q), NoticeFit::kMayNot);
  EXPECT_THAT(notice_text(q, "step-7"), HasSubstr("may not fit the notice of 120 s"));
  q.notice = Duration::seconds(300);
  EXPECT_EQ(judge_notice(q), NoticeFit::kFits);
  q.notice = Duration::seconds(10);  // writing it alone takes longer
  EXPECT_EQ(judge_notice(q), NoticeFit::kTooShort);
}

TEST(NoticeFit, IsNotKnownBeforeTheFirstCopy) {
  NoticeQuestion q = question();
  q.bytes_per_second = 0;
  EXPECT_EQ(judge_notice(q), NoticeFit::kUnknown);
}

}  // namespace
}  // namespace stint
