#include "backends/local/account_book.h"

#include <gmock/gmock.h>

#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

TEST(UidRange, IsReadAndHeldToWhatUsersMayHave) {
  const auto range = parse_uid_range("70000-70009");
  ASSERT_TRUE(range.ok()) << range.error().message;
  EXPECT_EQ(range->first, 70000U);
  EXPECT_EQ(range->last, 70009U);
  EXPECT_TRUE(range->contains(70009));
  EXPECT_FALSE(range->contains(70010));
  for (const char* bad : {"", "70000", "70009-70000", "a-b", "70000-70009-1", "0-70000", "999-70000", "70000-4294967295"})
    EXPECT_FALSE(parse_uid_range(bad).ok()) << bad;
  EXPECT_THAT(parse_uid_range("65000-66000").error().message, HasSubstr("65534")) << "the system's account nobody";
}

TEST(AccountBook, GivesEachOwnerOneAccountForEver) {
  const ScratchDir dir;
  const UidRange range{.first = 70000, .last = 70001};
  auto book = AccountBook::open(dir / "accounts.json", range);
  ASSERT_TRUE(book.ok());
  EXPECT_EQ(book->account_of("acme/ann")->uid, 70000U);
  EXPECT_EQ(book->account_of("zoo/ann")->uid, 70001U) << "the same name at another client is another person";
  EXPECT_EQ(book->account_of("acme/ann")->gid, 70000U);
  const auto none = book->account_of("acme/bob");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("--jobs-as-range"));
  auto again = AccountBook::open(dir / "accounts.json", {.first = 70000, .last = 70002});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->accounts(), book->accounts());
  EXPECT_EQ(again->account_of("acme/bob")->uid, 70002U);
  // A range that moved leaves those who have an account theirs.
  auto moved = AccountBook::open(dir / "accounts.json", {.first = 80000, .last = 80001});
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(moved->account_of("acme/ann")->uid, 70000U);
  EXPECT_EQ(moved->account_of("acme/eve")->uid, 80000U);
}

TEST(AccountBook, IsNotBegunAnewWhereItIsDamaged) {
  const ScratchDir dir;
  for (const char* text : {"", "{", R"({"version":2,"accounts":{}})", R"({"version":1,"accounts":{"a":70000,"b":70000}})",
                           R"({"version":1,"accounts":{"a":-1}})", R"({"version":1})"}) {
    put_file(dir / "accounts.json", text);
    EXPECT_THAT(AccountBook::open(dir / "accounts.json", {.first = 70000, .last = 70001}).error().message,
                HasSubstr("is damaged"))
        << text;
  }
}

TEST(AccountBook, GivesNoAccountThatItCannotKeep) {
  const ScratchDir dir;
  auto book = AccountBook::open(dir / "no-such-folder/accounts.json", {.first = 70000, .last = 70001});
  ASSERT_TRUE(book.ok());
  EXPECT_FALSE(book->account_of("acme/ann").ok());
  EXPECT_TRUE(book->accounts().empty());
}

}  // namespace
}  // namespace stint
