"""`sparsegate itemsets`: what it prints, charges and refuses. At this epsilon nothing fails by chance: see test_top."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import PAGES, Command, Refused
from tests.support.display import valid

import sparsegate as sg
from sparsegate.ledger.ledger import Ledger

pytest.importorskip("duckdb")

ITEMSETS = ("itemsets", "visits.csv", "--item", "page", "--user", "visitor", "-c", "7", "--epsilon", "60")
ASKED = (*ITEMSETS, "--domain", "pages.csv:page")


def test_the_sets_are_printed_charged_and_printed_again(command: Command, folder: Path) -> None:
    charged = ("--ledger", "x.ledger", "--budget", "100", "--dataset", "visits")
    code, out, err = command(*ASKED, "--answers-epsilon", "30", *charged, "--json")
    assert (code, err) == (0, "")
    released = json.loads(out)
    assert valid(released)
    sets = {tuple(row["item"]) for row in released["items"]}
    assert {page for members in sets for page in members} == PAGES
    assert sorted(map(len, sets)) == [1, 1, 1, 2, 2, 2, 3]
    assert all(abs(row["estimate"] - 1000) < 20 for row in released["items"])
    again = ("ledger", "show", "x.ledger", "--release", "2")
    assert command(*again, "--json")[1] == out
    assert "page 3" in command(*again)[1]
    (*_, last) = csv.DictReader(io.StringIO(command(*again, "--csv")[1]))
    assert set(last) >= {"page 1", "page 2", "page 3", "estimate", "shares"}
    assert command(*ASKED, "--ledger", "x.ledger")[0] == 2
    with Ledger("x.ledger") as ledger:
        assert ledger.statement().spent.epsilon == 90


def test_a_preview_opens_no_file_and_charges_nothing(command: Command, folder: Path) -> None:
    asked = ("itemsets", "absent.csv", "--preview", "-c", "50", "--domain", "40000")
    code, out, err = command(*asked, "--epsilon", "0.5", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(
        json.dumps(sg.uses.preview_itemsets(count=50, epsilon=0.5, domain=40_000).to_dict())
    )
    table = command(*asked, "--within", "200", "--people", "5000")[1]
    assert "items-first *" in table
    assert "Within 200 needs --epsilon" in table
    assert "Not hopeless for 5,000 people." in table
    assert "nothing was charged" in table


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ((*ASKED, "--within", "5"), "--within"),
        ((*ASKED, "--people", "5"), "--people"),
        ((*ITEMSETS[:1], *ITEMSETS[2:], "--domain", "pages.csv"), "file"),
        ((*ITEMSETS, "--domain", "visits.csv:page", "--preview"), "--domain"),
        (ITEMSETS, "--domain"),
        ((*ASKED, "--size", "1"), "--size"),
        ((*ASKED, "--plot", "x.png"), "--plot"),
        ((*ASKED, "--budget", "3"), "--budget"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_wrong_is_named_and_nothing_of_the_table(
    refused: Refused, options: tuple[str, ...], option: str
) -> None:
    assert re.fullmatch(rf"{option} (?!.*u1).*", refused(*options))
