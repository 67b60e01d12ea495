"""The kernels in WGSL against the library, in Chromium, where SwiftShader computes them.

Never a time: SwiftShader is a processor.
"""

import json
import math
import re

import pytest
import torch

from hydra_lib import causal_mask, fused_attention
from hydra_lib.masking import padding_mask
from hydra_lib.timing import AttentionSize
from hydra_lib.timing.exact import row_error
from hydra_lib.timing.verified import tolerance
from hydra_lib.widgets._bundle import STATIC, bundle
from tests.conftest import in_javascript

WIDTHS = (16, 24, 32, 48, 64, 72, 80, 96, 112, 128)
MATMULS = ((1, 1, 1), (16, 16, 16), (7, 130, 33), (131, 5, 17), (129, 67, 45), (64, 192, 80))

# Both modules, one device, and a list of plans with inputs; the outputs come back as lists.
COMPUTE = """async ([kernels, gpu, asked]) => {
    const load = (text) => import(URL.createObjectURL(new Blob([text], {type: "text/javascript"})));
    const [k, g] = [await load(kernels), await load(gpu)];
    const device = await g.openGpu(navigator.gpu);
    const [found, bytes] = [[], []];
    for (const {make, name, size, inputs} of asked) {
        const plan = k[make](name, size);
        const ready = await g.prepare(device, plan, inputs);
        await g.runOnce(device, ready);
        found.push([...await g.read(device, ready)]);
        bytes.push(Object.values(ready.buffers).map(({size}) => size));
        ready.destroy();
    }
    const {name, software, stamps, half} = device;
    return {about: {name, software, stamps, half}, found, bytes};
}"""


@pytest.fixture(scope="module")
def compute(gpu_chromium):
    """``compute(asked)``: the outputs of plans of kernels, and what is known of the device."""
    page = gpu_chromium.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.route("**/*", lambda route: route.fulfill(body="<!doctype html><title>kernels</title>"))
    page.goto("http://127.0.0.1/kernels.html")
    modules = [bundle("kernels.js"), bundle("gpu.js")]
    yield lambda asked: page.evaluate(COMPUTE, [*modules, asked])
    page.close()
    assert said == []


BYTES = {"f32": 4, "vec2f": 8, "vec4f": 16}


def size_of(kind, sizes):
    """The bytes of a type of WGSL, of arrays and numbers."""
    if whole := re.fullmatch(r"array<(.*), ([\w* ]+)>", kind):
        sides = [int(sizes.get(side, side)) for side in whole[2].split(" * ")]
        return math.prod(sides) * size_of(whole[1], sizes)
    return sizes.get(kind) or BYTES[kind]


def test_the_memory_that_a_plan_asks_for_is_what_its_kernels_declare():
    size = {"M": 16, "N": 16, "K": 16, "B": 1, "h": 1, "Tq": 16, "Tk": 16, "D": 24}
    asked = [["matmulPlan", name, "float32"] for name in names("MATMUL")]
    asked += [["attentionPlan", name, "float32"] for name in names("ATTENTION")]
    asked.append(["attentionPlan", names("ATTENTION")[1], "float16"])
    plans = json.loads(
        in_javascript(
            "kernels.js",
            f"(({{shared, steps}}) => [shared, steps.map(({{text}}) => text)])"
            f"(m[c[0]](c[1], {json.dumps(size)}, c[2]))",
            asked,
        )
    )
    for (*_, dtype), (shared, texts) in zip(asked, plans, strict=True):
        sizes = {"D": 24, "real": 4 if dtype == "float32" else 2}
        declared = [
            sum(size_of(kind, sizes) for kind in re.findall(r"<workgroup> \w+: ([^;]+);", text))
            for text in texts
        ]
        assert max(declared) == shared


def test_inputs_of_another_size_are_refused_before_a_buffer_is_made():
    prepare = "m.prepare({}, { inputs: ['a'], buffers: { a: 3 } }, { a: c })"
    said = in_javascript("gpu.js", f"{prepare}.catch((error) => error.message)", [[1, 2]])
    assert json.loads(said) == ["a must have 3 numbers, got 2"]


def names(kind):
    return json.loads(in_javascript("kernels.js", f"m.{kind}_NAMES", [0]))[0]


def flat(x):
    return x.flatten().tolist()


@pytest.mark.browser
def test_matmul(compute):
    generator = torch.Generator().manual_seed(0)
    asked, exact = [], []
    for M, K, N in MATMULS:
        a = torch.randn(M, K, generator=generator)
        b = torch.randn(K, N, generator=generator)
        for name in names("MATMUL"):
            inputs = {"a": flat(a), "b": flat(b)}
            size = {"M": M, "N": N, "K": K}
            asked.append({"make": "matmulPlan", "name": name, "size": size, "inputs": inputs})
            exact.append(a.double() @ b.double())
    answer = compute(asked)
    assert answer["about"]["software"]
    assert "swiftshader" in answer["about"]["name"]
    for one, found, truth in zip(asked, answer["found"], exact, strict=True):
        result = torch.tensor(found).reshape(truth.shape)
        assert row_error(result, truth) < tolerance(torch.float32), (one["name"], truth.shape)


def attention_cases():
    """Sizes, a mask's two parts, and the library's own numbers in float64."""
    generator = torch.Generator().manual_seed(1)
    sizes = [(1, 2, 37, 37, D, True, None) for D in (16, 48, 64, 72, 128)]
    sizes += [
        (1, 1, 1, 1, 16, True, None),
        (1, 3, 16, 16, 16, True, None),
        (2, 1, 33, 33, 72, False, None),
        (2, 3, 21, 50, 16, False, [50, 1]),
        (3, 2, 50, 19, 72, False, [0, 19, 7]),
        (3, 2, 35, 35, 16, True, [35, 0, 18]),
        (1, 1, 300, 300, 16, True, None),  # a row longer than the workgroup of the softmax
        (1, 2, 5, 7, 13, False, None),  # a width that nothing divides
    ]
    for B, h, Tq, Tk, D, causal, lengths in sizes:
        q = 3 * torch.randn(B, h, Tq, D, generator=generator)
        k, v = torch.randn(2, B, h, Tk, D, generator=generator)
        allowed = torch.ones(Tq, Tk, dtype=torch.bool)
        if causal:
            allowed = causal_mask(Tq)
        if lengths is not None:
            allowed = allowed & padding_mask(torch.tensor(lengths), Tk)[:, None]
        exact = fused_attention(q.double(), k.double(), v.double(), allowed)
        size = {"B": B, "h": h, "Tq": Tq, "Tk": Tk, "D": D, "causal": causal}
        inputs = {"q": flat(q), "k": flat(k), "v": flat(v), "lengths": lengths or [Tk] * B}
        yield size, inputs, exact


@pytest.mark.browser
def test_attention(compute):
    asked, exact = [], []
    for size, inputs, truth in attention_cases():
        for name in names("ATTENTION"):
            one = {"make": "attentionPlan", "name": name, "size": size, "inputs": inputs}
            asked.append(one)
            exact.append(truth)
    for one, found, truth in zip(asked, compute(asked)["found"], exact, strict=True):
        result = torch.tensor(found).reshape(truth.shape)
        empty = truth.abs().sum(-1) == 0
        assert (result[empty] == 0).all()
        assert row_error(result, truth) < tolerance(torch.float32), (one["name"], one["size"])


@pytest.mark.browser
def test_what_is_padding_may_be_anything(compute):
    size = {"B": 1, "h": 1, "Tq": 5, "Tk": 40, "D": 16, "causal": False}
    q, k, v = torch.randn(3, 40, 16, generator=torch.Generator().manual_seed(2))
    k[3:], v[3:] = 1e30, 1e30
    inputs = {"q": flat(q[:5]), "k": flat(k), "v": flat(v), "lengths": [3]}
    exact = fused_attention(q[:5].double(), k[:3].double(), v[:3].double())
    plans = [
        {"make": "attentionPlan", "name": name, "size": size, "inputs": inputs}
        for name in names("ATTENTION")
    ]
    for found in compute(plans)["found"]:
        result = torch.tensor(found).reshape(exact.shape)
        assert row_error(result, exact) < tolerance(torch.float32)


@pytest.mark.browser
def test_copy(compute):
    x = torch.randn(4 * 1037, generator=torch.Generator().manual_seed(3))
    one = {"make": "copyPlan", "name": x.numel(), "size": None, "inputs": {"x": flat(x)}}
    answer = compute([one])
    assert answer["found"] == [flat(x)]
    assert answer["bytes"] == [[4 * x.numel()] * 2]


def test_counts():
    sizes = [AttentionSize(2, 3, 5, 7), AttentionSize(1, 12, 64, 64), AttentionSize(1, 1, 1, 1)]
    cases = [{"B": s.B, "h": s.h, "T": s.T, "D": s.head_dim} for s in sizes]
    expression = "[m.attentionFlops(c), m.attentionBytes(c, 'float16', 0), "
    expression += "m.attentionBytes(c, 'float32', 5)]"
    found = json.loads(in_javascript("kernels.js", expression, cases))
    for size, (flops, half, stored) in zip(sizes, found, strict=True):
        assert flops == size.flops()
        assert half == size.bytes(torch.float16)
        triangle = size.B * size.h * size.T * (size.T + 1) // 2
        assert stored == size.bytes(torch.float32) + 5 * 4 * triangle


def test_memory_held():
    expression = "m.ATTENTION_NAMES.map((name) => m.heldBytes(m.attentionPlan(name, c)))"
    size = {"B": 1, "h": 12, "Tq": 1024, "Tk": 1024, "D": 64, "causal": True}
    (found,) = json.loads(in_javascript("kernels.js", expression, [size]))
    assert found == [4 * 12 * (1024 * 1024 + 1024 * 64), 4 * 12 * 1024 * 64]


def test_kernels_are_short():
    for path in STATIC.glob("*.wgsl"):
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) < 100, path.name
        assert max(map(len, lines)) <= 100, path.name


def test_the_fused_kernel_of_every_width_fits_what_devices_have():
    expression = "m.attentionPlan(m.ATTENTION_NAMES[1], c).shared"
    sizes = [{"B": 1, "h": 1, "Tq": 1, "Tk": 1, "D": D, "causal": True} for D in WIDTHS]
    shared = json.loads(in_javascript("kernels.js", expression, sizes))
    # 16 KiB is what WebGPU promises, 32 KiB what most devices give.
    assert all(x <= 2**14 for x, D in zip(shared, WIDTHS, strict=True) if D <= 96)
    assert max(shared) <= 2**15
    assert math.isclose(shared[WIDTHS.index(64)], 2 * 16 * 64 * 4 + 2 * 16 * 16 * 4)
