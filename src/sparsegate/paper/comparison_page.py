"""The page of a comparison: who wins, as maps; the flawed rows at their true epsilon; peers; seconds; the numbers.

Who wins where, as a map of c and epsilon: letters in cells, so that it reads in black and white.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sparsegate.display.charts import new_figure
from sparsegate.paper.charts import (
    LINE_STYLES,
    ChartLine,
    ChartPoint,
    FigurePanel,
    LineChart,
    LineStyle,
    MapCell,
    MapChart,
    PageFigure,
    TableCell,
    number,
    styles,
    table,
)
from sparsegate.paper.comparison import (
    FALSE_MAP,
    LEAGUES,
    NEAREST,
    PEER_RUNS,
    PEER_WORK,
    CellPlaces,
    ComparisonResults,
    League,
    headlines,
    read_comparison,
)
from sparsegate.paper.decisions import MARGIN
from sparsegate.paper.findings import UseRow, read_uses
from sparsegate.paper.report import PageSection, render_page, use_section
from sparsegate.paper.results import THRESHOLD, replace_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


Row = dict[str, Any]

CLAIMED = ("alg-3", "alg-4", "alg-5", "alg-6", "svt-s-1:c23", "subset", "em")
TRUE = ("svt-dpbook-true", "svt-alg1-true", "alg-4-true", "svt-s-1:c23", "svt-exponential", "subset", "em")
COSTS = ("alg-4", "svt-s-1:1", "svt-s-1:c23", "svt-exponential", "subset", "em")
BEST = ("svt-s-1:c23", "svt-exponential", "svt-retr-3d", "one-shot", "subset", "gumbel", "noisy-scores-10", "em")


def write_comparison_page(out: str | Path) -> Path:
    """Write ``report.html``, and the maps as ``figures/``, into the folder of a comparison; return the page's path."""
    folder = Path(out)
    found = read_comparison(folder)
    (folder / "figures").mkdir(exist_ok=True)
    for league in LEAGUES:
        if found.league(league.key):
            figure = draw_maps(found, league)
            for kind in ("svg", "png"):
                figure.savefig(folder / "figures" / f"winners-{league.key}.{kind}", dpi=150)
    about = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    path = folder / "report.html"
    uses = read_uses(folder, seed=about["parameters"]["seed"])
    replace_text(path, render_comparison(found, about, uses))
    return path


def render_comparison(found: ComparisonResults, about: dict[str, Any], uses: Sequence[UseRow] = ()) -> str:
    """The page as HTML, with the uses of the paper's Introduction if they were measured."""
    view = _View(found)
    parts = (
        PageSection(key="maps", title="Who wins where", link="Winners", body=view.maps()),
        PageSection(key="true", title="At equal true ε", link="True ε", body=view.true_epsilon()),
        PageSection(key="errors", title="Errors of the best", link="Errors", body=view.errors()),
        PageSection(key="peers", title="Other libraries", link="Peers", body=view.peers()),
        PageSection(key="seconds", title="Seconds of one selection", link="Seconds", body=view.seconds()),
        use_section(uses),
        PageSection(key="numbers", title="Numbers", body=view.numbers()),
        PageSection(key="run", title="What was run", link="Run", body=_run(about)),
    )
    sections = [part for part in parts if part and part.body]
    return render_page(title="The leaderboard of private selection", lead=_lead(found, about), sections=sections)


def _lead(found: ComparisonResults, about: dict[str, Any]) -> str:
    said = [f"{title}: {text}" for title, text in headlines(found).items()]
    stand_ins = [entry["title"] for entry in about["datasets"] if entry.get("stand_in")]
    note = f" Stand-ins, no data: {escape(', '.join(stand_ins))}." if stand_ins else ""
    return (
        "<h1>The leaderboard of private selection</h1>"
        + "".join(f'<p class="lead">{escape(text)}.</p>' for text in said)
        + f'<p class="soft">Threshold: {escape(THRESHOLD)}.{note}</p>'
    )


class _View:
    """The parts of one page."""

    def __init__(self, found: ComparisonResults) -> None:
        self._found = found
        self._rows: list[Row] = list(found)
        self._datasets = list(dict.fromkeys(row["dataset"] for row in self._rows))
        epsilons = sorted({row["epsilon"] for row in self._rows})
        counts = sorted({row["count"] for row in self._rows})
        self._epsilon, self._count = epsilons[len(epsilons) // 2], counts[len(counts) // 2]

    def maps(self) -> str:
        """A map for each dataset; leagues are the views."""
        leagues = [league for league in LEAGUES if self._found.league(league.key)]
        panels = [
            FigurePanel(
                title=self._found.titles[dataset],
                charts={
                    league.title: chart
                    for league in leagues
                    if (chart := winner_map(self._found, league, dataset)) is not None
                },
            )
            for dataset in self._datasets
        ]
        notes = "".join(self._letters(league) for league in leagues)
        caption = (
            f"A letter is a method that is at most {MARGIN:g} behind the best in {self._found.by.upper()}; the small "
            "number is the lowest error. A cell with one sure winner has a colour, a pale one where others may tie "
            f"with it (?). The chance that any cell is wrong is at most {FALSE_MAP:g}."
        )
        files = {"CSV": "winners.csv", "Parquet": "winners.parquet"}
        return PageFigure(
            name="winners", title="Winners", caption=caption, panels=tuple(panels), files=files, note=notes
        ).html()

    def _letters(self, league: League) -> str:
        """The letters of a league's maps, and the maps as files."""
        named = ", ".join(
            f"<b>{escape(letter)}</b> {escape(title)}" for letter, title in legend(self._found, league).items()
        )
        links = " ".join(
            f'<a href="figures/winners-{league.key}.{kind}" download>{kind.upper()}</a>' for kind in ("svg", "png")
        )
        return f'<p class="soft">{escape(league.title)}: {named}. {links}</p>'

    def true_epsilon(self) -> str:
        """Rows as claimed, the same at equal true epsilon, and the error against what is really spent."""
        at, many = f"ε = {self._epsilon:g}", f"c = {self._count}"
        views: dict[str, Callable[[str], LineChart]] = {
            f"as claimed, {at}": lambda dataset: self._against_count(dataset, CLAIMED, "fnr"),
            f"at equal true ε, {at}": lambda dataset: self._against_count(dataset, TRUE, "fnr"),
            f"against true ε, {many}": lambda dataset: self._against_epsilon(dataset, COSTS, "fnr"),
        }
        caption = (
            "What a flawed row does at the ε that its authors claim, and what is left of it at the ε that it really "
            "costs: Alg. 4 costs (1+3c)ε/4 here. Alg. 3, 5 and 6 have no ε at all; the last two never stop, and are "
            "stopped after c."
        )
        return self._figure("true-epsilon", "The flawed rows", caption, views)

    def errors(self) -> str:
        """The errors of the best methods."""
        at, many = f"ε = {self._epsilon:g}", f"c = {self._count}"
        views: dict[str, Callable[[str], LineChart]] = {
            f"FNR, {at}": lambda dataset: self._against_count(dataset, BEST, "fnr"),
            f"SER, {at}": lambda dataset: self._against_count(dataset, BEST, "ser"),
            f"FNR, {many}": lambda dataset: self._against_epsilon(dataset, BEST, "fnr"),
        }
        return self._figure("errors", "The best of each kind", "Mean, and two standard errors.", views)

    def peers(self) -> str:
        """Each row of a peer beside that of the method of ours that is nearest to it."""
        rows = {(row["dataset"], row["method"], row["epsilon"], row["count"]): row for row in self._rows}
        lines = []
        for row in self._rows:
            ours = rows.get((row["dataset"], NEAREST.get(row["method"], ""), row["epsilon"], row["count"]))
            if ours is not None:
                titles = self._found.titles
                lines.append(
                    [
                        titles[row["dataset"]],
                        titles[row["method"]],
                        number(row["epsilon"], "g"),
                        number(row["count"], "d"),
                        _rate(row, "fnr"),
                        titles[ours["method"]],
                        _rate(ours, "fnr"),
                        _seconds(row["seconds"]),
                        _seconds(ours["seconds"]),
                    ]
                )
        if not lines:
            return ""
        says = (
            f"<p>They see every score of every item, and take up to minutes for a run: they get {PEER_RUNS} runs where "
            f"items times c are at most {PEER_WORK:,}, and no part in the maps. diffprivlib's has the "
            "law of EM; OpenDP's draws the noise of one-shot anew for each of the c places, and takes no seed.</p>"
        )
        heads = (
            "Dataset",
            "Library",
            "#ε",
            "#c",
            "#FNR",
            "Nearest",
            "#FNR of ours",
            "#seconds",
            "#seconds of ours",
        )
        return says + table(heads, lines, tall=True, names=2)

    def seconds(self) -> str:
        """One selection among the scores of all items."""
        timed = [row for row in self._rows if row["seconds"] is not None and row["epsilon"] == self._epsilon]
        counts = sorted({row["count"] for row in timed})
        lines: dict[tuple[str, str], dict[int, float | None]] = {}
        for row in timed:
            line = lines.setdefault((row["dataset"], row["method"]), dict.fromkeys(counts))
            line[row["count"]] = row["seconds"]
        if not lines:
            return ""
        body = table(
            ("Dataset", "Method", *(f"#c = {count}" for count in counts)),
            [
                [self._found.titles[dataset], self._found.titles[method], *(_seconds(line[count]) for count in counts)]
                for (dataset, method), line in lines.items()
            ],
            names=2,
            tall=True,
        )
        return f"<p>Of ours <code>select_top</code>, with exact noise, once at ε = {self._epsilon:g}.</p>{body}"

    def numbers(self) -> str:
        """All rows of the middle epsilon; the files have all."""
        heads = ("Dataset", "Method", "#c", "#true ε", "#FNR", "#SER", "#total SER", "#precision", "#runs")
        lines = [
            [
                self._found.titles[row["dataset"]],
                self._found.titles[row["method"]],
                number(row["count"], "d"),
                _true(row["true_epsilon"]),
                *(_rate(row, rate) for rate in ("fnr", "ser", "total_ser", "precision")),
                number(row["runs"], "d"),
            ]
            for row in self._rows
            if row["epsilon"] == self._epsilon
        ]
        files = "".join(f' <a href="results.{kind}" download>{kind}</a>' for kind in ("csv", "parquet", "json"))
        return f"<p>At ε = {self._epsilon:g}, with standard errors; all of them:{files}</p>" + table(
            heads, lines, identity="rows", tall=True, names=2
        )

    def _figure(self, name: str, title: str, caption: str, views: dict[str, Callable[[str], LineChart]]) -> str:
        panels = []
        for dataset in self._datasets:
            charts = {view: chart for view, make in views.items() if (chart := make(dataset)).lines}
            if charts:
                panels.append(FigurePanel(title=self._found.titles[dataset], charts=charts))
        files = {"CSV": "results.csv", "Parquet": "results.parquet"}
        return (
            PageFigure(name=name, title=title, caption=caption, panels=tuple(panels), files=files).html()
            if panels
            else ""
        )

    def _against_count(self, dataset: str, methods: Sequence[str], rate: str) -> LineChart:
        rows = [row for row in self._rows if row["dataset"] == dataset and row["epsilon"] == self._epsilon]
        return self._chart(dataset, rows, methods, rate, "count")

    def _against_epsilon(self, dataset: str, methods: Sequence[str], rate: str) -> LineChart:
        rows = [row for row in self._rows if row["dataset"] == dataset and row["count"] == self._count]
        return self._chart(dataset, rows, methods, rate, "true_epsilon")

    def _label(self, key: str) -> str:
        known = LINE_STYLES.get(key)
        return known.label if known else self._found.titles[key].removesuffix(", as claimed")

    def _chart(self, dataset: str, rows: Sequence[Row], methods: Sequence[str], rate: str, against: str) -> LineChart:
        drawn = method_styles(key for key in methods if any(row["method"] == key for row in rows))
        lines = []
        for key, style in drawn.items():
            points = tuple(
                ChartPoint(x=row[against], y=row[f"{rate}_mean"], error=row[f"{rate}_error"])
                for row in sorted((row for row in rows if row["method"] == key), key=lambda row: float(row[against]))
                if math.isfinite(row[against])
            )
            if points:
                lines.append(ChartLine(style=style, label=self._label(key), points=points))
        return LineChart(
            title=self._found.titles[dataset],
            lines=tuple(lines),
            x_label="c" if against == "count" else "true ε",
            y_label=rate.upper().replace("_", " "),
            x_log=True,
            x_ticks=tuple(sorted({row["count"] for row in rows})) if against == "count" else (),
        )


def _rate(row: Row, rate: str) -> TableCell:
    mean, error = row[f"{rate}_mean"], row[f"{rate}_error"]
    return TableCell(text=f"{mean:.3f} ± {error:.3f}", value=float(mean))


def _true(epsilon: float | None) -> TableCell:
    if epsilon is None:
        return TableCell(text="not checked", value=math.inf)
    return number(epsilon, ".4g") if math.isfinite(epsilon) else TableCell(text="no ε", value=math.inf)


def _seconds(value: float | None) -> TableCell:
    return TableCell(text="-") if value is None else number(value, ".3f")


def _run(about: dict[str, Any]) -> str:
    """The manifest as a list."""
    entries: Iterable[tuple[str, object]] = {
        **about["parameters"],
        "made": about["created"],
        **about["versions"],
    }.items()
    parts = "".join(f"<dt>{escape(str(name))}</dt><dd>{escape(str(said))}</dd>" for name, said in entries)
    return f'<dl>{parts}</dl><p><a href="manifest.json" download>manifest.json</a></p>'
