// Requests and answers of the pages' server as values, and the reading and writing of HTTP around
// them. cpp-httplib does the latter and stays in Http.cpp; sockets are Connections.h's business.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::results::serve {

struct HttpRequest {
  std::string method = {}, path = {};
  std::multimap<std::string, std::string> parameters = {}; ///< Of the query, decoded.
  std::multimap<std::string, std::string> headers = {};    ///< Names in lower case.
  std::string body = {};

  /// The first value of a parameter; `missing` where there is none.
  std::string parameter(const std::string &name, std::string missing = {}) const {
    auto found = parameters.find(name);
    return found == parameters.end() ? std::move(missing) : found->second;
  }
  std::string header(const std::string &name) const {
    auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Server-sent events follow the body for as long as the client listens.
  bool isStream = false;
};

using HttpHandler = std::function<HttpAnswer(const HttpRequest &)>;

/// What is sent for a request, and what becomes of the connection.
struct HttpReply {
  std::string bytes = {};
  bool closes = false, isStream = false;
};

/// Answers one whole request: `head` is everything up to and including its empty line. A request
/// that is none is answered with 400 and the end of the connection.
HttpReply replyTo(std::string_view head, std::string_view body, const HttpHandler &handler);

} // namespace cupel::results::serve
