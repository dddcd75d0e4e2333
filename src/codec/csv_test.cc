#include "codec/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"

namespace stint {
namespace {

using Rows = std::vector<std::vector<std::string>>;

struct ReadAll {
  Rows rows;
  std::vector<uint64_t> lines;
  size_t malformed = 0;
  std::string error;

  void take(const CsvRecord& record) {
    rows.emplace_back(record.fields.begin(), record.fields.end());
    lines.push_back(record.line);
    malformed += record.malformed ? 1 : 0;
  }
};

ReadAll read(std::string_view text, size_t piece, CsvOptions options = {}) {
  ReadAll all;
  options.source = "f.csv";
  CsvReader reader(options);
  for (size_t at = 0; at < text.size(); at += piece) {
    // Each piece is its own allocation, so that a view that outlives it is caught by the sanitizer.
    const std::string bytes(text.substr(at, piece));
    std::string_view rest = bytes;
    for (;;) {
      const auto ready = reader.next(rest);
      if (!ready.ok()) return all.error = ready.error().message, all;
      if (!ready.value()) break;
      all.take(reader.record());
    }
    EXPECT_TRUE(rest.empty());
  }
  const auto last = reader.finish();
  if (!last.ok()) return all.error = last.error().message, all;
  if (last.value()) all.take(reader.record());
  return all;
}

TEST(Csv, ReadsQuotedUnquotedAndEmptyFields) {
  const ReadAll all = read("a,\"b\",,\"\"\r\n\"x,\"\"y\"\"\nz\",2,3,4\n", 1000);
  EXPECT_EQ(all.rows, (Rows{{"a", "b", "", ""}, {"x,\"y\"\nz", "2", "3", "4"}}));
  EXPECT_EQ(all.lines, (std::vector<uint64_t>{1, 2}));
}

TEST(Csv, NumbersLinesAfterEmbeddedNewlinesAndEmptyLines) {
  const ReadAll all = read("h\n\n\"1\n2\n3\"\nx\r\n\r\n\"y\"", 7);
  EXPECT_EQ(all.lines, (std::vector<uint64_t>{1, 3, 6, 8}));
}

TEST(Csv, SkipsByteOrderMarkEvenBeforeAQuote) {
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{100}}) {
    EXPECT_EQ(read("\xef\xbb\xbf\"a\",b\n", piece).rows, (Rows{{"a", "b"}})) << piece;
    EXPECT_EQ(read("\xef\xbb"
                   "a\n",
                   piece)
                  .rows,
              (Rows{{"\xef\xbb"
                     "a"}}))
        << piece;
  }
  EXPECT_EQ(read("\xef\xbb", 1).rows, (Rows{{"\xef\xbb"}}));
}

TEST(Csv, QuoteInsideUnquotedFieldIsALetter) { EXPECT_EQ(read("5\" disk,b\"c\"\n", 3).rows, (Rows{{"5\" disk", "b\"c\""}})); }

TEST(Csv, BarSeparatedWithoutQuotes) {
  const ReadAll all = read("1|\"half|x,y\n", 4, {.separator = '|', .quotes = CsvQuotes::kNone});
  EXPECT_EQ(all.rows, (Rows{{"1", "\"half", "x,y"}}));
}

TEST(Csv, TextAfterClosingQuoteIsMalformedAndReadingGoesOn) {
  const ReadAll all = read("\"a\"b,c\n\"d\"\rx\ne,f\n", 2);
  EXPECT_EQ(all.malformed, 2U);
  EXPECT_EQ(all.rows.back(), (std::vector<std::string>{"e", "f"}));
  EXPECT_EQ(all.lines.back(), 3U);
}

TEST(Csv, UnterminatedQuoteNamesTheLineWhereItOpened) {
  EXPECT_THAT(read("a,b\n\"1\n2\",\"open\nnever\n", 5).error, testing::HasSubstr("f.csv:3: a quote opens here and never closes"));
}

TEST(Csv, RecordOverTheLimitIsAnErrorWithItsLine) {
  const CsvOptions options{.max_record_bytes = 16};
  const std::string text = "h\n" + std::string(17, 'x') + "\n";
  EXPECT_THAT(read(text, 100, options).error, testing::HasSubstr("f.csv:2: a record is longer than 16 bytes"));
  EXPECT_THAT(read(text, 3, options).error, testing::HasSubstr("f.csv:2: a record is longer than 16 bytes"));
  EXPECT_EQ(read("h\n" + std::string(15, 'x') + "\n", 3, options).error, "");
}

TEST(Csv, LastRecordNeedsNoNewline) {
  EXPECT_EQ(read("a,b\n1,", 3).rows, (Rows{{"a", "b"}, {"1", ""}}));
  EXPECT_EQ(read("a,b\n1,\"2\"", 3).rows, (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(read("a,b\n1,\"2\"\r", 3).rows, (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_TRUE(read("", 1).rows.empty());
  EXPECT_TRUE(read("\r\n\n", 1).rows.empty());
}

// A second, slower reader of the same rules: characters one at a time, no buffers.
ReadAll read_plainly(std::string_view text) {
  ReadAll all;
  uint64_t line = 1;
  size_t i = 0;
  while (i < text.size()) {
    const size_t start = i;
    const uint64_t first_line = line;
    std::vector<std::string> row;
    bool more = true;
    bool malformed = false;
    while (more) {
      std::string field;
      bool bare = true;
      if (i < text.size() && text[i] == '"') {
        bare = false;
        size_t raw = ++i;
        for (;; ++i) {
          if (i >= text.size()) return all.error = "open quote", all;
          if (text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') {
            field += '"';
            ++i;
            continue;
          }
          if (text[i] == '"') break;
          field += text[i];
          if (text[i] == '\n') ++line;
        }
        ++i;
        const std::string_view rest = text.substr(i);
        const bool closed = rest.empty() || rest[0] == ',' || rest[0] == '\n' || rest.starts_with("\r\n") || rest == "\r";
        if (!closed) {
          malformed = bare = true;
          field = text.substr(raw, i - raw);
        }
      }
      if (bare) {
        while (i < text.size() && text[i] != ',' && text[i] != '\n')
          field += text[i++];
        if ((i == text.size() || text[i] == '\n') && !field.empty() && field.back() == '\r') field.pop_back();
      } else if (i < text.size() && text[i] == '\r') {
        ++i;
      }
      more = i < text.size() && text[i] == ',';
      row.push_back(field);
      ++i;
    }
    ++line;
    const std::string_view whole = text.substr(start, i - start);
    if (whole == "\n" || whole == "\r\n" || whole == "\r") continue;
    all.malformed += malformed ? 1 : 0;
    if (malformed) row = {"malformed"};
    all.rows.push_back(row);
    all.lines.push_back(first_line);
  }
  return all;
}

TEST(Csv, AgreesWithAPlainReaderOnRandomText) {
  const uint64_t seed = 20261121;
  Prng random(seed);
  constexpr std::string_view kAlphabet = "ab,,\"\"\n\n\rcdefghijkl";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t n = random.below(40); n > 0; --n)
      text += kAlphabet[random.below(kAlphabet.size())];
    const ReadAll expected = read_plainly(text);
    ReadAll got = read(text, 1 + random.below(12));
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round << " text " << testing::PrintToString(text));
    ASSERT_EQ(expected.error.empty(), got.error.empty()) << got.error;
    if (!got.error.empty()) continue;
    ASSERT_EQ(expected.malformed, got.malformed);
    for (size_t i = 0; i < got.rows.size() && i < expected.rows.size(); ++i)
      if (expected.rows[i] == std::vector<std::string>{"malformed"}) got.rows[i] = expected.rows[i];
    ASSERT_EQ(expected.rows, got.rows);
    ASSERT_EQ(expected.lines, got.lines);
  }
}

CsvRecord record_of(const std::vector<std::string_view>& fields) { return {.line = 1, .last_line = 1, .fields = fields}; }

TEST(CsvHeader, FindsColumnsByNameWithoutCase) {
  const std::vector<std::string_view> fields = {"Id", " Name ", "user:owner", "user:Owner"};
  const auto header = CsvHeader::create(record_of(fields), {}, CsvNames::kExact);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header.value().find("id"), 0);
  EXPECT_EQ(header.value().find("NAME"), 1);
  EXPECT_EQ(header.value().find("user:Owner"), 3);
  EXPECT_EQ(header.value().find("absent"), -1);
  EXPECT_EQ(header.value().find_any(std::vector<std::string_view>{"absent", "name"}), 1);
}

TEST(CsvHeader, NamesWhatIsMissingAndWhatWasFound) {
  const std::vector<std::string_view> fields = {"a", "b"};
  const std::vector<std::string_view> required = {"b", "c", "d"};
  const auto header = CsvHeader::create(record_of(fields), required);
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.error().message, "line 1: the header lacks the columns c, d; found: a, b");
}

TEST(CsvHeader, RefusesAColumnThatStandsTwice) {
  const std::vector<std::string_view> fields = {"a", "b", "A"};
  const auto header = CsvHeader::create(record_of(fields), {});
  ASSERT_FALSE(header.ok());
  EXPECT_THAT(header.error().message, testing::HasSubstr("column 'A' stands twice (columns 1 and 3)"));
}

}  // namespace
}  // namespace stint
