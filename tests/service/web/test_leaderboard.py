"""A leaderboard over HTTP: what a team is told, what it costs, and who is let in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.asgi_calls import calling

import sparsegate as sg
from sparsegate.service.tokens import Tokens
from sparsegate.service.web.leaderboard import Leaderboard, leaderboard_app
from sparsegate.uses.holdout_scoring import HiddenLabels

LABELS = ["cat", "dog"] * 500
GOOD = ["cat", "dog"] * 400 + ["dog", "cat"] * 100  # 80 %
TERMS: dict[str, Any] = {"size": 1000, "threshold": 0.05, "cutoff": 3, "epsilon": 1000}


class Board:
    """A leaderboard, its teams, and its ledger."""

    def __init__(self, ledger: sg.Ledger) -> None:
        self.ledger, tokens = ledger, Tokens(ledger)
        self.teams = {
            team: tokens.add(team, "analyst", most_above=most) for team, most in (("ants", None), ("bees", 1))
        }
        self.holdout = sg.uses.Holdout(**TERMS, ledger=ledger)
        self.app = leaderboard_app(Leaderboard(self.holdout, HiddenLabels(LABELS)), tokens, hosts=[])
        self.send: Any = None

    def post(self, body: Any, team: str = "ants", **headers: str) -> Any:
        return self.send("POST", "/v1/scores", self.teams[team], json=body, headers=headers)

    def get(self, path: str = "/v1/board") -> Any:
        return self.send("GET", path, self.teams["ants"])


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    with sg.Ledger.create(tmp_path / "board.ledger", dataset="labels", budget=1000) as ledger:
        made = Board(ledger)
        with calling(made.app) as made.send:
            yield made


def guess(training_score: float, predictions: Any = None) -> dict[str, Any]:
    return {"predictions": GOOD if predictions is None else predictions, "training_score": training_score}


def test_a_team_gets_its_own_score_where_it_was_right_about_itself_and_the_truth_where_not(board: Board) -> None:
    free, paid = board.post(guess(0.79)), board.post(guess(1.0), "bees")
    assert (free.status_code, free.json()["value"], free.json()["paid"]) == (200, 0.79, False)
    assert paid.json()["paid"]
    assert paid.json()["value"] == pytest.approx(0.8, abs=0.01)
    shown = board.get().json()
    assert [team["team"] for team in shown["teams"]] == ["bees", "ants"]
    assert (shown["size"], shown["cutoff"], shown["remaining"], shown["closed"]) == (1000, 3, 2, False)
    assert board.send("GET", "/v1/health").json() == {"status": "ok"}


def test_what_comes_again_is_answered_as_before_and_costs_nothing(board: Board) -> None:
    first, again = board.post(guess(1.0)), board.post(guess(1.0), "bees")
    assert first.json() == again.json()
    assert board.holdout.remaining == 2


def test_when_the_answers_are_used_up_it_says_so_and_after_a_restart_too(board: Board) -> None:
    for score in (0.97, 0.98, 0.99):
        assert board.post(guess(score)).json()["paid"]
    refused = board.post(guess(0.8))
    assert (refused.status_code, refused.json()["type"]) == (409, "gate-closed")
    board.holdout.close()
    with pytest.raises(sg.GateClosed, match="used up"):
        sg.uses.Holdout(**TERMS, ledger=board.ledger)


def test_a_token_with_a_quota_gets_so_many_paid_scores_and_then_only_what_is_known(board: Board) -> None:
    assert board.post(guess(0.97), "bees").json()["paid"]
    refused = board.post(guess(0.8), "bees")
    assert (refused.status_code, refused.json()["type"]) == (403, "quota-exceeded")
    assert board.post(guess(0.97), "bees").json()["paid"]
    assert board.holdout.remaining == 2
    assert board.post(guess(0.8)).status_code == 200


def test_what_does_not_fit_is_refused_and_costs_nothing(board: Board) -> None:
    for body, parameter in (
        (guess(0.8, GOOD[:-1]), "predictions"),
        (guess(0.8, [*GOOD[:-1], {"a": 1}]), "predictions"),
        (guess(0.8, "cat"), "predictions"),
        (guess(1.2), "training_score"),
        (guess(True), "training_score"),
        ({"predictions": GOOD}, "training_score"),
        ({**guess(0.8), "labels": 1}, "labels"),
    ):
        refused = board.post(body)
        assert (refused.status_code, refused.json()["parameter"]) == (422, parameter)
        assert "dog" not in refused.text
    assert board.holdout.spent == 0


def test_nobody_comes_in_without_a_token_and_no_body_is_endless(board: Board) -> None:
    assert board.send("POST", "/v1/scores", json=guess(0.8)).status_code == 401
    assert board.send("GET", "/v1/board").status_code == 401
    assert board.post(guess(0.8, ["x" * 200] * 1000)).status_code == 413
    assert board.post(guess(0.8, ["x" * 60] * 1000)).status_code == 200
    assert board.get("/v1/elsewhere").status_code == 404
    assert board.post(guess(0.8), Host="evil.example").status_code == 421


def test_labels_are_never_in_what_it_shows(board: Board) -> None:
    board.post(guess(1.0))
    assert "dog" not in board.get().text + repr(board.holdout)
