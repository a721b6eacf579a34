"""Stands for the test infrastructure of tt-xla, as far as model loaders import it."""
