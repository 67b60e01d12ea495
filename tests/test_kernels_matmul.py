"""The tiled product against float64, at sizes and strides no tile divides, and its errors."""

import pytest
import torch

from hydra_lib.kernels import tiled_matmul
from hydra_lib.timing.accuracy import relative_error, tolerance_for
from tests.kernels import DTYPES, devices, negated, random
from tests.refusal import refuses

# Below a tile; with a last band that is not full; on the edge of a tile; an inner size of less than
# a tile, of whole ones, of both.
SIZES = [(1, 3, 2), (71, 37, 41), (64, 32, 96), (97, 5, 129)]


@devices
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_against_float64(device, dtype, size):
    M, N, K = size
    a, b = (random(*s, seed=i, dtype=dtype, device=device) for i, s in enumerate([(M, K), (K, N)]))
    c = tiled_matmul(a, b)
    assert (c.dtype, c.shape, c.device) == (dtype, (M, N), a.device)
    assert relative_error(c, a.double() @ b.double()) <= tolerance_for(dtype)


@devices
def test_by_hand(device):
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, -1.0]], device=device)
    b = torch.tensor([[10.0], [1.0]], device=device)
    assert tiled_matmul(a, b).tolist() == [[12.0], [34.0], [-1.0]]


@devices
def test_any_strides(device):
    wide = random(41, 2, 37, device=device)
    a, b = wide[:, 1].T, random(41, 71, seed=1, device=device)[:, ::3]  # (37, 41) x (41, 24)
    assert not a.is_contiguous()
    assert relative_error(tiled_matmul(a, b), a.double() @ b.double()) <= 1e-6
    assert relative_error(tiled_matmul(negated(a), b), -a.double() @ b.double()) <= 1e-6
    assert relative_error(tiled_matmul(b.T, negated(a.T)), -(b.T.double() @ a.T.double())) <= 1e-6
    one = random(1, 1, seed=2, device=device)
    same = one.expand(5, 7)  # every element is one number in memory
    assert relative_error(tiled_matmul(same, b[:7]), same.double() @ b[:7].double()) <= 1e-6


@devices
def test_float32_is_not_tf32(device):
    """1 + 2⁻¹² has more digits than TF32 keeps."""
    a = torch.full((16, 16), 1 + 2.0**-12, device=device)
    exact = torch.full_like(a, 16 * (1 + 2.0**-12))
    assert torch.equal(tiled_matmul(a, torch.ones_like(a)), exact)


GOOD = torch.ones(3, 5), torch.ones(5, 2)
BAD = [
    (
        (GOOD[0], GOOD[0]),
        ValueError,
        "expected a (M, K) and b (K, N), no axis of length 0, got (3, 5) and (3, 5)",
    ),
    (
        (GOOD[0][None], GOOD[1]),
        ValueError,
        "expected a (M, K) and b (K, N), no axis of length 0, got (1, 3, 5) and (5, 2)",
    ),
    (
        (torch.ones(3, 0), torch.ones(0, 2)),
        ValueError,
        "expected a (M, K) and b (K, N), no axis of length 0, got (3, 0) and (0, 2)",
    ),
    (
        (GOOD[0], GOOD[1].half()),
        TypeError,
        "tiled_matmul needs a and b in one dtype, float16, bfloat16 or float32, got torch.float32, "
        "torch.float16",
    ),
    (
        [x.double() for x in GOOD],
        TypeError,
        "tiled_matmul needs a and b in one dtype, float16, bfloat16 or float32, got torch.float64, "
        "torch.float64",
    ),
    (
        (GOOD[0], GOOD[1].to("meta")),
        ValueError,
        "a and b must be on one device, got cpu, meta",
    ),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
@devices
def test_bad_input(device, arguments, error, message):
    arguments = [x if x.is_meta else x.to(device) for x in arguments]
    with refuses(error, message.replace("cpu", str(arguments[0].device))):
        tiled_matmul(*arguments)


@devices
def test_no_gradient_is_lost(device):
    a, b = (x.to(device) for x in GOOD)
    a = a.clone().requires_grad_()
    message = "a must be detached, tiled_matmul having no gradient: got one that requires it"
    with refuses(ValueError, message):
        tiled_matmul(a, b)
    with torch.no_grad():
        assert (tiled_matmul(a, b) == 5).all()
