"""Questions answered in the page: Python's verdicts, in its words, by pointer and by keyboard."""

import json
import math
import random
import re

import answers
import pytest
from playwright.sync_api import expect

from hydra_lib.exercises import verdict
from hydra_lib.exercises.reader import Wrong, numbers
from tests.conftest import ROOT, SITE, in_node
from tests.exercise_answers import ANSWERS
from tests.test_exercises import CHECKS

SOURCE = (ROOT / "book" / "_static" / "answers.js").read_text("utf-8")
ASKED = {name: check for name, check in CHECKS.items() if hasattr(check, "facts")}
# Answers that are values and no functions, and yet not asked for in the page.
IN_PYTHON_ONLY = {
    "aggregation.next_number": "any row that continues every sequence is right",
    "softmax.rival": "any distribution on a line is right, and told its entropy",
    "strassen.flipped_sign": "what is asked about stands in a variable of the notebook",
}


def judged(name, typed):
    """What the page says of each list of typed texts."""
    facts = json.loads(answers.written(ASKED[name].facts))
    source = SOURCE + "export { answers };"
    expression = f"m.answers.judged({json.dumps(facts)}, c.map(m.answers.typed))"
    return json.loads(in_node(source, expression, typed))


def typed(answer, facts):
    """The texts that a reader would type for an answer of the table; None if no form can take it.

    In a choice nothing can be ticked twice, nor what is not there; nothing ticked is no answer.
    """
    if isinstance(answer, str) or callable(answer) or hasattr(answer, "__next__"):
        return None
    try:
        given = numbers(sorted(answer) if isinstance(answer, set) else answer)
    except Wrong:
        return None
    got = given.flatten().tolist()
    if "options" in facts:
        fits = (
            given.ndim and got and set(got) <= set(facts["options"]) and len(set(got)) == len(got)
        )
    else:
        fits = len(got) == len(facts["right"])
    return [repr(x) for x in got] if fits else None


@pytest.mark.parametrize("name", ASKED)
def test_the_page_judges_as_python_does(name):
    right, wrong = ANSWERS[name]
    both = [*right, *(answer for answer, _ in wrong)]
    both += [mistake for mistake, _ in getattr(CHECKS[name], "mistakes", ())]
    cases = [(answer, typed(answer, ASKED[name].facts)) for answer in both]
    cases = [(CHECKS[name](answer), texts) for answer, texts in cases if texts is not None]
    assert len(cases) >= 8
    said = judged(name, [texts for _, texts in cases])
    for (found, texts), page in zip(cases, said, strict=True):
        assert (page["right"], page["says"]) == (found.right, found.says), texts


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n in ASKED if "right" in ASKED[n].facts])
def test_the_page_judges_as_python_does_around_every_tolerance(name):
    facts = ASKED[name].facts
    known = [facts["right"], *(point for point, _ in facts["mistakes"])]
    within = facts["tolerance"] or 1e-5 * max(map(abs, facts["right"]))
    # Crooked shares: where a fifth digit is a 5 alone, the two round it to different sides.
    shares = (-25.37, -18.91, -1.0137, -0.9871, 0.4973, 0.9871, 1.0137, 18.91, 25.37)
    cases = [[x + share * within for x in point] for point in known for share in shares]
    if facts["within"] is None:
        cases += [[(1 + share * 1e-5) * x for x in point] for point in known for share in shares]
    cases += [[x] * len(facts["right"]) for x in (math.inf, -math.inf, math.nan)]
    said = judged(name, [[repr(x) for x in case] for case in cases])
    for case, page in zip(cases, said, strict=True):
        found = CHECKS[name](case if len(case) > 1 else case[0])
        assert (page["right"], page["says"]) == (found.right, found.says), case


@pytest.mark.parametrize("name", [n for n in ASKED if ASKED[n].facts.get("within")])
def test_a_question_says_how_many_digits_suffice_and_they_do(name):
    chapter, _, check = name.partition(".")
    [path] = (ROOT / "book").glob(f"{1 + verdict.CHAPTERS.index(chapter):02}_*.md")
    before, _, _ = path.read_text("utf-8").partition(f"exercises.{check}(")
    question = " ".join(before[before.rindex("\n:label: ex-") :].split())
    digits = {"two": 2, "three": 3}[re.search(r"(\w+) digits", question)[1].lower()]
    facts = ASKED[name].facts
    assert CHECKS[name]([float(f"{x:.{digits}g}") for x in facts["right"]])
    assert not CHECKS[name]([float(f"{x:.1g}") for x in facts["right"]])


@pytest.mark.parametrize("name", [n for n in ASKED if "options" in ASKED[n].facts])
def test_the_page_judges_every_choice_as_python_does(name):
    facts, draw = ASKED[name].facts, random.Random(0)
    right = [n for n in facts["options"] if n not in facts["refused"]]
    cases = [[n for n in facts["options"] if draw.random() < 0.2] or right for _ in range(100)]
    cases += [[n for n in right if draw.random() < 0.7] or right for _ in range(100)]
    said = judged(name, [[repr(n) for n in case] for case in cases])
    for case, page in zip(cases, said, strict=True):
        found = CHECKS[name](case)
        assert (page["right"], page["says"]) == (found.right, found.says), case


def test_what_is_no_function_is_asked_in_the_page_or_is_said_why_not():
    values = {name for name in CHECKS if "expected a function" not in CHECKS[name](0).says}
    assert values == {*ASKED, *IN_PYTHON_ONLY}
    assert not {*ASKED} & {*IN_PYTHON_ONLY}


def arithmetic(texts):
    source = SOURCE + "export { answers };"
    tried = "(() => { try { return m.answers.typed(c); } catch (e) { return e.message; } })()"
    return json.loads(in_node(source, tried, texts))


def refusal(text):
    shown = "0.8, 4/5, 7^4, sqrt(2), 2*e or 2*ln(10), without % or a unit"
    return f"expected numbers, got the text '{text}': write {shown}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        (" .5 ", 0.5),
        ("-1.25", -1.25),
        ("−1.25", -1.25),
        ("4/5", 0.8),
        ("1 - 2 - 3", -4),
        ("2 + 3 * 4", 14),
        ("(2 + 3) × 4", 20),
        ("8/4/2", 1),
        ("7^4 · 64^3", 629407744),
        ("2**3**2", 512),
        ("-2^2", -4),
        ("2^-1", 0.5),
        ("1e-3", 0.001),
        ("294,912", 294912),
        ("294_912", 294912),
        ("1,179,648 / 2", 589824),
        ("∞", "inf"),
        ("-inf", "-inf"),
        ("+1.5", 1.5),
        ("2 - +3", -1),
        ("7⁴ · 64³", 629407744),
        ("2¹⁰", 1024),
        ("(½ + ¼) ÷ 3", 0.25),
        ("3⋅7", 21),
        ("1⁄4", 0.25),
        ("\u20110.25", -0.25),
        ("294 912", 294912),
        ("294\u202f912 / 2", 147456),
        ("√16", 4),
        ("3 * sqrt(4) + 1", 7),
        ("Sqrt(7 + 2)^2", 9),
        ("exp(0)/ln(e)", 1),
        ("1/e * e", 1),
        ("e/(2*e+1) * (2*e+1)/e", 1),
        ("-2e-1", -0.2),
        ("2e+1", 20),
        ("3 * 2e1", 60),
        ("2 * 5.033e+07", 100660000),
        ("3 x 1536 X 64", 294912),
        ("4x2∙3", 24),
        ("exp(0) x 7⁻¹ · 7¹⁰", 40353607),
        ("2 / np.log(math.e) + torch.exp(0)", 3),
        ("= 7^2", 49),
        ("≈68.4", 68.4),
    ],
)
def test_what_can_be_typed(text, value):
    assert arithmetic([text]) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "one",
        "1.2.3",
        "2 3",
        "12 3456",
        "1234 567",
        "0.57 143",
        "7⁴ 643",
        "7⁴64³",
        "x",
        ",",
        "_",
        "(2",
        "2)",
        "2 +",
        "+",
        "2½",
        "4 %",
        "ln",
        "ln 10",
        "sin(0)",
        "2e",
        "e/(2e + 1)",
        "2ln(10)",
        "68 GB/s",
    ],
)
def test_what_is_no_number_is_said(text):
    assert arithmetic([text]) == [refusal(text)]


def test_an_empty_field_and_a_comma_for_a_point_are_said():
    said = arithmetic([" ", "0,8", "-0,571"])
    assert said == [
        "expected a number in each field, one is empty",
        "expected numbers, got the text '0,8': write 0.8, with a point",
        "expected numbers, got the text '-0,571': write -0.571, with a point",
    ]


@pytest.mark.parametrize(
    ("text", "read", "or_so"),
    [
        ("e/(2e+1)", "2e+1", "2*e+1 or 2*10^1"),
        ("3 * 1.5E-3", "1.5E-3", "1.5*e-3 or 1.5*10^-3"),
        ("-.2e-1 + 0", ".2e-1", ".2*e-1 or .2*10^-1"),
    ],
)
def test_what_could_be_a_power_of_ten_or_e_is_said(text, read, or_so):
    assert arithmetic([text]) == [f"{read} can be read in two ways: write {or_so}"]


def told(name, part, texts):
    """``right`` or ``says`` of the verdict on each text, or why it was not judged."""
    tried = f"""(() => {{
        try {{ return m.answers.answered({answers.written(ASKED[name].facts)}, [c]).{part}; }}
        catch (e) {{ return e.message; }}
    }})()"""
    return json.loads(in_node(SOURCE + "export { answers };", tried, texts))


def test_a_comma_in_the_place_of_a_point_is_said():
    """Where that would be right, and nothing else: the answer is not judged."""
    cases = ["8,318", "-(−8,318)", "8.318", "9,318", "4,095", "8,3180", "1,008,318"]
    said = told("scaling.lead_for_half", "right", cases)
    comma = "a comma groups thousands here: write "
    assert said[:2] == [f"{comma}8.318", f"{comma}-(−8.318)"]
    assert said[2:5] == [True, False, False]
    assert said[5] == "expected numbers, got the text '8,3180': write 8.3180, with a point"
    assert said[6] is False


def test_a_point_between_thousands_is_said():
    """Where that would be right, and nothing else."""
    said = told("scaling.predicted_variance", "says", [" 1.024", "1024.000", "1.025", "1.0240"])
    assert said == [
        "a point is decimal here: write 1024",
        "Right.",
        "1.025 is not right",
        "1.024 is not right",
    ]


# --- in the built page --------------------------------------------------------------------------

CHAPTERS = sorted(p.relative_to(SITE).as_posix() for p in SITE.glob("book/[0-9][0-9]_*.html"))


@pytest.mark.slow
def test_every_such_question_stands_in_its_page():
    text = "".join((SITE / page).read_text("utf-8") for page in CHAPTERS)
    found = re.findall(
        r'<form class="answer".*?<script type="application/json">(.*?)</script>', text, re.DOTALL
    )
    wanted = [answers.written(c.facts) for c in ASKED.values()]
    assert sorted(found) == sorted(wanted)


def solution_of(exercise):
    return exercise.locator("xpath=following-sibling::div[contains(@class, 'solution')][1]")


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["http", "file"])
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_a_number_by_keyboard(open_page, site, kind, width, scheme):
    page = open_page(site[kind] + "book/01_aggregation.html", width=width, scheme=scheme)
    exercise = page.locator("#ex-mean")
    solution, told = solution_of(exercise), exercise.get_by_role("status")
    expect(told).to_have_text("Your first answer unlocks the solution.")
    expect(solution).to_have_attribute("inert", "")
    exercise.get_by_label("Your answer").focus()
    page.keyboard.press("Enter")
    expect(told).to_have_text("· No answer yet.")
    page.keyboard.type("five")
    page.keyboard.press("Enter")
    expect(told).to_have_text(f"· {refusal('five')}")
    expect(solution).to_have_attribute("inert", "")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("20")
    page.keyboard.press("Enter")
    says = "20 is the running sum there; the running mean divides it by how many were added"
    expect(told).to_have_text(f"✗ {says}")
    expect(solution).not_to_have_attribute("inert", "")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("(3 + 9 + 6 + 2) / 4")
    page.keyboard.press("Tab")
    expect(exercise.get_by_role("button", name="Check")).to_be_focused()
    page.keyboard.press("Space")
    expect(told).to_have_text("✓ Right.")
    solution.get_by_role("button").click()
    expect(solution.locator("div.cell").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
def test_three_numbers_by_pointer(open_page, site, width):
    page = open_page(site["http"] + "book/05_attention.html", width=width)
    exercise = page.locator("#ex-by-hand")
    for at, text in enumerate(("1", "0", "1"), 1):
        exercise.get_by_label(f"number {at} of 3").fill(text)
    exercise.get_by_role("button", name="Check").click()
    said = "✗ those are the scaled scores: the softmax is missing"
    expect(exercise.get_by_role("status")).to_have_text(said)
    exercise.get_by_label("number 3 of 3").fill("")
    exercise.get_by_role("button", name="Check").click()
    expect(exercise.get_by_role("status")).to_have_text(
        "· expected a number in each field, one is empty"
    )
    for at, text in enumerate(("0.42", "0.16", "0.42"), 1):
        exercise.get_by_label(f"number {at} of 3").fill(text)
    exercise.get_by_role("button", name="Check").click()
    expect(exercise.get_by_role("status")).to_have_text("✓ Right.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
def test_a_choice_by_pointer_and_keyboard(open_page, site, width):
    page = open_page(site["http"] + "book/06_heads.html", width=width)
    exercise = page.locator("#ex-divisors")
    told, check = exercise.get_by_role("status"), exercise.get_by_role("button", name="Check")
    check.click()
    expect(told).to_have_text("· No answer yet.")
    for n in (1, 2, 5):
        exercise.get_by_label(str(n), exact=True).click()
    check.click()
    expect(told).to_have_text("✗ 72 / 5 leaves a remainder of 2")
    exercise.get_by_label("5", exact=True).focus()
    page.keyboard.press("Space")
    check.click()
    expect(told).to_have_text("✗ each of these divides 72, but some are missing")
    for n in (3, 4, 6, 8, 9, 12):
        exercise.get_by_label(str(n), exact=True).check()
    check.click()
    expect(told).to_have_text("✓ Right.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_without_scripts_nothing_is_locked(chromium, site):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site["file"] + "book/01_aggregation.html")
    expect(page.locator("#ex-mean").get_by_role("button", name="Check")).to_be_disabled()
    expect(solution_of(page.locator("#ex-mean")).locator("div.cell").first).to_be_visible()
    context.close()
