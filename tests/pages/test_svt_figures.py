"""The interactive figures in a real browser: their numbers, their words and their pictures are the library's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from math import exp
from typing import Any
from xml.etree import ElementTree

import pytest
from pages.elsewhere import ROOT
from pages.svt_figures import PICTURES, load_scripts, still_pictures
from tests.support.browsing import needs_browser, tab

import sparsegate as sg
from sparsegate.gates.bounds import transcript_loss
from sparsegate.privacy import log_probability, loss

pytestmark = [needs_browser, pytest.mark.docs]
PAGE = ROOT / "docs" / "explanation" / "svt_in_pictures.md"
SHOWN = re.findall(r"pictures/svt_(\w+)\.svg", PAGE.read_text("utf-8"))
BELOW, ABOVE = False, True
FREE = {"epsilon": 1, "allocation": "1:1"}
STANDARD, HALVES = sg.VARIANTS["standard"], sg.Budget(threshold_epsilon=0.5, query_epsilon=0.5)


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
        for c, one_way, n, split in product(
            (1, 4), (False, True), (1, 2, 5, 14, None), ("published", "1:3", "1:c", "optimal")
        )
    ]
    for state, found in zip(grid, values(scripts, "bars", grid), strict=True):
        options = {
            "cutoff": state["cutoff"],
            "epsilon": state["epsilon"],
            "monotonic": state["monotonic"],
            "queries": None if state["endless"] else state["questions"],
            "allocation": None if state["split"] == "published" else state["split"],
        }
        assert found == pytest.approx(
            {key: sg.privacy.tight_epsilon(key, **options) for key in sg.VARIANTS}, rel=1e-9
        ), state


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
        cost = float(gate.cost(below=2, above=3))
        assert (found["cost"], found["back"]) == pytest.approx((cost, 1 - cost), abs=1e-12), state


def test_the_margin_is_that_of_a_gate(scripts: Any) -> None:
    grid = [
        {"cutoff": c, "epsilon": epsilon, "monotonic": one_way, "share": share}
        for c, epsilon, one_way, share in product((1, 25), (0.1, 0.3, 2), (False, True), (0.02, 0.334, 0.5, 0.98))
    ]
    for state, found in zip(grid, values(scripts, "budget", grid), strict=True):
        options = {name: state[name] for name in ("cutoff", "epsilon", "monotonic")}
        for noise, split in product(("laplace", "exponential"), ((1 - state["share"]) / state["share"], "optimal")):
            gate = sg.SparseVector(threshold=0, sensitivity=1, noise=noise, allocation=split, **options)
            assert (found if split != "optimal" else found["atBest"])[noise] == gate.margin(), (state, noise, split)


Case = tuple[dict[str, Any], dict[str, float]]


def chances(
    row: str | sg.variants.Variant, here: list[int], there: list[int], said: list[Any], **options: Any
) -> Iterator[float]:
    """ln Pr of a transcript on two neighbours, by the library."""
    return (log_probability(row, answers, said, **{"epsilon": 1} | options) for answers in (here, there))


def below(m: int, q: int) -> Case:
    here, there = chances("standard", [q] * m, [q + 1] * m, [BELOW] * m, allocation="1:1")
    expected = {"here": exp(here), "there": exp(there), "loss": here - there}
    return {"below": m, "place": q, "share": 0.5}, expected | {"alone": m / 4, "limit": min(m / 4, 0.5)}


def pair(m: int, high: int, k: int, low: int, c: int) -> Case:
    answers = [high] * m + [low] * k, [high + 1] * m + [low - 1] * k
    here, there = chances("standard", *answers, [BELOW] * m + [ABOVE] * k, cutoff=c, allocation="1:1")
    options = {"cutoff": c, "monotonic": False}
    limit = float(transcript_loss(STANDARD, STANDARD.scales(HALVES, **options), [(m, k)], monotonic=False))
    state = {"below": m, "high": high, "above": k, "low": low, "cutoff": c, "share": 0.5}
    return state, {"here": here, "there": there, "loss": here - there, "limit": limit}


def roth(m: int) -> Case:
    kept = loss("roth-2011", [0] * (m + 1), [1] * (m + 1), [BELOW] * m + [0.0], epsilon=1)
    # Without what it rules out, the number and the BELOWs stand alone; chen-2015 has the same noise.
    return {"below": m}, {"kept": kept, "dropped": 0.5 + loss("chen-2015", [0] * m, [1] * m, [BELOW] * m, epsilon=1)}


def chen(m: int) -> Case:
    zero, up, down = [0] * m, [1] * m, [-1] * m
    f, moved_f = chances("chen-2015", zero, up, [BELOW] * m)
    g, moved_g = chances("chen-2015", zero, down, [ABOVE] * m)
    both, moved = chances("chen-2015", zero + zero, up + down, [BELOW] * m + [ABOVE] * m)
    losses = {"f": f - moved_f, "g": g - moved_g, "both": both - moved}
    return {"half": m}, losses | {"joint": exp(both), "product": exp(f + g)}


def stoddard(query: int, row: str) -> Case:
    here, there = chances(row, [0, 1], [1, 0], [BELOW, ABOVE])
    return {"query": query}, {"here": exp(here), "there": exp(there), "loss": here - there}


def gptt(t: int) -> Case:
    own = loss("gptt", [0] * t + [1] * t, [1] * t + [0] * t, [BELOW] * t + [ABOVE] * t, epsilon=1)
    return {"times": t}, {"gptt": own, "first": loss("lyu-2017", [0] * t, [1] * t, [BELOW] * t, epsilon=1)}


def lee_clifton(c: int) -> Case:
    both = sg.privacy.tight_epsilon("lee-clifton-2014", cutoff=c, epsilon=1)
    return {"cutoff": c}, {"below": 0.25, "above": 0.25, "both": both}


def hardt_rothblum(m: int, bar: int, error: int) -> Case:
    # Without threshold noise T + z is a number; on D', with rho shifted, it is 1 more, and the error 1 less.
    row = sg.variants.Variant(
        key="inside",
        threshold_noise=sg.variants.Scale(factor=0),
        query_noise=sg.variants.Scale(factor=2, per_cutoff=True),
        compared=sg.variants.Compared.ERROR_NOISE_INSIDE,
    )
    here, there = (
        log_probability(row, [0], [ABOVE], threshold=bar + up, estimates=[error - up], **FREE) for up in (0, 1)
    )
    assert here - there <= 0.5, "two tails cost what one does"
    key = "hardt-rothblum-2010"
    indicator = f"{key}-indicator"
    return {"below": m, "bar": bar, "error": error}, {
        "released": sg.privacy.tight_epsilon(key, epsilon=1, queries=m + 1),
        "alone": sg.privacy.tight_epsilon(indicator, epsilon=1, queries=m + 1),
        "whole": sg.privacy.tight_epsilon(indicator, epsilon=1),
        "tails": here - there,
        "twice": 0.5,
    }


EXACT: dict[str, tuple[Any, list[tuple[Any, ...]]]] = {
    "below": (below, [(1, -10), (6, 3), (30, 30)]),
    "pair": (pair, [(4, 8, 1, 0, 1), (4, 60, 1, 0, 1), (20, -20, 5, 20, 10), (3, 0, 2, -60, 2)]),
    "roth": (roth, [(1,), (10,), (30,)]),
    "chen": (chen, [(1,), (6,), (15,)]),
    "stoddard": (stoddard, [(0, "stoddard-2014"), (2, "chen-2015")]),  # the same with noise
    "gptt": (gptt, [(1,), (10,), (40,)]),
    "lee_clifton": (lee_clifton, [(1,), (2,), (10,)]),
    "hardt_rothblum": (hardt_rothblum, [(40, 6, 3), (3, 1, 0), (12, 2, 9)]),
}


@pytest.mark.parametrize("figure", EXACT)
def test_every_number_of_a_figure_is_the_library_s(scripts: Any, figure: str) -> None:
    make, given = EXACT[figure]
    cases = [make(*each) for each in given]
    for (state, expected), found in zip(cases, values(scripts, figure, [state for state, _ in cases]), strict=True):
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-9), state


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


def test_every_figure_of_the_page_moves_by_the_keyboard_and_is_still_without_scripts(
    browser: Any, address: str
) -> None:
    with tab(browser, address) as page:
        page.goto(address + "explanation/svt_in_pictures.html")
        page.locator(".svt-figure svg").nth(len(SHOWN) - 1).wait_for()
        for figure in page.locator(".svt-figure").all():
            before, drawn = figure.locator(".svt-words").text_content(), figure.locator("svg").inner_html()
            figure.locator("input[type=range]").first.focus()
            page.keyboard.press("ArrowRight")
            assert figure.locator("svg").inner_html() != drawn
            assert figure.locator(".svt-words").text_content() != before
    with tab(browser, address, java_script_enabled=False) as page:
        page.goto(address + "explanation/svt_in_pictures.html")
        stills = page.locator("img[src*='svt_']")
        assert stills.count() == len(SHOWN)
        assert all(image.get_attribute("alt") for image in stills.all())
