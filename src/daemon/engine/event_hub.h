// Hands what happens on to those who listen: each sees the events of their clients, and of machines.
//
// Its own thread puts events into words and hands them to the streams, those of one round together and at most twenty
// rounds a second, so that many listeners cost the service's thread no more than one: it gives copies of events and goes on.
// Who comes back after a while catches up in portions, as fast as they read.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/identity/governor.h"
#include "daemon/service.h"
#include "host/http_server.h"

namespace stint {

class EventHub : public std::enable_shared_from_this<EventHub> {
 public:
  EventHub(Service& service, Governor& governor, std::function<Instant()> clock);
  /// Stops.
  ~EventHub();
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  /// Where a reader wants to begin.
  struct From {
    std::string after;  ///< public id of an event; empty = none is given
    int64_t last = -1;  ///< then: so many before the newest; below 0 = with those to come
  };
  /// @return number of the event behind which a reader begins. error: there is no such event for them. On the service's thread.
  static Result<int64_t> place_of(const Engine& engine, const Principal& who, const From& from);
  /// Begins with the events behind `after` (place_of()), as far as they are kept. Any thread.
  void subscribe(EventStream stream, Principal who, int64_t after);
  /// There are events up to `number`. Any thread.
  void announce(int64_t number);
  /// Hands nothing on any more; streams stay open until the hub goes. Any thread but its own.
  void stop();

 private:
  struct Listener {
    EventStream stream;
    Principal who;
    int64_t seen = 0;         ///< number of the last event handed on to it
    bool catching_up = true;  ///< not yet one of those who get what is new together
  };
  using Events = std::vector<EventView>;

  void run();
  /// @return whether somebody has not yet got all there is.
  bool round();
  bool is_news() const { return !joining_.empty() || (!listeners_.empty() && newest_ > sent_); }
  /// Behind each of `from`, in one question to the service. Empty when the hub stops.
  std::vector<Events> fetch(std::vector<int64_t> from);
  void hand_on(const Events& events);

  Service& service_;
  Governor& governor_;
  std::function<Instant()> clock_;

  // The hub's thread alone; `listeners_` and `sent_` are looked at by is_news(), which is called there, too.
  std::vector<Listener> listeners_;
  int64_t sent_ = 0;  ///< number of the last event handed on to all who are not catching up

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Listener> joining_;                      // guarded
  std::shared_ptr<const std::vector<Events>> answer_;  // guarded
  int64_t newest_ = 0;                                 // guarded
  bool stopping_ = false;                              // guarded
  std::thread thread_;
};

/// May they see what is told to that audience?
bool may_hear(const Principal& who, std::string_view audience);
/// May they see it?
bool may_see(const Principal& who, const EventView& event);

}  // namespace stint
