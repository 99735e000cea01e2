"""The switches: what each changes, and how one is asked for."""

from __future__ import annotations

import math

import pytest

from sparsegate.errors import ParameterError
from sparsegate.paper import METHODS, load
from sparsegate.paper.readings import ALTERNATIVES, OURS, PaperReading


def test_alternatives_differ_from_ours_in_one_switch_but_for_one_and_are_asked_for_by_name() -> None:
    assert [str(reading) for reading in ALTERNATIVES] == [
        "zipf-total=2e6",
        "raise-unit=scale",
        "passes=100",
        "ser=totals",
        "passes=100,ser=totals",
    ]
    assert all(PaperReading.parse(str(reading).split(",")) == reading for reading in ALTERNATIVES)
    both = PaperReading(passes=7, ser="totals")
    assert all(PaperReading.named(str(reading)) == reading for reading in (OURS, both, *ALTERNATIVES))
    assert PaperReading.parse(["passes=100", "ser=totals"]) == PaperReading(passes=100, ser="totals")
    assert str(PaperReading.parse(["zipf-total=2.5e6", "passes=7"])) == "zipf-total=2500000,passes=7"


def test_a_total_makes_another_zipf_and_touches_no_other_dataset() -> None:
    reading = PaperReading(zipf_total=2e6)
    ours, other = load("zipf"), reading.dataset(load("zipf"))
    assert (other.ladder.values == 2 * ours.ladder.values).all()
    assert (other.kind, other.title) == ("rescaled", "Zipf (rescaled)")
    assert other.fingerprint != ours.fingerprint
    kosarak = load("kosarak")
    assert reading.dataset(kosarak) is kosarak


def test_a_raise_of_scales_is_smaller_by_the_root_of_two_and_only_retraversal_has_one() -> None:
    reading = PaperReading(raise_unit="scale")
    changed = {key for key, method in METHODS.items() if reading.method(method) != method}
    assert changed == {f"svt-retr-{k}d" for k in range(1, 6)}
    method, other = METHODS["svt-retr-3d"], reading.method(METHODS["svt-retr-3d"])
    noise = method.noise(count=50, epsilon=0.1)
    assert other.raised(0.0, noise) == pytest.approx(3 * noise.query)  # type: ignore[union-attr]
    assert method.raised(0.0, noise) == pytest.approx(3 * math.sqrt(2) * noise.query)


def test_a_cap_on_passes_is_one_of_all_retraversals_and_of_nothing_else() -> None:
    capped = {key: PaperReading(passes=100).method(method) for key, method in METHODS.items()}
    assert {key for key, method in capped.items() if method != METHODS[key]} == {
        key for key in METHODS if "-retr" in key
    }
    assert {method.passes for key, method in capped.items() if "-retr" in key} == {100}  # type: ignore[union-attr]
    assert all(OURS.method(method) == method for method in METHODS.values())


@pytest.mark.parametrize(
    "texts",
    [
        *(["order=shuffled"], ["passes"], ["passes=0"], ["passes=1.5"], ["passes=1000001"], ["ser=medians"]),
        *(["zipf-total=nan"], ["zipf-total=-1"], ["zipf-total=2e12"], ["passes=1", "passes=2"]),
    ],
)
def test_what_is_no_reading_is_refused(texts: list[str]) -> None:
    with pytest.raises(ParameterError, match="^reading must set "):
        PaperReading.parse(texts)
