"""Each verdict on the claims page, as a test that fails when it stops being true."""

import re
from pathlib import Path

import torch

from hydra_lib import (
    apply_mask,
    causal_mask,
    decay,
    entropy,
    mean_energy,
    probabilities,
    running_mean,
    running_sum,
)

PAGE = Path(__file__).parents[1] / "book" / "claims.md"
FUTURE = ~causal_mask(5)


def scores(seed=0):
    return torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_every_claim_on_the_page_has_a_test_and_every_test_a_claim():
    on_page = set(re.findall(r"^\| ([HWB]\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE))
    tested = {name.removeprefix("test_") for name in globals() if re.match(r"test_[HWB]\d+$", name)}
    assert on_page == tested


def test_H3():
    weights = probabilities(apply_mask(scores(), causal_mask(5)))
    assert (weights[FUTURE] == 0.0).all()
    assert torch.softmax(torch.full((3,), -torch.inf), -1).isnan().all()


def test_H4():
    weights = probabilities(torch.zeros(5, 5) * causal_mask(5))
    torch.testing.assert_close(weights, torch.full((5, 5), 0.2))
    values = torch.ones(5, 1, requires_grad=True)
    (weights @ values)[0].backward()
    assert (values.grad[1:] > 0).all()


def test_H5():
    layer = torch.nn.MultiheadAttention(6, 2)
    for T in (3, 7):
        x = torch.randn(T, 6, generator=torch.Generator().manual_seed(0))
        assert layer(x, x, x)[1].shape == (T, T)
    assert {p.shape for p in layer.parameters()} == {(18, 6), (18,), (6, 6), (6,)}


def test_H6():
    values = torch.tensor([[2.0, 8.0, 14.0], [4.0, 10.0, 16.0], [6.0, 12.0, 18.0]])
    assert (running_sum(3) @ values).tolist() == [[2, 8, 14], [6, 18, 30], [12, 30, 48]]
    assert (running_mean(3) @ values).tolist() == [[2, 8, 14], [3, 9, 15], [4, 10, 16]]


def test_B8():
    """Softmax has more entropy than any mixture with a rival of the same mean energy."""
    s = torch.tensor([0.0, -1.0, -2.0], dtype=torch.float64)
    p = probabilities(s)
    direction = torch.tensor([1.0, -2.0, 1.0], dtype=torch.float64)  # keeps sum and mean energy
    for step in (-0.05, -0.01, 0.01, 0.05):
        rival = p + step * direction
        torch.testing.assert_close(-(rival @ s), mean_energy(s))
        assert torch.special.entr(rival).sum() < entropy(s)


def test_B9():
    s = scores()[0]
    largest = [probabilities(s, tau).max() for tau in (0.1, 1.0, 10.0)]
    assert largest == sorted(largest, reverse=True)
    assert probabilities(s, 0.0).max() == 1
    torch.testing.assert_close(probabilities(s, torch.inf), torch.full((5,), 0.2).double())


def test_B10():
    x = torch.tensor([0.1, 20.0], dtype=torch.float64)
    ratio = (-x).exp() * x.expm1()  # Boltzmann over Bose–Einstein
    assert ratio[0] < 0.1
    torch.testing.assert_close(ratio[1], torch.tensor(1.0).double(), rtol=1e-8, atol=0)


def test_B14():
    row, values = decay(5, 0.5)[4], torch.arange(5.0)
    draws = torch.multinomial(
        row, 1_000_000, replacement=True, generator=torch.Generator().manual_seed(0)
    )
    deviation = ((row * (values - row @ values) ** 2).sum() / 1_000_000).sqrt()
    assert (values[draws].mean() - row @ values).abs() < 4 * deviation
