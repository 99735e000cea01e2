"""The first sentences of a comparison: who wins how often in each league, and whose word was taken."""

from __future__ import annotations

from sparsegate.evaluation.comparison.comparison_results import ComparisonResults
from sparsegate.evaluation.comparison.contestants import LEAGUES
from sparsegate.evaluation.comparison.winners import tallied

MOST_NAMED = 3
"""Who wins less often than so many others is not named."""


def headlines(found: ComparisonResults) -> dict[str, str]:
    """Of each league, who wins how many cells alone; how many are ties, or undecided; and whom nobody has checked."""
    told = {}
    for league in LEAGUES:
        cells = [cell.standing for cell in found.league(league.key)]
        if not cells:
            continue
        alone = [(key, count) for key, (count, _) in tallied(cells).items() if count]
        ties = sum(one.decided and len(one.winners) > 1 for one in cells)
        rest = sum(count for _, count in alone[MOST_NAMED:])
        parts = [
            *(f"{found.titles[key]} wins {count}" for key, count in alone[:MOST_NAMED]),
            *([f"others {rest}"] if rest else []),
            f"{ties} {'tie' if ties == 1 else 'ties'}",
            f"{sum(not one.decided for one in cells)} undecided",
        ]
        told[league.title] = f"of {len(cells)} cells " + "; ".join(parts)
    if found.unchecked:
        names = ", ".join(found.titles[key] for key in found.unchecked)
        told["taken at their word"] = f"{names}; whether that is private was not checked, see sg.audit"
    return told
