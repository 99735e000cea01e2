"""`sparsegate variants`: the paper's table of differences, printed from the rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from sparsegate.cli.options import AsJson, Output, read_output
from sparsegate.cli.printing import facts, grid, print_json, print_table
from sparsegate.errors import unknown_key
from sparsegate.gates.variants import VARIANTS, Closes, Released, Scale, Variant

_VALUES = {Released.NOTHING: "-", Released.NOISY_ANSWER: "noisy", Released.FRESH_ANSWER: "fresh"}
_STOPS = {Closes.NEVER: "never", Closes.ABOVE: "at c", Closes.RARER: "both"}

LEGEND = """
rho, nu  scales of the threshold noise and of the query noise (general queries);
         Δ is the sensitivity, c the cutoff; * drawn again after a positive
         + one-sided, exponential
value    the number a positive releases: noisy (the one compared), fresh, or
         the gap to the threshold (and a fresh one, if it is paid for)
stops    after c positives, or after c of both answers
ε-DP     whether the algorithm is as private as its ε says

`sparsegate variants KEY` says more about one of them."""


def variants(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="KEY", show_default=False, autocompletion=lambda: list(VARIANTS), help="Say all about this one."
        ),
    ] = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """The published sparse vector algorithms: how they differ, and which of them are private."""
    if key is not None and key not in VARIANTS:
        raise unknown_key("KEY", "must be that of a variant", key, VARIANTS, "see `sparsegate variants`")
    rows = list(VARIANTS.values()) if key is None else [VARIANTS[key]]
    if (form := read_output(output, as_json=as_json)) == "json":
        print_json(rows, schema="variant")
    elif key is None:
        print_table(_overview(rows), form, title="sparse vector algorithms", after=LEGEND)
    else:
        print_table(_detail(rows[0]), form, title=rows[0].title)


def _overview(rows: Iterable[Variant]) -> Table:
    table = grid("key", "paper", "ε₁:ε₂", "rho", "nu", "value", "stops", "ε-DP")
    for row in rows:
        sign = "+" if row.noise.one_sided else ""
        table.add_row(
            row.key,
            row.algorithm,
            _split(row),
            row.threshold_noise.formula("ε₁") + ("*" if row.redraws_threshold else "") + sign,
            row.query_noise.formula("ε₂") + sign,
            "gap" if row.gap else _VALUES[row.released],
            _STOPS[row.closes],
            _private(row),
        )
    return table


def _detail(row: Variant) -> Table:
    again = ", drawn again after each positive" if row.redraws_threshold else ""
    shift = " + kappa" if row.noise.one_sided else ""
    query, monotonic = _law(row.query_noise, "ε₂"), _law(row.query_noise_monotonic, "ε₂")
    texts = {
        "key": row.key,
        "title": row.title,
        "paper": row.algorithm,
        "citation": row.citation,
        "ε₁:ε₂": _split(row),
        "noise": row.noise.value,
        "threshold noise, rho": _law(row.threshold_noise, "ε₁") + again,
        "query noise, nu": query if query == monotonic else f"{query}; monotonic {monotonic}",
        f"compared with T + rho{shift}": row.compared.value,
        "a positive releases": row.released.value,
        **({"and its gap": f"what was compared, less T + rho{shift}"} if row.gap else {}),
        "stops": row.closes.value,
        "claimed loss": row.claimed,
        "true loss": row.truth,
        "ε-DP": _private(row),
    }
    return facts({**texts, "flaw": row.flaw} if row.flaw else texts, bold=True)


def _private(row: Variant) -> Text:
    return Text("yes", style="green") if row.private else Text("no", style="red")


def _split(row: Variant) -> str:
    return row.allocation if isinstance(row.allocation, str) else f"1:{row.allocation}"


def _law(scale: Scale, share: str) -> str:
    return f"scale {scale.formula(share)}" if scale.factor else "none"
