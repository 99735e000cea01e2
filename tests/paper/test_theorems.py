"""The paper's claims: each check gives its documented verdict, and another one when its subject is tampered with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from pages.blocks import steps

from sparsegate.budget import advanced
from sparsegate.gates.approximate import renyi_bound
from sparsegate.gates.bounds import outcome_loss
from sparsegate.gates.variants import VARIANTS, Closes, Noise, Released, Scale, Scales, Variant
from sparsegate.paper.theorems import CLAIMS, SECTIONS, ClaimVerdict, Subject
from sparsegate.paper.theorems.claim import at_least, at_most, equals, exceeds, verdict, within
from sparsegate.selection.exponential import selection_rate

ROOT = Path(__file__).parents[2]
KEYS = list(CLAIMS)


@cache
def quoted(name: str) -> dict[str, tuple[str, ...]]:
    """The commands of a page on the checks, each with the lines that it prints there."""
    page = (ROOT / "docs" / "explanation" / name).read_text(encoding="utf-8")
    return {step.code.strip(): step.expected.lines for step in steps(page) if step.expected}


def swapped(key: str, **changes: object) -> Subject:
    """This library's rows, with one of them changed."""
    return Subject(rows={**VARIANTS, key: replace(VARIANTS[key], **changes)})


def scaled(scale: Scale, factor: str) -> Scale:
    return replace(scale, factor=scale.factor * Fraction(factor))


def rescaled(key: str, *, threshold: str = "1", query: str = "1") -> Subject:
    """The row with its noise multiplied by these factors."""
    row = VARIANTS[key]
    return swapped(
        key,
        threshold_noise=scaled(row.threshold_noise, threshold),
        query_noise=scaled(row.query_noise, query),
        query_noise_monotonic=scaled(row.query_noise_monotonic, query),
    )


class QuietAnswers(Variant):
    """A row whose fresh answers have 20 % less noise than they should."""

    def scales(self, *args: object, **kwargs: object) -> Scales:
        scales = super().scales(*args, **kwargs)  # type: ignore[arg-type]
        return scales if scales.answer is None else scales._replace(answer=scales.answer * Fraction(4, 5))


def quiet_answers() -> Subject:
    row = VARIANTS["standard"]
    return Subject(rows={**VARIANTS, "standard": QuietAnswers(**{f.name: getattr(row, f.name) for f in fields(row)})})


def laplace(factor: str) -> Subject:
    """The Laplace mechanism with its noise multiplied by this factor."""
    return Subject(laplace_scale=lambda epsilon: Fraction(factor) / Fraction(epsilon))


def steeper(factor: str) -> Subject:
    """Selection weights with this factor in the exponent."""
    return Subject(selection_rate=lambda **given: selection_rate(**given) * Fraction(factor))


def selecting(rule: str, factor: str) -> Subject:
    """A scale or rate of a selection multiplied by this factor."""
    own = getattr(Subject(), rule)
    return replace(Subject(), **{rule: lambda **given: own(**given) * Fraction(factor)})  # type: ignore[arg-type]


@pytest.mark.turns(3)
@pytest.mark.parametrize("key", KEYS)
def test_every_check_gives_its_documented_verdict_and_the_line_that_the_documents_quote(key: str) -> None:
    found = CLAIMS[key].check()
    assert found.verdict == CLAIMS[key].expected, found
    lines = {**quoted("errata.md"), **quoted("theory.md")}[f"sparsegate theorems {key} --brief"]
    assert lines == (found.evidence,), found


@pytest.mark.parametrize(
    "key", [key for key in KEYS if CLAIMS[key].expected in (ClaimVerdict.OVER_CLAIMS, ClaimVerdict.WRONG)]
)
def test_every_claim_that_fails_is_an_erratum(key: str) -> None:
    assert f"sparsegate theorems {key} --brief" in quoted("errata.md")


# What is tampered with, and what the claim's verdict must become.
TEETH: dict[str, tuple[str, Callable[[], Subject], ClaimVerdict]] = {
    "the Laplace mechanism with 20 % less noise": (
        "laplace-mechanism",
        lambda: laplace("4/5"),
        ClaimVerdict.WRONG,
    ),
    "the Laplace mechanism with 20 % more noise": (
        "laplace-mechanism",
        lambda: laplace("6/5"),
        ClaimVerdict.HOLDS,
    ),
    "selection weights 20 % too steep": ("em-general", lambda: steeper("6/5"), ClaimVerdict.WRONG),
    "monotonic selection weights 20 % too steep": ("em-monotonic", lambda: steeper("6/5"), ClaimVerdict.WRONG),
    "peeling 20 % too steep": ("em-peeling", lambda: steeper("6/5"), ClaimVerdict.WRONG),
    "selection weights 20 % too flat": ("alpha-em", lambda: steeper("4/5"), ClaimVerdict.WRONG),
    "a part of a composition with 20 % less noise": (
        "composition",
        lambda: rescaled("lyu-2017", query="4/5"),
        ClaimVerdict.WRONG,
    ),
    "advanced composition that promises half": (
        "advanced-composition",
        lambda: Subject(advanced=lambda *a, **k: advanced(*a, **k) / 2),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "Alg. 1 that outputs its noisy answer": (
        "slip-step-3",
        lambda: swapped("lyu-2017", released=Released.NOISY_ANSWER),
        ClaimVerdict.HOLDS,
    ),
    "Alg. 1 with less threshold noise, on BELOW": (
        "lemma-1",
        lambda: rescaled("lyu-2017", threshold="4/5"),
        ClaimVerdict.WRONG,
    ),
    "Alg. 1 with much less threshold noise, on ABOVE": (
        "lemma-1-mirror",
        lambda: rescaled("lyu-2017", threshold="1/4", query="1/4"),
        ClaimVerdict.WRONG,
    ),
    "Alg. 5 with less threshold noise, on BELOW": (
        "lemma-1-no-noise",
        lambda: rescaled("stoddard-2014", threshold="4/5"),
        ClaimVerdict.WRONG,
    ),
    "Alg. 1 with less query noise": ("alg-1", lambda: rescaled("lyu-2017", query="4/5"), ClaimVerdict.WRONG),
    "Alg. 1 with less threshold noise": ("alg-1", lambda: rescaled("lyu-2017", threshold="4/5"), ClaimVerdict.WRONG),
    "Alg. 1 with more query noise": ("alg-1", lambda: rescaled("lyu-2017", query="6/5"), ClaimVerdict.HOLDS),
    "Alg. 1 with the split of Alg. 4 and less noise": (
        "split",
        lambda: rescaled("lyu-2017", query="4/5"),
        ClaimVerdict.WRONG,
    ),
    "Alg. 2 with less threshold noise": (
        "alg-2",
        lambda: rescaled("dwork-roth-2014", threshold="4/5"),
        ClaimVerdict.WRONG,
    ),
    "Alg. 2 that does not redraw": (
        "alg-2",
        lambda: swapped("dwork-roth-2014", redraws_threshold=False),
        ClaimVerdict.HOLDS,
    ),
    "Alg. 1 that redraws": (
        "rho-with-c",
        lambda: swapped("lyu-2017", redraws_threshold=True),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "Alg. 3 with less query noise": (
        "alg-3-indicators",
        lambda: rescaled("roth-2011", query="4/5"),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "Alg. 3 with the noise of Alg. 1": ("alg-3", lambda: rescaled("roth-2011", query="2"), ClaimVerdict.WRONG),
    "Alg. 4 with less query noise": ("alg-4", lambda: rescaled("lee-clifton-2014", query="4/5"), ClaimVerdict.WRONG),
    "Alg. 4 with less threshold noise": (
        "alg-4-monotonic",
        lambda: rescaled("lee-clifton-2014", threshold="4/5"),
        ClaimVerdict.WRONG,
    ),
    "Alg. 5 with query noise": (
        "alg-5",
        lambda: swapped("stoddard-2014", query_noise=Scale(factor=1)),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "Alg. 6 with three times the noise": ("alg-6", lambda: rescaled("chen-2015", query="3"), ClaimVerdict.WRONG),
    "GPTT with three times the noise": ("gptt", lambda: rescaled("gptt", query="3"), ClaimVerdict.WRONG),
    "GPTT with its own noise": ("gptt-is-alg-6", lambda: rescaled("gptt", query="6/5"), ClaimVerdict.WRONG),
    "noise inside the absolute value, 20 % less of it": (
        "hr10",
        lambda: rescaled("hardt-rothblum-2010-indicator", query="4/5"),
        ClaimVerdict.HOLDS,
    ),
    "noise outside the absolute value, 20 % less of it": (
        "hr10-repaired",
        lambda: rescaled("hardt-rothblum-2010-repaired", query="4/5"),
        ClaimVerdict.WRONG,
    ),
    "Alg. 7 with less query noise": ("alg-7", lambda: rescaled("standard", query="4/5"), ClaimVerdict.WRONG),
    "Alg. 7 with quiet answers": ("alg-7", quiet_answers, ClaimVerdict.OVER_CLAIMS),
    "monotonic Alg. 7 with less query noise": (
        "monotonic",
        lambda: rescaled("standard", query="4/5"),
        ClaimVerdict.WRONG,
    ),
    "monotonic Alg. 7 with half the noise, with answers": (
        "monotonic-answers",
        lambda: rescaled("standard", query="1/2", threshold="1/2"),
        ClaimVerdict.WRONG,
    ),
    "a split of 1:1": ("allocation", lambda: Subject(ratio=lambda *_, **__: Fraction(1)), ClaimVerdict.WRONG),
    "a monotonic split of 1:1": (
        "allocation-monotonic",
        lambda: Subject(ratio=lambda *_, **__: Fraction(1)),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "accuracy with three times the noise": (
        "alpha-svt",
        lambda: rescaled("dwork-roth-2014", threshold="3", query="3"),
        ClaimVerdict.WRONG,
    ),
    "an accurate SVT": (
        "alpha-ratio",
        lambda: rescaled("dwork-roth-2014", threshold="1/9", query="1/9"),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "Zipf scores against a tenth of the noise": (
        "zipf",
        lambda: rescaled("standard", threshold="1/10", query="1/10"),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "Alg. 1 with a tenth of the query noise": (
        "cost-of-rho",
        lambda: rescaled("lyu-2017", query="1/10"),
        ClaimVerdict.HOLDS,
    ),
    "Alg. 2 with the threshold noise that the text names": (
        "slip-dpbook-rho",
        lambda: rescaled("dwork-roth-2014", threshold="1/2"),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "exponential noise, 20 % less of it": (
        "exponential-gate",
        lambda: rescaled("liu-2024", query="4/5"),
        ClaimVerdict.WRONG,
    ),
    "two-sided noise where one sign is wrong": (
        "minus-sign",
        lambda: swapped("liu-2024", noise=Noise.LAPLACE),
        ClaimVerdict.WRONG,
    ),
    "gaps with 20 % less noise": ("free-gap", lambda: rescaled("ding-2019", query="4/5"), ClaimVerdict.OVER_CLAIMS),
    "gaps of BELOW with four times the noise": (
        "gap-of-below",
        lambda: rescaled("ding-2019", query="4"),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "a two-sided gate with 20 % less noise": (
        "two-sided",
        lambda: rescaled("two-sided", query="4/5"),
        ClaimVerdict.WRONG,
    ),
    "a two-sided gate with one-sided noise": (
        "two-sided",
        lambda: swapped("two-sided", noise=Noise.EXPONENTIAL),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "a two-sided gate that closes after c ABOVE": (
        "two-sided-limits",
        lambda: swapped("two-sided", closes=Closes.ABOVE),
        ClaimVerdict.WRONG,
    ),
    "a price that is 20 % too low": (
        "metered",
        lambda: Subject(outcome_loss=lambda *a, **k: outcome_loss(*a, **k) * Fraction(4, 5)),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "a Rényi bound that is 20 % too low": (
        "approximate-gate",
        lambda: Subject(renyi_bound=lambda *a, **k: 0.8 * renyi_bound(*a, **k)),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "noisy scores with 20 % less noise": ("touched", lambda: selecting("noisy_scale", "4/5"), ClaimVerdict.WRONG),
    "one-sided selection made for twice as many": (
        "touched-one-sided",
        lambda: steeper("1/2"),
        ClaimVerdict.WRONG,
    ),
    "sets 20 % too steep": ("subset", lambda: steeper("6/5"), ClaimVerdict.WRONG),
    "one shot with 20 % less noise": ("one-shot", lambda: steeper("5/4"), ClaimVerdict.WRONG),
    "a bounded range 20 % too wide": ("permute-and-flip-range", lambda: steeper("6/5"), ClaimVerdict.OVER_CLAIMS),
    "rounds that spend 20 % more": (
        "gumbel-delta",
        lambda: selecting("round_epsilon", "6/5"),
        ClaimVerdict.OVER_CLAIMS,
    ),
    "a threshold from the data with half the noise": (
        "oracle-threshold",
        lambda: rescaled("standard", threshold="1/2", query="1/2"),
        ClaimVerdict.WRONG,
    ),
}


@pytest.mark.turns(5)
@pytest.mark.parametrize("tampered", TEETH)
def test_a_check_notices_what_was_tampered_with(tampered: str) -> None:
    key, subject, expected = TEETH[tampered]
    found = CLAIMS[key].check(subject())
    assert found.verdict == expected, found
    assert found.verdict != CLAIMS[key].expected


def test_one_more_wrong_cell_of_the_table_is_counted() -> None:
    found = CLAIMS["fig-2"].check(rescaled("lyu-2017", query="4/5"))
    assert [part.what for part in found.parts if not part.holds] == [
        "Alg. 1, scale of ν",
        "Alg. 1, privacy",
        "Alg. 3, scale of ν",
    ]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([at_most("", 1.0, 1.0), exceeds("", 2.0, 1.0)], ClaimVerdict.TIGHT),
        ([at_most("", 0.9985, 1.0)], ClaimVerdict.HOLDS),
        ([at_most("", 1.0, 1.0), at_most("", 0.5, 1.0)], ClaimVerdict.HOLDS),
        ([exceeds("", 2.0, 1.0), within("", 0.0, 1.0)], ClaimVerdict.HOLDS),
        ([at_least("", 1.0, 1.0)], ClaimVerdict.TIGHT),
        ([at_most("", 1.0, 1.0), equals("", 0.0, 1.0)], ClaimVerdict.OVER_CLAIMS),
        ([at_most("", 1.0 + 1e-8, 1.0)], ClaimVerdict.WRONG),
        ([equals("", float("inf"), float("inf"))], ClaimVerdict.HOLDS),
    ],
)
def test_the_verdict_follows_from_the_parts(parts: list, expected: ClaimVerdict) -> None:
    assert verdict(parts) == expected


def test_keys_are_unique_and_every_claim_is_in_a_section() -> None:
    assert [claim.key for group in SECTIONS.values() for claim in group] == KEYS


def test_claims_and_findings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        CLAIMS["alg-5"].expected = ClaimVerdict.WRONG  # type: ignore[misc]
    with pytest.raises(TypeError):
        CLAIMS["alg-5"] = CLAIMS["alg-6"]  # type: ignore[index]
