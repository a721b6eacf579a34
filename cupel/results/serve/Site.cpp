#include "cupel/results/serve/Site.h"

#include "cupel/results/serve/Pages.h"

#include <atomic>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <sys/random.h>
#include <thread>

namespace cupel::results::serve {
namespace {

std::string newToken() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof(bytes), 0) != ssize_t(sizeof(bytes)))
    std::abort(); // A token that could be guessed would be worse than no server.
  std::string text;
  for (unsigned char byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

/// Takes as long for a wrong first character as for a wrong last one.
bool isSameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string cookieOf(const HttpRequest &request, std::string_view name) {
  std::string header = request.header("cookie");
  std::string_view rest = header;
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
      return std::string(one.substr(name.size() + 1));
  }
  return {};
}

/// The name in `name:port`, `[::1]:port`.
std::string_view hostName(std::string_view host) {
  if (host.starts_with('['))
    return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

constexpr std::pair<const char *, const char *> kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

constexpr std::string_view kCookie = "cupel_token";

} // namespace

bool isLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

Result<std::unique_ptr<Site>> Site::open(SiteOptions options, Api &api) {
  if (options.token.empty())
    options.token = newToken();
  Result<std::unique_ptr<Connections>> sockets = Connections::listen(options.host, options.port);
  if (!sockets)
    return sockets.error();
  options.port = (*sockets)->port();
  return std::unique_ptr<Site>(new Site(std::move(options), api, std::move(*sockets)));
}

std::string Site::address() const {
  std::string host = settings.host.find(':') == std::string::npos ? settings.host : "[" + settings.host + "]";
  std::string address = fmt::format("http://{}:{}/", host, settings.port);
  return isLoopback(settings.host) ? address : address + "?token=" + settings.token;
}

std::optional<HttpAnswer> Site::refusalOf(const HttpRequest &request) const {
  std::string bearer = request.header("authorization");
  bool hasHeader = bearer.starts_with("Bearer ") && isSameSecret(std::string_view(bearer).substr(7), settings.token);
  if (isLoopback(settings.host)) {
    // Another name for this address would be a page elsewhere that found out how to read from here.
    std::string host = request.header("host");
    if (!isLoopback(hostName(host)))
      return refuse(403, "this server answers to 127.0.0.1 and localhost only");
  } else if (!hasHeader && !isSameSecret(cookieOf(request, kCookie), settings.token)) {
    return refuse(401, "this server wants the token that it printed when it was started: open the address with ?token=..., or send "
                       "Authorization: Bearer TOKEN");
  }
  if (request.method == "GET" || request.method == "HEAD")
    return std::nullopt;
  // What starts work: a cookie is sent by browsers without being asked, a header is not.
  if (settings.readOnly)
    return refuse(403, "this server is read-only");
  if (!hasHeader)
    return refuse(401, "this needs Authorization: Bearer TOKEN, with the token that the server printed");
  return std::nullopt;
}

HttpAnswer Site::route(const HttpRequest &request) {
  // The address that was printed: the token becomes a cookie and leaves the address bar.
  if (std::string token = request.parameter("token"); request.path == "/" && !token.empty()) {
    if (!isSameSecret(token, settings.token))
      return refuse(401, "this is not the token that the server printed");
    return {.status = 303, .type = "text/plain", .body = "",
            .headers = {{"Location", "/"}, // A browser keeps what stands behind #.
                        {"Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", kCookie, token)}}};
  }
  if (std::optional<HttpAnswer> refused = refusalOf(request))
    return std::move(*refused);
  for (const auto &[path, handler] : mounted)
    if (request.path == path || (request.path.starts_with(path) && request.path[path.size()] == '/'))
      return handler(request);
  if (request.path.starts_with(Api::kRoot))
    return api.answer(request);
  std::string_view name = std::string_view(request.path).substr(std::min<size_t>(1, request.path.size()));
  const PageFile *file = findPage(name.empty() ? "index.html" : name);
  if (!file)
    return refuse(404, "no such page");
  return {.type = std::string(file->type), .body = std::string(file->bytes)};
}

HttpAnswer Site::answer(const HttpRequest &request) {
  HttpAnswer answer = route(request);
  for (const auto &[name, value] : kHeaders)
    answer.headers.emplace_back(name, value);
  return answer;
}

Status Site::run() {
  std::mutex mutex;
  std::condition_variable ends;
  bool isOver = false;
  // Looks at the store while somebody listens, and makes the first overview before it is asked for.
  std::thread watcher([&] {
    HttpRequest first{.method = "GET", .path = std::string(Api::kRoot) + "overview"};
    (void)api.refresh();
    (void)api.answer(first);
    std::string known;
    int quiet = 0;
    std::unique_lock lock(mutex);
    while (!ends.wait_for(lock, std::chrono::seconds(1), [&] { return isOver; })) {
      if (sockets->listeners() == 0)
        continue;
      Result<std::string> state = api.refresh();
      if (state && *state != known) {
        if (Result<std::string> progress = api.progress())
          sockets->publish("changed", *progress);
        known = *state;
        quiet = 0;
      } else if (++quiet >= 15) {
        sockets->publish("quiet", "{}"); // Those who left without a word are noticed.
        quiet = 0;
      }
    }
  });
  Status status = sockets->run([this](const HttpRequest &request) { return answer(request); });
  {
    std::lock_guard lock(mutex);
    isOver = true;
  }
  ends.notify_all();
  watcher.join();
  return status;
}

} // namespace cupel::results::serve
