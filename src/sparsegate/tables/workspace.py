"""Opening the owner's files through DuckDB, and nothing else: Parquet, CSV, JSON, baskets, and databases.

How a file is read must not depend on what people did in it, so nothing is guessed from rows. Every column of a CSV,
JSON, basket or SQLite source is text, the columns of JSON are those that are asked for, the delimiter is read from the
header line alone, and no line changes how another one is read (``tables.text_files``). Parquet files and DuckDB
databases keep the types of their schema. SQLite, whose cells have types of their own, is read by Python's driver
(DuckDB's would be a download), and its text is equal where the collation of its column says so: BINARY, NOCASE, RTRIM.
"""

from __future__ import annotations

import json
import os
import sqlite3
import string
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import numpy as np

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.columns import check_table, identifier, unlike
from sparsegate.tables.engine_errors import quiet, refused
from sparsegate.tables.files import DATABASES, PLAIN, TEXT, Inbox, TextForm, expand, header_of, kind_of
from sparsegate.tables.identity import json_label, json_person, labels, people
from sparsegate.tables.text_files import begins, engine_alone, first_line

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from sparsegate.tables.engines.duckdb import Relation


Result = TypeVar("Result")

# No line that is longer is left: see ``tables.text_files``.
LINE = "delim='\x01', quote='', escape='', header=false, auto_detect=false, max_line_size=2100000, "
LINE += "columns={'line': 'VARCHAR'}"
LINES: Final = "newline_delimited"
# In one piece: where a row has several lines, the engine loses its way at the edge of a block.
SERIAL = ", parallel=false, max_line_size=100000000"
BATCH: Final = 50_000  # rows of SQLite that are copied at a time
SHORTEST: Final = 2  # seconds of a query after which its time left is told


def without_bar(connection: DuckDBPyConnection) -> None:
    """Let the engine draw no bar of its own: it would stand in the output, and tell how much there is to read."""
    ((on,),) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if on:  # in a notebook without ipywidgets the engine has none, and refuses to be told so
        connection.execute("SET enable_progress_bar = false")


def spill_folder() -> str:
    """Where temporary files of any size belong: the folder that was chosen, else /var/tmp; /tmp may be memory."""
    folder = tempfile.gettempdir()
    unchosen = folder == "/tmp" and not os.environ.get("TMPDIR")
    return "/var/tmp" if unchosen and os.access("/var/tmp", os.W_OK) else folder


class Workspace:
    """A DuckDB of its own, in memory, with a private folder that goes with it; if ``ordered``, rows are as in files.

    With ``memory_limit``, text such as "4GB", it spills to that folder earlier. ``report`` is told, while a query
    runs, in about how many seconds it ends.
    """

    kind: str = ""
    """What was opened last: see ``files.kind_of``."""

    people: str | None = None
    """The column of what was opened last that tells people apart: that of the users, or one of keys beside it."""

    def __init__(
        self, *, ordered: bool = False, memory_limit: str | None = None, report: Callable[[float], object] | None = None
    ) -> None:
        self._stack, self._ordered, self._report = ExitStack(), ordered, report
        self._limit = {} if memory_limit is None else {"memory_limit": memory_limit}
        self._begun, self._share = 0.0, 1.0
        self._turn, self._done = threading.Lock(), threading.Event()
        self._stopped: BaseException | None = None
        self._paying = False

    def __enter__(self) -> Self:
        import duckdb

        folder = self._stack.enter_context(
            tempfile.TemporaryDirectory(prefix="sparsegate-", dir=spill_folder(), ignore_cleanup_errors=True)
        )
        self.inbox = Inbox(Path(folder))
        settings: dict[str, Any] = {"temp_directory": folder, "preserve_insertion_order": self._ordered, **self._limit}
        # A query names what is in the files, never our own variables; and no code is fetched from the network.
        settings |= {"python_enable_replacements": False, "autoinstall_known_extensions": False}
        self._connection: DuckDBPyConnection = self._stack.enter_context(duckdb.connect(config=settings))
        if self._report is None:
            without_bar(self._connection)
        else:  # it is watched, and still draws nothing itself
            for setting in ("enable_progress_bar_print = false", "enable_progress_bar = true", "progress_bar_time = 0"):
                self._connection.execute(f"SET {setting}")
        return self

    def __exit__(self, kind: object = None, *_: object) -> None:
        while self._paying and not self._done.is_set():  # a second signal came: what is paid for is kept all the same
            with suppress(KeyboardInterrupt, SystemExit):
                self._done.wait()
        self._stack.close()
        if self._stopped is not None and kind is None:
            raise self._stopped

    def run(self, work: Callable[[], Result]) -> Result:
        """Do ``work`` while this thread waits, so that a signal stops the engine at once instead of after its query.

        Work that has called ``pay`` is finished all the same, and the signal waits until the workspace is left.
        """
        outcome: Future[Result] = Future()
        self._done = done = threading.Event()
        self._share = 1.0  # whatever is seen next is of another query

        def body() -> None:
            try:
                outcome.set_result(work())
            except BaseException as error:
                outcome.set_exception(error)
            finally:
                done.set()

        threading.Thread(target=body, daemon=True).start()
        while not done.is_set():
            try:
                while not done.wait(0.1):  # not for ever: a signal that another thread got wakes nobody here
                    self._tell()
            except (KeyboardInterrupt, SystemExit) as signal:
                with self._turn:
                    self._stopped = self._stopped or signal
                    paying = self._paying
                # Again and again: between two queries nothing is interrupted, and the second would run to its end.
                while not paying and not done.wait(0.05):
                    self._connection.interrupt()
        if self._stopped is not None and not self._paying:
            raise self._stopped
        return outcome.result()

    def _tell(self) -> None:
        if self._report is None or self._paying:
            return
        share, now = self._connection.query_progress() / 100, time.monotonic()
        if share < self._share or share <= 0:
            self._begun = now
        self._share = share
        if now - self._begun >= SHORTEST:
            self._report((now - self._begun) * (1 - share) / share)

    def pay(self) -> None:
        """Called by ``work`` before it is charged: after a signal it stops here, and then no signal stops it."""
        with self._turn:
            if self._stopped is not None:
                raise self._stopped
            self._paying = True

    def read(self, patterns: Sequence[str], *, form: TextForm = PLAIN, **options: Any) -> DuckDBPyRelation:
        """``receive`` in this thread, where Ctrl-C ends a wait for standard input, and then ``open``."""
        files = self.inbox.receive(patterns, form)
        return self.run(lambda: self.open(files, form=form, **options))

    def table(self, data: Any, columns: Sequence[str], **roles: str | None) -> Relation:
        from sparsegate.tables.python_tables import read_table

        return read_table(data, columns, self._connection, roles=roles)

    def open(
        self,
        patterns: Sequence[str],
        *,
        table: str | None = None,
        sql: str | None = None,
        copy: bool = False,
        columns: Sequence[str] | None = None,
        user: str | None = None,
        form: TextForm = PLAIN,
    ) -> DuckDBPyRelation:
        """One relation over all the files, which must be of one kind.

        ``table`` names a table of a database, as ``name`` or ``schema.name``. ``sql`` is one SELECT, over its tables,
        or over the files under the name ``data``. ``copy`` reads everything once, into the engine. ``columns`` are the
        names that will be asked for: the columns of JSON, null where a record lacks the key. ``user`` is the column of
        the users: for JSON and SQLite, where text would make one person of 17 and '17', the rows get a column of keys
        (``tables.identity``), whose name is then ``people``.
        """
        files = expand(patterns)
        kinds = {kind_of(file, form) for file in files}
        if len(kinds) > 1:
            raise TableError(f"the files must be of one kind, and these are {', '.join(sorted(kinds))}; read one kind")
        (kind,) = kinds
        self.kind, self.people = kind, user
        named = self.inbox.shown(*files)
        with quiet(f"{named} cannot be read as {kind}"):
            if kind in TEXT:
                files = [self._unpacked(file) for file in files]
            if kind in DATABASES:
                if len(files) > 1 or (table is None) == (sql is None):
                    rule = "or sql= must say what to read of a database, which is read alone"
                    raise ParameterError("table", rule, next_step='pass table="NAME", or sql="SELECT ..."')
                if kind == "SQLite":
                    return self._sqlite(files[0], table, sql, user)
                opened, sql = self._duckdb(files[0], table, sql), None
            elif table is not None:
                raise ParameterError("table", f"is for a database, and {named} is {kind}", table, "leave it out")
            elif kind == "JSON":
                asked, user = (columns, user) if sql is None else (_names_in(self._connection, sql), None)
                opened = self._json(files, asked, user)
            elif kind == "CSV":
                opened = self._csv(files, columns, sql, form.separator)
            elif kind == "Parquet":
                # No bind parameter: two relations with one of the same name cannot be joined.
                opened = self._connection.sql(f"SELECT * FROM read_parquet({_quoted_list(files)}, union_by_name=true)")
            else:
                opened = self._of_lines(files, kind, form)
            chosen = opened if sql is None else self._select(sql, opened)
            return self._copied(chosen) if copy else chosen

    def _copied(self, relation: DuckDBPyRelation) -> DuckDBPyRelation:
        relation.query("opened", "CREATE TABLE memory.main.copied AS FROM opened")
        return self._connection.sql("SELECT * FROM memory.main.copied")

    def _go_on(self) -> None:
        """Called while a file is looked through: after a signal the look ends."""
        if self._stopped is not None and not self._paying:
            raise self._stopped

    def _csv(
        self, files: Sequence[str], asked: Sequence[str] | None, sql: str | None, separator: str | None
    ) -> DuckDBPyRelation:
        """One reader for each header, so that files whose columns differ in order or number are matched by name."""
        readers: dict[str, list[str]] = {}
        for file in files:
            shown = self.inbox.shown(file)
            if not (line := first_line(file, shown)):
                raise TableError(f"{shown} is empty, or its first line is; it must name the columns")
            delimiter, names = header_of(shown, line, separator=separator, asked=asked, query=sql)
            read, serial = self.inbox.rows(file, delimiter, len(names), self._go_on)
            form = f"delim={_quoted(delimiter)}, columns={_columns(names, 'VARCHAR')}{SERIAL if serial else ''}"
            readers.setdefault(form, []).append(read)
        plain = "header=true, auto_detect=false, quote='\"', escape='\"'"
        parts = (f"(FROM read_csv({_quoted_list(each)}, {plain}, {form}))" for form, each in readers.items())
        return self._connection.sql(" UNION ALL BY NAME ".join(parts))

    def _unpacked(self, file: str) -> str:
        """A file that the engine alone can unpack, line by line in their order, as one that all can read."""
        if not engine_alone(file):
            return file
        target, execute = str(self.inbox.beside(file)), self._connection.execute
        form = "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01'"
        with quiet(f"{self.inbox.shown(file)} cannot be unpacked as lines of text; unpack it first"):
            execute("SET preserve_insertion_order = true")
            execute(f"COPY (FROM read_csv({_quoted(file)}, {LINE})) TO {_quoted(target)} ({form})")
            execute(f"SET preserve_insertion_order = {str(self._ordered).lower()}")
        return target

    def _json(self, files: Sequence[str], asked: Sequence[str] | None, user: str | None) -> DuckDBPyRelation:
        """The columns are those asked for; if nobody can say, the keys of the first records. All are text."""
        forms: dict[str, list[str]] = {}
        for file in files:
            form = _json_form(file, self.inbox.shown(file))
            forms.setdefault(form, []).append(self.inbox.lines(file, "JSON", self._go_on, whole=form != LINES))
        # Where each line is a record, one that cannot be read is a record without keys.
        sources = {
            form: f"{_quoted_list(each)}, format='{form}', ignore_errors={str(form == LINES).lower()}"
            for form, each in forms.items()
        }
        if asked is None:
            # Left to itself the engine takes records with many different keys for a map, and refuses them.
            read_as = "records=true, union_by_name=true, maximum_depth=1, map_inference_threshold=-1"
            parts = (f"FROM read_json({source}, {read_as})" for source in sources.values())
            asked = self._connection.sql(" UNION ALL BY NAME ".join(parts)).columns
        names = asked or ["record"]
        chosen = [f"{json_label(identifier(name))} AS {identifier(name)}" for name in names]
        if user is not None and user in names:
            self.people = unlike(f"{user} (person)", names)
            chosen.append(f"{json_person(identifier(user))} AS {identifier(self.people)}")
        # Of a key that a record has twice the first counts; what is no object has none.
        wanted = _quoted(json.dumps(dict.fromkeys(names, "JSON"), ensure_ascii=False))
        readers = (
            f"(FROM read_json({source}, records=true, columns={_columns(names, 'JSON')}))"
            if form == LINES
            else f"(SELECT unnest(json_transform(json, {wanted})) FROM read_json_objects({source}))"
            for form, source in sources.items()
        )
        return self._connection.sql(f"SELECT {', '.join(chosen)} FROM ({' UNION ALL '.join(readers)})")

    def _of_lines(self, files: Sequence[str], kind: str, form: TextForm) -> DuckDBPyRelation:
        """Each line as an item; or, of baskets, each cell on it, and a ``user`` that differs from line to line.

        Which line has which number changes from one reading to the next.
        """
        lines = f"read_csv({_quoted_list([self.inbox.lines(file, kind, self._go_on) for file in files])}, {LINE})"
        if kind == "lines":
            return self._connection.sql(f"SELECT line AS item FROM {lines}")
        cells = _quoted(r"(\S+)" if kind == "FIMI" else form.cells)
        numbered = f'SELECT row_number() OVER () AS "user", line FROM {lines}'
        baskets = self._connection.sql(
            f'SELECT "user", unnest(regexp_extract_all(line, {cells}, 1)) AS item FROM ({numbered})'
        )
        if kind == "FIMI":
            return baskets
        cell = """CASE WHEN regexp_full_match(item, '".*"')
            THEN replace(substr(item, 2, length(item) - 2), '""', '"') ELSE item END"""
        return baskets.select(f'"user", {cell} AS item').filter("item <> ''")

    def _duckdb(self, file: str, table: str | None, sql: str | None) -> DuckDBPyRelation:
        self._connection.execute(f"ATTACH {_quoted(file)} AS source (READ_ONLY)")
        self._connection.execute("USE source")
        if table is not None:
            names = "SELECT table_schema || '.' || table_name FROM information_schema.tables"
            rows = self._connection.execute(f"{names} WHERE table_catalog = 'source'").fetchall()
            check_table(table, [name.removeprefix("main.") for (name,) in rows])
            sql = f"SELECT * FROM {'.'.join(map(identifier, table.split('.', 1)))}"
        return self._select(sql or "")

    def _select(self, sql: str, data: DuckDBPyRelation | None = None) -> DuckDBPyRelation:
        import duckdb

        with refused("sql"):
            statements = self._connection.extract_statements(sql)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise ParameterError("sql", "must be one SELECT statement", sql)
            query = statements[0].query.rstrip().rstrip(";")
            if data is not None:
                data.to_view("data")
            return self._connection.sql(query)

    def _sqlite(self, file: str, table: str | None, sql: str | None, user: str | None) -> DuckDBPyRelation:
        """Copied batch by batch. Text that is no Unicode is read all the same: an error would tell of it."""
        with closing(sqlite3.connect(f"{Path(file).absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
            if table is not None:
                rows = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
                check_table(table, [name for (name,) in rows])
                sql = f"SELECT * FROM {identifier(table)}"
            query = f"SELECT * FROM ({sql}\n)"
            with refused("sql"):
                names = [column[0] for column in database.execute(f"{query} LIMIT 0").description]
            place = names.index(user) if user in names else None
            if place is not None:
                fold = _folding(database, f"SELECT {identifier(names[place])} AS cell FROM ({query})")
                self.people = unlike(f"{user} (person)", names)
            columns = names if place is None else [*names, self.people or ""]
            self._connection.execute(f"CREATE TABLE copied ({', '.join(f'{identifier(n)} VARCHAR' for n in columns)})")
            cursor = database.execute(query)
            while batch := cursor.fetchmany(BATCH):
                cells = list(zip(*batch, strict=True))
                texts = list(map(labels, cells))
                if place is not None:
                    texts.append(people(fold(cell) if isinstance(cell, str) else cell for cell in cells[place]))
                held = {name: np.array(text, np.object_) for name, text in zip(columns, texts, strict=True)}
                self._connection.register("batch", held)
                self._connection.execute("INSERT INTO copied FROM batch")
        return self._connection.sql("SELECT * FROM copied")


def _folding(database: sqlite3.Connection, users: str) -> Callable[[str], str]:
    """What the collation of a column, the only one of the query, does to text: told without a row of it."""

    def equal(text: str, other: str) -> bool:
        cells = f"SELECT cell FROM ({users}) WHERE 0 UNION ALL SELECT '{text}' UNION ALL SELECT '{other}'"
        return bool(database.execute(f"SELECT count(DISTINCT cell) = 1 FROM ({cells})").fetchone()[0])

    if equal("a", "A"):
        return _nocase
    return (lambda text: text.rstrip(" ")) if equal("a", "a ") else str


def _nocase(text: str) -> str:
    """The letters of ASCII, up to a zero; from there on SQLite compares only the length."""
    head, zero, tail = text.partition("\0")
    lower = head.translate({ord(upper): upper.lower() for upper in string.ascii_uppercase})
    return lower + zero + "." * len(tail.encode("utf-8", "surrogateescape"))


def _json_form(file: str, shown: str) -> str:
    """How records stand in a file, by its name; else by its first byte, and of an object by its first line."""
    if file.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson")):
        return LINES  # whatever the first of them is
    start = begins(file)
    if start and start[:1] not in b"{[":
        raise TableError(f"{shown} is not JSON: it must begin with {{ or [")
    if start.startswith(b"["):
        return "array"
    first, ended, _ = start.partition(b"\n")
    return LINES if not ended or first.rstrip().endswith(b"}") else "unstructured"


def _columns(names: Sequence[str], kind: str) -> str:
    return "{" + ", ".join(f"{_quoted(name)}: '{kind}'" for name in names) + "}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted_list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"


def _names_in(engine: DuckDBPyConnection, query: str) -> list[str] | None:
    """The columns that a query speaks of; None where it alone does not tell: ``*``, or a name that is an alias, too."""
    ((answer,),) = engine.execute("SELECT json_serialize_sql($text)", {"text": query}).fetchall()
    names: dict[str, str] = {}
    aliases: set[str] = set()
    left = [json.loads(answer)]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if part.get("class") == "STAR" or part.get("error"):
                return None
            if part.get("class") == "COLUMN_REF":
                names.setdefault(part["column_names"][-1].lower(), part["column_names"][-1])
            if isinstance(part.get("alias"), str):
                aliases.add(part["alias"].lower())
        left += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return None if aliases & set(names) else sorted(names.values())
