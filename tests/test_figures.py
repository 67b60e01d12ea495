"""Figures take the colour of the text around them and say what they show; so does code."""

import re

import pytest
import torch

from hydra_lib import masking
from hydra_lib.figures import figure, matrices, themed
from hydra_lib.notebook import source


def draw():
    fig, ax = figure()
    ax.plot([0, 1], [0, 1])
    ax.set_title("title")
    return themed(fig, 'a "line" & more')


def test_ink_follows_the_page():
    svg = draw().svg
    assert "#000000" not in svg
    assert "currentColor" in svg
    assert "#ffffff" not in svg  # no paper of its own


def test_text_stays_text_and_has_an_alternative():
    picture = draw()
    assert ">title</text>" in picture.svg
    assert 'role="img" aria-label="a &quot;line&quot; &amp; more"' in picture.svg
    assert repr(picture) == 'Picture: a "line" & more'
    assert picture.svg in picture._repr_html_()


def test_a_figure_is_the_same_at_every_build():
    assert draw().svg == draw().svg


def test_ids_that_remain_are_used():
    svg = draw().svg
    for name in re.findall(r' id="([^"]+)"', svg):
        assert f"#{name}" in svg


def test_no_alternative_is_an_error():
    with pytest.raises(
        ValueError, match=r"^alt must say what the figure shows, got an empty text$"
    ):
        themed(figure()[0], " ")


def test_matrices_print_every_entry():
    svg = matrices(
        ("left", torch.tensor([[1.0, -0.5], [-torch.inf, 0.0]])),
        "=",
        ("right", torch.tensor([[0.333]])),
        alt="two matrices",
        highlight=0,
    ).svg
    for text in ("left", "=", "right", ">1<", ">−0.5<", ">−∞<", ">0<", ">0.33<"):
        assert text in svg, text


def test_source_is_code_without_docstrings():
    text = source(masking.causal_mask, masking.apply_mask).data
    assert text.startswith("```python\ndef causal_mask(")
    assert "return window_mask(length, length)" in text
    assert "def apply_mask(" in text
    assert '"""' not in text
    compile(text.removeprefix("```python\n").removesuffix("```"), "source", "exec")
