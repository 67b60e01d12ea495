"""What was seen while the toy model learned: the file, its first look, and the roles it ends in."""

import re

import pytest
import torch
from safetensors.torch import load_file

from hydra_lib.records import FOLDER, group, record
from hydra_lib.toy import checkpoints as module
from hydra_lib.toy import stored_checkpoints
from hydra_lib.toy.language import JOBS, corpus, encode
from hydra_lib.toy.model import ToyModel
from hydra_lib.toy.roles import ROLES, job_losses, role_scores
from hydra_lib.widgets.head_viewer import check_document


def test_each_share_is_the_file_s():
    packed = load_file(FOLDER / "checkpoints.safetensors")
    text, every, weights, scores, right = stored_checkpoints()
    assert (text, every) == ("^Bcat(o)t*Bc", 50)
    assert packed["weights"].shape == (2, 6, 12 * 13 // 2, 21)
    for query, key in ((0, 0), (2, 1), (11, 5), (11, 11)):
        pair = query * (query + 1) // 2 + key
        found = weights[:, :, :, query, key]
        assert torch.equal(found, packed["weights"][:, :, pair].permute(2, 0, 1) / 100)
    assert not weights.triu(1).any()
    check_document(text)
    # Rounded to hundredths, each of n weights is off by half of one at most.
    allowed = 0.005 * torch.arange(1, 13) + 1e-5
    assert ((weights.sum(-1) - 1).abs() <= allowed).all()
    assert list(scores) == list(ROLES[:4])
    for n, role in enumerate(ROLES[:4]):
        assert torch.equal(scores[role], packed["scores"][n].permute(2, 0, 1) / 100)
    assert list(right) == list(JOBS[1:])
    for n, job in enumerate(JOBS[1:]):
        assert torch.equal(right[job], packed["right"][n] / 100)


def test_the_first_look_is_that_of_a_model_without_training():
    seen, few = stored_checkpoints(), corpus(100, seed=1_000_000)
    model = ToyModel(generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        layers = [t.weights[0] for t in model.traces(encode(seen.text)[None])]
    rounding = {"rtol": 0, "atol": 0.0051}
    torch.testing.assert_close(seen.weights[0], torch.stack(layers), **rounding)
    found = role_scores(model, few)
    for role, table in seen.scores.items():
        torch.testing.assert_close(table[0], found[role], **rounding)
    jobs = job_losses(model, few)
    for job, shares in seen.right.items():
        assert shares[0] == pytest.approx(jobs[job]["accuracy"], abs=0.0051)


def test_the_training_went_on_to_what_the_record_holds():
    """By then its heads play roles that they play at the end, too, and some of them less well."""
    (row,) = group(record("heads"), "checkpoints")
    seen = stored_checkpoints()
    for role, table in seen.scores.items():
        end = torch.tensor(row["scores"][role])
        assert (end[table[-1] >= 0.6] > 0.5).all()
        assert (table[-1][end > 0.9] > 0.7).all()
    for job, shares in seen.right.items():
        assert shares[-1] <= row["accuracy"][job] + 0.01


def test_no_stored_checkpoints(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    message = (
        "there are no stored checkpoints, hydra_lib/records/checkpoints.safetensors: "
        "python benchmarks/heads.py checkpoints makes them"
    )
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(message)}$"):
        stored_checkpoints()
