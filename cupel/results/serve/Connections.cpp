#include "cupel/results/serve/Connections.h"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <mutex>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>

namespace cupel::results::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kListener = 0, kWake = 1, kFirstConnection = 2;

struct Connection {
  int socket = -1;
  enum State : uint8_t { Asking, Answering, Sending, Listening } state = Asking;
  std::string in, out;
  size_t sent = 0;
  bool closes = false;
  Clock::time_point deadline, lastByte;
};

std::string refusal(int status, std::string_view reason, std::string_view text) {
  return fmt::format("HTTP/1.1 {} {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n"
                     "Connection: close\r\n\r\n{}\n",
                     status, reason, text.size() + 1, text);
}

/// The value of a header in a request's head; empty where it is not there.
std::string_view headerOf(std::string_view head, std::string_view name) {
  for (size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at)) {
    at += 2;
    std::string_view line = head.substr(at, head.find("\r\n", at) - at);
    if (line.size() > name.size() && line[name.size()] == ':' &&
        strncasecmp(line.data(), name.data(), name.size()) == 0) {
      line.remove_prefix(name.size() + 1);
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      return line.substr(0, line.find_last_not_of(' ') + 1);
    }
  }
  return {};
}

} // namespace

struct Connections::Impl {
  ConnectionLimits limits;
  int listener = -1, epoll = -1, wake = -1;
  uint16_t port = 0;
  std::atomic<bool> isStopping = false;
  std::atomic<size_t> listening = 0;

  // The loop's own.
  std::unordered_map<uint64_t, Connection> connections;
  uint64_t nextKey = kFirstConnection;

  struct Work {
    uint64_t key = 0;
    std::string head, body;
  };
  struct Done {
    uint64_t key = 0;
    HttpReply reply;
  };
  std::mutex mutex;
  std::condition_variable hasWork;
  std::deque<Work> work;
  std::vector<Done> done;
  std::vector<std::string> events;

  ~Impl() {
    for (auto &[key, connection] : connections)
      ::close(connection.socket);
    for (int file : {listener, epoll, wake})
      if (file >= 0)
        ::close(file);
  }

  void wakeUp() const {
    uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(wake, &one, sizeof(one));
  }

  void answer(const HttpHandler &handler) {
    while (true) {
      Work next;
      {
        std::unique_lock lock(mutex);
        hasWork.wait(lock, [&] { return isStopping || !work.empty(); });
        if (isStopping)
          return;
        next = std::move(work.front());
        work.pop_front();
      }
      HttpReply reply = replyTo(next.head, next.body, handler);
      {
        std::lock_guard lock(mutex);
        done.push_back({next.key, std::move(reply)});
      }
      wakeUp();
    }
  }

  void watch(uint64_t key, const Connection &connection, uint32_t events) const {
    epoll_event event{.events = events, .data = {.u64 = key}};
    ::epoll_ctl(epoll, EPOLL_CTL_MOD, connection.socket, &event);
  }

  void close(uint64_t key) {
    auto found = connections.find(key);
    if (found == connections.end())
      return;
    if (found->second.state == Connection::Listening)
      --listening;
    ::close(found->second.socket);
    connections.erase(found);
  }

  void accept() {
    for (int socket; (socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      if (connections.size() >= limits.connections)
        dropSilent();
      int yes = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
      uint64_t key = nextKey++;
      Connection &connection = connections[key];
      connection.socket = socket;
      connection.lastByte = Clock::now();
      connection.deadline = connection.lastByte + limits.request;
      epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
      ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
    }
  }

  /// Makes room: who has not finished asking and said nothing for longest.
  void dropSilent() {
    uint64_t oldest = 0;
    Clock::time_point when = Clock::time_point::max();
    for (const auto &[key, connection] : connections)
      if (connection.state == Connection::Asking && connection.lastByte < when) {
        oldest = key;
        when = connection.lastByte;
      }
    if (oldest)
      close(oldest);
  }

  void refuse(uint64_t key, Connection &connection, std::string text) {
    connection.out = std::move(text);
    connection.sent = 0;
    connection.closes = true;
    send(key, connection);
  }

  void receive(uint64_t key, Connection &connection) {
    char buffer[16 << 10];
    while (true) {
      ssize_t count = ::recv(connection.socket, buffer, sizeof(buffer), 0);
      if (count > 0) {
        if (connection.state == Connection::Listening)
          continue; // Who listens has nothing more to say.
        Clock::time_point now = Clock::now();
        if (connection.in.empty())
          connection.deadline = now + limits.request;
        connection.lastByte = now;
        connection.in.append(buffer, size_t(count));
        if (connection.in.size() > limits.headBytes + limits.bodyBytes)
          break;
        continue;
      }
      if (count < 0 && (errno == EAGAIN || errno == EINTR))
        break;
      return close(key);
    }
    if (connection.state == Connection::Asking)
      takeRequest(key, connection);
  }

  void takeRequest(uint64_t key, Connection &connection) {
    size_t end = connection.in.find("\r\n\r\n");
    if (std::min(end, connection.in.size()) > limits.headBytes)
      return refuse(key, connection, refusal(431, "Request Header Fields Too Large", "the request's head is too long"));
    if (end == std::string::npos)
      return;
    end += 4;
    std::string_view head = std::string_view(connection.in).substr(0, end);
    if (!headerOf(head, "Transfer-Encoding").empty())
      return refuse(key, connection, refusal(411, "Length Required", "a body needs a Content-Length"));
    size_t length = 0;
    if (std::string_view text = headerOf(head, "Content-Length"); !text.empty()) {
      auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      if (error != std::errc() || rest != text.data() + text.size())
        return refuse(key, connection, refusal(400, "Bad Request", "Content-Length is no number"));
    }
    if (length > limits.bodyBytes)
      return refuse(key, connection, refusal(413, "Payload Too Large", "the request's body is too long"));
    if (connection.in.size() < end + length)
      return;
    Work next{key, std::string(head), connection.in.substr(end, length)};
    connection.in.erase(0, end + length);
    connection.state = Connection::Answering;
    connection.deadline = Clock::time_point::max();
    watch(key, connection, 0);
    {
      std::lock_guard lock(mutex);
      work.push_back(std::move(next));
    }
    hasWork.notify_one();
  }

  void send(uint64_t key, Connection &connection) {
    while (connection.sent < connection.out.size()) {
      ssize_t count = ::send(connection.socket, connection.out.data() + connection.sent,
                             connection.out.size() - connection.sent, MSG_NOSIGNAL);
      if (count >= 0) {
        connection.sent += size_t(count);
        continue;
      }
      if (errno == EINTR)
        continue;
      if (errno != EAGAIN)
        return close(key);
      if (connection.state != Connection::Listening && connection.state != Connection::Sending) {
        connection.state = Connection::Sending;
        connection.deadline = Clock::now() + limits.answer;
      }
      return watch(key, connection,
                   connection.state == Connection::Listening ? EPOLLOUT | EPOLLIN : EPOLLOUT);
    }
    connection.out.clear();
    connection.sent = 0;
    if (connection.closes)
      return close(key);
    watch(key, connection, EPOLLIN);
    if (connection.state == Connection::Listening)
      return;
    connection.state = Connection::Asking;
    connection.lastByte = Clock::now();
    connection.deadline = connection.lastByte + (connection.in.empty() ? limits.idle : limits.request);
    if (!connection.in.empty())
      takeRequest(key, connection);
  }

  void takeDone() {
    uint64_t count;
    [[maybe_unused]] ssize_t got = ::read(wake, &count, sizeof(count));
    std::vector<Done> finished;
    std::vector<std::string> published;
    {
      std::lock_guard lock(mutex);
      finished.swap(done);
      published.swap(events);
    }
    for (Done &one : finished) {
      auto found = connections.find(one.key);
      if (found == connections.end())
        continue;
      Connection &connection = found->second;
      connection.out = std::move(one.reply.bytes);
      connection.sent = 0;
      connection.closes = one.reply.closes;
      if (one.reply.isStream) {
        connection.closes = false;
        connection.state = Connection::Listening;
        ++listening;
      }
      send(one.key, connection);
    }
    if (published.empty())
      return;
    std::vector<uint64_t> keys;
    for (const auto &[key, connection] : connections)
      if (connection.state == Connection::Listening)
        keys.push_back(key);
    for (uint64_t key : keys) {
      Connection &connection = connections[key];
      for (const std::string &event : published)
        connection.out += event;
      if (connection.out.size() - connection.sent > limits.streamBytes)
        close(key); // It reads nothing; the browser's EventSource comes back by itself.
      else
        send(key, connection);
    }
  }

  void expire() {
    Clock::time_point now = Clock::now();
    std::vector<uint64_t> late;
    for (const auto &[key, connection] : connections)
      if (connection.deadline < now && connection.state != Connection::Listening)
        late.push_back(key);
    for (uint64_t key : late) {
      Connection &connection = connections[key];
      if (connection.state == Connection::Asking && !connection.in.empty())
        refuse(key, connection, refusal(408, "Request Timeout", "the request did not come to its end"));
      close(key);
    }
  }
};

Connections::Connections(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Connections::~Connections() = default;

Result<std::unique_ptr<Connections>> Connections::listen(const std::string &address, uint16_t port,
                                                         const ConnectionLimits &limits) {
  auto impl = std::make_unique<Impl>();
  impl->limits = limits;
  // As many sockets as the system lets a process have.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    ::getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur != RLIM_INFINITY && files.rlim_cur > 128)
      impl->limits.connections = std::min<size_t>(limits.connections, files.rlim_cur - 64);
  }
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (int error = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found))
    return Error{fmt::format("--host {}: {}", address, ::gai_strerror(error))};
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  impl->listener = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int yes = 1;
  ::setsockopt(impl->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(impl->listener, found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(impl->listener, 4096) != 0)
    return Error{fmt::format("cannot listen on {} port {}: {}{}", address, port, std::strerror(errno),
                             errno == EADDRINUSE ? " (--port 0 takes any that is free)" : "")};
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  ::getsockname(impl->listener, reinterpret_cast<sockaddr *>(&bound), &size);
  impl->port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(bound).sin6_port
                                                 : reinterpret_cast<sockaddr_in &>(bound).sin_port);
  impl->epoll = ::epoll_create1(EPOLL_CLOEXEC);
  impl->wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  for (auto [file, key] : {std::pair(impl->listener, kListener), std::pair(impl->wake, kWake)}) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
    if (::epoll_ctl(impl->epoll, EPOLL_CTL_ADD, file, &event) != 0)
      return Error{fmt::format("epoll: {}", std::strerror(errno))};
  }
  return std::unique_ptr<Connections>(new Connections(std::move(impl)));
}

uint16_t Connections::port() const { return impl->port; }
size_t Connections::listeners() const { return impl->listening; }

void Connections::stop() {
  impl->isStopping = true;
  impl->wakeUp();
}

void Connections::publish(std::string_view event, std::string_view data) {
  {
    std::lock_guard lock(impl->mutex);
    impl->events.push_back(fmt::format("event: {}\ndata: {}\n\n", event, data));
  }
  impl->wakeUp();
}

Status Connections::run(const HttpHandler &handler) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < impl->limits.threads; ++i)
    threads.emplace_back([&] { impl->answer(handler); });
  Status status;
  Clock::time_point nextLook = Clock::now();
  while (!impl->isStopping) {
    epoll_event events[256];
    int count = ::epoll_wait(impl->epoll, events, std::size(events), 500);
    if (count < 0 && errno != EINTR) {
      status = Error{fmt::format("epoll: {}", std::strerror(errno))};
      break;
    }
    for (int i = 0; i < count; ++i) {
      uint64_t key = events[i].data.u64;
      if (key == kListener) {
        impl->accept();
        continue;
      }
      if (key == kWake) {
        impl->takeDone();
        continue;
      }
      auto found = impl->connections.find(key);
      if (found == impl->connections.end())
        continue;
      if (events[i].events & (EPOLLERR | EPOLLHUP))
        impl->close(key);
      else if (events[i].events & EPOLLOUT)
        impl->send(key, found->second);
      else
        impl->receive(key, found->second);
    }
    if (Clock::now() >= nextLook) {
      impl->expire();
      nextLook = Clock::now() + std::chrono::milliseconds(500);
    }
  }
  {
    std::lock_guard lock(impl->mutex);
    impl->isStopping = true;
  }
  impl->hasWork.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  return status;
}

} // namespace cupel::results::serve
