"""`sparsegate top` and `watch` on a database by its URL: counted where it lives, charged and kept like a file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.cli.conftest import ASK, PAGES, Command
from tests.support.in_database import Store
from tests.support.postgres_cluster import Cluster

from sparsegate.ledger.ledger import Ledger

ACCOUNT = ("--ledger", "l", "--budget", "40", "--dataset", "d")
ROWS = [(page, visitor) for page in PAGES for visitor in range(1000)]


def database(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "visits.db")) as made, made:
        made.execute("CREATE TABLE visits (page TEXT, visitor INTEGER)")
        made.executemany("INSERT INTO visits VALUES (?, ?)", ROWS)
    return f"sqlite:///{folder}/visits.db"


def test_a_release_from_a_database_is_charged_and_kept(command: Command, folder: Path) -> None:
    asked = ("--table", "visits", *ASK, "--domain", "pages.csv", *ACCOUNT, "--json")
    code, out, err = command("top", database(folder), *asked)
    assert (code, err) == (0, "")
    assert sorted(entry["item"] for entry in json.loads(out)["items"]) == sorted(PAGES)
    with Ledger(folder / "l") as ledger:
        assert ledger.statement().spent.epsilon == 30
    code, out, err = command("top", database_url := f"sqlite:///{folder}/visits.db", *asked)
    assert code != 0
    assert database_url not in out


def test_what_is_wrong_is_said_in_the_words_of_the_command_line(command: Command, folder: Path) -> None:
    url = database(folder)
    for options, words in (
        (("--table", "visit"), "there are: visits"),
        ((), "--table must be given for a database, or a query"),
        (("--table", "visits", "--where", "page = '/a'"), "--where must not be given for a table that stays in SQLite"),
        (("--table", "visits", "--format", "baskets"), "--format is for files"),
    ):
        code, out, err = command("top", url, *options, *ASK, "--domain", "pages.csv")
        assert (code, out) == (2, "")
        assert words in " ".join(err.split())
    code, out, err = command("top", "postgresql://ann:hunter2@127.0.0.1:1/shop", "--table", "v", *ASK, "--domain", "9")
    assert code != 0
    assert "cannot be reached" in " ".join(err.split())
    assert "hunter2" not in out + err


def test_a_watch_of_a_database_counts_there(command: Command, folder: Path, cluster: Cluster) -> None:
    store = Store(cluster.database())
    store.fill(ROWS)
    asked = ("--threshold", "500", "--cutoff", "1", "--epsilon", "30", "--user", "visitor")
    conditions = ("--where", "page = 'nowhere'", "--where", "page IN ('/home', '/pay')")
    code, out, err = command("watch", store.url, "--table", "visits", *asked, *conditions)
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["below", "ABOVE", "closed:"]
    for options, words in (
        (("--where", "nowhere = 1"), "nowhere"),
        (("--where", "page = 'a'", "--encoding", "latin-1"), "--encoding is for files of text"),
        (("--where", "page = 'a'", "--sql", "SELECT 1"), "--table must be given for a database"),
    ):
        code, out, err = command("watch", store.url, "--table", "visits", *asked, *options)
        assert (code, out) == (2, "")
        assert words in " ".join(err.split())
