// The sockets of the pages' server: one thread waits for all of them, a few others answer whole
// requests. A client that is slow to ask or to listen costs a buffer and never a thread, and every
// wait has an end. Knows bytes and times; what an answer is, is its caller's business.
#pragma once

#include "cupel/results/serve/Http.h"
#include "cupel/support/Error.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace cupel::results::serve {

struct ConnectionLimits {
  size_t connections = 4000; ///< Beyond it the one that has been silent longest has to go.
  size_t headBytes = 16 << 10, bodyBytes = 1 << 20;
  std::chrono::milliseconds request{10'000}; ///< From a request's first byte to its last.
  std::chrono::milliseconds idle{30'000};    ///< Between requests.
  std::chrono::milliseconds answer{60'000};  ///< Until the client has taken an answer.
  size_t streamBytes = 1 << 20;              ///< What a listener may leave untaken.
  unsigned threads = 4;
};

class Connections {
public:
  /// Binds and listens; port 0 is any that is free. The error names address and port.
  static Result<std::unique_ptr<Connections>> listen(const std::string &address, uint16_t port,
                                                     const ConnectionLimits &limits = {});
  ~Connections();
  Connections(const Connections &) = delete;
  Connections &operator=(const Connections &) = delete;

  uint16_t port() const;
  /// Serves until `stop`. The handler is called on several threads at once.
  Status run(const HttpHandler &handler);
  /// From any thread, or a signal's handler.
  void stop();
  /// Sends an event to all who listen; from any thread.
  void publish(std::string_view event, std::string_view data);
  /// How many listen to events now.
  size_t listeners() const;

private:
  struct Impl;
  explicit Connections(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace cupel::results::serve
