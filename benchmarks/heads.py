"""What heads learn: train the toy model many times, and ask each question over several seeds.

    python benchmarks/heads.py            all groups, some three hours on two cores
    python benchmarks/heads.py lookups    only the rows of the groups named

Writes ``hydra_lib/records/heads.json`` and, with the group ``seeds``, the weights of the first seed
to ``hydra_lib/records/toy.safetensors``; with the group ``checkpoints``, what its heads did on the
way, to ``checkpoints.safetensors``. Every run is a row with its seed, and nothing is averaged here.
Trained again from the same seed, models differed in small things: ``checkpoints`` is such a second
training of the first of ``seeds``, and ``scales`` and ``circuits`` hold two such pairs.
"""

import copy
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from unittest import mock

import torch
from safetensors.torch import save_file

from hydra_lib import rotary
from hydra_lib.heads import HeadConfig
from hydra_lib.records import FOLDER, record, rounded, write
from hydra_lib.timing.environment import environment_of
from hydra_lib.toy.ablation import (
    ablate,
    ablate_by_kind,
    clone,
    equalize,
    head_weights,
    mean_heads,
    mean_heads_by_kind,
)
from hydra_lib.toy.language import JOBS, Corpus, corpus, encode
from hydra_lib.toy.model import TOY, ToyModel, train
from hydra_lib.toy.roles import ROLES, job_losses, role_scores

DOCUMENTS, STEPS = 20_000, 3_000
HELD_OUT = 1_000_000  # seed of documents that no model is trained on
EVERY = 50  # steps between two looks at the scores
WATCHED = 1_000  # steps, by when every role has its heads
DOCUMENT = "^Bcat(o)t*Bc"  # every kind of question
LOOK_BACK = (1, 3, 6, 10)


def fresh(seed: int, config: HeadConfig = TOY, **options) -> ToyModel:
    return ToyModel(config, generator=torch.Generator().manual_seed(seed), **options)


def learn(model: ToyModel, seed: int, look=None, steps: int = STEPS) -> None:
    """Train on the documents of a seed; ``look(step)`` is called before each step."""
    documents = corpus(DOCUMENTS, seed=seed)
    losses = train(model, documents.ids[:, :-1], documents.ids[:, 1:], steps, seed=seed)
    for step in range(steps):
        if look:
            look(step)
        next(losses)


def held_out(documents: int = 400) -> Corpus:
    return corpus(documents, seed=HELD_OUT)


def outcome(model: ToyModel) -> dict:
    """What every run is asked: the loss above the floor, jobs done, and the scores of each head."""
    test = held_out()
    jobs = job_losses(model, test)
    scores = role_scores(model, test)
    return {
        "gap": jobs["all"]["loss"] - test.entropy.mean().item(),
        "accuracy": {job: row["accuracy"] for job, row in jobs.items() if job != "all"},
        "scores": {role: scores[role].tolist() for role in ROLES},
    }


def costs(model: ToyModel, test: Corpus, without: Callable) -> dict:
    """How much each loss rises under ``without(layer, head)``, an edit: job -> layers x heads."""
    whole = job_losses(model, test)
    shape = (len(model.layers), model.layers[0].config.n_heads)
    found = {job: torch.zeros(shape) for job in whole}
    for layer in range(shape[0]):
        for head in range(shape[1]):
            left = job_losses(model, test, without(layer, head))
            for job in whole:
                found[job][layer, head] = left[job]["loss"] - whole[job]["loss"]
    return {job: x.tolist() for job, x in found.items()}


def best(scores: dict, role: str, layer: int) -> int:
    return int(torch.tensor(scores[role][layer]).argmax())


def seeds(seed: int) -> dict:
    """One model: its history, its heads, what each is good for, and clones."""
    model, few = fresh(seed), held_out(100)
    history = []

    def look(step: int) -> None:
        if step % EVERY == 0:
            scores = role_scores(model, few)
            history.append([scores[role].max().item() for role in ROLES])

    learn(model, seed, look)
    if seed == 0:
        halves = {name: x.half().contiguous() for name, x in model.state_dict().items()}
        made = {"made by": "benchmarks/heads.py", "seed": str(seed), "steps": str(STEPS)}
        save_file(halves, FOLDER / "toy.safetensors", metadata=made)
    test = held_out()
    row = outcome(model)
    row |= {"every": EVERY, "history": history}
    row["mean"] = costs(model, test, partial(ablate, means=mean_heads(model, test)))
    row["clones"] = [twin(model, role, row, test) for role in ("induction", "bracket")]
    return row


def checkpoints(seed: int) -> dict:
    """One model again, watched while it learns: where its heads look in one document, in hundredths
    and at every fiftieth step, how they score in each role, and which jobs are done."""
    model, few, ids = fresh(seed), held_out(100), encode(DOCUMENT)[None]
    weights, scores, right = [], [], []

    def look(step: int) -> None:
        if step % EVERY == 0 and step <= WATCHED:
            with torch.no_grad():
                weights.append(torch.stack([t.weights[0] for t in model.traces(ids)]))
            found, jobs = role_scores(model, few), job_losses(model, few)
            scores.append(torch.stack([found[role] for role in ROLES[:4]]))
            right.append(torch.tensor([jobs[job]["accuracy"] for job in JOBS[1:]]))

    learn(model, seed, look)
    past = torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
    seen = {
        "weights": torch.stack(weights, -1)[..., past, :],  # (layers, h, pairs, checkpoints)
        "scores": torch.stack(scores, -1),  # (roles, layers, h, checkpoints)
        "right": torch.stack(right, -1),  # (jobs, checkpoints)
    }
    hundredths = {name: (100 * x).round().to(torch.uint8) for name, x in seen.items()}
    made = {"made by": "benchmarks/heads.py", "seed": str(seed), "text": DOCUMENT}
    made |= {"every": str(EVERY)}
    save_file(hundredths, FOLDER / "checkpoints.safetensors", metadata=made)
    return outcome(model)


def twin(model: ToyModel, role: str, row: dict, test: Corpus) -> dict:
    """Clone the best head of a role over the idlest head of its layer; ablate and differentiate."""
    layer = max((0, 1), key=lambda index: max(row["scores"][role][index]))
    head = best(row["scores"], role, layer)
    rise = [c if i != head else float("inf") for i, c in enumerate(row["mean"]["all"][layer])]
    idle = rise.index(min(rise))
    cloned = copy.deepcopy(model)
    clone(cloned, layer, head, idle)
    loss = {}
    for name, one, edit in (
        ("alone", model, ablate(layer, idle)),
        ("alone, without it", model, ablate(layer, head, idle)),
        ("twins", cloned, None),
        ("twins, without one", cloned, ablate(layer, idle)),
        ("twins, without both", cloned, ablate(layer, head, idle)),
    ):
        loss[name] = job_losses(one, test, edit)[role]["loss"]
    ratio = {}
    before, after = alone(model, layer, idle, test), gradients(cloned, layer, head, test)
    for name, gradient in gradients(before, layer, head, test).items():
        ratio[name] = (after[name].norm() / gradient.norm()).item()
    return {"role": role, "layer": layer, "head": head, "slot": idle, "loss": loss, "ratio": ratio}


def alone(model: ToyModel, layer: int, idle: int, test: Corpus) -> ToyModel:
    """The model without the head that a clone replaces: what the twins are compared with."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        head_weights(model, layer, idle)["W_o"].zero_()
    return model


def gradients(model: ToyModel, layer: int, head: int, test: Corpus) -> dict[str, torch.Tensor]:
    loss = torch.nn.functional.cross_entropy(model(test.ids[:, :-1]).mT, test.ids[:, 1:])
    return own_gradients(model, loss, layer, head)


def own_gradients(
    model: ToyModel, loss: torch.Tensor, layer: int, head: int
) -> dict[str, torch.Tensor]:
    """The gradients of a loss by the weights that belong to one head."""
    attention = model.layers[layer]
    names = ("W_q", "W_k", "W_v", "W_o")
    weights = [getattr(attention, name).weight for name in names]
    whole = torch.autograd.grad(loss, weights, retain_graph=True)
    d_k = attention.config.head_dim
    own = slice(head * d_k, (head + 1) * d_k)
    return {n: g[:, own] if n == "W_o" else g[own] for n, g in zip(names, whole, strict=True)}


def vacancies(seed: int) -> dict:
    """Start an idle head of the second layer anew and train it alone, everything else frozen:
    with all others at work, with the induction heads silent, and with the head silent that is
    missed most of the rest.

    A silent head says its mean over symbols of the same kind. The new head is none of the silent
    ones: what its predecessor leaves undone is the same in the three.
    """
    model, test = fresh(seed), held_out()
    learn(model, seed)
    means, ids = mean_heads_by_kind(model, test), test.ids[:, :-1]
    rise = costs(model, test, partial(ablate_by_kind, means=means, ids=ids))
    scores = role_scores(model, test)["induction"][1].tolist()
    induction = [head for head, score in enumerate(scores) if score >= 0.5]
    rest = set(range(len(scores))) - set(induction)
    slot, *_, missed = sorted(rest, key=lambda head: rise["all"][1][head])
    new = head_weights(fresh(seed + 100), 1, slot)
    with torch.no_grad():
        for name, weight in head_weights(model, 1, slot).items():
            weight.copy_(new[name])
    silent = {"nobody": [], "induction": induction, "other": [missed]}
    found = {who: vacancy(model, slot, taken, means, seed) for who, taken in silent.items()}
    cost = {job: rise[job][1][slot] for job in JOBS[1:]}  # of the predecessor's silence
    return {"slot": slot, "cost": cost, "silent": silent, "scores": scores, "found": found}


def vacancy(model: ToyModel, slot: int, silent: list[int], means: list, seed: int) -> dict:
    """The first gradients of a new head and, after 400 steps, what it does and what without it."""
    means = copy.deepcopy(means)
    model, test = copy.deepcopy(model), held_out()
    ids, answers = test.ids[:, :-1], test.ids[:, 1:]
    edit = ablate_by_kind(1, *silent, means=means, ids=ids)
    row = {"before": job_losses(model, test, edit), "gradient": {}}
    logits = model(ids, edit)
    for index, job in enumerate(JOBS[1:], 1):
        # Every position of the job, also where something else follows than its answer: over the
        # others alone a head that is as good as can be still has a gradient.
        here = test.job == index
        loss = torch.nn.functional.cross_entropy(logits[here], answers[here])
        parts = own_gradients(model, loss, 1, slot).values()
        row["gradient"][job] = sum(x.square().sum() for x in parts).sqrt().item()
    kept = {name: x.clone() for name, x in model.state_dict().items()}
    mine = {name: torch.zeros_like(x, dtype=torch.bool) for name, x in kept.items()}
    width = model.layers[1].config.head_dim
    own = slice(slot * width, (slot + 1) * width)
    for name in ("W_q", "W_k", "W_v"):
        mine[f"layers.1.{name}.weight"][own] = True
    mine["layers.1.W_o.weight"][:, own] = True
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("layers.1."))
        if parameter.requires_grad:
            parameter.register_hook(lambda gradient, mask=mine[name]: gradient * mask)
    documents = corpus(DOCUMENTS // 4, seed=seed + 100)
    inputs, targets = documents.ids[:, :-1], documents.ids[:, 1:]
    model.forward = lambda ids: ToyModel.forward(
        model, ids, ablate_by_kind(1, *silent, means=means, ids=ids)
    )
    for _ in train(model, inputs, targets, 400, seed=seed):
        with torch.no_grad():  # undo what weight decay did to the other heads
            for name, parameter in model.named_parameters():
                parameter.copy_(torch.where(mine[name], parameter, kept[name]))
    del model.forward
    means[1][:, slot] = mean_heads_by_kind(model, test)[1][:, slot]
    without = ablate_by_kind(1, slot, *silent, means=means, ids=ids)
    scores = role_scores(model, test)
    return row | {
        "after": job_losses(model, test, edit),
        "without": job_losses(model, test, without),
        "score": {role: scores[role][1][slot].item() for role in ROLES},
    }


def widths(seed: int, n_heads: int, steps: int = STEPS) -> dict:
    """The same parameters, cut into another number of heads."""
    model = fresh(seed, HeadConfig(48, n_heads))
    learn(model, seed, steps=steps)
    return outcome(model)


def scales(seed: int, scale: float) -> dict:
    """All attention weights ``scale`` times larger at the start."""
    model = fresh(seed)
    with torch.no_grad():
        for weight in model.layers.parameters():
            weight.mul_(scale)
    learn(model, seed)
    return outcome(model)


def bracket_right(model: ToyModel, documents: Corpus, edit) -> float:
    return job_losses(model, documents, edit)["bracket"]["accuracy"]


def temperatures(seed: int, n_heads: int, divided: bool, start_divided: bool) -> dict:
    """Scores divided by √d_k, or not, in models that start with entries of variance about 1.

    To leave the division out does two things: scores are √d_k times as large from the start, and a
    step moves them √d_k times as far. ``start_divided`` sets the first alone: with W_Q multiplied
    or divided by √d_k a model starts with the scores of the other one.
    """
    model, split = fresh(seed, HeadConfig(48, n_heads)), rotary.RotaryAttention.split
    more = model.layers[0].config.head_dim ** (0.5 * (divided - start_divided))

    def undivided(self, q, k, v):
        q, k, v = split(self, q, k, v)
        return q * self.config.head_dim**0.5, k, v

    with torch.no_grad():
        for weight in model.layers.parameters():
            weight.mul_(3**0.5)
        for layer in model.layers:
            for parameter in layer.W_q.parameters():
                parameter.mul_(more)
    with mock.patch.object(rotary.RotaryAttention, "split", split if divided else undivided):
        learn(model, seed)
        return outcome(model)


def circuits(seed: int, scale: float) -> dict:
    """How a model answers brackets in which no head looks from the closing one at the answer.

    The answer stands before the opening bracket. ``opener`` is each head's mean attention from the
    closing bracket to the opening one, ``before`` from there to the answer; ``without`` the share
    of brackets right when that head says its mean over symbols of the same kind. ``fetch`` are the
    heads of the first layer that look from the opening bracket at the answer; ``right`` is that
    share without them at the opening brackets, and with them alone at work in their layer.
    """
    model = fresh(seed)
    with torch.no_grad():
        for weight in model.layers.parameters():
            weight.mul_(scale)
    learn(model, seed)
    documents = held_out()
    with torch.no_grad():
        layers = [t.weights for t in model.traces(documents.ids[:, :-1])]
    n, query = (documents.job == JOBS.index("bracket")).nonzero(as_tuple=True)
    answer = documents.target[n, query]
    ids, heads = documents.ids[:, :-1], range(model.layers[0].config.n_heads)
    silence = partial(ablate_by_kind, means=mean_heads_by_kind(model, documents), ids=ids)
    opener = torch.zeros_like(ids, dtype=torch.bool)
    opener[n, answer + 1] = True
    before = layers[0][n, :, answer + 1, answer].mean(0)
    fetch = [head for head in heads if before[head] > 0.5]
    edits = {
        "without them": silence(0, *fetch, where=opener),
        "with them alone": silence(0, *set(heads).difference(fetch)),
    }
    return outcome(model) | {
        "fetch": fetch,
        "right": {name: bracket_right(model, documents, edit) for name, edit in edits.items()},
        "opener": [w[n, :, query, answer + 1].mean(0).tolist() for w in layers],
        "before": [w[n, :, answer + 1, answer].mean(0).tolist() for w in layers],
        "without": [
            [bracket_right(model, documents, silence(layer, head)) for head in heads]
            for layer in range(len(layers))
        ],
    }


def ties(seed: int, noise: float) -> dict:
    """All heads of a layer equal at the start, but for a relative noise."""
    model = fresh(seed)
    equalize(model, noise, generator=torch.Generator().manual_seed(seed + 1000))
    learn(model, seed)
    differ = []
    for layer, attention in enumerate(model.layers):
        first = head_weights(model, layer, 0)
        for head in range(1, attention.config.n_heads):
            other = head_weights(model, layer, head)
            differ += [(first[name] - other[name]).abs().max().item() for name in first]
    return outcome(model) | {"largest difference": max(differ)}


def lookups(seed: int, n_heads: int, steps: int = 1_500) -> dict:
    """One layer must name the symbols 1, 3, 6 and 10 positions back, all at once."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(64, (5_200, 48), generator=random)
    targets = torch.stack([ids.roll(back, 1) for back in LOOK_BACK], -1)  # (n, T, 4)
    targets[:, : max(LOOK_BACK)] = -100  # where one answer is missing, none is asked for
    model = LookUps(HeadConfig(48, n_heads), generator=random)
    for _ in train(model, ids[:5_000], targets[:5_000], steps, seed=seed):
        pass
    with torch.no_grad():
        right = model(ids[5_000:]).argmax(-1) == targets[5_000:]
    parameters = sum(p.numel() for p in model.parameters())
    asked = right[:, max(LOOK_BACK) :]
    places = asked.double().mean((0, 1))
    return {"accuracy": places.mean().item(), "places": places.tolist(), "parameters": parameters}


def turns(seed: int, n_heads: int, base: float) -> dict:
    """The same look-ups, where pairs turn at other rates."""
    with mock.patch.object(rotary, "BASE", base):
        return lookups(seed, n_heads)


class LookUps(ToyModel):
    """The toy model with one layer and four read-outs: (B, T, 4, symbols)."""

    def __init__(self, config: HeadConfig, *, generator: torch.Generator):
        super().__init__(config, 1, 64, generator=generator)
        d = config.d_model
        self.unembed = torch.nn.utils.skip_init(torch.nn.Linear, d, 4 * 64, bias=False)
        torch.nn.init.uniform_(self.unembed.weight, -(d**-0.5), d**-0.5, generator=generator)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return super().forward(ids).unflatten(-1, (4, 64))


GROUPS = {
    "seeds": (seeds, [{"seed": s} for s in range(8)]),
    "checkpoints": (checkpoints, [{"seed": 0}]),
    "vacancies": (vacancies, [{"seed": s} for s in range(8)]),
    "widths": (widths, [{"seed": s, "n_heads": h} for s in range(3) for h in (1, 2, 3, 4, 8, 12)]),
    "lookups": (lookups, [{"seed": s, "n_heads": h} for s in range(3) for h in (1, 2, 4, 8)]),
    "turns": (
        turns,
        [{"seed": s, "n_heads": h, "base": 100.0} for s in range(3) for h in (1, 2, 4, 8)],
    ),
    "ties": (
        ties,
        [{"seed": s, "noise": 0.0} for s in range(2)]
        + [{"seed": s, "noise": x} for s in range(5) for x in (1e-4, 1e-2)],
    ),
    "scales": (scales, [{"seed": s, "scale": 3**0.5} for s in range(6)]),
    "longer": (widths, [{"seed": s, "n_heads": 12, "steps": 9_000} for s in range(3)]),
    "longer lookups": (lookups, [{"seed": s, "n_heads": 4, "steps": 6_000} for s in range(3)]),
    "temperatures": (
        temperatures,
        [
            {"seed": s, "n_heads": h, "divided": divided, "start_divided": start}
            for s in range(3)
            for h in (1, 6)
            for divided in (True, False)
            for start in (True, False)
        ],
    ),
    "circuits": (circuits, [{"seed": s, "scale": 3**0.5} for s in (1, 2)]),
}


def run(group: str, arguments: dict) -> dict:
    torch.set_num_threads(1)
    start = time.perf_counter()
    row = GROUPS[group][0](**arguments)
    return arguments | row | {"seconds": time.perf_counter() - start}


def main(names: list[str]) -> None:
    floor = held_out().entropy.mean().item()
    found = {
        "what": "What the heads of the toy model learn, trained from several seeds",
        "environment": environment_of("cpu"),
        "settings": {"documents": DOCUMENTS, "steps": STEPS, "roles": ROLES, "floor": floor},
        "rows": [],
    }
    if names and (old := record("heads")):
        if any(old["environment"][k] != found["environment"][k] for k in ("device", "versions")):
            raise SystemExit("the record is of another machine or other versions: run all groups")
        found["rows"] = old["rows"]
    with ProcessPoolExecutor(2) as pool:
        for name in names or GROUPS:
            runs = GROUPS[name][1]
            found["rows"] = [row for row in found["rows"] if row["group"] != name]
            for row in pool.map(run, [name] * len(runs), runs):
                found["rows"].append({"group": name, **row})
                print(name, {k: v for k, v in rounded(row).items() if not isinstance(v, list)})
            write(found, FOLDER / "heads.json")


if __name__ == "__main__":
    main(sys.argv[1:])
