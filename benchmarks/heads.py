"""What heads learn: train the toy model many times, and ask each question over several seeds.

    python benchmarks/heads.py            all groups, about an hour on two cores
    python benchmarks/heads.py lookups    only the rows of the groups named

Writes ``hydra_lib/records/heads.json`` and, with the group ``seeds``, the weights of the first seed
to ``hydra_lib/records/toy.safetensors``. Every run is a row with its seed, and nothing is averaged
here. Trained again from the same seed, models differed in small things: the groups ``scales`` and
``circuits`` hold two such pairs.
"""

import copy
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import torch
from safetensors.torch import save_file

from hydra_lib.heads import HeadConfig
from hydra_lib.records import FOLDER, record, rounded, write
from hydra_lib.timing.environment import environment_of
from hydra_lib.toy.ablation import ablate, clone, equalize, gradient_norms, head_weights, mean_heads
from hydra_lib.toy.language import JOBS, Corpus, corpus
from hydra_lib.toy.model import TOY, ToyModel, train
from hydra_lib.toy.roles import ROLES, job_losses, role_scores

DATA = FOLDER
DOCUMENTS, STEPS = 20_000, 3_000
HELD_OUT = 1_000_000  # seed of documents that no model is trained on
EVERY = 50  # steps between two looks at the scores
CHECKPOINTS = (0, 20, 50, 100, 200, 500, 1000, 1500, 2000, 2500, 2999)
LOOK_BACK = (1, 3, 6, 10)


def fresh(seed: int, config: HeadConfig = TOY, **options) -> ToyModel:
    return ToyModel(config, generator=torch.Generator().manual_seed(seed), **options)


def learn(model: ToyModel, seed: int, look=None) -> None:
    """Train on the documents of a seed; ``look(step)`` is called before each step."""
    documents = corpus(DOCUMENTS, seed=seed)
    losses = train(model, documents.ids[:, :-1], documents.ids[:, 1:], STEPS, seed=seed)
    for step in range(STEPS):
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


def costs(model: ToyModel, test: Corpus, means: list | None = None) -> dict:
    """How much each loss rises without each head: job -> layers x heads."""
    whole = job_losses(model, test)
    shape = (len(model.layers), model.layers[0].config.n_heads)
    found = {job: torch.zeros(shape) for job in whole}
    for layer in range(shape[0]):
        for head in range(shape[1]):
            without = job_losses(model, test, ablate(layer, head, means=means))
            for job in whole:
                found[job][layer, head] = without[job]["loss"] - whole[job]["loss"]
    return {job: x.tolist() for job, x in found.items()}


def best(scores: dict, role: str, layer: int) -> int:
    return int(torch.tensor(scores[role][layer]).argmax())


def seeds(seed: int) -> dict:
    """One model: its history, its heads, what each is good for, clones and a vacancy."""
    model, few = fresh(seed), held_out(100)
    history, checkpoints = [], []

    def look(step: int) -> None:
        if step % EVERY == 0:
            scores = role_scores(model, few)
            history.append([scores[role].max().item() for role in ROLES])
        if step in CHECKPOINTS:
            rise = costs(model, few, mean_heads(model, few))["all"]
            row = {"step": step, "gradient": gradient_norms(model, few).tolist(), "cost": rise}
            checkpoints.append(row)

    learn(model, seed, look)
    if seed == 0:
        halves = {name: x.half().contiguous() for name, x in model.state_dict().items()}
        made = {"made by": "benchmarks/heads.py", "seed": str(seed), "steps": str(STEPS)}
        save_file(halves, DATA / "toy.safetensors", metadata=made)
    test = held_out()
    row = outcome(model)
    row |= {"every": EVERY, "history": history, "checkpoints": checkpoints}
    row["zero"] = costs(model, test)
    row["mean"] = costs(model, test, mean_heads(model, test))
    row["clones"] = [twin(model, role, row, test) for role in ("induction", "bracket")]
    row["vacancy"] = [vacancy(model, row, seed, test, others) for others in (True, False)]
    return row


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
    ids = test.ids
    loss = torch.nn.functional.cross_entropy(model(ids[:, :-1]).mT, ids[:, 1:])
    attention = model.layers[layer]
    names = ("W_q", "W_k", "W_v", "W_o")
    whole = torch.autograd.grad(loss, [getattr(attention, name).weight for name in names])
    d_k = attention.config.head_dim
    own = slice(head * d_k, (head + 1) * d_k)
    return {n: g[:, own] if n == "W_o" else g[own] for n, g in zip(names, whole, strict=True)}


def vacancy(model: ToyModel, row: dict, seed: int, test: Corpus, others: bool) -> dict:
    """Start the idlest head of layer 1 anew and train it alone, with or without the other
    induction heads at work: does it take the role?"""
    model, rise = copy.deepcopy(model), row["mean"]["all"][1]
    idle = rise.index(min(rise))
    scores = row["scores"]["induction"][1]
    same = [head for head, score in enumerate(scores) if score >= 0.5 and head != idle]
    start = fresh(seed + 100)
    with torch.no_grad():
        for name, weight in head_weights(model, 1, idle).items():
            weight.copy_(head_weights(start, 1, idle)[name])
        if not others:
            for head in same:  # without their columns of W_o they add nothing
                head_weights(model, 1, head)["W_o"].zero_()
    first = gradient_norms(model, test)[1][idle].item()
    kept = {name: x.clone() for name, x in model.state_dict().items()}
    mine = {}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("layers.1."))
        mine[name] = torch.zeros_like(parameter, dtype=torch.bool)
    width = model.layers[1].config.head_dim
    own = slice(idle * width, (idle + 1) * width)
    for name in ("W_q", "W_k", "W_v"):
        mine[f"layers.1.{name}.weight"][own] = True
    mine["layers.1.W_o.weight"][:, own] = True
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            parameter.register_hook(lambda gradient, mask=mine[name]: gradient * mask)
    documents = corpus(DOCUMENTS // 4, seed=seed + 100)
    inputs, targets = documents.ids[:, :-1], documents.ids[:, 1:]
    for _ in train(model, inputs, targets, 400, seed=seed):
        with torch.no_grad():  # undo what weight decay did to the other heads
            for name, parameter in model.named_parameters():
                parameter.copy_(torch.where(mine[name], parameter, kept[name]))
    score = role_scores(model, test)["induction"][1][idle].item()
    switch = {"others at work": others, "others": same}
    return switch | {"head": idle, "gradient": first, "score": score}


def widths(seed: int, n_heads: int) -> dict:
    """The same parameters, cut into another number of heads."""
    model = fresh(seed, HeadConfig(48, n_heads))
    learn(model, seed)
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


def circuits(seed: int, scale: float) -> dict:
    """How a model answers brackets in which no head looks from the closing one at the answer.

    The answer stands before the opening bracket. ``opener`` is each head's mean attention from the
    closing bracket to the opening one, ``before`` from there to the answer; ``without`` the share
    of brackets right when that head says its mean.
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
    means = mean_heads(model, documents)
    heads = range(model.layers[0].config.n_heads)
    return outcome(model) | {
        "opener": [w[n, :, query, answer + 1].mean(0).tolist() for w in layers],
        "before": [w[n, :, answer + 1, answer].mean(0).tolist() for w in layers],
        "without": [
            [bracket_right(model, documents, ablate(layer, head, means=means)) for head in heads]
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


def lookups(seed: int, n_heads: int) -> dict:
    """One layer must name the symbols 1, 3, 6 and 10 positions back, all at once."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(64, (5_200, 48), generator=random)
    targets = torch.stack([ids.roll(back, 1) for back in LOOK_BACK], -1)  # (n, T, 4)
    targets[:, : max(LOOK_BACK)] = -100  # where one answer is missing, none is asked for
    model = LookUps(HeadConfig(48, n_heads), generator=random)
    for _ in train(model, ids[:5_000], targets[:5_000], 1_500, seed=seed):
        pass
    with torch.no_grad():
        right = model(ids[5_000:]).argmax(-1) == targets[5_000:]
    parameters = sum(p.numel() for p in model.parameters())
    asked = right[:, max(LOOK_BACK) :]
    return {"accuracy": asked.double().mean().item(), "parameters": parameters}


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
    "widths": (widths, [{"seed": s, "n_heads": h} for s in range(3) for h in (1, 2, 3, 4, 8, 12)]),
    "lookups": (lookups, [{"seed": s, "n_heads": h} for s in range(3) for h in (1, 2, 4, 8)]),
    "ties": (
        ties,
        [{"seed": s, "noise": 0.0} for s in range(2)]
        + [{"seed": s, "noise": x} for s in range(5) for x in (1e-4, 1e-2)],
    ),
    "scales": (scales, [{"seed": s, "scale": 3**0.5} for s in range(6)]),
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
    with ProcessPoolExecutor(int(os.environ.get("WORKERS", "2"))) as pool:
        for name in names or GROUPS:
            runs = GROUPS[name][1]
            found["rows"] = [row for row in found["rows"] if row["group"] != name]
            for row in pool.map(run, [name] * len(runs), runs):
                found["rows"].append({"group": name, **row})
                print(name, {k: v for k, v in rounded(row).items() if not isinstance(v, list)})
            write(found, DATA / "heads.json")


if __name__ == "__main__":
    main(sys.argv[1:])
