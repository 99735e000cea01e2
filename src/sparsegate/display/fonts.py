"""Fonts for the labels of a picture: whatever script they are in, no glyph is missing and nothing warns.

Matplotlib's own font has no Chinese, Japanese or Korean. The fonts of the machine are asked for what it lacks; what no
font has is written as Python escapes it, such as \\u4e2d: it can be read back, and is no row of empty boxes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sparsegate.errors import load_extra

FIRST = "DejaVu Sans"
_LAST_RESORT = "Last Resort"  # it has a placeholder for everything, and a glyph for nothing


def fitting(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """The texts as they can be drawn, and the families to draw them with, in the order to try."""
    given = list(texts)
    families, missing = _families(frozenset("".join(given)))
    escaped = {ord(mark): mark.encode("unicode_escape").decode() for mark in missing}
    return [text.translate(escaped) for text in given], list(families)


@lru_cache(maxsize=64)
def _families(marks: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The families that together have as many of the characters as any do, and the characters that none has."""
    manager = load_extra("matplotlib.font_manager", extra="plots")
    chosen = [FIRST]
    wanted = {ord(mark) for mark in marks} - _glyphs(manager.findfont(FIRST))
    others = {} if not wanted else {name: wanted & _glyphs(file) for name, file in _upright(manager).items()}
    while wanted and others:
        best = max(sorted(others), key=lambda name: len(others[name] & wanted))
        if not others[best] & wanted:
            break
        chosen.append(best)
        wanted -= others.pop(best)
    return tuple(chosen), frozenset(map(chr, wanted))


def _upright(manager: Any) -> dict[str, str]:
    """The file of each family's upright, regular face."""
    return {
        entry.name: manager.findfont(manager.FontProperties(family=[entry.name]), fallback_to_default=False)
        for entry in manager.fontManager.ttflist
        if entry.style == "normal" and entry.weight == 400 and not entry.name.startswith(_LAST_RESORT)
    }


@lru_cache(maxsize=512)
def _glyphs(file: str) -> frozenset[int]:
    fonts = load_extra("matplotlib.ft2font", extra="plots")
    try:
        return frozenset(fonts.FT2Font(file).get_charmap())
    except (OSError, RuntimeError):  # a damaged font has nothing to offer
        return frozenset()
