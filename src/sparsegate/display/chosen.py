"""A selection as rows: each chosen item, and its noisy count where there is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, overload

from sparsegate.display.plain import plain, plain_label
from sparsegate.display.tabular import Tabular


class Chosen(NamedTuple):
    """A chosen item, and its noisy count where there is one."""

    item: Any
    estimate: Any = None


class ChosenTable(Tabular):
    """Chosen items, to go through and to index: ``for page, visitors in top``, ``top[0].item``, ``top[:3]``."""

    __slots__ = ()

    def _labels(self) -> Sequence[Any]:
        """The items, in their order."""
        return self.items  # type: ignore[attr-defined, no-any-return]

    def _estimates(self) -> Sequence[Any] | None:
        return self.estimates  # type: ignore[attr-defined, no-any-return]

    def __len__(self) -> int:
        return len(self._labels())

    @overload
    def __getitem__(self, place: int) -> Chosen: ...
    @overload
    def __getitem__(self, place: slice) -> list[Chosen]: ...
    def __getitem__(self, place: int | slice) -> Chosen | list[Chosen]:
        if isinstance(place, slice):
            return [self[at] for at in range(len(self))[place]]
        estimates = self._estimates()
        return Chosen(self._labels()[place], None if estimates is None else estimates[place])

    def __iter__(self) -> Iterator[Chosen]:
        return (self[place] for place in range(len(self)))


def published_items(chosen: Iterable[Chosen], *, ranked: bool) -> list[dict[str, Any]]:
    """The rows of a selection as JSON takes them: a rank where the order means something, an estimate if there is one.

    >>> published_items([Chosen("/home", 37)], ranked=True), published_items([Chosen(("a", "b"))], ranked=False)
    ([{'rank': 1, 'item': '/home', 'estimate': 37}], [{'item': ['a', 'b']}])
    """
    return [
        ({"rank": rank} if ranked else {})
        | {"item": plain_label(one.item)}
        | ({} if one.estimate is None else {"estimate": plain(one.estimate)})
        for rank, one in enumerate(chosen, start=1)
    ]
