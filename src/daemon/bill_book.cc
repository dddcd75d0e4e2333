#include "daemon/bill_book.h"

#include <algorithm>
#include <set>
#include <utility>

namespace stint {
namespace {

__extension__ using Wide = __int128;

/// Of `whole`, spread evenly over `over`, what has come by `until`; all of it at the end.
int64_t by(int64_t whole, Interval over, Instant until) {
  return static_cast<int64_t>(Wide{whole} * (until - over.begin).count_ns() / over.length().count_ns());
}

}  // namespace

ClientBillLine ClientBill::total() const {
  ClientBillLine sum;
  for (const ClientBillLine& line : lines) {
    sum.runs += line.runs;
    sum.micro_gpu_hours += line.micro_gpu_hours;
    sum.amount = &line == lines.data() ? line.amount : sum.amount + line.amount;
  }
  return sum;
}

void BillSums::add(const RunPosting& posting) {
  const Interval over = posting.when;
  if (over.empty()) return;
  const auto micro_gpu_hours =
      static_cast<int64_t>(Wide{posting.gpu_milli} * 1'000 * over.length().count_ns() / kHour.count_ns());
  for (Interval month = month_of(over.begin); month.begin < over.end; month = month_of(month.end)) {
    const Instant from = std::max(month.begin, over.begin);
    const Instant to = std::min(month.end, over.end);
    const Money part = Money::nanos(by(posting.amount.count_nanos(), over, to) - by(posting.amount.count_nanos(), over, from),
                                    posting.amount.currency());
    const auto [sum, is_new] = sums_.try_emplace({month.begin, posting.client, posting.queue, posting.node});
    sum->second.amount = is_new ? part : sum->second.amount + part;
    sum->second.micro_gpu_hours += by(micro_gpu_hours, over, to) - by(micro_gpu_hours, over, from);
    ++sum->second.runs;
  }
}

std::vector<ClientBill> BillSums::of(Instant month) const {
  std::vector<ClientBill> bills;
  for (auto at = sums_.lower_bound({month, "", "", ""}); at != sums_.end() && std::get<0>(at->first) == month; ++at) {
    const auto& [begin, client, queue, node] = at->first;
    if (bills.empty() || bills.back().client != client) bills.push_back({.client = client, .lines = {}});
    bills.back().lines.push_back({.queue = queue,
                                  .node = node,
                                  .runs = at->second.runs,
                                  .micro_gpu_hours = at->second.micro_gpu_hours,
                                  .amount = at->second.amount});
  }
  return bills;
}

std::vector<Instant> BillSums::months(const std::function<bool(std::string_view)>& wanted) const {
  std::set<Instant, std::greater<>> months;
  for (const auto& [key, sum] : sums_)
    if (wanted(std::get<1>(key))) months.insert(std::get<0>(key));
  return {months.begin(), months.end()};
}

BillBook::BillBook(std::string place) : place_(std::move(place)), thread_([this] { run(); }) {}

BillBook::~BillBook() {
  {
    const std::lock_guard guard(lock_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void BillBook::ask(Answer answer) {
  {
    const std::lock_guard guard(lock_);
    asked_.push_back(std::move(answer));
  }
  wake_.notify_all();
}

void BillBook::run() {
  std::unique_lock lock(lock_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !asked_.empty(); });
    if (asked_.empty()) return;
    const std::deque<Answer> asked = std::exchange(asked_, {});
    lock.unlock();
    const Status read = read_on();
    if (!read.ok()) log_.reset();
    const Result<const BillSums*> sums = read.ok() ? Result<const BillSums*>(&sums_) : Result<const BillSums*>(read.error());
    for (const Answer& answer : asked)
      answer(sums);
    lock.lock();
  }
}

Status BillBook::read_on() {
  if (!log_) {
    TRY_ASSIGN(EventLog log, EventLog::open(place_, {.vfs = "", .follow = is_database_url(place_)}));
    TRY_ASSIGN(PostingCheck check, log.check_postings());
    sums_.problems = std::move(check.problems);
    log_ = std::move(log);
  }
  return log_->read_postings(read_, [this](int64_t number, const RunPosting& posting) -> Status {
    sums_.add(posting);
    read_ = number;
    return {};
  });
}

}  // namespace stint
