// Bills come again and again until they are final: a delivery takes the place of the one before of the same provider, billing account,
// billing period and kind of export. What was replaced is kept, not counted (table bill_delivery; docs/formats.md).
//
// Azure's amortised and actual exports of one month are two views of one bill. Both stay: the amortised one (azure) counts, and of the
// actual one (azure-actual, superseded by it) the purchases and refunds of commitments, which alone are not in the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "model/bill.h"
#include "model/history.h"

namespace stint {

class Database;

/// What an import of bills is beside what is there of the same account and period.
enum class DeliveryAs {
  kSeen,     ///< a new delivery where it holds the same charges; else it is refused, for it may be another part
  kPart,     ///< a part beside the others; in the place of an earlier one of the same source only
  kReplace,  ///< a new delivery, whatever it holds
};

struct DeliveryOptions {
  DeliveryAs as = DeliveryAs::kSeen;
  std::string prefer;  ///< of two kinds of export of one account the one that counts; empty = such an import is refused
};

/// What one import holds of one account and billing period, in one currency.
struct ImportedBill {
  std::string provider;
  std::string billing_account;
  Interval billing;  ///< period
  Interval charged;  ///< first to last charge
  uint64_t lines = 0;
  Money billed, effective;
  std::optional<int64_t> superseded_by;  ///< the import that counts instead
  bool purchases_count = false;  ///< Azure's actual cost beside the amortised: what bought commitments counts all the same
};

/// An import as `stint history imports` lists it.
struct ImportListing {
  int64_t id = 0;
  ImportRecord record;
  std::vector<ImportedBill> bills;  ///< ascending by provider, account, period, currency; empty for imports of other things
};

/// What a delivery took the place of.
struct ReplacedBill {
  int64_t import_id = 0;
  std::string source;
  std::string provider, billing_account;
  Instant billing_begin;
  uint64_t lines = 0;
  bool of_another_kind = false;
  bool purchases_count = false;  ///< Azure's actual cost beside the amortised: what bought commitments still counts
};

struct DroppedImport {
  ImportRecord record;
  std::vector<int64_t> brought_back;  ///< imports some of which counts again
};

/// Of one import while it goes on: gathers which bills it holds, and settles at its end what counts.
class DeliveryBook {
 public:
  DeliveryBook(int64_t import_id, std::string kind, std::string source, DeliveryOptions options)
      : import_id_(import_id), kind_(std::move(kind)), source_(std::move(source)), options_(std::move(options)) {}

  /// The lines that follow come from this file.
  void begin_file(std::string_view name) { files_.emplace_back(name); }
  void add(const BillLine& line);
  /// Within the import's transaction. @return error saying what to do when two deliveries would count at once, or one may be a part.
  Status settle(Database& database);
  [[nodiscard]] const std::vector<ReplacedBill>& replaced() const { return replaced_; }
  /// What a reader should know of it, after settle().
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const DeliveryOptions& options() const { return options_; }

 private:
  /// Provider, billing account, begin of the billing period.
  using Scope = std::tuple<std::string, std::string, int64_t>;
  /// Digests of what was charged (not of how much), by file, each file's ascending and once.
  struct Charges {
    std::vector<std::vector<uint64_t>> by_file;
  };
  struct Other {
    int64_t import_id = 0;
    std::string kind, source;
    std::string billing_account;
    std::optional<int64_t> superseded_by;
    std::string superseder_kind;
  };

  Status check_files(const Scope& scope, const Charges& charges) const;
  Status settle_scope(Database& database, const Scope& scope, const Charges& charges);
  Status settle_same_kind(Database& database, const Scope& scope, const Charges& charges, const std::vector<Other>& others);
  Status settle_other_kinds(Database& database, const Scope& scope, const std::vector<Other>& others);
  Status supersede(Database& database, const Scope& scope, const Other& other);
  Status stand_behind(Database& database, const Scope& scope, const Other& other);
  Status join_azure_views(Database& database, const Scope& scope, const Other& other);
  [[nodiscard]] static std::string text_of(const Scope& scope);

  const int64_t import_id_;
  const std::string kind_, source_;
  const DeliveryOptions options_;
  std::vector<std::string> files_;
  std::map<Scope, Charges> scopes_;
  std::pair<const Scope, Charges>* last_ = nullptr;  // of the line before: mostly that of the next, too
  std::vector<ReplacedBill> replaced_;
  std::vector<std::string> notes_;
};

/// ` AND …` for a WHERE over bill_line, or another table with the columns of a delivery: rows of deliveries that count. Empty where all do.
Result<std::string> lines_that_count(Database& database, std::string_view table = "bill_line");
/// The columns of bill lines, for a SELECT of lines that count. Of Azure's actual cost beside the amortised only purchases of commitments
/// count, and their effective cost is 0: the amortised export has spread it.
Result<std::string> counted_line_columns(Database& database);
/// What to select bill_extent's columns from, as `bill_extent`: the table, or the lines of an older version.
Result<std::string> bill_extents(Database& database);

}  // namespace stint
