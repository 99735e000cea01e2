"""`sparsegate audit`: a sentence or JSON on stdout, and the exit code says whether the claim was refuted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparsegate.cli.audit import LEGEND
from sparsegate.gates.variants import VARIANTS

SOURCE = """
import numpy as np

noise = np.random.default_rng(1)

def sound(answers, n):
    return answers[0] + noise.laplace(size=n)

def leaky(answers):
    return float(answers[0] + noise.laplace(scale=0.2))

def broken(answers):
    raise RuntimeError("no such luck")

class Gate:
    @staticmethod
    def ask(answers, n=1):
        return answers[0] + noise.laplace(size=n)

number = 7
"""
FEW = ("--samples", "20000", "--queries", "1", "--seed", "1")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the working directory, with a name of its own for each test."""
    name = f"subject_{abs(hash(tmp_path)):x}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_the_exit_code_says_whether_the_claim_was_refuted(command, module: str) -> None:
    code, out, err = command("audit", f"{module}:sound", "--epsilon", 1, *FEW)
    assert (code, err) == (0, "")
    assert out.startswith(f"{module}.sound: no violation of ε = 1 found")
    code, out, err = command("audit", f"{module}:leaky", "--epsilon", 1, *FEW)
    assert (code, err) == (1, "")
    assert "is NOT private at ε = 1" in out
    assert "on the neighbour (" in out


def test_json_holds_every_field_and_the_whole_budget_gives_a_better_bound(command, module: str) -> None:
    asked = ("audit", f"{module}:leaky", "--json", *FEW)
    brief, whole = (json.loads(command(*asked, *more)[1]) for more in ((), ("--whole-budget",)))
    assert (brief["violates"], brief["epsilon"], brief["schema"]) == (True, "1", "sparsegate/audit/1")
    assert brief["sentence"].startswith(f"{module}.leaky is NOT private")
    assert brief["samples"] < whole["samples"]
    assert 1 < brief["epsilon_lower"] < whole["epsilon_lower"] <= 5


def test_the_options_reach_the_auditor(command, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}

    class Reached(Exception):
        pass

    def fake(mechanism: object, **options: object) -> object:
        seen.update(options)
        raise Reached

    monkeypatch.setattr("sparsegate.cli.audit.audit_mechanism", fake)
    claim = ("--epsilon", 2, "--delta", 0.1, "--confidence", 0.9)
    where = ("--sensitivity", "2.0", "--centre", 7, "--monotonic")
    with pytest.raises(Reached):
        command("audit", f"{module}:Gate.ask", "--batch", "--seconds", 5, *claim, *where)
    wanted = {"epsilon": 2, "delta": 0.1, "budget_seconds": 5, "confidence": 0.9, "sensitivity": 2.0, "centre": 7}
    assert seen.items() >= (wanted | {"batch": True, "monotonic": True, "stop_at_violation": True}).items()
    assert isinstance(seen["sensitivity"], float)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("nowhere", "MODULE:FUNCTION must have the form package.module:function"),
        ("no_such_module_here:f", "MODULE:FUNCTION must be importable (ModuleNotFoundError"),
        ("{}:missing", "MODULE:FUNCTION must be importable (AttributeError"),
        ("{}:number", "MODULE:FUNCTION must name a callable"),
        ("{}:broken", "mechanism must answer, but {}.broken raised RuntimeError: no such luck"),
        ("{}:sound --sensitivity far", "--sensitivity must be a positive number, got 'far'"),
        ("{}:sound --queries many", "--queries must be"),
        ("numpy:sum --variants", "MODULE:FUNCTION or --variants must be given, and not both"),
        ("--variants --centre 3", "--centre must not be given with --variants"),
    ],
)
def test_what_does_not_work_is_one_line(refused, module: str, arguments: str, said: str) -> None:
    assert refused("audit", *arguments.format(module).split(), *FEW[:2]).startswith(said.format(module))


def test_the_variants_are_audited_one_by_one_and_exit_0_where_all_is_as_documented(command) -> None:
    # The rows draw secure noise, which no test can seed: a false alarm has probability 1e-6.
    code, out, err = command("audit", "--variants", "--samples", 20_000, "--confidence", 0.999999)
    assert (code, err) == (0, "")
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert set(VARIANTS) <= set(lines)
    assert "violates" in lines["stoddard-2014"]
    assert "none found" in lines["standard"]
    assert LEGEND in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = command("audit", "--variants", "--samples", 2000, "--confidence", 0.999999, "--json")
    assert (code, [verdict["row"] for verdict in json.loads(out)]) == (0, list(VARIANTS))
