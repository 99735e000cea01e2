"""The interactive figures in a real browser: their numbers are the library's; the keyboard, a phone, no scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any
from xml.etree import ElementTree

import pytest
from markdown import markdown
from pages.elsewhere import ROOT
from pages.svt_figures import PICTURES, load_scripts, rows_script, still_pictures
from tests.support.browsing import PHONE, browsing, needs_browser

import sparsegate as sg
from sparsegate.mechanisms.bounds import transcript_loss
from sparsegate.privacy import log_probability, loss

pytestmark = needs_browser
PAGE = ROOT / "docs" / "explanation" / "svt_in_pictures.md"
SHOWN = re.findall(r"pictures/svt_(\w+)\.svg", PAGE.read_text("utf-8"))
BELOW, ABOVE = False, True
FREE = {"epsilon": 1, "allocation": "1:1"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as started:
        yield started


@pytest.fixture(scope="module")
def scripts(browser: Any) -> Iterator[Any]:
    page = browser.new_page()
    load_scripts(page)
    yield page
    page.close()


def values(page: Any, figure: str, states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The numbers of a figure, for each of these states of its controls; what is left out stays as it is."""
    code = "([name, states]) => states.map(s => svt.figures[name].values({ ...svt.initial(svt.figures[name]), ...s }))"
    found: list[dict[str, Any]] = page.evaluate(code, [figure, states])
    return found


def test_the_bars_are_the_tight_losses_of_every_row(scripts: Any) -> None:
    grid = [
        {"cutoff": c, "monotonic": one_way, "questions": n or 1, "endless": n is None, "split": split, "epsilon": 0.7}
        for c, one_way, n, split in product((1, 4), (False, True), (1, 2, 5, 14, 60, None), ("published", "1:3"))
    ]
    for state, found in zip(grid, values(scripts, "bars", grid), strict=True):
        options = {
            "cutoff": state["cutoff"],
            "epsilon": state["epsilon"],
            "monotonic": state["monotonic"],
            "queries": None if state["endless"] else state["questions"],
            "allocation": None if state["split"] == "published" else state["split"],
        }
        assert found == pytest.approx({key: sg.tight_epsilon(key, **options) for key in sg.VARIANTS}, rel=1e-9), state


def test_a_transcript_of_any_row_costs_what_the_library_says(scripts: Any) -> None:
    rows = [row for row in sg.VARIANTS.values() if not row.redraws_threshold]
    grid = [
        (row.key, m, k, {"cutoff": 3, "epsilon": 1, "monotonic": one_way})
        for row, one_way, m, k in product(rows, (False, True), (0, 1, 2, 7, 20), (0, 1, 3, 8))
    ]
    code = """grid => grid.map(([key, m, k, options]) =>
      svt.outcomeLoss(m, k, svt.rows[key], svt.scales(svt.rows[key], options), options.monotonic))"""
    for (key, m, k, options), found in zip(grid, scripts.evaluate(code, grid), strict=True):
        row, shared = sg.VARIANTS[key], {"cutoff": 3, "monotonic": options["monotonic"]}
        scales = row.scales(row.budget(1, **shared), **shared)
        expected = transcript_loss(row, scales, [(m, k)], monotonic=options["monotonic"])
        assert found == pytest.approx(float(expected)), (key, m, k, options)


def test_the_meter_counts_the_answers_and_closes_as_the_gate_does(scripts: Any) -> None:
    states = [{"row": row, "answers": "BABAA"} for row in ("standard", "two-sided", "exponential-gap")]
    for state, found in zip(states, values(scripts, "meter", states), strict=True):
        closes = "rarer" if state["row"] == "two-sided" else "above"
        noise = "exponential" if state["row"] == "exponential-gap" else "laplace"
        gate = sg.SparseVector(threshold=0, cutoff=3, epsilon=1, sensitivity=1, closes=closes, noise=noise)
        for letter in state["answers"]:
            gate.ask(10_000 if letter == "A" else -10_000)
        assert (found["m"], found["k"], found["closed"]) == (2, 3, gate.closed), state
        assert found["cost"] == pytest.approx(float(gate.cost(below=2, above=3))), state


def test_the_margin_is_that_of_a_gate(scripts: Any) -> None:
    grid = [
        {"cutoff": c, "epsilon": epsilon, "monotonic": one_way, "share": share}
        for c, epsilon, one_way, share in product((1, 25), (0.1, 2), (False, True), (0.02, 0.334, 0.5, 0.9))
    ]
    for state, found in zip(grid, values(scripts, "budget", grid), strict=True):
        options = {name: state[name] for name in ("cutoff", "epsilon", "monotonic")}
        for noise, split in product(("laplace", "exponential"), ((1 - state["share"]) / state["share"], "optimal")):
            gate = sg.SparseVector(threshold=0, sensitivity=1, noise=noise, allocation=split, **options)
            assert (found if split != "optimal" else found["atBest"])[noise] == gate.margin(), (state, noise, split)


def test_the_shifts_have_the_least_cost_where_the_bound_has_it(scripts: Any) -> None:
    grid = [
        {"below": m, "above": k, "cutoff": 2, "share": 0.4, "moves": moves}
        for m, k, moves in product((0, 1, 5, 20), (0, 1, 2, 20), ("any", "up", "down"))
    ]
    found = [each["least"] for each in values(scripts, "shifted", grid)]
    budget, row = sg.Budget(threshold=0.4, queries=0.6), sg.VARIANTS["standard"]
    for at, state in enumerate(grid):
        one_way, rounds = state["moves"] != "any", [(state["below"], state["above"])]
        expected = transcript_loss(row, row.scales(budget, cutoff=2, monotonic=one_way), rounds, monotonic=one_way)
        # Of queries that all move one way the library has the worse of the two ways: they stand side by side.
        ways = [each for each, other in zip(found, grid, strict=True) if other | {"moves": ""} == state | {"moves": ""}]
        assert (max(ways[1:]) if one_way else found[at]) == pytest.approx(float(expected)), state


Case = tuple[dict[str, Any], str, float]


@cache
def pairs() -> dict[str, list[Case]]:
    """For each figure: the state of its controls, the number it shows, and what the library says that is."""
    return {
        "below": [
            (
                {"below": m, "place": q, "share": 0.5},
                "loss",
                loss("standard", [q] * m, [q + 1] * m, [BELOW] * m, **FREE),
            )
            for m, q in ((1, -10), (6, 3), (30, 30))
        ],
        "pair": [
            (
                {"below": m, "high": high, "above": k, "low": low, "cutoff": c, "share": 0.5},
                "loss",
                loss(
                    "standard",
                    [high] * m + [low] * k,
                    [high + 1] * m + [low - 1] * k,
                    [BELOW] * m + [ABOVE] * k,
                    cutoff=c,
                    **FREE,
                ),
            )
            for m, high, k, low, c in ((4, 8, 1, 0, 1), (4, 60, 1, 0, 1), (20, -20, 5, 20, 10), (3, 0, 2, -60, 2))
        ],
        "roth": [
            ({"below": m}, "kept", loss("roth-2011", [0] * (m + 1), [1] * (m + 1), [BELOW] * m + [0.0], epsilon=1))
            for m in (0, 10, 30)
        ],
        "chen": [
            (
                {"half": m},
                "both",
                loss("chen-2015", [0] * 2 * m, [1] * m + [-1] * m, [BELOW] * m + [ABOVE] * m, epsilon=1),
            )
            for m in (1, 6, 15)
        ],
        "stoddard": [
            ({"query": 0}, "loss", loss("stoddard-2014", [0, 1], [1, 0], [BELOW, ABOVE], epsilon=1)),
            ({"query": 2}, "loss", loss("chen-2015", [0, 1], [1, 0], [BELOW, ABOVE], epsilon=1)),  # the same with noise
        ],
        "gptt": [
            (
                {"times": t},
                "gptt",
                loss("gptt", [0] * t + [1] * t, [1] * t + [0] * t, [BELOW] * t + [ABOVE] * t, epsilon=1),
            )
            for t in (1, 10, 40)
        ]
        + [({"times": 40}, "first", loss("lyu-2017", [0] * 40, [1] * 40, [BELOW] * 40, epsilon=1))],
        "lee_clifton": [
            ({"cutoff": c}, "both", sg.tight_epsilon("lee-clifton-2014", cutoff=c, epsilon=1)) for c in (1, 2, 10)
        ],
        "hardt_rothblum": [
            ({"below": 40}, "released", sg.tight_epsilon("hardt-rothblum-2010", epsilon=1, queries=41)),
            ({"below": 40}, "alone", sg.tight_epsilon("hardt-rothblum-2010-indicator", epsilon=1, queries=41)),
            ({"below": 40}, "whole", sg.tight_epsilon("hardt-rothblum-2010-indicator", epsilon=1)),
        ],
    }


EXACT = ("below", "pair", "roth", "chen", "stoddard", "gptt", "lee_clifton", "hardt_rothblum")


@pytest.mark.parametrize("figure", EXACT)
def test_the_loss_of_a_pair_of_neighbours_is_exact(scripts: Any, figure: str) -> None:
    cases = pairs()[figure]
    found = values(scripts, figure, [state for state, _, _ in cases])
    for (state, name, expected), each in zip(cases, found, strict=True):
        assert each[name] == pytest.approx(expected, rel=1e-8, abs=1e-9), (state, name)


def test_the_two_tails_of_an_error_are_those_of_the_row(scripts: Any) -> None:
    (found,) = values(scripts, "hardt_rothblum", [{"bar": 6, "error": 3}])
    inside = {"epsilon": 1, "scales": None}
    # Without threshold noise T + z is a number: that of D is 6, that of D', with rho shifted, is 7.
    row = sg.Variant(
        key="inside",
        threshold_noise=sg.Scale(factor=0),
        query_noise=sg.Scale(factor=2, per_cutoff=True),
        compared=sg.Compared.ERROR_NOISE_INSIDE,
    )
    here, there = (
        log_probability(row, [0], [ABOVE], threshold=bar, estimates=[error], allocation="1:1", **inside)
        for bar, error in ((6, 3), (7, 2))
    )
    assert found["tails"] == pytest.approx(here - there)
    assert found["tails"] < 2 * found["rate"]


def test_the_still_pictures_are_what_the_scripts_draw(scripts: Any) -> None:
    drawn = still_pictures(scripts)
    assert {f"svt_{name}.svg" for name in SHOWN} == set(drawn), "the page shows every figure, and no other"
    for name, text in drawn.items():
        assert ElementTree.fromstring(text).get("aria-label")
        assert (PICTURES / name).read_text("utf-8") == text, f"run python -m pages.svt_figures: {name} is another one"


def test_a_picture_has_a_number_for_every_place_whatever_the_controls_say(scripts: Any) -> None:
    """Every control at its least, in the middle and at its most, alone and with the others; narrow and wide."""
    code = """() => Object.entries(svt.figures).flatMap(([name, figure]) => {
      const ends = ({ min, max, step, options, kind }) => kind === "check" ? [false, true] : kind === "choice"
        ? Object.keys(options) : [min, min + step * Math.round((max - min) / step / 2), max];
      const moved = figure.controls.filter(({ kind }) => kind !== "button" && kind !== "hidden");
      const states = moved.flatMap((control) => ends(control).map((value) => ({ [control.name]: value })));
      for (const at of [0, 1, 2]) {
        const of = (control) => ends(control)[Math.min(at, ends(control).length - 1)];
        states.push(Object.fromEntries(moved.map((control) => [control.name, of(control)])));
      }
      return states.flatMap((changes) => [300, 720].map((width) => {
        const given = { ...svt.initial(figure), ...changes };
        const state = figure.fix ? figure.fix(given) : given;
        const text = figure.draw(state, width) + figure.says(state).join(" ");
        return /NaN|undefined|null|Infinity/.test(text) ? `${name} ${JSON.stringify(state)}` : null;
      }));
    }).filter(Boolean)"""
    assert scripts.evaluate(code) == []


def opened(browser: Any, **options: Any) -> tuple[Any, list[str]]:
    """The page with its scripts and styles, without the theme; and what went wrong, or was asked of another host."""
    body = markdown(PAGE.read_text("utf-8"), extensions=["fenced_code"])
    body = re.sub(r"<img .*?>", r"<a href='elsewhere'>\g<0></a>", body, count=1)  # as a theme may do
    head = "<meta name=viewport content='width=device-width'><link rel=stylesheet href=../styles/figures.css>"
    html = f"<!doctype html><html lang=en>{head}<body>{body}<script src=../scripts/figures.js></script>"
    trouble: list[str] = []

    def serve(route: Any) -> None:
        path = route.request.url.removeprefix("http://site.test/")
        if path == "explanation/page.html":
            route.fulfill(body=html, content_type="text/html")
        elif path == "scripts/rows.js":
            route.fulfill(body=rows_script(), content_type="text/javascript")
        elif (ROOT / "docs" / path).is_file():
            route.fulfill(path=ROOT / "docs" / path)
        else:
            trouble.append(path)
            route.abort()

    context = browser.new_context(**options)
    context.set_default_timeout(10_000)
    context.route("**/*", serve)
    page = context.new_page()
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto("http://site.test/explanation/page.html")
    return page, trouble


def test_every_figure_moves_by_the_keyboard_and_says_what_it_shows(browser: Any) -> None:
    page, trouble = opened(browser)
    page.locator(".svt-figure svg").nth(len(SHOWN) - 1).wait_for()
    assert page.locator("img").count() == 0
    assert page.locator(":is(a, p) .svt-figure").count() == 0, "a click on a control leads nowhere else"
    for figure in page.locator(".svt-figure").all():
        before, drawn = figure.locator(".svt-words").text_content(), figure.locator("svg").inner_html()
        figure.locator("input[type=range]").first.focus()
        page.keyboard.press("ArrowRight")
        assert figure.locator("svg").inner_html() != drawn
        assert figure.locator(".svt-words").text_content() != before
    unnamed = "[...document.querySelectorAll('.svt-figure :is(input, select)')].filter(e => !e.labels.length).length"
    assert page.evaluate(unnamed) == 0
    meter = page.get_by_role("group", name="What every transcript of a gate")
    meter.get_by_role("button", name="Start again").press("Enter")
    for answer in ("BELOW", "ABOVE", "ABOVE"):
        meter.get_by_role("button", name=answer).press("Enter")
    meter.get_by_role("button", name="Take one back").press("Enter")
    assert "1 BELOW and 1 ABOVE have cost" in str(meter.text_content())
    page.context.close()
    assert trouble == []


def test_on_a_phone_nothing_is_wider_than_the_page_and_dark_is_dark(browser: Any) -> None:
    page, trouble = opened(browser, **PHONE, color_scheme="dark")
    page.locator(".svt-figure svg").nth(len(SHOWN) - 1).wait_for()
    wide = """[...document.querySelectorAll('.svt-figure, .svt-figure *')]
      .filter(each => each.getBoundingClientRect().right > innerWidth).length"""
    assert page.evaluate(wide) == 0
    ink = "getComputedStyle(document.querySelector('.svt-picture path[stroke=\"var(--figure-one)\"]')).stroke"
    light = page.evaluate(ink)
    page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    assert page.evaluate(ink) != light
    page.context.close()
    assert trouble == []


def test_without_scripts_the_still_pictures_are_there(browser: Any) -> None:
    page, trouble = opened(browser, java_script_enabled=False)
    assert page.locator("img").count() == len(SHOWN)
    assert all(image.get_attribute("alt") for image in page.locator("img").all())
    page.context.close()
    assert trouble == []
