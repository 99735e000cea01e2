"""`sparsegate loss`: the tight epsilon of a row, a witness that attains it, and the loss of any pair you give."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Annotated, Any

import typer

from sparsegate.cli.options import AsJson, Claimed, Monotonic, Output, option, read_number, read_output
from sparsegate.cli.printing import facts, print_json, print_table
from sparsegate.display.plain import amount_text
from sparsegate.errors import ParameterError, unknown_key
from sparsegate.gates.variants import VARIANTS, variant

WORDS = {"b": False, "below": False, "a": True, "above": True}
_PAIR = ("answers", "neighbour", "outcome", "threshold", "estimates", "loss")


def loss(
    row: Annotated[
        str,
        typer.Argument(metavar="ROW", autocompletion=lambda: list(VARIANTS), help="A key of `sparsegate variants`."),
    ],
    cutoff: Annotated[int, option("", "Positives before it stops.", "--cutoff", "-c")] = 1,
    epsilon: Claimed = 1.0,
    monotonic: Monotonic = False,
    queries: Annotated[int | None, option("", "At most this many questions in all.")] = None,
    answers: Annotated[str | None, option("NUMBERS", "Answers on one dataset: 0,0,1.")] = None,
    neighbour: Annotated[str | None, option("NUMBERS", "Answers on its neighbour: 1,1,0.")] = None,
    outcome: Annotated[str | None, option("WORDS", "What was said: below,above (or B,A; numbers, gaps).")] = None,
    threshold: Annotated[str, option("NUMBERS", "One threshold, or one for each answer.")] = "0",
    estimates: Annotated[str | None, option("NUMBERS", "Public estimates, for rows that compare errors.")] = None,
    lattice: Annotated[bool, option("", "Discrete noise, as in a run, not the paper's.", "--lattice")] = False,
    plot: Annotated[str | None, option("FILE", "Draw the loss of all rows against questions here.")] = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """What a variant really leaks: its tight epsilon, and two neighbours and an outcome that show it."""
    from sparsegate import privacy

    form = read_output(output, as_json=as_json)
    if row not in VARIANTS:
        raise unknown_key("ROW", "must be the key of a variant", row, VARIANTS, "see `sparsegate variants`")
    common: dict[str, Any] = {"cutoff": cutoff, "epsilon": epsilon, "monotonic": monotonic}
    tight = privacy.tight_epsilon(row, queries=queries, **common)
    report: dict[str, Any] = {"row": row, **common, "queries": queries, "tight_epsilon": tight}
    pair = (answers, neighbour, outcome)
    common["noise"] = "lattice" if lattice else "continuous"
    if any(part is not None for part in pair):
        if any(part is None for part in pair):
            raise ParameterError("answers", "neighbour and outcome go together", next_step="give all three")
        two: list[Any] = [_numbers(answers, "answers"), _numbers(neighbour, "neighbour"), _outcome(outcome or "")]
        bars = _numbers(threshold, "threshold")
        more: Any = {"estimates": None if estimates is None else _numbers(estimates, "estimates")}
        lost = privacy.loss(
            row, two[0], two[1], two[2], threshold=bars[0] if len(bars) == 1 else bars, **more, **common
        )
        report |= dict(zip(_PAIR, [*two, bars, more["estimates"], lost], strict=True))
        if queries is not None and len(report["outcome"]) > queries:
            raise ParameterError("outcome", f"must have at most --queries = {queries} answers", next_step="shorten it")
    elif threshold != "0" or estimates is not None:
        raise ParameterError("threshold", "and estimates belong to a pair", next_step="give --answers, --neighbour too")
    else:
        beyond = 10 * epsilon if math.isinf(tight) else None
        witness = privacy.worst_case(row, queries=queries, at_least=beyond, **common)
        report |= {name: getattr(witness, name) for name in _PAIR}
    if plot is not None:
        from sparsegate.privacy.pictures import draw_losses

        draw_losses(plot, cutoff=cutoff, epsilon=epsilon, monotonic=monotonic)
        report["plot"] = plot
    if form == "json":
        print_json(report | {"epsilon": amount_text(epsilon)}, schema="loss", indent=None)
    else:
        _show(report, form)


def _show(report: dict[str, Any], form: str) -> None:
    tight, claimed, bars = report["tight_epsilon"], report["epsilon"], report["threshold"]
    limit = "" if report["queries"] is None else f" for at most {report['queries']} questions"
    word = f"{'within' if tight <= claimed else 'NOT within'} the claimed {claimed:g}{limit}"
    texts = {
        "claimed epsilon": f"{claimed:g}",
        "tight epsilon": f"{_readable(tight)}   {word}",
        "answers on D": _runs(report["answers"]),
        "answers on D'": _runs(report["neighbour"]),
        "thresholds": _runs(bars) if len(set(bars)) > 1 or any(bars) else "",
        "estimates": "" if report["estimates"] is None else _runs(report["estimates"]),
        "outcome": _runs(report["outcome"], "gap " if variant(report["row"]).gap else ""),
        "its loss": _readable(report["loss"]),
        "picture": report.get("plot", ""),
    }
    print_table(facts({name: text for name, text in texts.items() if text}), form, title=f"loss of {report['row']}")


def _readable(number: float) -> str:
    return f"{number:.6g}".replace("inf", "∞")


def _runs(values: Any, kind: str = "") -> str:
    """Values with repetitions folded: 40 x 4, 0. Numbers are of this kind."""
    texts = (("ABOVE" if v else "BELOW") if isinstance(v, bool) else f"{kind}{float(v):g}" for v in values)
    folded = [(text, len([*same])) for text, same in groupby(texts)]
    return ", ".join(text if count == 1 else f"{text} x {count}" for text, count in folded)


def _numbers(text: str | None, parameter: str) -> list[float]:
    # Whole numbers stay whole: on the lattice they have steps of one, as in a run.
    rule, hint = "must be finite numbers separated by commas", "write for instance 0,0,1"
    numbers = [read_number(part, parameter, rule, hint) for part in (text or "").split(",")]
    if not all(map(math.isfinite, numbers)):
        raise ParameterError(parameter, rule, text, hint)
    return numbers


def _outcome(text: str) -> list[bool | float]:
    answers: list[bool | float] = []
    for part in text.split(","):
        word = part.strip().lower()
        answers += [WORDS[word]] if word in WORDS else _numbers(word, "outcome")
    return answers
