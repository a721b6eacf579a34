"""Prints a workbook as text, with nothing but the standard library: a line a sheet, then a line a cell `A1=text`."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
import zipfile

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
TIED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def sheets(path: str) -> dict[str, dict[str, str]]:
    """The cells of each sheet by name; numbers as they are written, and `hidden:N` for rows that are not shown."""
    with zipfile.ZipFile(path) as book:
        assert book.testzip() is None
        shared = []
        if "xl/sharedStrings.xml" in book.namelist():
            shared = ["".join(t.text or "" for t in item.iter(MAIN + "t"))
                      for item in ET.fromstring(book.read("xl/sharedStrings.xml"))]
        parts = {part.get("Id"): part.get("Target") for part in ET.fromstring(book.read("xl/_rels/workbook.xml.rels"))}
        found = {}
        for sheet in ET.fromstring(book.read("xl/workbook.xml")).iter(MAIN + "sheet"):
            root = ET.fromstring(book.read("xl/" + parts[sheet.get(TIED + "id")]))
            cells = {}
            for row in root.iter(MAIN + "row"):
                if row.get("hidden") == "1":
                    cells["hidden:" + row.get("r")] = "yes"
                for cell in row.iter(MAIN + "c"):
                    value = cell.find(MAIN + "v")
                    if value is not None:
                        cells[cell.get("r")] = shared[int(value.text)] if cell.get("t") == "s" else value.text
            found[sheet.get("name")] = cells
        return found


def main() -> int:
    for name, cells in sheets(sys.argv[1]).items():
        print(f"[{name}]")
        for place, text in cells.items():
            print(f"{place}={text if len(text) <= 200 else f'({len(text)} characters)'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
