"""The share of a distance that each change removes: closed form, with its standard error."""

from __future__ import annotations

import math

import pytest
from tests.support.made_findings import SER, made_findings, tampered

from sparsegate.paper.report import ablation_sentence, removed_shares, share_chart


def test_the_share_is_that_of_the_sums_where_there_is_a_distance() -> None:
    share = removed_shares(made_findings())["svt-alg1"]["kosarak"]
    book, changed, plain = (SER[key][1] for key in ("svt-dpbook", "svt-alg1", "svt-s-1:1"))
    assert share.value == pytest.approx((book - changed) / (book - plain))
    rest = (book - changed) / (book - plain)
    error = 0.05 / math.sqrt(10**5) * math.hypot(1 - rest, 1, rest) / (book - plain)
    assert share.error == pytest.approx(error)


def test_a_change_that_is_everything_removes_everything() -> None:
    findings = made_findings()
    same = tampered(findings, lambda row: (row.method, row.count) == ("svt-alg1", 50), ser_mean=SER["svt-s-1:1"][1])
    shares = removed_shares(same)
    assert shares["svt-alg1"][""].value == pytest.approx(1)
    assert "ρ of Alg. 1 100 % ± 0 %" in ablation_sentence(shares)
    assert shares["svt-dpbook-monotonic"][""].value == pytest.approx(0.04 / 0.25)


def test_a_chart_has_a_bar_for_each_change_and_none_without_a_distance() -> None:
    shares = removed_shares(made_findings())
    chart = share_chart(shares, "zipf", "Zipf")
    assert chart
    assert [bar.text for bar in chart.bars] == ["16 %", "80 %", "20 %"]
    assert share_chart(shares, "elsewhere", "") is None
    near = tampered(made_findings(), lambda row: row.method == "svt-dpbook", ser_mean=0.5)
    assert "zipf" not in removed_shares(tampered(near, lambda row: row.method == "svt-s-1:1", ser_mean=0.45))
    assert ablation_sentence({}) == ""
