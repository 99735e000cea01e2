"""What a shell offers after an option, or for an argument, that takes one of a few words."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def one_of(words: Iterable[str]) -> Callable[[str], list[str]]:
    """What typer's ``autocompletion`` asks: the words that begin so.

    >>> one_of(["table", "json", "csv"])("j")
    ['json']
    """

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete
