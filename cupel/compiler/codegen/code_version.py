"""Writes the hash of the files named as a C++ string: usage: code_version.py OUTPUT FILE..."""

import hashlib
import pathlib
import sys

digest = hashlib.sha256()
for name in sorted(sys.argv[2:]):
    digest.update(pathlib.Path(name).read_bytes())
pathlib.Path(sys.argv[1]).write_text(f'"{digest.hexdigest()}"\n')
