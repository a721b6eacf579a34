"""What loaders of this zoo take from outside: files that are too large to lie beside them."""

from __future__ import annotations

from cupel.files import get_file as get_file
