"""No right way of writing an answer is refused; a mistake is refused and named."""

import functools
import inspect
import re

import numpy as np
import pytest
import torch

from hydra_lib import exercises, probabilities
from hydra_lib.exercises import (
    Verdict,
    aggregation,
    attention,
    backward,
    check,
    devices,
    heads,
    kernel,
    learned,
    masking,
    progress,
    scaling,
    softmax,
    strassen,
    timing,
    verdict,
)
from hydra_lib.exercises.compare import function, value
from hydra_lib.exercises.reader import Wrong, is_blank, numbers
from hydra_lib.exercises.watch import watched
from tests import exercise_answers
from tests.exercise_answers import ANSWERS

MODULES = (
    *(aggregation, masking, softmax, scaling, attention),
    *(heads, learned, backward, strassen, timing, kernel, devices),
)
CHECKS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if name not in ("Stream", "progress")
}
TABLES = [getattr(exercise_answers, f"CHAPTER_{number:02}") for number in range(1, 13)]
every_check = pytest.mark.parametrize("name", CHECKS)


@functools.cache
def verdicts(name) -> list[tuple[object, tuple[str, ...], Verdict]]:
    """The wrong answers of an exercise, the words to be told, and what they are told."""
    return [
        (answer, (words,) if isinstance(words, str) else words, CHECKS[name](answer))
        for answer, words in ANSWERS[name][1]
    ]


# --- the table of answers -----------------------------------------------------------------------


def test_every_exercise_has_at_least_three_right_and_three_wrong_answers():
    told = "in tests/exercise_answers.py, or in __all__ of the chapter's checks, but not in both"
    assert set(ANSWERS) == set(CHECKS), told
    for name, (right, wrong) in ANSWERS.items():
        assert min(len(right), len(wrong)) >= 3, name


@every_check
def test_no_right_way_is_refused(name):
    for number, answer in enumerate(ANSWERS[name][0]):
        found = CHECKS[name](answer)
        assert found, f"right answer {number}: {found}"
        assert repr(found).startswith("✓ Right.")


@every_check
def test_no_wrong_answer_passes(name):
    for number, (_, words, found) in enumerate(verdicts(name)):
        assert found.right is False, f"wrong answer {number}, {words}: {found}"


@pytest.mark.parametrize("table", TABLES, ids=range(1, 13))
def test_nine_mistakes_in_ten_are_named(table):
    wrong = [(name, words, found.says) for name in table for _, words, found in verdicts(name)]
    unnamed = [case for case in wrong if not any(w.lower() in case[2].lower() for w in case[1])]
    assert len(unnamed) <= 0.1 * len(wrong), unnamed


# Told in these words, where nine in ten would not notice that they are gone.
TOLD = {
    "masking.masked_weights": ("here it is NaN", "with one, your code", "keep theirs"),
    "scaling.lead_for_half": ("half of the keys", "the sign"),
    "heads.head_count": ("2.5 is not a whole number", "True and False"),
    "backward.flops": ("11274289153 is not right",),
    "backward.saved_numbers": ("how many times as many",),
    "timing.bytes_moved": ("50331647 is not right",),
    "timing.stopwatch": ("at stream.clock()",),
    "timing.times_as_long": ("round of median time", "1 more", "all its digits"),
    "kernel.key_reads": ("all 4096 keys",),
    "kernel.tile_mask": ("a mask to add",),
    "kernel.merged": (
        ", m2 = 0.9198",
        "got a generator",
        "got shape (2,)",
        ": l is 3.054",
        ": o[2] is 1.351",
    ),
    "devices.kv_heads": (
        "from 0",
        *(f"in order, got a {it}" for it in ("set", "generator", "dict")),
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_one_exercise_tells(name):
    for told in TOLD[name]:
        meant = [found.says for _, words, found in verdicts(name) if told in words[0]]
        assert meant, told
        assert all(told in says for says in meant), meant


@every_check
def test_the_expected_number_is_not_printed_unless_asked(name):
    for answer, _, found in verdicts(name):
        given = set(re.findall(r"\d+\.\d+|\d{3,}", str(answer)))
        expected = set(re.findall(r"\d+\.\d+|\d{3,}", found.expected))
        said = set(re.findall(r"\d+\.\d+|\d{3,}", found.says.partition("for ")[0]))
        assert not (expected - given) & said, found


@every_check
def test_every_mistake_a_check_knows_is_wrong_and_gets_its_own_sentence(name):
    for mistake, sentence in getattr(CHECKS[name], "mistakes", ()):
        found = CHECKS[name](mistake)
        assert found.right is False, sentence
        assert callable(sentence) or found.says == sentence


# --- no answer yet ------------------------------------------------------------------------------


@every_check
def test_no_answer_is_not_a_wrong_answer(name):
    for blank in (..., None):
        found = CHECKS[name](blank)
        assert found.right is None
        assert not found
        assert repr(found).startswith("· No answer yet")


def stub(model):
    """``def name(…): ...`` with the parameters of ``model``."""
    space = {}
    exec(f"def stub({', '.join(inspect.signature(model).parameters)}): ...", space)
    return space["stub"]


@every_check
def test_an_untouched_stub_is_no_answer_yet(name):
    assert CHECKS[name](stub(CHECKS[name])).right is None


def documented(x):
    """What it should do."""


def passes(x):
    pass


def forgets(x):
    x + 1


@pytest.mark.parametrize("function", [documented, passes, lambda x: ..., lambda x: None])
def test_what_is_blank(function):
    assert is_blank(function)


@pytest.mark.parametrize("function", [forgets, lambda x: x, lambda x: 0, print, torch.eye, 0, ""])
def test_what_is_not_blank(function):
    assert not is_blank(function)


# --- the reader's code --------------------------------------------------------------------------


@function([(torch.eye(2, dtype=torch.float64),), (torch.ones(3, 5, dtype=torch.float64),)])
def doubled(x):
    return 2 * x


@value([(7, "seven")])
def six():
    return 6


@value([(0.5, "half")], within=0.005)
def third():
    return 1 / 3


six_times = function([(7,)])(lambda x: 6 * x)


def forgets_all():
    return 5


def helper(x):
    return x / (len(x) - len(x))


def crashes_in_a_helper(x):
    y = helper([x])
    return y


def test_a_crash_is_told_with_the_readers_own_line():
    said = doubled(lambda x: x.reshape(7, 7)).says
    assert said.startswith("your code raised RuntimeError: shape '[7, 7]' is invalid")
    assert "x.reshape(7, 7)" in said.partition("in your line")[2]

    said = doubled(crashes_in_a_helper).says
    line = inspect.getsourcelines(helper)[1] + 1
    assert said == (
        "your code raised TypeError: unsupported operand type(s) for /: 'list' and 'int'; "
        f"in your line {line}: return x / (len(x) - len(x))"
    )


class Crashes:
    def __call__(self, x):
        return crashes_in_a_helper(x)


@torch.no_grad()
def crashes_in_torch(x):
    return x @ torch.ones(9)


class Layer(torch.nn.Module):
    def forward(self, x):
        return x @ torch.ones(9)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (functools.partial(crashes_in_a_helper), "return x / (len(x) - len(x))"),
        (functools.lru_cache(crashes_in_a_helper), "return x / (len(x) - len(x))"),
        (Crashes(), "return x / (len(x) - len(x))"),
        (crashes_in_torch, "return x @ torch.ones(9)"),
        (Layer(), "return x @ torch.ones(9)"),
    ],
)
def test_a_crash_is_found_in_what_is_wrapped(answer, words):
    assert doubled(answer).says.partition("in your line")[2].partition(". That")[0].endswith(words)


def test_an_error_without_words_is_told_by_its_name():
    def answer(x):
        raise ValueError

    assert doubled(answer).says.startswith("your code raised ValueError; in your line ")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (forgets, "your function returned None: did you forget return?"),
        (torch.eye(2), "expected a function of (x), got a tensor of shape (2, 2): "),
        (5, "got an int: hand over the function itself, without calling it"),
        (lambda: 5, "it is called as doubled(x), but your function takes ()"),
        (forgets_all, "it is called as forgets_all(x), but your function takes ()"),
        (lambda x: 2 * x + 1j, "expected real numbers, got complex ones"),
        (lambda x: np.asarray(x) + 1j, "expected real numbers, got complex ones"),
        (lambda x: [[1j, 0], [0, 1]], "expected real numbers, got complex ones"),
        (lambda x: doubled, "your function returned a function: call it"),
        (lambda x: "two", "expected numbers, got the text 'two'"),
        (lambda x: {1, 2}, "expected numbers, got a set"),
        (lambda x: [[1, 2], [3]], "expected numbers in rows of one length, got parts of shapes"),
        (lambda x: x, "every number is 0.5 times what it should be"),
        (lambda x: 200 * x, "every number is 100 times what it should be"),
        (lambda x: -2 * x, "the sign is the other way round"),
        (lambda x: 0 * x, "every number is 0, whatever was given"),
        (lambda x: 2 * x[0], "expected shape (2, 2), got (2,)"),
        (lambda x: x * float("nan"), "entry [0, 0] is nan, and should not be"),
        (lambda x: 2 * x + 1, "for x = [[1.0, 0.0], [0.0, 1.0]]: entry [0, 0] is 3, and should"),
        (
            lambda x: x.T.view(-1).view(x.shape) * 2,
            "view never copies, and after a transpose the numbers no longer lie in that order: ",
        ),
        (lambda x: 2 * x @ x, "the inner sizes of a matrix product differ: a transpose missing or"),
    ],
)
def test_what_any_function_is_told(answer, said):
    assert said in doubled(answer).says


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: 6, "expected a value, got a function: call it"),
        ("6", "expected numbers, got the text '6'"),
        (7, "seven"),
        (5, "5 is not right"),
        ([6, 6], "expected one number, got 2"),
        ([], "expected one number, got none"),
        (torch.ones(2, 2), "expected one number, got shape (2, 2)"),
        (-12345678, "-12345678 is not right"),
        (
            (6, 6),
            "expected one number, got 2: a comma separates numbers; inside of one write 0.5, not "
            "0,5, and 1000, not 1,000",
        ),
        ([6, None], "expected numbers, got None: did you forget return?"),
        (
            torch.ones(2).median(dim=0),
            "expected numbers, got values and their indices: take .values",
        ),
        (float("nan"), "nan is not right"),
    ],
)
def test_what_any_value_is_told(answer, said):
    assert six(answer).says == said


@function([(torch.tensor([[1.0, 3.0, 0.0], [1.0, 1.0, 6.0]]).double(),)])
def shares(x):
    return x / x.sum(-1, keepdim=True)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x: x / x.sum(0), "wrong axis: your columns sum to 1, the rows must"),
        (lambda x: x / x.sum(), "a row must sum to 1; one of yours sums to 0.3333"),
        (lambda x: x.sum(), "one number came out: keep an axis"),
        (lambda x: shares_of(x).T, "that is the transpose: rows and columns are swapped"),
        (
            lambda x: shares_of(x).T.reshape(2, 3),
            "the right numbers in the wrong places, as when a transpose",
        ),
    ],
)
def test_what_any_weights_are_told(answer, said):
    assert said in shares(answer).says


def shares_of(x):
    return x / x.sum(-1, keepdim=True)


def test_axes_in_another_order():
    cube = function([(torch.arange(30.0).reshape(2, 3, 5),)])(lambda x: x)
    said = "the right numbers, but the axes stand in another order"
    assert cube(lambda x: x.permute(2, 0, 1)).says == said


def test_rows_in_another_order():
    rows = function([(torch.arange(15.0).reshape(3, 5),)])(lambda x: x)
    for order in ([1, 2, 0], [2, 1, 0]):
        assert rows(lambda x, o=order: x[o]).says == "the right rows, in another order"
    # A row twice is no order of the rows, and numbers that changed their rows are none either.
    assert "order" not in rows(lambda x: x[[0, 0, 1]]).says
    assert "wrong places" in rows(lambda x: x.flip(1)).says


def test_infinities_hide_no_difference():
    filled = function(
        [(torch.tensor([[1.0, -torch.inf], [3.0, 4.0]]),)],
        mistakes=[(lambda x: x + 1, "one more")],
    )(lambda x: x)
    assert filled(lambda x: x + 1).says == "one more"
    assert filled(lambda x: x + 2).says != "one more"


def test_what_is_told_differs_from_what_is_right():
    assert six(5.9999).says == "5.9999 is not right"
    assert six(6.0004).says == "6.0004 is not right"
    assert "one of yours sums to 0.9999" in shares(lambda x: shares_of(x) - 5e-5).says


def test_a_rounded_value_has_its_tolerance():
    assert third(0.33)
    assert third(0.34).says == "close, but not close enough"
    assert third(0.3).says == "close, but not close enough: take more digits"
    assert third(0.36).says == "0.36 is not right"
    assert third(0.5).says == "half"
    assert not third(float("nan"))


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: torch.full(x.shape, 2.0) * x,
        lambda x: [[2 * number for number in row] for row in x.tolist()],
        lambda x: np.multiply(2, x.numpy()),
        lambda x: x.astype(np.float64) * 2,  # an array is wanted, a tensor has no astype
        lambda x: (torch.eye(len(x)) @ x) * 2,  # float32 against float64
        lambda x: (2 * x)[None],
        lambda x: tuple(2 * x),
    ],
)
def test_ways_of_writing_a_right_answer(answer):
    assert doubled(answer)


def test_arguments_are_copies():
    assert doubled(lambda x: x.mul_(2))


def test_tolerance_follows_the_quantity():
    tiny = function([(1e-9,), (3e-9,)])(lambda x: x)
    assert tiny(lambda x: torch.tensor(x))  # float32
    assert not tiny(lambda x: 1.001 * x)
    assert not tiny(lambda x: 0.0)


def test_a_factor_is_one_in_every_number():
    grown = function([(1.0,), (1e12,)])(lambda x: x)
    assert grown(lambda x: 0.001 * x).says == "every number is 0.001 times what it should be"
    assert grown(lambda x: x + 1).says == "for x = 1: 2 is not right"
    assert grown(lambda x: 2 * x + 1).says == "for x = 1: 3 is not right"
    assert grown(lambda x: 1.00002 * x).says == "for x = 1: 1.00002 is not right"


def test_the_expected_number_for_those_who_ask():
    assert six(5).expected == "6.0"
    assert doubled(lambda x: x).expected == "[[2.0, 0.0], [0.0, 2.0]]"


def test_mistakes_must_agree_in_all_cases():
    odd = function([(2,), (3,)], [(lambda x: x, "the number itself")])(lambda x: x * x)
    assert odd(lambda x: x).says == "the number itself"
    assert odd(lambda x: x if x == 2 else 7).says == "for x = 2: 2 is not right"


def test_a_mistake_is_known_where_an_answer_guards_against_its_nan():
    cases = [(torch.tensor([1.0, 2.0]),), (torch.tensor([4.0, 0.0]),)]
    guarded = function(
        cases, [(lambda x: 2 / x * (x / x), "twice"), (lambda x: x / x / x, "guard")]
    )(lambda x: (1 / x).nan_to_num(posinf=0.0))
    assert guarded(lambda x: 2 * (1 / x).nan_to_num(posinf=0.0)).says == "twice"
    assert guarded(lambda x: x / x / x).says == "guard"
    # Where it is a number, the second mistake is right: what it is in the other place says nothing.
    assert "guard" not in guarded(lambda x: (1 / x).nan_to_num(posinf=5.0)).says


def test_a_print_is_shown_once(capsys):
    def answer(x):
        print("here")
        raise ValueError

    assert not six_times(answer)
    assert capsys.readouterr().out == "here\n"


def test_a_mistake_that_crashes_in_one_case_is_still_known():
    cases = [(torch.arange(4.0).reshape(2, 2),), (torch.ones(2, 3),)]
    rows = function(cases, [(lambda x: x - x.sum(-1), "keepdim=True is missing")])(
        lambda x: x - x.sum(-1, keepdim=True)
    )
    assert rows(lambda x: x - x.sum(dim=1)).says == "keepdim=True is missing"


def test_numbers_reads_what_a_reader_may_write():
    for thing in ([1, 2], (1.0, 2), range(1, 3), np.array([1, 2]), torch.tensor([1, 2])):
        assert numbers(thing).tolist() == [1, 2]
        assert numbers(thing).dtype == torch.float64
    assert numbers([torch.ones(2), np.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    with pytest.raises(Wrong, match="expected numbers, got a dict"):
        numbers({1: 2})


def test_a_watched_computation_tells_its_products():
    a, b = torch.ones(2, 3), torch.ones(3, 5)
    result, calls = watched(lambda x, y: torch.relu(x @ y), a, b)
    assert result.tolist() == [[3.0] * 5] * 2
    assert [(c.product, c.given, c.returned) for c in calls] == [
        (True, [(2, 3), (3, 5)], [(2, 5)]),
        (False, [(2, 5)], [(2, 5)]),
    ]


# --- verdicts and progress ----------------------------------------------------------------------


def test_a_check_may_return_its_own_verdict():
    assert check(lambda answer: Verdict(True, "fine"))(1) == Verdict(True, "fine")


@pytest.mark.parametrize(("returned", "shown"), [(False, "False"), (5, "5"), ("", "''")])
def test_a_check_that_returns_something_else_is_no_check(returned, shown):
    def odd(answer):
        return returned

    message = f"test_exercises.odd must return None, a text or a Verdict, got {shown}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        check(odd)(1)


def test_a_check_that_raises_blames_the_answer():
    said = check(lambda answer: answer.shape)("text").says
    assert said.startswith("your code raised AttributeError: 'str' object has no attribute 'shape'")


def test_a_verdict_wraps_in_a_page():
    assert Verdict(False, "a < b")._repr_html_() == '<p class="verdict">✗ a &lt; b</p>'


@pytest.fixture
def fresh_kernel(monkeypatch):
    monkeypatch.setattr(verdict, "_seen", dict.fromkeys(verdict._seen))


def test_progress_counts_verdicts_that_were_shown(fresh_kernel):
    assert masking.gradient_pairs(28)  # as a solution's assert does: not shown
    assert progress()["masking"]["gradient_pairs"] is None

    repr(masking.gradient_pairs(...))
    assert progress()["masking"]["gradient_pairs"] is None
    repr(masking.gradient_pairs(21))
    assert progress()["masking"]["gradient_pairs"] is False
    masking.gradient_pairs(28)._repr_html_()
    repr(masking.gradient_pairs(21))  # solved once is solved
    assert progress()["masking"]["gradient_pairs"] is True


def test_progress_is_a_table_of_all_exercises(fresh_kernel):
    repr(masking.packed(3))
    repr(masking.gradient_pairs(28))
    table = exercises.progress()
    assert {f"{chapter}.{name}" for chapter, done in table.items() for name in done} == set(CHECKS)
    names, shown = table["masking"], {"packed": "✗", "gradient_pairs": "✓"}
    count = f"1 of {len(names)}"
    marked = "  ".join(f"{shown.get(name, '·')} {name}" for name in names)
    assert repr(table).splitlines()[1] == f"02 masking      {count}  {marked}"
    assert f"<tr><td>02 masking</td><td>{count}</td><td>· predicted_leak" in table._repr_html_()


def test_progress_can_be_asked_in_every_chapter():
    assert all(module.progress is exercises.progress for module in MODULES)


# --- one by one ---------------------------------------------------------------------------------


def test_the_softmax_is_not_its_own_rival():
    low, high = 0.01, 100.0
    energies = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    for _ in range(80):
        tau = (low + high) / 2
        p = probabilities(-energies, tau)
        low, high = (tau, high) if (p @ energies) < 0.6 else (low, tau)
    found = softmax.rival(p)
    assert found.right is False
    assert "that is the softmax, or within a millionth" in found.says


def test_a_split_without_permute_is_told_which_number_went_where():
    said = heads.split(lambda x, h: x.reshape(h, len(x), -1)).says
    assert "head 1 at position 0 holds entry 4 of token 1" in said  # token 1 of width 6 begins at 6


def test_a_matrix_made_elsewhere_is_not_seen_and_that_is_said():
    for apart in (
        lambda g, o: (g.numpy() @ o.numpy().T).diagonal(),
        lambda g, o: np.diag(np.dot(g, o.T)),  # what torch did is no computation
    ):
        says = CHECKS["backward.delta"](apart).says
        assert says.startswith("Right. (If no (7, 7) matrix was made on the way: only torch's")
    assert CHECKS["backward.delta"](lambda g, o: (g * o).sum(-1)).says == "Right."
    for apart in (
        exercise_answers.peel_numpy,
        np.dot,
        lambda a, b: torch.linalg.solve(torch.linalg.inv(a), b),
    ):
        unseen = strassen.peel(apart)
        assert unseen.right is None
        assert unseen.says.startswith("The numbers are right. Whether the even part was")
