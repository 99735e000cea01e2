"""The page of a comparison: who wins, as maps; the flawed rows at their true epsilon; peers; seconds; the numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from sparsegate.evaluation.comparison.comparison_results import ComparisonResults, read_comparison
from sparsegate.evaluation.comparison.contestants import LEAGUES, NEAREST, PEER_RUNS, PEER_WORK, League
from sparsegate.evaluation.comparison.headlines import headlines
from sparsegate.evaluation.comparison.winner_maps import draw_maps, legend, method_styles, winner_map
from sparsegate.evaluation.comparison.winners import FALSE_MAP
from sparsegate.evaluation.experiment.results import THRESHOLD, replace_text
from sparsegate.evaluation.reporting.charts import ChartLine, ChartPoint, LineChart
from sparsegate.evaluation.reporting.line_styles import LINE_STYLES
from sparsegate.evaluation.reporting.page_figures import FigurePanel, PageFigure
from sparsegate.evaluation.reporting.page_tables import TableCell, number, table
from sparsegate.evaluation.reporting.report_page import PageSection, render_page
from sparsegate.evaluation.reporting.use_section import use_section
from sparsegate.evaluation.statements.decisions import MARGIN
from sparsegate.evaluation.statements.use_rows import UseRow, read_uses

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
