"""A table of a database, counted there in a transaction that only reads: a histogram and the picked labels leave.

The queries say in SQL what ``tables.counting`` says for frames, with the same hashes and the same order of labels:
equal seeds name equal items.

    WITH scored AS (SELECT item, count(DISTINCT person) AS score FROM rows GROUP BY item)
    SELECT score, count(*) FROM scored GROUP BY score

A listed domain is joined from the left: a candidate that nobody has is one of score 0. Names come by a second count,
in the same transaction, that numbers the items; in PostgreSQL without one, by ``HeldCounts``. **Groups** are counted by
one query, as ``tables.prepared`` does it, and people cut to some of them by the rule of ``tables.groups``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property, partial
from itertools import accumulate, groupby
from types import MappingProxyType
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import func

from sparsegate.errors import ParameterError, TableError
from sparsegate.gates.gaussian import PARTS
from sparsegate.tables.counting import SEED_SHIFT, Named, Pick
from sparsegate.tables.databases.dialects import DialectRows, known_functions, other_rows, sqlite_rows
from sparsegate.tables.databases.snapshot import UNREAD, engine_at, one_moment, quiet_database
from sparsegate.tables.domain import BASE, CHANGED, Sized, public_labels, whole_labels
from sparsegate.tables.groups import public_groups
from sparsegate.tables.prepared import STRIDE, CountsInPlace, GroupsInPlace, TableInPlace, check_groups
from sparsegate.tables.question import Question
from sparsegate.tables.sums import CAP, Clip
from sparsegate.tables.weighted import WeightBar

Candidates = Sized | Sequence[Any] | None
"""The public domain, or the list of its labels; None for whatever the table holds."""

MOST_PLACES: Final = 10_000
"""How many items are named by one query: the place of each is a parameter."""
CURSOR: Final = "sparsegate_counts"


def readable(table: DialectRows) -> sa.Select[Any]:
    """The rows that have all that is asked for."""
    read = table.rows.subquery("cells")
    return sa.select(*read.c).where(*(each.is_not(None) for each in read.c))


def scored(
    table: DialectRows, domain: Candidates, most: int | None, clip: Clip | None = None, *, weighted: bool = False
) -> sa.CTE:
    """The query for (item, score); with a list of labels all of them have a score, and it may be 0.

    With ``clip`` a score is a sum of values, else a number of people; ``weighted``, a sum of weights, (item, score,
    people).
    """
    listed = None if domain is None or isinstance(domain, Sized) else table.candidates(domain).cte("listed")
    rows = readable(table)
    if listed is None or most is not None:
        rows = _restricted(table, rows, domain)
    if clip is not None:
        counts = _sums(table, rows.cte("rows"), most, clip)
    else:
        kept = (rows if most is None else _cut(table, rows.distinct().cte("pairs"), most)).subquery("kept")
        if weighted:
            return _weights(kept).cte("scored")
        number = func.count(kept.c.person.distinct()) if "person" in kept.c else func.count()
        counts = sa.select(kept.c.item, number.label("score")).group_by(kept.c.item)
    if listed is None:
        return counts.cte("scored")
    held = counts.subquery("counts")
    joined = listed.outerjoin(held, listed.c.item == held.c.item)
    return sa.select(listed.c.item, func.coalesce(held.c.score, 0).label("score")).select_from(joined).cte("scored")


def _restricted(table: DialectRows, rows: sa.Select[Any], domain: Candidates) -> sa.Select[Any]:
    item = rows.selected_columns.item
    if isinstance(domain, Sized):
        return rows.where(item.between(0, domain.size - 1))
    return rows if domain is None else rows.where(item.in_(sa.select(table.candidates(domain).cte("allowed").c.item)))


def _cut(
    table: DialectRows,
    pairs: sa.CTE,
    most: int,
    cut: str = "item",
    told_by: Sequence[str] = ("item",),
    within: Any = ("person",),
) -> sa.Select[Any]:
    """At most ``most`` of each person's ``pairs``, different items: the rule, and the proof, of ``counting.cut_users``.

    People are never joined: what "=" says of citext depends on a path, and what groups say of it does not. Of what is
    ``cut`` the first ``most`` are kept with all their rows; ``told_by`` are the columns whose hashes make the seed.
    """
    part = table.digest(*(f"{pairs.name}.{name}" for name in told_by)) // 2**SEED_SHIFT
    seed = func.sum(part).over(partition_by=[pairs.c[name] for name in within]).label("seed")
    seeded = sa.select(pairs, seed).cte(f"{pairs.name}_seeded")
    order = (table.digest(f"{seeded.name}.seed", f"{seeded.name}.{cut}"), seeded.c[cut])
    place = func.dense_rank().over(partition_by=[seeded.c[name] for name in within], order_by=order).label("place")
    placed = sa.select(seeded, place).subquery(f"{pairs.name}_placed")
    return sa.select(*(placed.c[each.name] for each in pairs.c)).where(placed.c.place <= most)


def scored_groups(table: DialectRows, domain: Candidates, question: Question, groups: Mapping[Any, Hashable]) -> sa.CTE:
    """The query for (item, score) of all groups, without scores of 0: see the head of this file."""
    rows = _restricted(table, readable(table), domain).cte("rows")
    cells = list(groups)
    kind = sa.BigInteger() if isinstance(cells[0], int) else sa.String()
    listed = sa.values(sa.column("part", kind), sa.column("place", sa.BigInteger()), name="listed_groups")
    places = listed.data([(cell, place) for place, cell in enumerate(cells)]).cte("places")
    named = [rows.c[name] for name in ("item", "person") if name in rows.c]
    inside = sa.select(*named, places.c.place.label("part")).join_from(rows, places, rows.c.part == places.c.part)
    if question.user is not None:
        if (most := question.groups_per_user or 1) < len(cells):
            inside = _cut(table, inside.cte("parts"), most, cut="part", told_by=("part", "item"))
        inside = inside.distinct()
        if question.cut is not None:
            inside = _cut(table, inside.cte("pairs"), question.cut, within=("person", "part"))
    kept = inside.subquery("kept")
    score = (kept.c.part * STRIDE + func.count()).label("score")
    return sa.select(kept.c.item, score).group_by(kept.c.part, kept.c.item).cte("scored")


def _weights(kept: sa.Subquery) -> sa.Select[Any]:
    """Sums of the weights of different pairs: the rule, and the proof, of ``counting.weigh_items``."""
    size = func.count().over(partition_by=kept.c.person).label("size")
    sized = sa.select(kept.c.item, size).subquery("sized")
    nearest = func.floor(_double(2**PARTS) / func.sqrt(sized.c.size.cast(sa.Double()))).cast(sa.BigInteger)
    near = sa.select(sized, nearest.label("weight")).subquery("near")
    heavier = near.c.weight * near.c.weight * near.c.size > sa.literal(4**PARTS, sa.BigInteger())
    weight = near.c.weight - sa.case((heavier, 1), else_=0)
    total = func.sum(weight).cast(sa.BigInteger).label("score")
    return sa.select(near.c.item, total, func.count().label("people")).group_by(near.c.item)


def _sums(table: DialectRows, rows: sa.CTE, most: int | None, clip: Clip) -> sa.Select[Any]:
    """Sums of values on the lattice, each person's clipped: the rule, and the proof, of ``tables.sums``."""
    step, (low, high) = clip.granularity, clip.steps
    cap = float(CAP * step)
    capped: Any = func.least(func.greatest(rows.c.value, _double(-cap)), _double(cap), type_=sa.Double())
    scaled = func.floor(capped * _double(step.denominator) / _double(step.numerator) + _double(0.5)).cast(sa.BigInteger)
    # A quotient too small for a double is an error in PostgreSQL; whatever is below half a step has the place 0.
    place = sa.case((func.abs(rows.c.value) < _double(float(step / 4)), sa.literal(0, sa.BigInteger())), else_=scaled)
    placed = sa.select(rows.c.item, place.label("value"))
    if "person" in rows.c:
        by = rows.c.item, rows.c.person
        placed = sa.select(*by, func.sum(place).label("value")).group_by(*by)
        if most is not None:
            placed = _cut(table, placed.cte("pairs"), most)
    each = placed.subquery("placed_values")
    total = func.sum(func.least(func.greatest(each.c.value, low), high)).label("score")
    return sa.select(each.c.item, total).group_by(each.c.item).having(total != 0)


def _double(number: float) -> sa.ColumnElement[float]:
    return sa.literal(float(number), sa.Double())


class DatabaseCounts(CountsInPlace):
    """What a table in a database says about items. Counted when the histogram is first asked for, and private."""

    def __init__(self, connection: sa.Connection, table: DialectRows, domain: Candidates, counted: sa.CTE) -> None:
        self._connection, self._domain, self.read = connection, domain, table.kind.read
        self._table, self._scored = table, counted
        self._number = counted.c.people if "people" in counted.c else counted.c.score

    @cached_property
    def histogram(self) -> dict[int, int]:
        with quiet_database(UNREAD):
            return {score: items for score, items in self._sizes.items() if score}

    @quiet_database(UNREAD)
    def cells(self, picks: Sequence[Pick]) -> list[Named]:
        names: dict[Pick, Named] = {}
        if isinstance(self._domain, Sized):
            absent = [pick for pick in picks if pick[0] == 0]
            labels = self._domain.find([rank for _, rank in absent], self._taken) if absent else []
            names |= {pick: (label, 0) for pick, label in zip(absent, labels, strict=True)}
        present = sorted(set(picks) - names.keys())
        starts = dict(zip(self._sizes, accumulate(self._sizes.values(), initial=0), strict=False))
        rows = self._rows_at([starts[score] + rank for score, rank in present])
        if [score for score, _, _ in rows] != [score for score, _ in present]:
            raise TableError(CHANGED)
        names |= {pick: (cell, number) for pick, (_, cell, number) in zip(present, rows, strict=True)}
        return [names[pick] for pick in picks]

    def everything(self) -> Sequence[Any]:
        assert self._domain is not None
        return range(self._domain.size) if isinstance(self._domain, Sized) else self._domain

    @quiet_database(UNREAD)
    def masks(self, items: Sequence[Any], width: int) -> tuple[list[Any], list[Sequence[int]]]:
        # The database numbers the items itself, so that nothing rests on who puts them in which order.
        listed = self._table.candidates(items).cte("released")
        place = (func.row_number().over(order_by=listed.c.item) - 1).label("place")
        known = sa.select(listed.c.item, place).cte("known")
        order = [cell for _, cell in sorted(map(tuple, self._connection.execute(sa.select(place, listed.c.item))))]
        if len(order) != len(items) or set(order) != set(items):
            raise TableError(CHANGED)
        rows = readable(self._table).subquery("held")
        pairs = sa.select(rows.c.person, known.c.place).join_from(rows, known, rows.c.item == known.c.item).distinct()
        each = pairs.subquery("pairs")
        sums = []
        for start in range(0, len(items), width):
            places = range(start, min(start + width, len(items)))
            bits = {place: sa.literal(1 << (place - start), sa.BigInteger()) for place in places}
            word = sa.case(bits, value=each.c.place, else_=sa.literal(0, sa.BigInteger()))
            sums.append(func.sum(word).label(f"word{start}"))
        people = sa.select(*sums).select_from(each).group_by(each.c.person).subquery("people")
        masks = sa.select(*people.c, func.count()).group_by(*people.c)
        return order, [[int(number) for number in row] for row in self._connection.execute(masks)]

    def close(self) -> None: ...

    @cached_property
    def _sizes(self) -> dict[int, int]:
        """How many items have each score, by rising score, 0 included where candidates are listed."""
        score = self._scored.c.score
        sizes = self._connection.execute(sa.select(score, func.count()).group_by(score))
        return {int(score): int(items) for score, items in sorted(sizes.all())}

    def _rows_at(self, places: Sequence[int]) -> list[tuple[int, Any, int]]:
        score, item = self._scored.c.score, self._scored.c.item
        place = (func.row_number().over(order_by=(score, item)) - 1).label("place")
        at = self._at(sa.select(place, score, item, self._number.label("number")), places)
        return [(int(score), item, int(number)) for _, (score, item, number) in sorted(at.items())]

    def _at(self, query: sa.Select[Any], places: Sequence[int]) -> dict[int, Sequence[Any]]:
        numbered = query.subquery("numbered")
        rows: dict[int, Sequence[Any]] = {}
        for start in range(0, len(places), MOST_PLACES):
            chosen = sa.select(numbered).where(numbered.c[0].in_(places[start : start + MOST_PLACES]))
            rows |= {int(place): row for place, *row in self._connection.execute(chosen)}
        return rows

    @quiet_database(UNREAD)
    def absent(self, domain: Candidates, place: int, ranks: Sequence[int]) -> list[Any]:
        """The candidates without a score in the group at this place that have these ranks among all of those."""
        if isinstance(domain, Sized):
            return domain.find(ranks, partial(self._taken, place=place))
        assert domain is not None
        listed = self._table.candidates(domain).cte("candidates")
        taken = sa.select(self._scored.c.item).where(self._in_group(place))
        free = sa.select(listed.c.item).where(listed.c.item.not_in(taken)).subquery("free")
        rank = (func.row_number().over(order_by=free.c.item) - 1).label("rank")
        names = self._at(sa.select(rank, free.c.item), ranks)
        if names.keys() != set(ranks):
            raise TableError(CHANGED)
        return [names[rank][0] for rank in ranks]

    def _in_group(self, place: int) -> sa.ColumnElement[bool]:
        return self._scored.c.score.between(place * STRIDE + 1, (place + 1) * STRIDE - 1)

    def _taken(self, width: int, inside: Sequence[int] | None, *, place: int | None = None) -> dict[int, int]:
        item = self._scored.c.item
        blocks = sa.select((item // width).label("block"))
        if place is not None:
            blocks = blocks.where(self._in_group(place))
        if inside is not None:
            blocks = blocks.where((item // (width * BASE)).in_(inside))
        block = blocks.subquery("blocks").c.block
        return dict(map(tuple, self._connection.execute(sa.select(block, func.count()).group_by(block)).all()))


class HeldCounts(DatabaseCounts):
    """The same in PostgreSQL, where the counts wait behind a cursor for the picks to be drawn.

    A transaction that only reads cannot keep a table, but a query that has begun: this one gives the histogram first,
    and then every item, by score and label. MOVE passes over the rows before a picked one in the server.
    """

    _position = 0

    @cached_property
    def _sizes(self) -> dict[int, int]:
        score, item = self._scored.c.score, self._scored.c.item
        # A bare NULL has no type and no collation of its own: it takes those of the items.
        none = sa.null().label("item")
        first = sa.select(sa.literal(0).label("part"), score.label("score"), none, func.count().label("items"))
        groups = func.count().over().label("groups")
        histogram = first.add_columns(groups).group_by(score)
        each = sa.select(sa.literal(1), score, item, self._number, sa.null())
        both = sa.union_all(histogram, each).order_by("part", "score", "item")
        compiled = both.compile(dialect=self._connection.dialect)
        self._tell(f"DECLARE {CURSOR} NO SCROLL CURSOR FOR {compiled}", compiled.params)
        rows = self._fetch(1)
        if rows and (others := int(rows[0].groups) - 1):
            rows += self._fetch(others)
        return {int(score): int(items) for _, score, _, items, _ in rows}

    def close(self) -> None:
        if "_sizes" in vars(self):
            self._tell(f"CLOSE {CURSOR}")

    def _rows_at(self, places: Sequence[int]) -> list[tuple[int, Any, int]]:
        rows: list[tuple[int, Any, int]] = []
        for _, run in groupby(enumerate(places), lambda each: each[1] - each[0]):  # of places side by side
            together = [place for _, place in run]
            if ahead := len(self._sizes) + together[0] - self._position:
                self._tell(f"MOVE FORWARD {ahead} IN {CURSOR}")
                self._position += ahead
            rows += [(int(score), item, int(number)) for _, score, item, number, _ in self._fetch(len(together))]
        return rows

    def _fetch(self, rows: int) -> list[Any]:
        self._position += rows
        return list(self._tell(f"FETCH FORWARD {rows} FROM {CURSOR}"))

    def _tell(self, sql: str, parameters: Any = None) -> Any:
        return self._connection.exec_driver_sql(sql, parameters, execution_options={"no_parameters": not parameters})


class GroupCounts(CountsInPlace):
    """Those of one group: the ``histogram`` is of it alone, and what is named is what has no score in it."""

    histogram: Mapping[int, int] = MappingProxyType({})

    def __init__(self, whole: DatabaseCounts, domain: Candidates, place: int, histogram: Mapping[int, int]) -> None:
        self._whole, self._domain, self._place = whole, domain, place
        self.histogram, self.read = histogram, whole.read

    def cells(self, picks: Sequence[Pick]) -> list[Named]:
        absent = self._whole.absent(self._domain, self._place, [rank for _, rank in picks]) if picks else []
        return [(cell, 0) for cell in absent]


class TableInDatabase(TableInPlace):
    """A table, or a query, in the database with this URL, or of this engine of SQLAlchemy's."""

    def __init__(self, place: str | sa.Engine, *, table: str | None = None, sql: str | None = None) -> None:
        super().__init__()
        if (table is None) == (sql is None):
            raise ParameterError("table", "must be given for a database, or a query in its place, and not both")
        self._engine = engine_at(place) if isinstance(place, str) else place
        self._table, self._sql, self._dialect = table, sql, self._engine.dialect.name
        self.name = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}.get(self._dialect, self._dialect)
        self.weighs = self._dialect == "postgresql"
        self.elsewhere = "copy the table to Parquet, and release from that"
        if self._dialect == "sqlite":  # which is copied, and knows all of it
            self.elsewhere = "pass the path of the file instead of its URL"

    def counts(self, question: Question, domain: Any) -> tuple[Sized | None, DatabaseCounts]:
        if not self.weighs:
            self._refuse_sums(question)
        with quiet_database(UNREAD):
            connection, table, public = self._read(question, domain)
            weighted = isinstance(question.bar, WeightBar)
            counted = scored(table, public, question.cut, question.sums, weighted=weighted)
            return _sized(public), self._counts(connection, table, public, counted)

    def _counts(self, *counted: Any) -> DatabaseCounts:
        counts = (HeldCounts if self.weighs else DatabaseCounts)(*counted)
        self._opened.callback(counts.close)
        return counts

    def groups(self, question: Question, domain: Any, groups: Any) -> GroupsInPlace:
        per = question.per or ""
        self._refuse_sums(question)
        if "(" in per:
            rule = "must be the name of a column for a table that stays in its database"
            raise ParameterError("per", rule, per, f"make a view that has it as a column, or {self.elsewhere}")
        with quiet_database(UNREAD):
            connection, table, public = self._read(question, domain)
            listed = public_groups(groups, per, table.group_kind)
            if isinstance(next(iter(listed)), str):
                _check_labels(list(listed), "groups")
            check_groups(question, len(listed))
            counts = self._counts(connection, table, None, scored_groups(table, public, question, listed))
        histograms: list[dict[int, int]] = [{} for _ in listed]
        for composed, items in counts.histogram.items():
            place, score = divmod(composed, STRIDE)
            histograms[place][score] = items
        parts = [GroupCounts(counts, public, place, each) for place, each in enumerate(histograms)]
        labels = dict(zip(listed.values(), parts, strict=True))
        return GroupsInPlace(size=_sized(public), groups=labels, name=counts.named)

    def _refuse_sums(self, question: Question) -> None:
        if question.value is not None:
            rule = "must not be given for a table that stays in its database"
            raise ParameterError("value", rule, question.value, self.elsewhere)

    def _read(self, question: Question, domain: Any) -> tuple[sa.Connection, DialectRows, Candidates]:
        connection = self._opened.enter_context(one_moment(self._engine))
        asked = connection, question, self._table
        if self._dialect == "postgresql":
            from sparsegate.tables.databases.postgres import postgres_rows

            table = postgres_rows(*asked, self._sql)
        elif self._dialect == "sqlite":
            self._opened.enter_context(known_functions(connection))
            table = sqlite_rows(*asked, self._sql, whole=whole_labels(domain))
        else:
            table = other_rows(*asked)
        public = None if question.observed else public_labels(domain, item=question.item, kind=table.kind)
        if isinstance(public, list) and isinstance(public[0], str):
            _check_labels(public)
        return connection, table, public


def _sized(public: Candidates) -> Sized | None:
    return public if public is None or isinstance(public, Sized) else Sized(size=len(public))


def _check_labels(labels: Sequence[Any], parameter: str = "domain") -> None:
    joined = "".join(map(str, labels))
    if "\0" in joined or joined.encode("utf-8", "replace").decode() != joined:
        raise ParameterError(parameter, "must hold text of Unicode without a zero byte, for a database")
