"""How each method is drawn: one colour on white and another on black, a marker, a dash and a short label.

Every picture takes its lines from here, those of the page and those in files. A colour has a contrast of at least 3:1
with the background it is drawn on, and two lines of one figure differ also for eyes that do not tell red from green;
where colour is not enough there are the marker, the dash and the label. The raises of the threshold have an order, so
they are one hue from faint to strong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

LIGHT, DARK = "#ffffff", "#1b1f23"
"""What figures are drawn on."""

LONG = (6.0, 2.0)
DOTS = (1.0, 1.5)
MIXED = (4.0, 1.5, 1.0, 1.5)


@dataclass(frozen=True, kw_only=True)
class LineStyle:
    """How a method or a dataset is drawn: ``light`` and ``dark`` are its colours, ``marker`` is one of Matplotlib's.

    ``dash`` has lengths of dashes and gaps, and is empty for a whole line. ``label`` stands at the end of the line.
    """

    light: str
    dark: str
    marker: str
    dash: tuple[float, ...] = ()
    label: str = ""
    strong: bool = False

    @property
    def width(self) -> float:
        """The width of the line; the one to look for is a strong one."""
        return 2.4 if self.strong else 1.5


_INK = ("#1c1f23", "#e6e8ea")
_GOLD = ("#b08900", "#ffe08a")
_SKY = ("#2f8fd0", "#58b4f5")
_BROWN = ("#6b3f1d", "#c89a74")
_NAVY = ("#123a7a", "#3f7fe0")
_RED = ("#b3261e", "#f26d64")
_GREY = ("#6b7280", "#98a2ad")
_RAISES = (
    ("#868ade", "#6d70c9"),
    ("#686ccc", "#8488de"),
    ("#4d4fb8", "#9fa3ec"),
    ("#363590", "#bcc0f7"),
    ("#201e56", "#dadcff"),
)
_OTHERS = (
    ("#00805e", "#35c79b"),
    ("#d1478f", "#f79ac9"),
    ("#006d77", "#5fd6d6"),
    ("#d04a00", "#ff8f52"),
    ("#5a7d00", "#b5d955"),
    ("#7a4fd0", "#b39aff"),
    ("#7a1450", "#c74a8f"),
    ("#0057a8", "#4a90e2"),
)
_OTHER_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
_OTHER_DASHES = ((), LONG, DOTS, MIXED)


def _style(pair: tuple[str, str], marker: str, label: str, dash: tuple[float, ...] = ()) -> LineStyle:
    return LineStyle(light=pair[0], dark=pair[1], marker=marker, dash=dash, label=label)


LINE_STYLES: Mapping[str, LineStyle] = MappingProxyType(
    {
        "svt-dpbook": _style(_INK, "s", "DPBook"),
        "svt-s-1:1": _style(_GOLD, "v", "SVT-S 1:1", LONG),
        "svt-s-1:3": _style(_SKY, "^", "SVT-S 1:3", DOTS),
        "svt-s-1:c": _style(_BROWN, "D", "SVT-S 1:c", MIXED),
        "svt-s-1:c23": _style(_NAVY, "o", "1:c^(2/3)"),
        "alg-4": _style(_INK, "X", "Alg. 4", LONG),
        "svt-s-half-t": _style(_SKY, "v", "T halved", DOTS),
        "svt-s-double-t": _style(_GOLD, "^", "T doubled", LONG),
        "svt-s-double-t-retr": _style(_BROWN, "D", "T × 2, ReTr", MIXED),
        "svt-dpbook-once": _style(_SKY, "P", "ρ drawn once", DOTS),
        "svt-alg1": _style(_NAVY, "^", "ρ of Alg. 1", MIXED),
        "svt-dpbook-monotonic": _style(_RED, "D", "ν halved", LONG),
        "svt-retr-0d": _style(_GREY, "x", "ReTr 0D", DOTS),
        **{
            f"svt-retr-{raised}d": _style(_RAISES[raised - 1], marker, f"ReTr {raised}D", dash)
            for raised, marker, dash in (
                (1, "^", DOTS),
                (2, "v", LONG),
                (3, "D", MIXED),
                (4, "P", LONG),
                (5, "X", DOTS),
            )
        },
        "em": LineStyle(light=_RED[0], dark=_RED[1], marker="*", label="EM", strong=True),
    }
)
"""Every method of the paper and of the ablation, in the order in which lines are drawn: EM is the last, on top."""

DATASET_STYLES = tuple(LINE_STYLES[key] for key in ("svt-s-1:1", "svt-s-1:3", "svt-s-1:c23", "svt-dpbook"))
"""For a figure with a line for each dataset, in turn."""


def styles(keys: Iterable[str]) -> dict[str, LineStyle]:
    """A style for each method of a figure, in drawing order; a method that is not known takes the next free one.

    >>> list(styles(["em", "mine", "svt-dpbook"]))
    ['svt-dpbook', 'mine', 'em']
    >>> styles(["mine"])["mine"].label
    'mine'
    """
    given = list(dict.fromkeys(keys))
    order = list(LINE_STYLES)
    known = sorted((key for key in given if key in LINE_STYLES), key=order.index)
    others = {
        key: LineStyle(
            light=_OTHERS[place % len(_OTHERS)][0],
            dark=_OTHERS[place % len(_OTHERS)][1],
            marker=_OTHER_MARKERS[place % len(_OTHER_MARKERS)],
            dash=_OTHER_DASHES[(place + place // len(_OTHERS)) % len(_OTHER_DASHES)],
            label=key,
        )
        for place, key in enumerate(key for key in given if key not in LINE_STYLES)
    }
    found = {key: LINE_STYLES[key] for key in known} | others
    return {key: found[key] for key in sorted(found, key=lambda key: key == "em")}
