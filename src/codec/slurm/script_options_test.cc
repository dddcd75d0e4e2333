#include "codec/slurm/script_options.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> words(std::string_view script) {
  const auto read = read_script_options(script, "job.sh");
  CHECK(read.ok(), "{}", read.error().message);
  std::vector<std::string> texts;
  for (const ScriptWord& word : *read)
    texts.push_back(word.text);
  return texts;
}

TEST(ScriptOptions, AreReadFromTheTop) {
  const auto read = read_script_options(
      "#!/bin/sh\r\n# what it does\n\n#STINT --gpus 2\r\n#STINT\t--queue  agency/vision # mine\necho\n#STINT --gpus 9\n",
      "job.sh");
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(
      words("#!/bin/sh\r\n# what it does\n\n#STINT --gpus 2\r\n#STINT\t--queue  agency/vision # mine\necho\n#STINT --gpus 9\n"),
      ElementsAre("--gpus", "2", "--queue", "agency/vision"));
  EXPECT_EQ(read.value()[2].line, 5);
}

TEST(ScriptOptions, WordsAreSplitAsAShellWould) {
  EXPECT_THAT(words(R"(#STINT --tag a="b c" 'd "e' f\ g "h\"i" j#k '' l'm'"n")"),
              ElementsAre("--tag", "a=b c", "d \"e", "f g", "h\"i", "j#k", "", "lmn"));
}

TEST(ScriptOptions, OtherCommentsAreNone) {
  EXPECT_THAT(words("#STINTED --gpus 2\n# STINT --gpus 2\n #STINT --gpus 2\n"), IsEmpty());
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words("#STINT"), IsEmpty());
}

TEST(ScriptOptions, WhatIsNotWholeIsAnErrorWithItsLine) {
  for (const char* bad : {"#!/bin/sh\n#STINT --tag 'a", "#\n#STINT --tag \"a\n\"", "\n#STINT a\\",
                          "\n#STINT a\x01"
                          "b"})
    EXPECT_THAT(read_script_options(bad, "job.sh").error().message, HasSubstr("job.sh:2: ")) << bad;
  std::string many;
  for (int i = 0; i < 1001; ++i)
    many += "#STINT a\n";
  EXPECT_THAT(read_script_options(many, "job.sh").error().message, HasSubstr("1,000"));
}

}  // namespace
}  // namespace stint
