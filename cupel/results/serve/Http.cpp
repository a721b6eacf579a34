#include "cupel/results/serve/Http.h"

#include <algorithm>
#include <cstring>
#include <httplib.h>

namespace cupel::results::serve {
namespace {

/// One request in memory, and room for its answer.
class MemoryStream final : public httplib::Stream {
public:
  explicit MemoryStream(std::string_view request) : request(request) {}

  bool is_readable() const override { return !request.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char *into, size_t size) override {
    size_t count = std::min(size, request.size());
    std::memcpy(into, request.data(), count);
    request.remove_prefix(count);
    return ssize_t(count);
  }
  ssize_t write(const char *from, size_t size) override {
    answer.append(from, size);
    return ssize_t(size);
  }
  void get_remote_ip_and_port(std::string &, int &) const override {}
  void get_local_ip_and_port(std::string &, int &) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

  std::string_view request;
  std::string answer;
};

/// httplib's reading of requests and writing of answers, without its sockets and threads: it gives
/// every connection a thread, and a few hundred slow clients would take them all.
class Exchange final : public httplib::Server {
public:
  Exchange() {
    // What answers promise; Connections.h keeps it.
    set_keep_alive_timeout(30);
    set_keep_alive_max_count(100'000);
  }

  HttpReply reply(std::string_view head, std::string_view body, const HttpHandler &handler) {
    bool isStream = false, isUnderstood = false;
    set_pre_routing_handler([&](const httplib::Request &in, httplib::Response &out) {
      HttpRequest request{.method = in.method, .path = in.path, .body = std::string(body)};
      request.parameters = {in.params.begin(), in.params.end()};
      for (const auto &[name, value] : in.headers) {
        std::string lower = name;
        std::transform(lower.begin(), lower.end(), lower.begin(),
                       [](unsigned char c) { return char(std::tolower(c)); });
        request.headers.emplace(std::move(lower), value);
      }
      isUnderstood = true;
      HttpAnswer answer = handler(request);
      isStream = answer.isStream;
      out.status = answer.status;
      for (const auto &[name, value] : answer.headers)
        out.set_header(name, value);
      out.set_content(std::move(answer.body), answer.type);
      return HandlerResponse::Handled;
    });
    MemoryStream stream(head);
    HttpReply reply;
    // Compressing costs more than a local network, and httplib would choose its slowest way; ranges
    // of what is made anew for each request mean nothing.
    bool kept = process_request(stream, /*close_connection=*/false, reply.closes,
                                [](httplib::Request &in) {
                                  in.headers.erase("Accept-Encoding");
                                  in.headers.erase("Range");
                                });
    // Where a request that was none ended, nobody knows.
    reply.closes |= !kept || !isUnderstood;
    reply.isStream = isStream;
    reply.bytes = std::move(stream.answer);
    if (isStream) {
      // A stream has no length: what follows is sent as it comes.
      size_t at = reply.bytes.find("Content-Length:");
      size_t end = at == std::string::npos ? at : reply.bytes.find("\r\n", at);
      if (end != std::string::npos)
        reply.bytes.erase(at, end + 2 - at);
    }
    return reply;
  }
};

} // namespace

HttpReply replyTo(std::string_view head, std::string_view body, const HttpHandler &handler) {
  return Exchange().reply(head, body, handler);
}

} // namespace cupel::results::serve
