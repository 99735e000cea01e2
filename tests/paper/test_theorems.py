"""The paper's claims: each check gives its documented verdict, and another one when its subject is tampered with."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from pages.blocks import steps

from sparsegate.gates.variants import VARIANTS, Closes, Noise, Released, Scale, Scales, Variant
from sparsegate.paper.theorems import CLAIMS, ClaimPart, ClaimVerdict, Subject
from sparsegate.paper.theorems.claim import at_least, at_most, equals, exceeds, verdict, within

ROOT = Path(__file__).parents[2]
KEYS = list(CLAIMS)
TIGHT, HOLDS, OVER_CLAIMS, WRONG = ClaimVerdict


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


def altered(rule: str, factor: float | Fraction | str) -> Subject:
    """A rule of the library with its result multiplied by this factor."""
    own, factor = getattr(Subject(), rule), Fraction(factor) if isinstance(factor, str) else factor
    return replace(Subject(), **{rule: lambda *args, **public: own(*args, **public) * factor})  # type: ignore[arg-type]


def steeper(factor: str) -> Subject:
    """Selection weights with this factor in the exponent."""
    return altered("selection_rate", factor)


@pytest.mark.parametrize("key", KEYS)
def test_every_check_gives_its_documented_verdict_and_the_line_that_the_documents_quote(key: str) -> None:
    claim, finding = CLAIMS[key], CLAIMS[key].check()
    assert claim.statement
    assert finding.verdict == claim.expected, finding
    errata = quoted("errata.md")  # what fails is there
    pages = errata if finding.verdict in (OVER_CLAIMS, WRONG) else {**errata, **quoted("theory.md")}
    assert pages[f"sparsegate theorems {key} --brief"] == (finding.evidence,), finding


EVEN = Subject(ratio=lambda *_, **__: Fraction(1))

# A claim, what its check is run on instead, and what its verdict must become.
TEETH = [
    ("laplace-mechanism", altered("laplace_scale", "4/5"), WRONG),
    ("laplace-mechanism", altered("laplace_scale", "6/5"), HOLDS),
    ("em-general", steeper("6/5"), WRONG),
    ("em-peeling", steeper("6/5"), WRONG),
    ("alpha-em", steeper("4/5"), WRONG),
    ("composition", rescaled("lyu-2017", query="4/5"), WRONG),
    ("advanced-composition", altered("advanced", 0.5), OVER_CLAIMS),
    ("slip-step-3", swapped("lyu-2017", released=Released.NOISY_ANSWER), HOLDS),
    ("lemma-1", rescaled("lyu-2017", threshold="4/5"), WRONG),
    ("lemma-1-mirror", rescaled("lyu-2017", threshold="1/4", query="1/4"), WRONG),
    ("lemma-1-no-noise", rescaled("stoddard-2014", threshold="4/5"), WRONG),
    ("alg-1", rescaled("lyu-2017", query="4/5"), WRONG),
    ("alg-1", rescaled("lyu-2017", query="6/5"), HOLDS),
    ("split", rescaled("lyu-2017", query="4/5"), WRONG),
    ("alg-2", rescaled("dwork-roth-2014", threshold="4/5"), WRONG),
    ("rho-with-c", swapped("lyu-2017", redraws_threshold=True), OVER_CLAIMS),
    ("alg-3-indicators", rescaled("roth-2011", query="4/5"), OVER_CLAIMS),
    ("alg-3", rescaled("roth-2011", query="2"), WRONG),
    ("alg-4", rescaled("lee-clifton-2014", query="4/5"), WRONG),
    ("alg-5", swapped("stoddard-2014", query_noise=Scale(factor=1)), OVER_CLAIMS),
    ("alg-6", rescaled("chen-2015", query="3"), WRONG),
    ("gptt", rescaled("gptt", query="3"), WRONG),
    ("gptt-is-alg-6", rescaled("gptt", query="6/5"), WRONG),
    ("hr10", rescaled("hardt-rothblum-2010-indicator", query="4/5"), HOLDS),
    ("hr10-repaired", rescaled("hardt-rothblum-2010-repaired", query="4/5"), WRONG),
    ("alg-7", rescaled("standard", query="4/5"), WRONG),
    ("alg-7", quiet_answers(), OVER_CLAIMS),
    ("monotonic", rescaled("standard", query="4/5"), WRONG),
    ("monotonic-answers", rescaled("standard", query="1/2", threshold="1/2"), WRONG),
    ("allocation", EVEN, WRONG),
    ("alpha-svt", rescaled("dwork-roth-2014", threshold="3", query="3"), WRONG),
    ("alpha-ratio", rescaled("dwork-roth-2014", threshold="1/9", query="1/9"), OVER_CLAIMS),
    ("zipf", rescaled("standard", threshold="1/10", query="1/10"), OVER_CLAIMS),
    ("cost-of-rho", rescaled("lyu-2017", query="1/10"), HOLDS),
    ("slip-dpbook-rho", rescaled("dwork-roth-2014", threshold="1/2"), OVER_CLAIMS),
    ("exponential-gate", rescaled("liu-2024", query="4/5"), WRONG),
    ("minus-sign", swapped("liu-2024", noise=Noise.LAPLACE), WRONG),
    ("free-gap", rescaled("ding-2019", query="4/5"), OVER_CLAIMS),
    ("gap-of-below", rescaled("ding-2019", query="4"), OVER_CLAIMS),
    ("two-sided", rescaled("two-sided", query="4/5"), WRONG),
    ("two-sided", swapped("two-sided", noise=Noise.EXPONENTIAL), OVER_CLAIMS),
    ("two-sided-limits", swapped("two-sided", closes=Closes.ABOVE), WRONG),
    ("metered", altered("outcome_loss", "4/5"), OVER_CLAIMS),
    ("approximate-gate", altered("renyi_bound", 0.8), OVER_CLAIMS),
    ("touched", altered("noisy_scale", "4/5"), WRONG),
    ("touched-one-sided", steeper("1/2"), WRONG),
    ("subset", steeper("6/5"), WRONG),
    ("one-shot", steeper("5/4"), WRONG),
    ("permute-and-flip-range", steeper("6/5"), OVER_CLAIMS),
    ("gumbel-delta", altered("round_epsilon", "6/5"), OVER_CLAIMS),
    ("oracle-threshold", rescaled("standard", threshold="1/2", query="1/2"), WRONG),
]


@pytest.mark.parametrize(("key", "subject", "expected"), TEETH, ids=[f"{key}-{verdict}" for key, _, verdict in TEETH])
def test_a_check_notices_what_was_tampered_with(key: str, subject: Subject, expected: ClaimVerdict) -> None:
    found = CLAIMS[key].check(subject)
    assert found.verdict == expected, found
    assert found.verdict != CLAIMS[key].expected


def test_one_more_wrong_cell_of_the_table_is_counted() -> None:
    found = CLAIMS["fig-2"].check(rescaled("lyu-2017", query="4/5"))
    wrong = [part.what for part in found.parts if not part.holds]
    assert wrong == ["Alg. 1, scale of ν", "Alg. 1, privacy", "Alg. 3, scale of ν"]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([at_most("", 1.0, 1.0), exceeds("", 2.0, 1.0)], TIGHT),
        ([at_most("", 0.9985, 1.0)], HOLDS),
        ([at_most("", 1.0, 1.0), at_most("", 0.5, 1.0)], HOLDS),
        ([exceeds("", 2.0, 1.0), within("", 0.0, 1.0)], HOLDS),
        ([at_least("", 1.0, 1.0)], TIGHT),
        ([at_most("", 1.0, 1.0), equals("", 0.0, 1.0)], OVER_CLAIMS),
        ([at_most("", 1.0 + 1e-8, 1.0)], WRONG),
        ([equals("", float("inf"), float("inf"))], HOLDS),
    ],
)
def test_the_verdict_follows_from_the_parts(parts: list[ClaimPart], expected: ClaimVerdict) -> None:
    assert verdict(parts) == expected
