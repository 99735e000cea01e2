"""The check of the Introduction's statement on the uses: the correct gate in the place of the original one."""

from __future__ import annotations

from sparsegate.evaluation.statements.comparisons import some
from sparsegate.evaluation.statements.decisions import Quantity, above, all_of, any_of, mean_over_runs
from sparsegate.evaluation.statements.findings import Findings
from sparsegate.evaluation.statements.further_checks import PRONOUNCED
from sparsegate.evaluation.statements.judgements import CellKey, Judgement, PlaceJudgement
from sparsegate.evaluation.statements.use_rows import CLAIMED, CORRECTED, UseRow, epsilon_text


def less_accurate(findings: Findings) -> Judgement:
    """At some epsilon of each use, the correct gate misses pronouncedly more than the original at its claim."""
    places = {}
    for use in dict.fromkeys(row.use for row in findings.uses):
        rows = {(row.mechanism, row.epsilon): row for row in findings.uses if row.use == use}
        pairs = [
            (row, rows[CORRECTED, epsilon])
            for (mechanism, epsilon), row in rows.items()
            if mechanism == CLAIMED and (CORRECTED, epsilon) in rows
        ]
        if pairs:
            found = [_missed(corrected) - _missed(original) for original, corrected in pairs]
            most, (original, corrected) = max(zip(found, pairs, strict=True), key=lambda one: one[0].value)
            numbers = (
                f"{corrected.mean:.3f} against {original.mean:.3f}, {most.value:+.3f} ± {most.error:.3f} at "
                f"ε = {original.epsilon:g}, where the original costs {epsilon_text(original.true_epsilon)}"
            )
            decision = any_of(above(one, PRONOUNCED) for one in found)
            places[use] = (decision, numbers)
    some(places, "the uses, which `sparsegate reproduce` measures")
    # No round asks for more runs of them: they have theirs.
    return Judgement(
        support=all_of(decision for decision, _ in places.values()).support,
        numbers="share missed: " + "; ".join(f"{use}: {numbers}" for use, (_, numbers) in places.items()),
        places={
            use: PlaceJudgement(support=decision.support, numbers=numbers)
            for use, (decision, numbers) in places.items()
        },
    )


def _missed(row: UseRow) -> Quantity:
    cell = CellKey(row.use, row.mechanism, row.epsilon, 0)
    return mean_over_runs((cell, "missed"), row.mean, row.std, row.runs)
