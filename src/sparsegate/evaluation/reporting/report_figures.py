"""The figures of the reproduction's page, from the results: a panel for each dataset, a view for each measure."""

from __future__ import annotations

from collections.abc import Callable

from sparsegate.evaluation.reporting.charts import BAR_ERRORS, ChartLine, ChartPoint, LineChart
from sparsegate.evaluation.reporting.error_figures import ORACLE, ErrorFigure, comparisons
from sparsegate.evaluation.reporting.line_styles import DATASET_STYLES, styles
from sparsegate.evaluation.reporting.page_figures import FigurePanel, PageFigure
from sparsegate.evaluation.statements.findings import Findings, Row

RANKS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 300)
"""The ranks at which the picture of the scores has a point."""

Note = Callable[[str, str], str]
"""HTML to stand below the panel of a figure and a dataset."""


def panel_name(figure: str, dataset: str) -> str:
    """What a link to a panel leads to."""
    return "_".join(f"panel-{figure}-{dataset}".split())


def files_of(pictures: str, rows: str) -> dict[str, str]:
    """The links beside a figure, by their text: its rows and its pictures, without their suffixes."""
    return {"CSV": f"{rows}.csv", "Parquet": f"{rows}.parquet", "SVG": f"{pictures}.svg", "PNG": f"{pictures}.png"}


def error_figure(figure: ErrorFigure, findings: Findings, note: Note) -> PageFigure | None:
    """A comparison of methods; None where the results have too little for it."""
    lines = figure.lines(findings)
    if not lines:
        return None
    panels = tuple(
        FigurePanel(
            title=findings.title(dataset),
            dataset=dataset,
            identity=panel_name(figure.name, dataset),
            charts={
                shown: _chart(figure, findings.title(dataset), rows, measure, shown)
                for measure, shown in figure.measures.items()
            },
            note=note(figure.name, dataset),
        )
        for dataset, rows in lines.items()
    )
    about = f"{figure.caption} {figure.fixed(findings)}; error bars are ± {BAR_ERRORS} standard errors; {ORACLE}."
    path = f"figures/{figure.name}"
    return PageFigure(name=figure.name, title=figure.title, caption=about, panels=panels, files=files_of(path, path))


def error_figures(findings: Findings, note: Note) -> dict[str, PageFigure]:
    """Every comparison that the results have data for, by its name."""
    found = {one.name: error_figure(one, findings, note) for one in comparisons(findings)}
    return {name: figure for name, figure in found.items() if figure is not None}


def _chart(figure: ErrorFigure, title: str, lines: dict[str, list[Row]], measure: str, shown: str) -> LineChart:
    drawn = styles(lines)
    by_epsilon = figure.against == "epsilon"
    return LineChart(
        title=title,
        lines=tuple(
            ChartLine(
                style=drawn[key], label=drawn[key].label, points=tuple(_point(figure, row, measure) for row in rows)
            )
            for key, rows in lines.items()
        ),
        x_label=figure.x_label,
        y_label=shown,
        x_log=by_epsilon or figure.beyond,
        x_ticks=tuple(sorted({row.epsilon for rows in lines.values() for row in rows})) if by_epsilon else (),
    )


def _point(figure: ErrorFigure, row: Row, measure: str) -> ChartPoint:
    return ChartPoint(
        x=float(getattr(row, figure.against)),
        y=float(getattr(row, f"{measure}_mean")),
        error=float(getattr(row, f"{measure}_error")),
    )


def score_figure(findings: Findings) -> PageFigure:
    """The highest scores of each dataset."""
    lines = tuple(
        ChartLine(
            style=DATASET_STYLES[place % len(DATASET_STYLES)],
            label=str(findings.datasets[dataset]["title"]).split(" (")[0],
            points=tuple(ChartPoint(x=rank, y=scores[rank - 1]) for rank in RANKS if rank <= len(scores)),
        )
        for place, (dataset, scores) in enumerate(findings.scores.items())
    )
    chart = LineChart(
        title="The highest scores",
        lines=lines,
        x_label="rank",
        y_label="records with the item",
        x_log=True,
        y_log=True,
        digits=0,
    )
    names = [str(entry["title"]) for entry in findings.datasets.values() if entry["stand_in"]]
    stand_ins = f" A law takes the place of the data of {', '.join(names)}." if names else ""
    return PageFigure(
        name="scores",
        title="The highest scores",
        caption=f"Of each dataset; both scales are logarithmic.{stand_ins}",
        panels=(FigurePanel(title="", charts={"score": chart}),),
        files=files_of("figures/scores", "scores"),
    )
