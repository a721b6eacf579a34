// The growing arrays that the scanner of tree-sitter's Python grammar is written with: the handful
// of macros it uses, under the names it uses. Debian's tree-sitter does not ship them. Only the
// grammar's scanner may include this.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define Array(Type)                                                                                \
  struct {                                                                                         \
    Type *contents;                                                                                \
    uint32_t size;                                                                                 \
    uint32_t capacity;                                                                             \
  }

static inline void *cupelGrownArray(void *contents, uint32_t *capacity, uint32_t wanted,
                                    size_t elementSize) {
  if (wanted <= *capacity)
    return contents;
  uint32_t grown = *capacity < 4 ? 8 : *capacity * 2;
  if (grown < wanted)
    grown = wanted;
  void *moved = realloc(contents, grown * elementSize);
  if (!moved)
    abort(); // As the library itself does when memory runs out.
  *capacity = grown;
  return moved;
}

#define array_init(self) ((self)->contents = NULL, (self)->size = 0, (self)->capacity = 0)
#define array_delete(self) (free((self)->contents), array_init(self))
#define array_get(self, index) (assert((uint32_t)(index) < (self)->size), &(self)->contents[index])
#define array_back(self) array_get(self, (self)->size - 1)
#define array_pop(self) ((self)->contents[--(self)->size])
#define array_reserve(self, wanted)                                                                \
  ((self)->contents = cupelGrownArray((self)->contents, &(self)->capacity, (wanted),               \
                                      sizeof((self)->contents[0])))
#define array_push(self, element)                                                                  \
  (array_reserve(self, (self)->size + 1), (self)->contents[(self)->size++] = (element))
