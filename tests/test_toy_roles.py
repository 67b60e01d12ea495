"""Roles: targets by hand, scores of attention that is known, losses position by position."""

import pytest
import torch
import torch.nn.functional as F

from hydra_lib.toy.language import JOBS, SYMBOLS, Corpus, Reader, corpus
from hydra_lib.toy.model import ToyModel
from hydra_lib.toy.roles import ROLES, job_losses, role_scores, role_targets
from tests.refusal import refuses


def documents_of(*texts) -> Corpus:
    """The corpus of some texts of one length, the last symbol being an answer only."""
    rows = []
    for text in texts:
        reader, job, target = Reader(), [], []
        for symbol in text:
            reader.read(symbol)
            job.append(JOBS.index(reader.job))
            target.append(reader.target)
        rows.append(([SYMBOLS.index(s) for s in text], job[:-1], target[:-1]))
    ids, job, target = (torch.tensor(column) for column in zip(*rows, strict=True))
    return Corpus(ids, torch.zeros(job.shape), job, target)


def fresh(seed=0):
    return ToyModel(generator=torch.Generator().manual_seed(seed))


def pairs(target) -> set:
    return {tuple(ij) for ij in target.nonzero().tolist()}


def test_targets_by_hand():
    #                             0123456789
    found = role_targets(documents_of("^Aab(ab)b*A"))
    found = {role: pairs(target[0]) for role, target in found.items()}
    assert found["previous"] == {(3, 2), (6, 5)}
    assert found["induction"] == {(5, 3)}  # a at 5: b, seen at 3
    assert found["bracket"] == {(7, 3)}
    assert found["bracket, hard"] == set()
    assert found["entity"] == {(9, 1)}


def test_targets_are_where_the_documents_are():
    documents = corpus(3, seed=1)
    with torch.device("meta"):  # the default is another device
        targets = role_targets(documents)
    assert {target.device.type for target in targets.values()} == {"cpu"}


def test_induction_counts_every_earlier_copy():
    found = role_targets(documents_of("^abcabcab"))["induction"][0]
    assert pairs(found) == {(4, 2), (5, 3), (6, 4), (7, 2), (7, 5)}


def test_hard_brackets_have_another_opener_in_between():
    found = role_targets(documents_of("^a(b[c]b)a"))
    assert pairs(found["bracket"][0]) == {(6, 3), (8, 1)}
    assert pairs(found["bracket, hard"][0]) == {(8, 1)}


def test_targets_lie_in_the_past_and_hold_the_answer():
    documents = corpus(60, seed=1)
    targets = role_targets(documents)
    assert tuple(targets) == ROLES
    for role, target in targets.items():
        row, i, j = target.nonzero().T
        assert (j < i).all()
        if role in ("induction", "bracket", "entity"):
            asks = documents.job[row, i]
            assert (asks == JOBS.index(role)).all()
            assert (documents.ids[row, j] == documents.ids[row, documents.target[row, i]]).all()


class Looker(ToyModel):
    """Every head of both layers looks where ``rule`` (B, T, T) says."""

    rule: torch.Tensor

    def traces(self, ids):
        traces = super().traces(ids)
        shape = traces[0].weights.shape
        return [t._replace(weights=self.rule[:, None].expand(shape)) for t in traces]


@pytest.mark.long
def test_scores_of_attention_that_is_known():
    documents = corpus(40, seed=2)
    model = Looker(generator=torch.Generator().manual_seed(0))
    targets = role_targets(documents)
    for role in ROLES:
        mask = targets[role].float()
        model.rule = mask / mask.sum(-1, keepdim=True).clamp(min=1)
        scores = role_scores(model, documents)
        assert scores[role].shape == (2, 6)
        torch.testing.assert_close(scores[role], torch.ones(2, 6))
    length = documents.ids.shape[1] - 1
    model.rule = (torch.ones(length, length).tril() / torch.arange(1, length + 1)[:, None]).expand(
        len(documents.ids), -1, -1
    )
    assert role_scores(model, documents)["previous"].max() < 0.15  # uniform attention


def test_a_score_without_queries_is_refused():
    message = "documents must have a query that concerns each role, got none for 'bracket'"
    with refuses(ValueError, message):
        role_scores(fresh(), documents_of("^abcab"))


def test_losses_position_by_position():
    documents, model = corpus(50, 19, seed=3), fresh(1)
    found = job_losses(model, documents)
    logits = model(documents.ids[:, :-1])
    sums = {job: [] for job in ("induction", "bracket", "entity", "all")}
    for row in range(50):
        for t in range(19):
            answer = documents.ids[row, t + 1]
            loss = F.cross_entropy(logits[row, t], answer).item()
            hit = float(logits[row, t].argmax() == answer)
            sums["all"].append((loss, hit))
            target = documents.target[row, t]
            if target >= 0 and documents.ids[row, target] == answer:
                sums[JOBS[documents.job[row, t]]].append((loss, hit))
    for job, values in sums.items():
        loss, hit = torch.tensor(values).mean(0).tolist()
        assert found[job] == pytest.approx({"loss": loss, "accuracy": hit}, rel=1e-4)


def test_losses_hear_an_edit():
    documents, model = corpus(20, seed=3), fresh(1)
    silent = job_losses(model, documents, lambda layer, heads: 0 * heads)
    assert silent["all"]["loss"] != job_losses(model, documents)["all"]["loss"]
