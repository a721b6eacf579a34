// Lets `cupel-device` start on a glibc older than the one it was built with: the statically linked
// unwinder asks `_dl_find_object`, which glibc has since 2.35, where a loaded object keeps its
// unwind tables. This is the same answer from `dl_iterate_phdr`, which every glibc has.

#include <dlfcn.h>
#include <link.h>

namespace {

struct Search {
  uintptr_t address;
  dl_find_object *result;
};

int examine(dl_phdr_info *object, size_t, void *argument) {
  auto *search = static_cast<Search *>(argument);
  const ElfW(Phdr) *tables = nullptr, *containing = nullptr;
  for (const ElfW(Phdr) *header = object->dlpi_phdr;
       header != object->dlpi_phdr + object->dlpi_phnum; ++header) {
    uintptr_t start = object->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME)
      tables = header;
    else if (header->p_type == PT_LOAD && search->address >= start &&
             search->address < start + header->p_memsz)
      containing = header;
  }
  if (!containing || !tables)
    return 0;
  *search->result = {};
  uintptr_t start = object->dlpi_addr + containing->p_vaddr;
  search->result->dlfo_map_start = reinterpret_cast<void *>(start);
  search->result->dlfo_map_end = reinterpret_cast<void *>(start + containing->p_memsz);
  search->result->dlfo_eh_frame = reinterpret_cast<void *>(object->dlpi_addr + tables->p_vaddr);
  return 1;
}

} // namespace

extern "C" __attribute__((visibility("hidden"))) int
_dl_find_object(void *address, dl_find_object *result) noexcept {
  Search search{reinterpret_cast<uintptr_t>(address), result};
  return ::dl_iterate_phdr(examine, &search) ? 0 : -1;
}
