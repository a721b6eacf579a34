#include "cupel/testbench/config/Yaml.h"

#include <charconv>
#include <cmath>
#include <libfyaml.h>
#include <limits>

namespace cupel::testbench::config {

namespace {

struct Place {
  uint32_t line = 1, column = 1;
};

bool isContinuation(unsigned char c) { return (c & 0xC0) == 0x80; }

Place placeOf(std::string_view bytes, size_t offset) {
  Place place;
  for (size_t i = 0; i < offset && i < bytes.size(); ++i) {
    if (bytes[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else if (!isContinuation(static_cast<unsigned char>(bytes[i]))) {
      ++place.column;
    }
  }
  return place;
}

/// The length of the well-formed UTF-8 sequence at `i`, or 0.
size_t sequenceLength(std::string_view bytes, size_t i) {
  auto at = [&](size_t k) { return k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0u; };
  unsigned char lead = at(i);
  if (lead < 0x80)
    return 1;
  if (lead < 0xC2 || lead > 0xF4)
    return 0;
  size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (size_t k = 1; k < length; ++k)
    if (!isContinuation(at(i + k)))
      return 0;
  unsigned char second = at(i + 1);
  bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  bool outOfRange = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || outOfRange ? 0 : length;
}

/// The first byte that no YAML file may have, with the reason.
std::optional<std::pair<size_t, std::string>> findBadByte(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    unsigned char c = static_cast<unsigned char>(bytes[i]);
    if (c < 0x20 && c != '\n' && c != '\t' && c != '\r') {
      char text[40];
      std::snprintf(text, sizeof text, "control character 0x%02x", c);
      return std::pair(i, std::string(text));
    }
    size_t length = sequenceLength(bytes, i);
    if (length == 0)
      return std::pair(i, std::string("bytes that are not UTF-8"));
    i += length;
  }
  return std::nullopt;
}

struct ParserDeleter {
  void operator()(fy_parser *parser) const { fy_parser_destroy(parser); }
};
struct DiagDeleter {
  void operator()(fy_diag *diag) const { fy_diag_destroy(diag); }
};

void discardOutput(fy_diag *, void *, const char *, size_t) {}

YamlNode::Style styleOf(fy_scalar_style style) {
  switch (style) {
  case FYSS_SINGLE_QUOTED:
    return YamlNode::Style::SingleQuoted;
  case FYSS_DOUBLE_QUOTED:
    return YamlNode::Style::DoubleQuoted;
  case FYSS_LITERAL:
    return YamlNode::Style::Literal;
  case FYSS_FOLDED:
    return YamlNode::Style::Folded;
  default:
    return YamlNode::Style::Plain;
  }
}

bool isQuoted(YamlNode::Style style) {
  return style == YamlNode::Style::SingleQuoted || style == YamlNode::Style::DoubleQuoted;
}

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return result;
}

/// All lower, all upper or capitalised: the spellings the core schema takes.
bool isSpelling(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size() || lowered(text) != lower)
    return false;
  auto isUpper = [](char c) { return c >= 'A' && c <= 'Z'; };
  size_t upper = 0;
  for (char c : text)
    upper += isUpper(c);
  return upper == 0 || upper == text.size() || (upper == 1 && isUpper(text[0]));
}

} // namespace

const YamlNode *YamlNode::find(std::string_view wanted) const {
  for (size_t i = isMapping() ? pairCount() : 0; i-- > 0;)
    if (key(i).isScalar() && key(i).text == wanted)
      return &value(i);
  return nullptr;
}

bool YamlNode::isNull() const {
  return isPlain() && (text.empty() || text == "~" || isSpelling(text, "null"));
}

std::optional<bool> asBool(const YamlNode &node) {
  if (!node.isPlain())
    return std::nullopt;
  if (isSpelling(node.text, "true"))
    return true;
  if (isSpelling(node.text, "false"))
    return false;
  return std::nullopt;
}

std::optional<int64_t> asInteger(const YamlNode &node) {
  if (!node.isPlain() || node.text.empty())
    return std::nullopt;
  std::string_view digits = node.text;
  int base = 10;
  if (digits.starts_with("0x")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.starts_with("0o")) {
    base = 8;
    digits.remove_prefix(2);
  } else if (digits[0] == '+') {
    digits.remove_prefix(1);
    if (digits.starts_with('-'))
      return std::nullopt;
  }
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty() ||
      (base != 10 && digits[0] == '-'))
    return std::nullopt;
  return value;
}

std::optional<double> asNumber(const YamlNode &node) {
  if (std::optional<int64_t> integer = asInteger(node))
    return double(*integer);
  if (!node.isPlain() || node.text.empty())
    return std::nullopt;
  std::string_view text = node.text;
  if (isSpelling(text, ".nan"))
    return std::numeric_limits<double>::quiet_NaN();
  bool negative = text[0] == '-';
  if (negative || text[0] == '+')
    text.remove_prefix(1);
  if (isSpelling(text, ".inf"))
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  // from_chars also knows "inf", "nan" and a second sign, which YAML does not.
  if (text.empty() || !(text[0] == '.' || (text[0] >= '0' && text[0] <= '9')))
    return std::nullopt;
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return negative ? -value : value;
}

std::optional<std::string_view> asText(const YamlNode &node) {
  if (!node.isScalar())
    return std::nullopt;
  if (node.style == YamlNode::Style::Plain && (node.isNull() || asBool(node) || asNumber(node)))
    return std::nullopt;
  return node.text;
}

std::string describe(const YamlNode &node) {
  if (node.isMapping())
    return "a mapping";
  if (node.isSequence())
    return "a list";
  if (node.isNull())
    return "nothing";
  constexpr size_t kShown = 40;
  std::string shown(node.text.substr(0, kShown));
  for (char &c : shown)
    if (c == '\n' || c == '\r')
      c = ' ';
  if (node.text.size() > kShown) {
    while (!shown.empty() && isContinuation(static_cast<unsigned char>(shown.back())))
      shown.pop_back();
    shown += "...";
  }
  if (asBool(node))
    return "the boolean " + shown;
  if (asNumber(node))
    return "the number " + shown;
  return "the text \"" + shown + "\"";
}

YamlFile::YamlFile(std::string path, std::string bytes, std::vector<Diagnostic> &diagnostics)
    : name(std::move(path)), contents(std::make_unique<const std::string>(std::move(bytes))) {
  parse(diagnostics);
}

void YamlFile::parse(std::vector<Diagnostic> &diagnostics) {
  std::string_view source = *contents;
  auto fail = [&](Code code, Place place, std::string message, std::string hint = {}) {
    diagnostics.push_back(Diagnostic{code, info(code).severity, name, place.line, place.column,
                                     std::move(message), std::move(hint)});
  };
  if (source.size() > kMaxBytes)
    return fail(Code::TooLarge, Place{},
                "the file has " + std::to_string(source.size()) + " bytes, more than the " +
                    std::to_string(kMaxBytes) + " a configuration may have",
                "split it");
  if (auto bad = findBadByte(source))
    return fail(Code::Syntax, placeOf(source, bad->first),
                bad->second + " in a file that must be UTF-8 text",
                "save the file as UTF-8 without control characters");

  fy_diag_cfg diagConfig{};
  fy_diag_cfg_default(&diagConfig);
  diagConfig.fp = nullptr;
  diagConfig.output_fn = discardOutput;
  diagConfig.colorize = false;
  std::unique_ptr<fy_diag, DiagDeleter> diag(fy_diag_create(&diagConfig));
  fy_parse_cfg config{};
  config.flags = fy_parse_cfg_flags(FYPCF_QUIET | FYPCF_JSON_NONE | FYPCF_ALLOW_DUPLICATE_KEYS |
                                    FYPCF_DISABLE_ACCELERATORS | FYPCF_DEFAULT_VERSION_1_2);
  config.diag = diag.get();
  std::unique_ptr<fy_parser, ParserDeleter> parser;
  if (diag) {
    fy_diag_set_collect_errors(diag.get(), true);
    parser.reset(fy_parser_create(&config));
  }
  // libfyaml takes no empty string.
  if (source.empty())
    return;
  if (!parser || fy_parser_set_string(parser.get(), source.data(), source.size()) != 0)
    return fail(Code::Unreadable, Place{}, "the YAML parser could not be started");

  std::vector<YamlNode> open; // Collections that have begun; the innermost is last.
  uint32_t nodes = 0, documents = 0;
  YamlNode result;
  bool hasResult = false;

  auto add = [&](YamlNode node) {
    if (open.empty()) {
      result = std::move(node);
      hasResult = true;
      return;
    }
    std::vector<YamlNode> &siblings = open.back().items;
    bool isValue = open.back().isMapping() && siblings.size() % 2 == 1;
    if (isValue) {
      const YamlNode &key = siblings.back();
      size_t colon = key.end;
      while (colon < source.size() && (source[colon] == ' ' || source[colon] == '\t'))
        ++colon;
      if (colon < source.size() && source[colon] == ':')
        ++colon;
      else
        colon = key.end;
      if (node.line == 0) {
        node.begin = node.end = uint32_t(colon);
        node.line = key.line;
        node.column = key.column + uint32_t(colon - key.begin);
      }
      if (node.style == YamlNode::Style::Literal || node.style == YamlNode::Style::Folded) {
        size_t header = source.find_first_of("|>", colon);
        if (header < node.begin)
          node.begin = uint32_t(header);
      }
    } else if (node.line == 0 && !siblings.empty()) {
      node.begin = node.end = siblings.back().end;
      node.line = siblings.back().line;
      node.column = siblings.back().column;
    } else if (node.line == 0) {
      node.begin = node.end = open.back().begin;
      node.line = open.back().line;
      node.column = open.back().column;
    }
    siblings.push_back(std::move(node));
  };
  auto startOf = [&](fy_event *event) {
    YamlNode node;
    if (const fy_mark *mark = fy_event_start_mark(event)) {
      node.begin = node.end = uint32_t(mark->input_pos);
      node.line = uint32_t(mark->line) + 1;
      node.column = uint32_t(mark->column) + 1;
    }
    return node;
  };

  while (fy_event *event = fy_parser_parse(parser.get())) {
    struct Release {
      fy_parser *parser;
      fy_event *event;
      ~Release() { fy_parser_event_free(parser, event); }
    } release{parser.get(), event};
    switch (event->type) {
    case FYET_DOCUMENT_START:
      if (++documents > 1) {
        const fy_mark *mark = fy_event_start_mark(event);
        return fail(Code::UnsupportedYaml,
                    mark ? Place{uint32_t(mark->line) + 1, uint32_t(mark->column) + 1} : Place{},
                    "a second YAML document in one file", "use a file for each");
      }
      break;
    case FYET_ALIAS: {
      YamlNode at = startOf(event);
      return fail(Code::UnsupportedYaml, Place{at.line, at.column},
                  "aliases (*name) are not supported", "write the value out");
    }
    case FYET_SCALAR:
    case FYET_SEQUENCE_START:
    case FYET_MAPPING_START: {
      YamlNode node = startOf(event);
      Place place{node.line, node.column};
      auto placeOfToken = [](fy_token *token) {
        const fy_mark *mark = fy_token_start_mark(token);
        return mark ? Place{uint32_t(mark->line) + 1, uint32_t(mark->column) + 1} : Place{};
      };
      if (fy_token *anchor = fy_event_get_anchor_token(event))
        return fail(Code::UnsupportedYaml, placeOfToken(anchor),
                    "anchors (&name) are not supported", "write the value out where it is needed");
      if (fy_token *tag = fy_event_get_tag_token(event))
        return fail(Code::UnsupportedYaml, placeOfToken(tag), "tags (!name) are not supported",
                    "leave the tag out");
      if (++nodes > kMaxNodes)
        return fail(Code::TooLarge, place,
                    "more than " + std::to_string(kMaxNodes) + " values in one file", "split it");
      if (event->type == FYET_SCALAR) {
        node.style = styleOf(fy_token_scalar_style(event->scalar.value));
        const fy_mark *mark = fy_event_end_mark(event);
        if (mark && node.line != 0)
          node.end = uint32_t(mark->input_pos);
        if (node.end - node.begin > kMaxScalarBytes)
          return fail(Code::TooLarge, place,
                      "a value of " + std::to_string(node.end - node.begin) +
                          " bytes, more than the " + std::to_string(kMaxScalarBytes) +
                          " one may have");
        size_t length = 0;
        const char *text = fy_token_get_text(event->scalar.value, &length);
        if (text && length != 0) {
          if (text >= source.data() && text + length <= source.data() + source.size())
            node.text = std::string_view(text, length);
          else
            node.text = decoded.emplace_back(text, length);
        }
        if (isQuoted(node.style) && node.line != 0) { // The marks are those of the contents.
          --node.begin;
          ++node.end;
          --node.column;
        }
        if (node.style == YamlNode::Style::Literal || node.style == YamlNode::Style::Folded)
          while (node.end > node.begin &&
                 (source[node.end - 1] == ' ' || source[node.end - 1] == '\n' ||
                  source[node.end - 1] == '\r'))
            --node.end;
        add(std::move(node));
        break;
      }
      node.kind =
          event->type == FYET_MAPPING_START ? YamlNode::Kind::Mapping : YamlNode::Kind::Sequence;
      node.style =
          node.begin < source.size() && source[node.begin] == (node.isMapping() ? '{' : '[')
              ? YamlNode::Style::Flow
              : YamlNode::Style::Block;
      if (open.size() >= kMaxDepth)
        return fail(Code::TooLarge, place,
                    "nested more than " + std::to_string(kMaxDepth) + " levels deep",
                    "a configuration needs four");
      open.push_back(std::move(node));
      break;
    }
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END: {
      if (open.empty())
        return fail(Code::Syntax, Place{}, "the file ends a collection that never began");
      YamlNode node = std::move(open.back());
      open.pop_back();
      const fy_mark *mark = fy_event_end_mark(event);
      if (node.style == YamlNode::Style::Flow && mark)
        node.end = uint32_t(mark->input_pos);
      else if (!node.items.empty())
        node.end = node.items.back().end;
      add(std::move(node));
      break;
    }
    default:
      break;
    }
  }

  if (fy_parser_get_stream_error(parser.get())) {
    Place place;
    std::string message = "not YAML";
    void *iterator = nullptr;
    if (fy_diag_error *error = fy_diag_errors_iterate(diag.get(), &iterator)) {
      if (error->line > 0)
        place = Place{uint32_t(error->line), uint32_t(error->column > 0 ? error->column : 1)};
      if (error->msg) {
        message = error->msg;
        for (char &c : message)
          if (c == '\n')
            c = ' ';
      }
    }
    return fail(Code::Syntax, place, "not YAML: " + message);
  }
  if (hasResult) {
    tree = std::move(result);
    hasRoot = true;
  }
}

} // namespace cupel::testbench::config
