"""Every kind of mask for 5 queries and 7 keys, for the tests of attention and its gradient."""

import pytest
import torch

from hydra_lib.masking import padding_mask

Tq, Tk = 5, 7


def some_rows_empty():
    mask = torch.rand(Tq, Tk, generator=torch.Generator().manual_seed(9)) < 0.5
    mask[1] = mask[3] = mask[4] = False
    mask[4, 2] = True  # a row with a single key
    return mask


MASKS = {
    "none": None,
    "causal": torch.ones(Tq, Tk).bool().tril(),
    "padding": padding_mask(torch.tensor([2, 7]), Tk)[:, None],  # (2, 1, 1, Tk)
    "a padded sequence of nothing": padding_mask(torch.tensor([0, 3]), Tk)[:, None],
    "some rows empty": some_rows_empty(),
    "all rows empty": torch.zeros(Tq, Tk).bool(),
    "one axis, keys": torch.arange(Tk) != 2,
    "one column, queries": (torch.arange(Tq) != 2)[:, None],
}
masks = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
