"""Stands for the vendor's integration of PyTorch, as far as model loaders import it."""
