"""The one-pass softmax against the plain one in float64, its limits, and its errors."""

import math

import pytest
import torch

from hydra_lib.boltzmann import probabilities
from hydra_lib.kernels import online_softmax
from hydra_lib.kernels.softmax import LONGEST
from hydra_lib.timing.accuracy import relative_error, tolerance_for
from tests.kernels import DTYPES, devices, negated, random
from tests.refusal import refuses

pytestmark = pytest.mark.slow

# One score; a row within a tile, of exactly one, of a bit more, of many.
LENGTHS = [1, 17, LONGEST, LONGEST + 1, 3 * LONGEST + 11]
TAUS = [0, 0.3, math.inf]


def scores(n, dtype, device):
    """Rows with ties, with states that cannot be occupied at either end, and with no state."""
    s = random(2, 5, n, dtype=dtype, device=device)
    s[0, 0] = -math.inf
    s[0, 1, : n // 2] = -math.inf  # the first tile of a long row may have no state
    s[0, 2, n // 2 + 1 :] = -math.inf
    s[1, 1, ::3] = s[1, 1].max()
    s[1, 2] = torch.arange(n, device=device) / n  # the maximum moves with every tile
    return s


@devices
@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("n", LENGTHS)
def test_against_float64(device, n, tau):
    for dtype in DTYPES:
        s = scores(n, dtype, device)
        p = online_softmax(s, tau)
        assert (p.dtype, p.shape, p.device) == (dtype, s.shape, s.device)
        assert relative_error(p, probabilities(s.double(), tau)) <= tolerance_for(dtype)
        assert (p[0, 0] == 0).all()
        assert (p[s == -math.inf] == 0).all()


@devices
@pytest.mark.parametrize("pad", [0, 2 * LONGEST])
def test_by_hand(device, pad):
    """Scores 0 and log 3: 1/4 and 3/4, wherever they stand in the row."""
    s = torch.tensor([[0.0] + [-math.inf] * pad + [math.log(3)]], device=device)
    p = online_softmax(s)
    torch.testing.assert_close(p[0, [0, -1]].cpu(), torch.tensor([0.25, 0.75]))
    assert (p[0, 1:-1] == 0).all()
    torch.testing.assert_close(online_softmax(s, 0)[0, [0, -1]].cpu(), torch.tensor([0.0, 1.0]))


@devices
def test_scores_far_from_zero(device):
    """No shift changes the answer: exponentials are only taken of differences."""
    s = torch.tensor([[1.0, 2.0, 3.0]], device=device)
    for shift in (-1e4, 1e4):
        torch.testing.assert_close(online_softmax(s + shift), online_softmax(s))


@devices
def test_temperatures_beyond_float32(device):
    s = random(3, 17, device=device)
    assert torch.equal(online_softmax(s, 1e-60), online_softmax(s, 0))
    assert torch.equal(online_softmax(s, 1e60), online_softmax(s, math.inf))


@devices
@pytest.mark.parametrize("n", [2, 9000])  # in one tile, and in more
def test_scores_further_apart_than_float32_reaches(device, n):
    far = torch.full((1, n), 2e38, device=device)
    far[:, 0] = -2e38
    for tau in (1e38, math.inf, 0):
        found, exact = online_softmax(far, tau), probabilities(far.double(), tau)
        torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=0)


@devices
def test_any_strides(device):
    s = random(17, 3, 5, device=device)
    views = [s.permute(1, 2, 0), s.permute(2, 1, 0), s[::2, 1].T, s[0, 0].expand(4, 5)]
    views.append(negated(s))
    for view in views:
        assert relative_error(online_softmax(view), probabilities(view.double())) <= 1e-6


@devices
@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("n", [17, LONGEST + 1])
def test_nan_comes_out_and_stays_in_its_row(device, n, tau):
    s = random(2, n, device=device)
    clean = online_softmax(s, tau)
    s[1, n // 2] = math.nan
    p = online_softmax(s, tau)
    assert torch.equal(p[0], clean[0])
    assert p[1].isnan().all()


GOOD = torch.ones(3, 5)
SCORES = "scores must be (…, n), no axis of length 0, got shape"
BAD = [
    ((torch.ones(()),), ValueError, f"{SCORES} ()"),
    ((torch.ones(3, 0),), ValueError, f"{SCORES} (3, 0)"),
    ((torch.ones(0, 3),), ValueError, f"{SCORES} (0, 3)"),
    ((GOOD, -1.0), ValueError, "tau must lie in [0, ∞], got -1.0"),
    ((GOOD, math.nan), ValueError, "tau must lie in [0, ∞], got nan"),
    ((GOOD, True), TypeError, "tau must be a number, got bool"),
    (([1.0, 2.0],), TypeError, "scores must be a torch tensor, got list"),
    ((GOOD, "1"), TypeError, "tau must be a number, got str"),
    (
        (GOOD.double(),),
        TypeError,
        "online_softmax needs scores in float16, bfloat16 or float32, got torch.float64",
    ),
    (
        (GOOD.clone().requires_grad_(),),
        ValueError,
        "scores must be detached, online_softmax having no gradient: got one that requires it",
    ),
]


@devices
@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_input(device, arguments, error, message):
    first, *rest = arguments
    with refuses(error, message):
        online_softmax(first if isinstance(first, list) else first.to(device), *rest)


@devices
def test_an_infinite_score_makes_its_row_nan_without_a_word(device):
    s = torch.tensor([[math.inf, -math.inf, 0.0], [0.0, -math.inf, 0.0]], device=device)
    p = online_softmax(s)
    assert p[0].isnan().any()
    assert p[1].tolist() == [0.5, 0, 0.5]
