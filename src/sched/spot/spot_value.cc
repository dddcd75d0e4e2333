#include "sched/spot/spot_value.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stint::sched {
namespace {

constexpr size_t kStride = 8;        // ticks between the margins that are kept
constexpr size_t kMostSlots = 384;   // of slack
constexpr float kOutOfReach = 1e6F;  // on-demand ticks
constexpr float kMostMargin = 1000;  // so that one market that forbids does not drown the others' arithmetic
constexpr size_t kIdle = 0, kSpot = 1, kOnDemand = 2;

using Column = std::vector<float>;  // a value per slot of slack

/// Values of the columns with a part of the slack gone; out of reach where there is less.
class Loss {
 public:
  Loss(double slots) : whole_(static_cast<size_t>(slots)), part_(static_cast<float>(slots - std::floor(slots))) {}
  /// @param least_left  slots that must be left: less is out of reach.
  void take(const Column& from, float extra, double least_left, Column& to) const {
    const size_t reach = static_cast<size_t>(std::ceil(static_cast<double>(whole_) + part_ + least_left - 1e-6));
    const size_t size = from.size();
    std::fill(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(std::min(reach, size)), kOutOfReach);
    for (size_t s = std::max(reach, whole_ + 1); s < size; ++s)
      to[s] = extra + from[s - whole_] + part_ * (from[s - whole_ - 1] - from[s - whole_]);
    if (reach <= whole_ && whole_ < size) to[whole_] = extra + from[0];
  }

 private:
  size_t whole_;
  float part_;
};

/// One market's programme.
class Programme {
 public:
  Programme(const SpotTask& task, double spot_price, size_t slots, double slot_s, size_t up_kind, size_t down_kind)
      : task_(task),
        spot_price_(static_cast<float>(spot_price)),
        slot_s_(slot_s),
        tick_loss_(static_cast<double>(task.tick_s) / slot_s),
        changeover_loss_(static_cast<double>(task.changeover_s) / slot_s),
        no_loss_(0) {
    for (size_t c = 0; c < kAgeClasses; ++c) {
      up_end_[c] = static_cast<float>(class_end_chance(up_kind, c));
      down_end_[c] = static_cast<float>(class_end_chance(down_kind, c));
    }
    for (auto* side : {&up_, &down_, &next_up_, &next_down_, &after_up_, &after_down_})
      for (auto& holds : *side)
        for (Column& column : holds)
          column.assign(slots, 0);
    for (Column& column : chosen_)
      column.assign(slots, 0);
  }

  /// The values at the beginning of tick `tick`, from those of the one after.
  void step_back(int64_t tick) {
    expect();
    const double changeover = static_cast<double>(task_.changeover_s) / slot_s_;
    for (size_t c = 0; c < kAgeClasses; ++c) {
      tick_loss_.take(after_down_[c][kIdle], 0, changeover, chosen_[0]);
      changeover_loss_.take(after_down_[c][kOnDemand], 1, 0, chosen_[1]);
      least(chosen_[0], chosen_[1], down_[c][kIdle]);
      no_loss_.take(after_down_[c][kOnDemand], 1, 0, chosen_[2]);
      least(chosen_[0], chosen_[2], down_[c][kOnDemand]);
      keep(wait_[c], chosen_[1], chosen_[0]);

      tick_loss_.take(after_up_[c][kIdle], 0, changeover, chosen_[0]);
      changeover_loss_.take(after_up_[c][kOnDemand], 1, 0, chosen_[1]);
      no_loss_.take(after_up_[c][kOnDemand], 1, 0, chosen_[2]);
      changeover_loss_.take(after_up_[c][kSpot], spot_price_, changeover, chosen_[3]);
      no_loss_.take(after_up_[c][kSpot], spot_price_, 0, chosen_[4]);
      least(chosen_[0], chosen_[1], up_[c][kIdle]);
      least(up_[c][kIdle], chosen_[3], up_[c][kIdle]);
      least(chosen_[0], chosen_[1], up_[c][kSpot]);
      least(up_[c][kSpot], chosen_[4], up_[c][kSpot]);
      least(chosen_[0], chosen_[2], up_[c][kOnDemand]);
      least(up_[c][kOnDemand], chosen_[3], up_[c][kOnDemand]);
      keep(change_[c], chosen_[2], chosen_[3]);
    }
    finish(tick);
  }

  /// Of the tick last stepped to.
  [[nodiscard]] float wait_margin(size_t age_class, size_t slot) const { return wait_[age_class][slot]; }
  [[nodiscard]] float change_margin(size_t age_class, size_t slot) const { return change_[age_class][slot]; }

 private:
  using Side = std::array<std::array<Column, 3>, kAgeClasses>;

  static void least(const Column& a, const Column& b, Column& out) {
    for (size_t s = 0; s < out.size(); ++s)
      out[s] = b[s] < a[s] ? b[s] : a[s];
  }

  static void keep(Column& margin, const Column& stay, const Column& go) {
    margin.resize(stay.size());
    for (size_t s = 0; s < stay.size(); ++s)
      margin[s] = std::clamp(stay[s] - go[s], -kMostMargin, kMostMargin);
  }

  /// Expected values once the tick has passed: the spell goes on, ages into the next class, or ends.
  void expect() {
    std::swap(up_, next_up_);
    std::swap(down_, next_down_);
    for (size_t c = 0; c < kAgeClasses; ++c) {
      const bool last = c + 1 == kAgeClasses;
      const float age = last ? 0 : 1 / static_cast<float>(kAgeClassStarts[c + 1] - kAgeClassStarts[c]);
      for (const size_t holds : {kIdle, kSpot, kOnDemand}) {
        const size_t left = holds == kSpot ? kIdle : holds;  // when spot goes
        mix(next_up_[c][holds], next_up_[last ? c : c + 1][holds], age, next_down_[0][left], up_end_[c], after_up_[c][holds]);
        if (holds != kSpot)
          mix(next_down_[c][holds], next_down_[last ? c : c + 1][holds], age, next_up_[0][holds], down_end_[c],
              after_down_[c][holds]);
      }
    }
  }

  static void mix(const Column& stay, const Column& older, float age, const Column& flip, float end, Column& out) {
    const float a = (1 - end) * (1 - age);
    const float b = (1 - end) * age;
    for (size_t s = 0; s < out.size(); ++s)
      out[s] = a * stay[s] + b * older[s] + end * flip[s];
  }

  /// With as much slack as time left the work is done.
  void finish(int64_t tick) {
    const double left_s = static_cast<double>((task_.deadline_s / task_.tick_s - tick) * task_.tick_s);
    const auto first = static_cast<size_t>(std::max(0.0, std::ceil(left_s / slot_s_)));
    for (auto* side : {&up_, &down_})
      for (auto& holds : *side)
        for (Column& column : holds)
          for (size_t s = first; s < column.size(); ++s)
            column[s] = 0;
  }

  const SpotTask task_;
  float spot_price_;
  double slot_s_;
  Loss tick_loss_, changeover_loss_, no_loss_;
  std::array<float, kAgeClasses> up_end_, down_end_;
  Side up_, down_, next_up_, next_down_, after_up_, after_down_;
  std::array<Column, 5> chosen_;
  std::array<Column, kAgeClasses> wait_, change_;
};

}  // namespace

SpotValue::SpotValue(const SpotTask& task, double spot_price) {
  const int64_t ticks = task.deadline_s / task.tick_s;
  const int64_t slack_s = ticks * task.tick_s - task.work_s;
  // At least a slot per fifth of a tick where there are not too many.
  const double slot_s = std::max(static_cast<double>(task.tick_s) / 5, static_cast<double>(slack_s) / kMostSlots);
  slots_ = static_cast<size_t>(static_cast<double>(slack_s) / slot_s) + 1;
  slots_per_s_ = static_cast<float>(1 / slot_s);
  strides_ = static_cast<size_t>(ticks) / kStride + 1;
  strides_per_s_ = 1 / static_cast<float>(task.tick_s * static_cast<int64_t>(kStride));
  margins_.assign(strides_ * 2 * kAgeClasses * (slots_ + 1) * kMarkets, 0);
  for (size_t market = 0; market < kMarkets; ++market) {
    Programme programme(task, spot_price, slots_, slot_s, market / kSpellKinds, market % kSpellKinds);
    for (int64_t tick = ticks - 1; tick >= 0; --tick) {
      programme.step_back(tick);
      // Kept in the middle of the ticks it stands for.
      if (static_cast<size_t>(tick) % kStride != kStride / 2 && tick != ticks - 1) continue;
      const size_t stride = static_cast<size_t>(tick) / kStride;
      for (size_t margin = 0; margin < 2; ++margin)
        for (size_t c = 0; c < kAgeClasses; ++c)
          for (size_t slot = 0; slot <= slots_; ++slot) {
            const size_t s = std::min(slot, slots_ - 1);
            margins_[(((stride * 2 + margin) * kAgeClasses + c) * (slots_ + 1) + slot) * kMarkets + market] =
                margin == 0 ? programme.wait_margin(c, s) : programme.change_margin(c, s);
          }
    }
  }
}

}  // namespace stint::sched
