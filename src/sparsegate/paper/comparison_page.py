"""The page of a comparison: who wins, as maps; the flawed rows at their true epsilon; peers; seconds; the numbers.

A map has c and epsilon as its axes, and letters in its cells, so that it reads in black and white.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sparsegate.paper import charts, comparison
from sparsegate.paper.comparison import LEAGUES, CellPlaces, ComparisonResults, League, headlines
from sparsegate.paper.decisions import MARGIN
from sparsegate.paper.figures import use_body
from sparsegate.paper.page import (
    FigurePanel,
    PageFigure,
    TableCell,
    definitions,
    element,
    file_links,
    latex_table,
    render_page,
    table,
    table_cell,
    write_tables,
)
from sparsegate.paper.results import THRESHOLD, UseRow, replace_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]

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
        "svt-dpbook": "B",
        "svt-dpbook-true": "B*",
        "svt-alg1": "A",
        "svt-alg1-true": "A*",
        **{f"svt-retr-{raised}d": f"R{raised}" for raised in range(6)},
        "alg-4-true": "L*",
    }
)
"""What a method is called in a cell; * is a row at its true epsilon. Any other is called by its first free letters."""

_DRAWN = (
    *("subset", "one-shot", "gumbel", "noisy-scores-10", "svt-exponential"),
    *("alg-4-true", "svt-dpbook-true", "svt-alg1-true", "svt-delta", "alg-3", "alg-5", "alg-6"),
)
"""Who takes the free colours in turn: no two of one figure have the same."""

MOST_LETTERS = 2  # A cell names at most this many that tie, or may, one more in all, and says how many there are beyond


def method_styles(keys: Iterable[str]) -> dict[str, charts.LineStyle]:
    """A style for each method, the same in every figure and map."""
    wanted = set(keys)
    return {key: style for key, style in charts.styles([*_DRAWN, *wanted]).items() if key in wanted}


def letters(keys: Iterable[str]) -> dict[str, str]:
    """The letters of each method."""
    named: dict[str, str] = {}
    for key in keys:
        letter, turn = LETTERS.get(key) or key[0].upper(), 2
        while letter in named.values() or (key not in LETTERS and letter in LETTERS.values()):
            letter, turn = f"{key[0].upper()}{turn}", turn + 1
        named[key] = letter
    return named


def cell_text(places: CellPlaces, named: Mapping[str, str]) -> str:
    """The winners' letters; more than a few are "n tie"; a ? is for those who may belong there."""
    sure, unsure = places.winners, places.undecided
    if len(sure) > MOST_LETTERS:
        return f"{len(sure)} tie" + ("?" if unsure else "")
    few = len(unsure) <= MOST_LETTERS and len(sure) + len(unsure) <= MOST_LETTERS + 1
    others = [f"{named[key]}?" for key in unsure] if few else [f"{len(unsure)}?"]
    return " ".join(filter(None, ("=".join(named[key] for key in sure), *others)))


def _method_keys(results: ComparisonResults) -> list[str]:
    return list(dict.fromkeys(results["method"]))


def winner_maps(results: ComparisonResults, league: League) -> dict[str, charts.MapChart]:
    """The map of each dataset, c upwards and epsilon to the right."""
    keys, titles = _method_keys(results), results.titles
    named, drawn = letters(keys), method_styles(keys)
    tiles: dict[str, dict[tuple[int, float], charts.MapCell]] = {}
    for cell in results.league(league.key):
        places = cell.standing
        says = f"c = {cell.count}, ε = {cell.epsilon:g}: lowest error {places.best:.3f}"
        if places.winners:
            winners = ", ".join(titles[key] for key in places.winners)
            says += f"; {'wins' if len(places.winners) == 1 else 'tie'}: {winners}"
        if places.undecided:
            says += f"; undecided: {', '.join(titles[key] for key in places.undecided)}"
        if places.wanting:
            says += f"; would be decided by about {max(places.wanting.values()):,.1f} times the runs"
        style = drawn[places.winners[0]] if len(places.winners) == 1 else None  # those that tie have no colour
        text = cell_text(places, named)
        tile = charts.MapCell(text=text, note=f"{places.best:.2f}", says=says, style=style, sure=places.decided)
        tiles.setdefault(cell.dataset, {})[cell.count, cell.epsilon] = tile
    maps = {}
    for dataset, cells in tiles.items():
        counts, epsilons = sorted({c for c, _ in cells}, reverse=True), sorted({epsilon for _, epsilon in cells})
        maps[dataset] = charts.MapChart(
            title=f"{titles[dataset]}: who wins, {league.title}",
            columns=[f"{epsilon:g}" for epsilon in epsilons],
            rows=[str(count) for count in counts],
            cells=[[cells[count, epsilon] for epsilon in epsilons] for count in counts],
            x_label="ε",
            y_label="c",
        )
    return maps


def legend(results: ComparisonResults, league: League) -> dict[str, str]:
    """The letters that a league's maps use, with the titles of their methods."""
    named = letters(_method_keys(results))
    texts = " ".join(cell_text(cell.standing, named) for cell in results.league(league.key))
    used = set(re.split("[ =?]+", texts))
    return {letter: results.titles[key] for key, letter in named.items() if letter in used}


def draw_maps(results: ComparisonResults, league: League) -> Figure:
    """The maps of all datasets as one figure."""
    named = "   ".join(f"{letter} {title}" for letter, title in legend(results, league).items())
    title = f"Who wins, {league.title}: letters, and the lowest {results.by.upper()}"
    return charts.draw(list(winner_maps(results, league).values()), title=title, note=named)


def write_page(
    folder: Path, results: ComparisonResults, about: Mapping[str, Any], uses: Sequence[UseRow], *, latex: bool = False
) -> None:
    """Write ``report.html``, and the maps as ``figures/``; ``about`` is the manifest, ``uses`` those measured.

    With ``latex`` the maps are PDF and LaTeX, too.
    """
    (folder / "figures").mkdir(exist_ok=True)
    leagues = [league for league in LEAGUES if results.league(league.key)]
    for league in leagues:
        charts.save(draw_maps(results, league), folder / "figures" / f"winners-{league.key}", pdf=latex)
    if latex:
        write_tables(folder, {name: text for league in leagues for name, text in latex_maps(results, league).items()})
    replace_text(folder / "report.html", render_comparison(results, about, uses))


def latex_maps(results: ComparisonResults, league: League) -> dict[str, str]:
    """The map of each dataset as a table: letters, and the lowest error."""
    named = ", ".join(f"{letter} {title}" for letter, title in legend(results, league).items())
    return {
        f"winners-{league.key}-{dataset}": latex_table(
            ["c|", *(f"ε = {epsilon}" for epsilon in chart.columns)],
            [
                (count, *(f"{tile.text} {tile.note}" for tile in tiles))
                for count, tiles in zip(chart.rows, chart.cells, strict=True)
            ],
            caption=f"{chart.title}, and the lowest {results.by.upper()}: {named}.",
            label=f"tab:winners-{league.key}-{dataset}",
        )
        for dataset, chart in winner_maps(results, league).items()
    }


CLAIMED = ("alg-3", "alg-4", "alg-5", "alg-6", "svt-s-1:c23", "subset", "em")
TRUE = ("svt-dpbook-true", "svt-alg1-true", "alg-4-true", "svt-s-1:c23", "svt-exponential", "subset", "em")
COSTS = ("alg-4", "svt-s-1:1", "svt-s-1:c23", "svt-exponential", "subset", "em")
BEST = ("svt-s-1:c23", "svt-exponential", "svt-retr-3d", "one-shot", "subset", "gumbel", "noisy-scores-10", "em")

TRUE_VIEWS = (
    ("as claimed", CLAIMED, "fnr", "count"),
    ("at equal true ε", TRUE, "fnr", "count"),
    ("against true ε", COSTS, "fnr", "true_epsilon"),
)
BEST_VIEWS = (("FNR", BEST, "fnr", "count"), ("SER", BEST, "ser", "count"), ("FNR", BEST, "fnr", "true_epsilon"))
"""The views of a figure: a name, methods, an error, and what it is drawn against."""


FLAWED_ROWS = {key for key in (*CLAIMED, *TRUE) if key.startswith("alg-") or key.endswith("-true")}
FLAWED = (
    "What a flawed row does at the ε that its authors claim, and what is left of it at the ε that it really costs: "
    "Alg. 4 costs (1+3c)ε/4 here. Alg. 3, 5 and 6 have no ε at all; the last two never stop, and are stopped after c."
)


def render_comparison(results: ComparisonResults, about: Mapping[str, Any], uses: Sequence[UseRow] = ()) -> str:
    """The page as HTML, with the uses of the paper's Introduction if they were measured."""
    page = _ComparisonPage(results)
    stand_ins = [entry["title"] for entry in about["datasets"] if entry.get("stand_in")]
    sentences = [element("p", escape(f"{title}: {text}."), class_="lead") for title, text in headlines(results).items()]
    parts = {
        "headlines": "".join(sentences),
        "threshold": escape(THRESHOLD),
        "stand_ins": escape(f" Stand-ins, no data: {', '.join(stand_ins)}.") if stand_ins else "",
        "maps": page.maps(),
        "true": page.figure("true-epsilon", "The flawed rows", FLAWED, TRUE_VIEWS, FLAWED_ROWS),
        "errors": page.figure(
            "errors", "The best of each kind", "Mean, and two standard errors.", BEST_VIEWS, set(BEST)
        ),
        "peer_runs": comparison.PEER_RUNS,
        "peer_work": f"{comparison.PEER_WORK:,}",
        "peers": page.peers(),
        "epsilon": f"{page.epsilon:g}",
        "seconds": page.seconds(),
        "uses": use_body(uses),
        "numbers": page.numbers(),
        "run": definitions({**about["parameters"], "made": about["created"], **about["versions"]}),
    }
    return render_page("comparison_sections.html", title="The leaderboard of private selection", parts=parts)


class _ComparisonPage:
    """The parts of one page; figures are at the middle epsilon, or at the middle c."""

    def __init__(self, results: ComparisonResults) -> None:
        self._results, self._titles, self._rows = results, results.titles, list(results)
        self._datasets = list(dict.fromkeys(results["dataset"]))
        epsilons, counts = (sorted(set(results[name])) for name in ("epsilon", "count"))
        self.epsilon, self._count = epsilons[len(epsilons) // 2], counts[len(counts) // 2]

    def maps(self) -> str:
        """A map for each dataset; leagues are the views; "" where nobody has a rival."""
        charts_of: dict[str, dict[str, charts.MapChart]] = {}
        notes = []
        for league in LEAGUES:
            if not self._results.league(league.key):
                continue
            for dataset, chart in winner_maps(self._results, league).items():
                charts_of.setdefault(dataset, {})[league.title] = chart
            used = legend(self._results, league).items()
            named = [f"{element('b', escape(letter))} {escape(title)}" for letter, title in used]
            links = file_links({kind.upper(): f"figures/winners-{league.key}.{kind}" for kind in ("svg", "png")})
            notes.append(element("p", f"{escape(league.title)}: {', '.join(named)}. {links}", class_="soft"))
        panels = [
            FigurePanel(title=self._titles[dataset], charts=charts_of[dataset], absent="Fewer than two take part here.")
            for dataset in self._datasets
            if dataset in charts_of
        ]
        return PageFigure(
            name="winners",
            title="Winners",
            caption=f"A letter is a method that is at most {MARGIN:g} behind the best in {self._results.by.upper()}; "
            "the small number is the lowest error. A cell with one sure winner has a colour, a pale one where others "
            f"may tie with it (?). The chance that any cell is wrong is at most {comparison.FALSE_MAP:g}.",
            panels=tuple(panels),
            files={"CSV": "winners.csv", "Parquet": "winners.parquet"},
            note="".join(notes),
        ).html()

    def figure(
        self, name: str, title: str, caption: str, views: Iterable[tuple[str, Sequence[str], str, str]], shown: Set[str]
    ) -> str:
        """A panel for each dataset that has lines for a view; "" where none has, or nothing that is ``shown`` ran."""
        if not (shown & set(_method_keys(self._results))):
            return ""
        panels = []
        for dataset in self._datasets:
            by_view = {}
            for view, methods, rate, against in views:
                fixed = f"ε = {self.epsilon:g}" if against == "count" else f"c = {self._count}"
                if (chart := self._chart(dataset, methods, rate, against)).lines:
                    by_view[f"{view}, {fixed}"] = chart
            if by_view:
                panels.append(FigurePanel(title=self._titles[dataset], charts=by_view))
        files = {"CSV": "results.csv", "Parquet": "results.parquet"}
        return PageFigure(name=name, title=title, caption=caption, panels=tuple(panels), files=files).html()

    def _chart(self, dataset: str, methods: Sequence[str], rate: str, against: str) -> charts.LineChart:
        by_count = against == "count"
        fixed, value = ("epsilon", self.epsilon) if by_count else ("count", self._count)
        rows = [row for row in self._rows if row["dataset"] == dataset and row[fixed] == value]
        points: dict[str, list[charts.ChartPoint]] = {}
        for row in sorted((row for row in rows if row["method"] in methods), key=lambda row: float(row[against])):
            if math.isfinite(row[against]):
                point = charts.ChartPoint(row[against], row[f"{rate}_mean"], row[f"{rate}_error"])
                points.setdefault(row["method"], []).append(point)
        lines = []
        for key, style in method_styles(points).items():
            label = style.label if key in charts.LINE_STYLES else self._titles[key].removesuffix(", as claimed")
            lines.append(charts.ChartLine(style._replace(label=label), tuple(points[key])))
        ticks = tuple(sorted({row["count"] for row in rows})) if by_count else ()
        look: dict[str, Any] = {"x_label": "c" if by_count else "true ε", "y_label": rate.upper(), "x_ticks": ticks}
        return charts.LineChart(title=self._titles[dataset], lines=tuple(lines), x_log=True, **look)

    def _names(self, row: Row) -> tuple[str, str]:
        return self._titles[row["dataset"]], self._titles[row["method"]]

    def peers(self) -> str:
        """Each row of a peer beside that of the method of ours that is nearest to it."""
        rows = {(row["dataset"], row["method"], row["epsilon"], row["count"]): row for row in self._rows}
        lines = []
        for (dataset, method, epsilon, count), row in rows.items():
            if ours := rows.get((dataset, comparison.NEAREST.get(method, ""), epsilon, count)):
                rates = (_rate(row, "fnr"), self._titles[ours["method"]], _rate(ours, "fnr"))
                lines.append((*self._names(row), epsilon, count, *rates, row["seconds"], ours["seconds"]))
        heads = ["Dataset", "Library", "ε|g", "c|d", "FNR|", "Nearest", "FNR of ours|", "seconds|.3f"]
        return table([*heads, "seconds of ours|.3f"], lines, tall=True, names=2) if lines else ""

    def seconds(self) -> str:
        timed = [row for row in self._rows if row["seconds"] is not None and row["epsilon"] == self.epsilon]
        counts = sorted({row["count"] for row in timed})
        lines: dict[tuple[str, str], dict[int, float]] = {}
        for row in timed:
            lines.setdefault(self._names(row), {})[row["count"]] = row["seconds"]
        heads = ("Dataset", "Method", *(f"c = {count}|.3f" for count in counts))
        cells = [[*names, *(line.get(count) for count in counts)] for names, line in lines.items()]
        return table(heads, cells, names=2, tall=True) if lines else ""

    def numbers(self) -> str:
        """All rows of the middle epsilon; the files have all."""
        heads = ("Dataset", "Method", "c|d", "true ε|", "FNR|", "SER|", "total SER|", "precision|", "runs|d")
        lines = []
        for row in self._rows:
            if row["epsilon"] == self.epsilon:
                true, rates = row["true_epsilon"], ("fnr", "ser", "total_ser", "precision")
                shown = table_cell(true, ".4g")
                if true is None or math.isinf(true):
                    shown = TableCell(text="not checked" if true is None else "no ε", value=math.inf)
                lines.append((*self._names(row), row["count"], shown, *(_rate(row, r) for r in rates), row["runs"]))
        return table(heads, lines, identity="rows", tall=True, names=2)


def _rate(row: Row, rate: str) -> TableCell:
    mean, error = row[f"{rate}_mean"], row[f"{rate}_error"]
    return TableCell(text=f"{mean:.3f} ± {error:.3f}", value=float(mean))
