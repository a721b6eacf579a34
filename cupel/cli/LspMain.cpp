// `cupel-lsp`: MLIR's language server with Cupel's dialects. Started by `cupel lsp` or by an
// editor. Documents that name element types which MLIR 19 lacks reach the server as its parser
// reads them (ir/bytecode/TextFloats.h): lines stay where they are, columns behind such a name on
// its line do not.

#include "cupel/ir/Dialects.h"
#include "cupel/ir/bytecode/TextFloats.h"

#include <cstdio>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/JSON.h>
#include <mlir/Tools/mlir-lsp-server/MlirLspServerMain.h>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

/// The message with the texts of documents as the parser reads them; nothing where they are so already.
std::optional<std::string> spelledForParser(llvm::StringRef body) {
  llvm::Expected<llvm::json::Value> message = llvm::json::parse(body);
  if (!message) {
    llvm::consumeError(message.takeError()); // The server says what it thinks of it.
    return std::nullopt;
  }
  llvm::json::Object *object = message->getAsObject();
  llvm::json::Object *params = object ? object->getObject("params") : nullptr;
  if (!params)
    return std::nullopt;
  bool isChanged = false;
  auto spell = [&](llvm::json::Object *holder) {
    std::optional<llvm::StringRef> text = holder ? holder->getString("text") : std::nullopt;
    if (!text)
      return;
    if (std::optional<std::string> spelled = cupel::bytecode::spellRareFloats(std::string(*text))) {
      (*holder)["text"] = std::move(*spelled);
      isChanged = true;
    }
  };
  spell(params->getObject("textDocument"));
  if (llvm::json::Array *changes = params->getArray("contentChanges"))
    for (llvm::json::Value &change : *changes)
      spell(change.getAsObject());
  if (!isChanged)
    return std::nullopt;
  std::string made;
  llvm::raw_string_ostream(made) << *message;
  return made;
}

/// Hands on message by message until the editor is gone.
void relay(FILE *editor, FILE *server) {
  std::string header;
  for (char line[256]; std::fgets(line, sizeof line, editor);) {
    header += line;
    if (!header.ends_with("\r\n\r\n"))
      continue;
    size_t length = 0;
    llvm::StringRef rest = llvm::StringRef(header).split("Content-Length:").second.ltrim();
    if (rest.consumeInteger(10, length))
      length = 0;
    std::string body(length, '\0');
    if (std::fread(body.data(), 1, length, editor) != length)
      break;
    if (std::optional<std::string> spelled = spelledForParser(body))
      body = std::move(*spelled);
    std::string told = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    if (std::fwrite(told.data(), 1, told.size(), server) != told.size() || std::fflush(server) != 0)
      break;
    header.clear();
  }
  std::fclose(server);
}

/// Puts the relay between the editor and what the server reads as its standard input.
bool startRelay() {
  int ends[2];
  int editor = ::dup(STDIN_FILENO);
  if (editor < 0 || ::pipe(ends) != 0 || ::dup2(ends[0], STDIN_FILENO) < 0)
    return false;
  ::close(ends[0]);
  // The server ends while the editor may still be there: nobody waits for the relay.
  std::thread(relay, ::fdopen(editor, "r"), ::fdopen(ends[1], "w")).detach();
  return true;
}

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  cupel::ir::registerAllDialects(registry);
  // With options (tests of MLIR's own) messages have other forms.
  if (argc == 1 && !startRelay()) {
    std::fprintf(stderr, "cupel-lsp: error: no pipe can be made\n");
    return 2;
  }
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
