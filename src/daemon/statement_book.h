// The statements of clients that were written, by month: a folder a month with a page for each client and an index of them.
//
// A month is there whole or not at all: its folder is filled under another name and renamed. Writing a month again, after bills
// were delivered again, takes the place of what was there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

struct KeptStatement {
  std::string client;
  std::string amount;  ///< decimal, in the month's currency
  std::string file;    ///< name within the month's folder
};

struct MonthStatements {
  std::string month;  ///< "2026-10"
  Instant written;
  std::string currency;
  std::vector<KeptStatement> statements;
};

class StatementBook {
 public:
  /// @param folder  made when the first month is written.
  explicit StatementBook(std::string folder) : folder_(std::move(folder)) {}

  [[nodiscard]] bool has(const std::string& month) const;
  /// Newest first; a folder without a readable index is left out.
  [[nodiscard]] std::vector<MonthStatements> months() const;
  /// @return kNotFound when the month was not written; kInvalidInput when its index is none.
  [[nodiscard]] Result<MonthStatements> month(const std::string& month) const;
  /// The page as HTML. @return kNotFound.
  [[nodiscard]] Result<std::string> page(const std::string& month, std::string_view client) const;

  /// Where the pages of a month are to be written before put() takes them: an empty folder.
  [[nodiscard]] Result<std::string> begin(const std::string& month) const;
  /// @param json  what `stint statements --json` printed about the folder of begin().
  [[nodiscard]] Status put(const std::string& month, Instant written, std::string_view json) const;

 private:
  [[nodiscard]] std::string path_of(const std::string& month) const { return folder_ + "/" + month; }

  std::string folder_;
};

}  // namespace stint
