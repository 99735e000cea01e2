"""What --format may say: one option for how the result is printed, and for how the files are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from sparsegate.cli.completion import one_of
from sparsegate.errors import ParameterError

INPUT, OUTPUT = "how the files are written", "how the result is printed"

WORDS: Final = {
    "fimi": INPUT,
    "baskets": INPUT,
    "table": OUTPUT,
    "json": OUTPUT,
    "csv": OUTPUT,
    "html": OUTPUT,
    "markdown": OUTPUT,
}
"""Every word, and what it is about."""

OF_RESULTS: Final = tuple(word for word, about in WORDS.items() if about == OUTPUT)


def _option(help: str, words: Sequence[str]) -> Any:
    return typer.Option("--format", metavar="WORD", help=help, autocompletion=one_of(words))


Formats = Annotated[
    list[str] | None,
    _option(
        f"How to print the result: {', '.join(OF_RESULTS)}; also, of files that hold baskets: fimi, baskets.",
        tuple(WORDS),
    ),
]
ResultFormats = Annotated[list[str] | None, _option(f"How to print the result: {', '.join(OF_RESULTS)}.", OF_RESULTS)]


def chosen_formats(
    words: Sequence[str] | None, *, as_json: bool = False, as_csv: bool = False, allowed: Sequence[str] = tuple(WORDS)
) -> dict[str, str]:
    """The word given for each subject; --json and --csv are short forms.

    >>> chosen_formats(["markdown"])[OUTPUT], chosen_formats(None, as_json=True)[OUTPUT], chosen_formats(None)[OUTPUT]
    ('markdown', 'json', 'table')
    """
    given = [*(words or ()), *(["json"] if as_json else []), *(["csv"] if as_csv else [])]
    found: dict[str, str] = {}
    for word in given:
        if word not in allowed:
            raise ParameterError("format", f"must be one of {', '.join(allowed)}", word)
        if found.setdefault(WORDS[word], word) != word:
            said = f"{found[WORDS[word]]}, {word}"
            raise ParameterError("format", f"must be given once for {WORDS[word]}", said, "choose one")
    return {OUTPUT: "table", **found}
