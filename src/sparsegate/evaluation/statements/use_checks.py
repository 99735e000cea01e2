"""The check of the Introduction's statement on the uses: the correct gate in the place of the original one."""

from __future__ import annotations

from sparsegate.evaluation.statements.comparisons import Missing
from sparsegate.evaluation.statements.decisions import Quantity, above, all_of, any_of, mean_over_runs
from sparsegate.evaluation.statements.findings import Findings
from sparsegate.evaluation.statements.further_checks import PRONOUNCED
from sparsegate.evaluation.statements.judgements import CellKey, Judgement
from sparsegate.evaluation.statements.use_rows import CLAIMED, CORRECTED, UseRow


def less_accurate(findings: Findings) -> Judgement:
    """At some epsilon of each use, the correct gate misses pronouncedly more than the original at its claim."""
    decisions, shown = [], []
    for use in dict.fromkeys(row.use for row in findings.uses):
        rows = {(row.mechanism, row.epsilon): row for row in findings.uses if row.use == use}
        pairs = [
            (row, rows[CORRECTED, epsilon])
            for (mechanism, epsilon), row in rows.items()
            if mechanism == CLAIMED and (CORRECTED, epsilon) in rows
        ]
        if pairs:
            found = [_missed(corrected) - _missed(original) for original, corrected in pairs]
            decisions.append(any_of(above(one, PRONOUNCED) for one in found))
            most, (original, corrected) = max(zip(found, pairs, strict=True), key=lambda one: one[0].value)
            shown.append(
                f"{use}: {corrected.mean:.3f} against {original.mean:.3f}, {most.value:+.3f} ± {most.error:.3f} at "
                f"ε = {original.epsilon:g} (of which the original costs {original.true_epsilon:.3g})"
            )
    if not decisions:
        raise Missing("needs the uses, which `sparsegate reproduce` measures")
    # The uses have their runs: more of them are not asked for by rounds.
    return Judgement(support=all_of(decisions).support, numbers=f"share missed: {'; '.join(shown)}")


def _missed(row: UseRow) -> Quantity:
    cell = CellKey(row.use, row.mechanism, row.epsilon, 0)
    return mean_over_runs((cell, "missed"), row.mean, row.std, row.runs)
