"""Stands for the package of the same name."""
