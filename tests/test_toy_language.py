"""The toy language: its rules by hand, its floor by counting, its documents by the rules."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib.toy.language import (
    JOBS,
    NAMES,
    SYMBOLS,
    WORDS,
    Reader,
    check_documents,
    corpus,
    encode,
)
from tests.refusal import refuses


def after(text: str) -> Reader:
    reader = Reader()
    for symbol in text:
        reader.read(symbol)
    return reader


def test_there_are_forty_symbols_each_with_one_index():
    assert len(SYMBOLS) == len(set(SYMBOLS)) == 40
    assert [SYMBOLS[i] for i in encode("^*Aax")] == list("^*Aax")
    assert SYMBOLS.index("a") == 16
    assert SYMBOLS.index("A") == 8


@pytest.mark.parametrize(
    ("text", "job", "target"),
    [
        ("^", "none", -1),
        ("^a", "none", -1),
        ("^ab", "none", -1),
        ("^aba", "induction", 2),
        ("^abab", "induction", 3),  # a came after b, at position 3
        ("^ab(", "none", -1),
        ("^ab(c)", "bracket", 2),
        ("^a(b[c]", "bracket", 3),
        ("^a(b[c]b)", "bracket", 1),
        ("^Aa*", "entity", 1),
        ("^Aa*Ab*", "entity", 4),  # the star's own answer is now the most recent name
        ("^AaB", "none", -1),
    ],
)
def test_jobs_and_targets_by_hand(text, job, target):
    reader = after(text)
    assert (reader.job, reader.target, reader.text) == (job, target, text)


def test_what_may_follow_by_hand():
    assert after("").choices() == [(1.0, "^")]
    assert after("^").choices() == [(0.06, NAMES), (0.94, WORDS)]
    assert after("^a(").choices() == [(1.0, WORDS)]
    assert after("^A").choices() == [(1.0, WORDS)]
    first = dict((symbols, p) for p, symbols in after("^a").choices())
    assert first == {"([{": 0.18, NAMES: 0.06, WORDS[1:]: pytest.approx(0.76)}
    inside = dict((symbols, p) for p, symbols in after("^Aa(b").choices())
    rest = pytest.approx(1 - 0.18 - 0.22 - 0.06 - 0.08)
    assert inside == {"[{": 0.18, ")": 0.22, NAMES: 0.06, "*": 0.08, WORDS.replace("b", ""): rest}
    known = dict((symbols, p) for p, symbols in after("^aba").choices())
    assert known["b"] == pytest.approx(0.76)
    deepest = after("^a(b[c{d").choices()
    assert not any("(" in symbols for _, symbols in deepest)


def test_a_word_after_a_closing_bracket_is_nobodys_successor():
    reader = after("^ab(c)b")  # the second b answers the bracket
    assert reader.job == "none"
    reader.read("e")
    assert after("^ab(c)beb").target == 7


def test_the_rules_refuse_what_they_do_not_allow():
    with refuses(ValueError, "symbol must be one of 'b' after '^ab(c)', got 'c'"):
        after("^ab(c)c")
    with refuses(ValueError, "symbol must be one of '^' after '', got 'a'"):
        after("a")
    with pytest.raises(ValueError, match="got 'bc'"):
        after("^a").read("bc")
    with refuses(TypeError, "symbol must be a str, got int"):
        Reader().read(0)


@pytest.mark.parametrize("bad", [0, -1, True, 2.0])
def test_sizes_must_be_positive_integers(bad):
    with refuses(ValueError, f"documents must be a positive integer, got {bad!r}"):
        corpus(bad, seed=0)
    with refuses(ValueError, f"length must be a positive integer, got {bad!r}"):
        corpus(1, bad, seed=0)
    for seed in ("a", -1):  # Python's own generator would take −1 for 1
        with refuses(ValueError, f"seed must be an integer, 0 or more, got {seed!r}"):
            corpus(1, seed=seed)


def test_encode_refuses_strange_symbols():
    with refuses(ValueError, f"text must be made of the symbols {SYMBOLS}, got 'Z', 'é'"):
        encode("^aZé")
    with refuses(TypeError, "text must be a str, got list"):
        encode(["^"])


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"ids": [1]}, TypeError, "documents.ids must be a torch tensor, got list"),
        (
            {"job": torch.zeros(3, 5)},
            TypeError,
            "documents.job must be integers, got torch.float32",
        ),
        (
            {"job": torch.zeros(3, 5, dtype=torch.int32)},
            TypeError,
            "documents.job must be int64, got torch.int32",
        ),
        (
            {"target": torch.full((3, 5), 5)},
            ValueError,
            "documents.target must lie between -1 and 4, got 5 to 5",
        ),
        (
            {"ids": torch.full((3, 6), 40)},
            ValueError,
            "documents.ids must lie between 0 and 39, got 40 to 40",
        ),
        (
            {"entropy": torch.zeros(3, 6)},
            ValueError,
            "documents must be ids (n, T + 1) and three tensors (n, T), got {'ids': (3, 6), "
            "'entropy': (3, 6), 'job': (3, 5), 'target': (3, 5)}",
        ),
    ],
)
def test_what_is_no_corpus(changed, error, message):
    documents = corpus(3, 5, seed=0)
    check_documents(documents)
    with refuses(error, message):
        check_documents(documents._replace(**changed))
    with refuses(TypeError, "documents must be a Corpus, got Tensor"):
        check_documents(documents.ids)


def test_a_corpus_says_what_the_reader_says():
    documents = corpus(7, 31, seed=5)
    assert documents.ids.shape == (7, 32)
    assert documents.job.shape == documents.target.shape == documents.entropy.shape == (7, 31)
    for row in range(7):
        reader = Reader()
        for t, symbol in enumerate(SYMBOLS[i] for i in documents.ids[row]):
            if t:
                p = [(p / len(s), s) for p, s in reader.choices()]
                entropy = -sum(len(s) * q * math.log(q) for q, s in p)
                assert documents.entropy[row, t - 1] == pytest.approx(entropy, abs=1e-6)
                assert JOBS[documents.job[row, t - 1]] == reader.job
                assert documents.target[row, t - 1] == reader.target
            reader.read(symbol)


def test_a_corpus_is_a_function_of_its_seed():
    one, again, other = corpus(3, seed=1), corpus(3, seed=1), corpus(3, seed=2)
    assert torch.equal(one.ids, again.ids)
    assert not torch.equal(one.ids, other.ids)


@given(st.integers(0, 10_000))
def test_probabilities_sum_to_one_and_certain_jobs_have_no_entropy(seed):
    documents = corpus(1, 29, seed=seed)
    reader = Reader()
    for t, symbol in enumerate(SYMBOLS[i] for i in documents.ids[0]):
        choices = reader.choices()
        assert sum(p for p, _ in choices) == pytest.approx(1)
        assert all(p > 0 and symbols for p, symbols in choices)
        symbols = "".join(symbols for _, symbols in choices)
        assert len(symbols) == len(set(symbols))
        if reader.job in ("bracket", "entity"):
            assert documents.entropy[0, t - 1] == 0
        reader.read(symbol)


@pytest.mark.long
def test_the_floor_is_the_loss_of_the_rules_themselves():
    documents = corpus(400, seed=3)
    surprise = []
    for row in documents.ids.tolist():
        reader = Reader()
        reader.read("^")
        for symbol in (SYMBOLS[i] for i in row[1:]):
            [p] = [p / len(symbols) for p, symbols in reader.choices() if symbol in symbols]
            surprise.append(-math.log(p))
            reader.read(symbol)
    surprise = torch.tensor(surprise, dtype=torch.float64)
    floor = documents.entropy.double().mean()
    error = surprise.std() / math.sqrt(len(surprise))
    assert abs(surprise.mean() - floor) < 5 * error
    assert 0 < error < 0.02  # so the check above could fail


def test_every_job_comes_up():
    count = Counter(corpus(100, seed=4).job.flatten().tolist())
    assert set(count) == set(range(len(JOBS)))
    assert min(count.values()) > 50
