"""The last words of `sparsegate reproduce`: what held, what did not, and where everything is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sparsegate.display.plain import plain
from sparsegate.evaluation.statements.judgements import Checked, Support, tally
from sparsegate.evaluation.statements.reading_verdicts import ReadingVerdicts

NAMED = (Support.NOT_SUPPORTED, Support.UNDECIDED, Support.NOT_RUN)
"""What is named one by one: the others are as the paper says, or say nothing."""


def verdict_lines(checked: Sequence[Checked]) -> list[str]:
    """The tally, and a line for each of ``NAMED`` that there is."""
    named = {
        support: [one.statement.key for one in checked if one.judgement.support is support and _worth_a_name(one)]
        for support in NAMED
    }
    lines = [f"{support.value}: {', '.join(keys)}" for support, keys in named.items() if keys]
    return [f"{tally(checked)}.", *lines]


def _worth_a_name(one: Checked) -> bool:
    """A number that needs other data than were given is no news."""
    return one.statement.kind == "statement" or one.judgement.support is not Support.NOT_RUN


def reading_lines(verdicts: ReadingVerdicts | None) -> list[str]:
    """How many verdicts depend on how the paper is read, and a line for each reading that changes some."""
    if verdicts is None:
        return []
    changed = {reading: verdicts.changes(reading) for reading in verdicts.by_reading}
    return [verdicts.sheet().title] + [
        f"{reading}: {', '.join(f'{key} {support.value}' for key, support in found.items())}"
        for reading, found in changed.items()
        if found
    ]


def summary_record(
    checked: Sequence[Checked],
    *,
    rows: int,
    seconds: float,
    files: Mapping[str, Path],
    verdicts: ReadingVerdicts | None = None,
) -> dict[str, Any]:
    """The same for programs: the schema "sparsegate/reproduction/1" of docs/reference/json.md."""
    counts = {
        kind: {support.value: number for support, number in found.items()}
        for kind, found in tally(checked).counts.items()
    }
    statements = [
        {
            "key": one.statement.key,
            "kind": one.statement.kind,
            "where": one.statement.where,
            "claim": one.statement.claim,
            "rule": one.statement.rule,
            "support": one.judgement.support.value,
            "numbers": one.judgement.numbers,
            "places": {
                name: {"support": place.support.value, "numbers": place.numbers}
                for name, place in one.judgement.places.items()
            },
        }
        for one in checked
    ]
    return {
        "schema": "sparsegate/reproduction/1",
        "tally": counts,
        "statements": plain(statements),
        "readings": {
            reading: {key: one.support.value for key, one in found.items()}
            for reading, found in (verdicts.by_reading.items() if verdicts else ())
        },
        "rows": rows,
        "seconds": round(seconds, 1),
        "files": {name: str(path) for name, path in files.items()},
    }


def failed_self_checks(checked: Sequence[Checked]) -> bool:
    """Whether a number of our own simulation was not met: then it is this program that cannot be trusted."""
    return any(one.statement.kind == "self-check" and one.judgement.support is Support.NOT_SUPPORTED for one in checked)
