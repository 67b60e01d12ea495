"""The stored weights of the toy model: read as they are, and trained."""

import re

import pytest
import torch
from safetensors.torch import load_file

from hydra_lib import toymodel
from hydra_lib.roles import role_scores
from hydra_lib.toy import corpus
from tests.conftest import ROOT


def test_stored_weights_are_the_file_s():
    halves = load_file(ROOT / "book" / "data" / "toy.safetensors")
    state = toymodel.stored().state_dict()
    assert state.keys() == halves.keys()
    for name, x in state.items():
        assert (x.dtype, halves[name].dtype) == (torch.float32, torch.float16)
        assert torch.equal(x, halves[name].float())


def test_stored_model_has_heads_in_every_role():
    scores = role_scores(toymodel.stored(), corpus(100, seed=1_000_000))
    assert {role: x.max() > 0.8 for role, x in scores.items()} == dict.fromkeys(scores, True)


def test_no_stored_weights(monkeypatch, tmp_path):
    monkeypatch.setattr(toymodel, "files", lambda package: tmp_path)
    message = (
        "there are no stored weights, book/data/toy.safetensors: "
        "python benchmarks/heads.py seeds makes them"
    )
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(message)}$"):
        toymodel.stored()
