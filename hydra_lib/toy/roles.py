"""Roles of heads in the toy model: where each one looks, and which jobs get done.

Where a head looks and what it does are two questions. A score answers the first; for the second,
take the head away (:mod:`hydra_lib.toy.ablation`) and see which job's loss goes up.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float

from hydra_lib import _checks
from hydra_lib.toy.language import JOBS, SYMBOLS, WORDS, Corpus, check_documents
from hydra_lib.toy.model import ToyModel

__all__ = ["ROLES", "job_losses", "role_scores", "role_targets"]

ROLES = ("previous", "induction", "bracket", "entity", "bracket, hard")
"""The four roles; the last name is the bracket role where another opener lies in between."""

FIRST_WORD, OPENERS = SYMBOLS.index(WORDS[0]), (1, 3)


def role_targets(documents: Corpus) -> dict[str, Bool[torch.Tensor, "n T T"]]:
    """For each role, the keys j that a head in this role looks at from query i.

    - previous: from a word to a word just before it, j = i − 1;
    - induction: from a word whose successor is known to every earlier copy of that successor which
      stands right after a copy of the word;
    - bracket: from a closing bracket to the word before its opening one;
    - entity: from ``*`` to the most recent name.

    A query that the role does not concern has no True. Raises TypeError for what is no
    :class:`hydra_lib.toy.language.Corpus`, ValueError for one that does not hold what it should.
    Cost: T² booleans a role and document.
    """
    check_documents(documents)
    ids, job, target = documents.ids[:, :-1], documents.job, documents.target
    length = ids.shape[1]
    word = ids >= FIRST_WORD
    here = torch.arange(length, device=ids.device)
    before = here[:, None] - 1 == here  # (T, T): j = i − 1
    answer = F.one_hot(target.clamp(min=0), length).bool()  # (n, T, T)
    asks = {name: (job == JOBS.index(name))[..., None] for name in JOBS}
    # A copy of the successor of symbol i stands right after an earlier copy of symbol i.
    same = ids[:, :, None] == ids[:, None, :-1]  # (n, T, T−1): symbol i is symbol j − 1
    copies = F.pad(same & word[:, None, 1:], (1, 0)).tril()
    openers = ((ids >= OPENERS[0]) & (ids <= OPENERS[1])).long().cumsum(1)
    between = openers - openers.gather(1, target.clamp(min=0))
    return {
        "previous": before & word[:, :, None] & word[:, None, :],
        "induction": copies & asks["induction"],
        "bracket": answer & asks["bracket"],
        "entity": answer & asks["entity"],
        "bracket, hard": answer & asks["bracket"] & (between > 1)[..., None],
    }


def role_scores(model: ToyModel, documents: Corpus) -> dict[str, Float[torch.Tensor, "layers h"]]:
    """Mean attention that each head puts where a role would look: 1 always, 0 never.

    ``score = mean over queries i that the role concerns of Σ_j weights[i, j] · target[i, j]``.
    Raises ValueError when no query concerns one of the roles, TypeError for what is no model, and
    as :func:`role_targets`. Cost: one forward pass with every matrix of weights kept.
    """
    _checks.instance("model", model, ToyModel)
    targets = role_targets(documents)
    with torch.no_grad():
        layers = [trace.weights for trace in model.traces(documents.ids[:, :-1])]
    scores = {}
    for role, target in targets.items():
        concerned = target.any(-1)  # (n, T)
        if not concerned.any():
            raise ValueError(
                f"documents must have a query that concerns each role, got none for {role!r}"
            )
        mass = torch.stack([(w * target[:, None]).sum(-1) for w in layers], 1)  # (n, layers, h, T)
        scores[role] = mass.permute(1, 2, 0, 3)[..., concerned].mean(-1)
    return scores


def job_losses(model: ToyModel, documents: Corpus, edit=None) -> dict[str, dict[str, float]]:
    """Loss in nats, and accuracy, where the next symbol is the one that a job looks up.

    One entry a job, and ``"all"`` for every position. ``edit`` as in
    :class:`hydra_lib.toy.model.ToyModel`. After a word with a known successor a bracket, a name or
    a star may come instead; such positions count in ``"all"`` only. NaN for a job that no position
    asks for. Errors as :func:`role_scores`, and those of the ``edit``.
    """
    _checks.instance("model", model, ToyModel)
    check_documents(documents)
    ids, answers = documents.ids[:, :-1], documents.ids[:, 1:]
    with torch.no_grad():
        logits = model(ids, edit)
    loss = F.cross_entropy(logits.mT, answers, reduction="none")  # (n, T)
    hit = (logits.argmax(-1) == answers).to(loss.dtype)
    found = ids.gather(1, documents.target.clamp(min=0)) == answers
    asked = {name: found & (documents.job == JOBS.index(name)) for name in JOBS[1:]}
    asked["all"] = torch.ones_like(found)
    return {
        name: {"loss": loss[where].mean().item(), "accuracy": hit[where].mean().item()}
        for name, where in asked.items()
    }
