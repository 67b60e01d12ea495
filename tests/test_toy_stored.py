"""The stored weights of the toy model: read as they are, and trained."""

import re

import pytest
import torch
from safetensors.torch import load_file

from hydra_lib.records import FOLDER, group, record
from hydra_lib.toy import model as toymodel
from hydra_lib.toy.language import corpus
from hydra_lib.toy.roles import job_losses, role_scores


def test_stored_weights_are_the_file_s():
    halves = load_file(FOLDER / "toy.safetensors")
    state = toymodel.stored().state_dict()
    assert state.keys() == halves.keys()
    for name, x in state.items():
        assert (x.dtype, halves[name].dtype) == (torch.float32, torch.float16)
        assert torch.equal(x, halves[name].float())


@pytest.mark.long
def test_stored_weights_reach_the_stored_scores():
    row = group(record("heads"), "seeds")[0]  # whose weights they are
    assert row["seed"] == 0
    model, test = toymodel.stored(), corpus(400, seed=1_000_000)
    for role, found in role_scores(model, test).items():
        torch.testing.assert_close(found, torch.tensor(row["scores"][role]), rtol=0, atol=0.01)
    jobs = job_losses(model, test)
    gap = jobs["all"]["loss"] - test.entropy.mean().item()
    assert gap == pytest.approx(row["gap"], abs=0.002)
    for job, right in row["accuracy"].items():
        assert jobs[job]["accuracy"] == pytest.approx(right, abs=0.01)


def test_no_stored_weights(monkeypatch, tmp_path):
    monkeypatch.setattr(toymodel, "FOLDER", tmp_path)
    message = (
        "there are no stored weights, hydra_lib/records/toy.safetensors: "
        "python benchmarks/heads.py seeds makes them"
    )
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(message)}$"):
        toymodel.stored()
