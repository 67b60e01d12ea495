"""Measured records, each a JSON file; importable as ``hydra_lib.records``."""
