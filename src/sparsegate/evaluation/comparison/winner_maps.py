"""Who wins where, as a map of c and epsilon: letters in cells, so that it reads in black and white."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from sparsegate.display.bar_chart import new_figure
from sparsegate.evaluation.comparison.contestants import League
from sparsegate.evaluation.comparison.winners import CellPlaces
from sparsegate.evaluation.reporting.line_styles import LineStyle, styles
from sparsegate.evaluation.reporting.map_chart import MapCell, MapChart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sparsegate.evaluation.comparison.comparison_results import ComparisonResults

LETTERS: Mapping[str, str] = MappingProxyType(
    {
        "subset": "S",
        "one-shot": "O",
        "em": "E",
        "gumbel": "G",
        "noisy-scores-10": "N",
        "noisy-scores-1": "N1",
        "svt-exponential": "X",
        "svt-delta": "D",
        "svt-s-1:c23": "V",
        "svt-s-1:c": "Vc",
        "svt-s-1:3": "V3",
        "svt-s-1:1": "V1",
        **{f"svt-retr-{raised}d": f"R{raised}" for raised in range(6)},
        "svt-dpbook": "B",
        "svt-dpbook-true": "B*",
        "svt-alg1": "A",
        "svt-alg1-true": "A*",
        "alg-4-true": "L*",
    }
)
"""What a method is called in a cell; * is a row at its true epsilon. Any other is called by its first free letters."""

_DRAWN = (
    *("subset", "one-shot", "gumbel", "noisy-scores-10", "svt-exponential"),
    *("alg-4-true", "svt-dpbook-true", "svt-alg1-true", "svt-delta", "alg-3", "alg-5", "alg-6"),
)
"""Who takes the free colours in turn: no two of one figure have the same."""

MOST_LETTERS = 2
"""A cell names at most this many that tie, or may, one more in all, and says how many there are beyond."""


def method_styles(keys: Iterable[str]) -> dict[str, LineStyle]:
    """A style for each method, the same in every figure and map."""
    wanted = set(keys)
    return {key: style for key, style in styles([*_DRAWN, *wanted]).items() if key in wanted}


def letters(keys: Iterable[str]) -> dict[str, str]:
    """The letters of each method.

    >>> letters(["em", "mine", "mine-2"])
    {'em': 'E', 'mine': 'M', 'mine-2': 'M2'}
    """
    found: dict[str, str] = {}
    for key in keys:
        tried = LETTERS.get(key) or key[0].upper()
        number = 2
        while tried in found.values() or (key not in LETTERS and tried in LETTERS.values()):
            tried, number = f"{key[0].upper()}{number}", number + 1
        found[key] = tried
    return found


def shown_in(place: CellPlaces) -> list[str]:
    """Those whose letters a cell shows."""
    if len(place.winners) > MOST_LETTERS:
        return []
    return [*place.winners, *(place.undecided if _few(place) else ())]


def _few(place: CellPlaces) -> bool:
    """Whether a cell has room for the letters of those who may belong there."""
    return len(place.undecided) <= MOST_LETTERS and len([*place.winners, *place.undecided]) <= MOST_LETTERS + 1


def cell_text(place: CellPlaces, named: Mapping[str, str]) -> str:
    """The winners' letters; more than a few are "n tie"; a ? is for those who may belong there.

    >>> one = CellPlaces(winners=("em",), behind=(), undecided=("subset",), unsure={}, best=0.1)
    >>> cell_text(one, {"em": "E", "subset": "S"})
    'E S?'
    >>> four = CellPlaces(winners=("em", "subset"), behind=(), undecided=("a", "b"), unsure={}, best=0.1)
    >>> cell_text(four, {"em": "E", "subset": "S"})
    'E=S 2?'
    """
    sure, open_still = place.winners, place.undecided
    if len(sure) > MOST_LETTERS:
        return f"{len(sure)} tie" + ("?" if open_still else "")
    if not _few(place):
        return f"{'='.join(named[key] for key in sure)} {len(open_still)}?".strip()
    return " ".join(filter(None, ("=".join(named[key] for key in sure), *(f"{named[key]}?" for key in open_still))))


def _says(place: CellPlaces, titles: Mapping[str, str], where: str) -> str:
    told = [f"{where}: lowest error {place.best:.3f}"]
    if place.winners:
        told.append(
            ("wins: " if len(place.winners) == 1 else "tie: ") + ", ".join(titles[key] for key in place.winners)
        )
    if place.undecided:
        told.append("undecided: " + ", ".join(titles[key] for key in place.undecided))
    return "; ".join(told)


def winner_map(found: ComparisonResults, league: League, dataset: str) -> MapChart | None:
    """The map of one dataset, c upwards and epsilon to the right; None where nobody took part."""
    cells = {(cell.count, cell.epsilon): cell.standing for cell in found.league(league.key) if cell.dataset == dataset}
    if not cells:
        return None
    counts, epsilons = sorted({c for c, _ in cells}, reverse=True), sorted({epsilon for _, epsilon in cells})
    keys = list(dict.fromkeys(found.to_arrow().column("method").to_pylist()))
    named, drawn = letters(keys), method_styles(keys)

    def tile(count: int, epsilon: float) -> MapCell:
        place = cells[count, epsilon]
        return MapCell(
            text=cell_text(place, named),
            note=f"{place.best:.2f}",
            says=_says(place, found.titles, f"c = {count}, ε = {epsilon:g}"),
            style=_colour(place, drawn),
            sure=place.decided,
        )

    return MapChart(
        title=f"{found.titles[dataset]}: who wins, {league.title}",
        columns=[f"{epsilon:g}" for epsilon in epsilons],
        rows=[str(count) for count in counts],
        cells=[[tile(count, epsilon) for epsilon in epsilons] for count in counts],
        x_label="ε",
        y_label="c",
    )


def _colour(place: CellPlaces, drawn: Mapping[str, LineStyle]) -> LineStyle | None:
    """The one sure winner has a colour; those that tie have none."""
    return drawn[place.winners[0]] if len(place.winners) == 1 else None


def legend(found: ComparisonResults, league: League) -> dict[str, str]:
    """The letters that a league's maps use, with the titles of their methods."""
    keys = list(dict.fromkeys(found.to_arrow().column("method").to_pylist()))
    shown = {key for cell in found.league(league.key) for key in shown_in(cell.standing)}
    return {letter: found.titles[key] for key, letter in letters(keys).items() if key in shown}


def draw_maps(found: ComparisonResults, league: League) -> Figure:
    """The maps of all datasets as one figure."""
    datasets = list(dict.fromkeys(cell.dataset for cell in found.league(league.key)))
    maps = {dataset: chart for dataset in datasets if (chart := winner_map(found, league, dataset)) is not None}
    across = min(2, max(1, len(maps)))
    down = -(-len(maps) // across) or 1
    figure = new_figure(4.3 * across, 3.0 * down + 0.8)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, (dataset, chart) in zip(panels, maps.items(), strict=False):
        for row, tiles in enumerate(chart.cells):
            for column, tile in enumerate(tiles):
                face = tile.style.light if tile.style else "#ffffff"
                axes.add_patch(_box(column, row, face, 0.3 if tile.sure else 0.12))
                axes.text(column, row - 0.08, tile.text, ha="center", va="center", fontsize=9, fontweight="bold")
                axes.text(column, row + 0.3, tile.note, ha="center", va="center", fontsize=6)
        axes.set_xticks(range(len(chart.columns)), labels=chart.columns)
        axes.set_yticks(range(len(chart.rows)), labels=chart.rows)
        axes.set(xlim=(-0.5, len(chart.columns) - 0.5), ylim=(len(chart.rows) - 0.5, -0.5), xlabel="ε", ylabel="c")
        axes.set_title(found.titles[dataset], loc="left", fontsize=9)
    for axes in panels[len(maps) :]:
        axes.set_axis_off()
    named = "   ".join(f"{letter} {title}" for letter, title in legend(found, league).items())
    figure.suptitle(f"Who wins, {league.title}: letters, and the lowest {found.by.upper()}", fontsize=10)
    figure.supxlabel(_wrapped(named, 95), fontsize=7)
    return figure  # type: ignore[no-any-return]


def _box(column: int, row: int, face: str, strength: float) -> object:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (column - 0.47, row - 0.46), 0.94, 0.92, facecolor=(face, strength), edgecolor="#6b7280", linewidth=0.6
    )


def _wrapped(text: str, width: int) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width, break_long_words=False))
