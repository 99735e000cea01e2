"""Those who wait take turns."""

from __future__ import annotations

from sparsegate.service.fair_lines import Lines


def waiting(*senders: str) -> Lines[int]:
    lines: Lines[int] = Lines()
    for number, sender in enumerate(senders):
        lines.join(sender, number)
    return lines


def called(lines: Lines[int]) -> list[int]:
    found = []
    while (waiter := lines.next()) is not None:
        found.append(waiter)
    return found


def test_senders_take_turns_and_one_sender_is_first_come_first_served():
    assert called(waiting(*"aaabbc")) == [0, 3, 5, 1, 4, 2]


def test_whoever_comes_back_stands_behind_those_who_wait():
    lines = waiting(*"aab")
    assert lines.next() == 0
    lines.join("a", 3)
    assert called(lines) == [2, 1, 3]


def test_whoever_was_not_served_in_this_round_comes_first():
    lines: Lines[int] = Lines()
    lines.serve("a")
    for number, sender in enumerate("aab"):
        lines.join(sender, number)
    assert called(lines) == [2, 0, 1]


def test_what_is_remembered_of_senders_is_what_the_round_needs():
    lines: Lines[int] = Lines()
    for number in range(1000):
        lines.serve(f"sender {number % 10}")
    assert len(lines._rounds) <= 20


def test_whoever_leaves_is_not_called():
    lines = waiting(*"aab")
    assert lines.leave("a", 0)
    assert not lines.leave("a", 0)
    assert lines.leave("b", 2)
    assert len(lines) == 1
    assert called(lines) == [1]


def test_room_is_made_by_the_last_of_the_longest_line():
    lines = waiting(*"aaab")
    assert lines.shed("b") == 2
    assert lines.shed("b") is None, "her own line would be as long as the longest"
    assert lines.shed("a") is None
    assert lines.shed("c") == 1
    assert waiting().shed("a") is None
