"""Hydra: one operation, ``weights @ values``, from a running sum to a CUDA kernel."""
