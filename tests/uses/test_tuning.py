"""Tuning: what it holds of the theorem's hypotheses, what it refuses, and that it fails closed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.accounts import Account
from tests.support.display import valid
from tests.support.goodness import FALSE_ALARM, excess, law_p
from tests.support.interrupts import interrupt_everywhere

import sparsegate as sg
from sparsegate.gates.accounting import pure_rho
from sparsegate.uses import tuning
from sparsegate.uses.run_cost import RunCost, RunLaw, best_of
from sparsegate.uses.tuning import OptunaSpace, Tuned, candidate_law, preview_tuning, tune

SEEDED: dict[str, Any] = {"source": sg.Seeded(7), "not_private": True}
PURE: dict[str, Any] = {"each": RunCost.pure(0.5), "runs": "geometric", "mean": 10}
EPSILON = 0.5
UP = 1 / (1 + math.exp(-EPSILON))


def train(candidate: Any, rng: np.random.Generator) -> tuple[float, str]:
    return float(candidate), f"model {candidate}"


def response(bit: int, rng: np.random.Generator) -> int:
    """Randomised response: what a training that is 0.5-DP may tell at most."""
    return bit if rng.random() < UP else 1 - bit


def test_the_best_is_given_and_charged_once_before_anything_is_drawn() -> None:
    account, seen = Account(), []

    def watched(candidate: int, rng: np.random.Generator) -> tuple[float, str]:
        assert len(account.charged) == 1
        seen.append(candidate)
        return train(candidate, rng)

    best = tune(watched, candidates=range(50), **PURE, **SEEDED, ledger=account)
    assert best.candidate == max(seen) == best.score
    assert best.model == f"model {best.candidate}"
    assert [epsilon for epsilon, _, _ in account.charged] == [best.epsilon]
    assert account.kept == [{"release": "tune", **best.to_dict()}]
    assert not any(str(len(seen)) == str(value) for value in best.to_dict().values()), "K is told nowhere"
    assert valid(best.to_dict(), preview_tuning(**PURE).to_dict())
    assert "best candidate" in str(best)


def test_a_tiny_training_is_tuned_by_the_exact_law_of_the_best() -> None:
    law, runs = RunLaw.of("geometric", 4), 2000

    def coin(candidate: int, rng: np.random.Generator) -> tuple[float, None]:
        return float(response(1, rng)), None

    options: dict[str, Any] = {**PURE, "mean": 4, "source": sg.Seeded(3), "not_private": True}
    scores = [tune(coin, candidates=[0], **options).score for _ in range(runs)]
    seen = {score: scores.count(score) for score in (0.0, 1.0)}
    none_is_up = {p: law.generating(1 - p) for p in (UP, 0.8 * UP)}
    assert law_p(seen, {0.0: none_is_up[UP], 1.0: 1 - none_is_up[UP]}) > FALSE_ALARM
    assert law_p(seen, {0.0: none_is_up[0.8 * UP], 1.0: 1 - none_is_up[0.8 * UP]}) < FALSE_ALARM


def fixed_number(bit: int, n: int) -> np.ndarray[Any, Any]:
    """Ten runs, always: whether the best is up."""
    return (np.random.default_rng().random((n, 10)) < (UP if bit else 1 - UP)).any(axis=1)[:, None]


def all_scores(bit: int, n: int) -> np.ndarray[Any, Any]:
    """A random number of runs, and how many were up and down."""
    rng = np.random.default_rng()
    runs = rng.geometric(0.1, n)
    ups = rng.binomial(runs, UP if bit else 1 - UP)
    return np.column_stack([ups, runs - ups])


def adaptive_candidates(bit: int, n: int) -> np.ndarray[Any, Any]:
    """Each candidate is the sum of all answers so far, and scores the more the later it is: the best has that sum."""
    counts = all_scores(bit, n)
    return (counts[:, 0] - counts[:, 1])[:, None]


TRAPS = [fixed_number, all_scores, adaptive_candidates]


@pytest.mark.parametrize("trap", TRAPS)
def test_the_audit_flags_whoever_breaks_a_hypothesis(trap: Any) -> None:
    claim = float(best_of(RunCost.pure(EPSILON), RunLaw.of("geometric", 10), Fraction(0)).epsilon)
    options: dict[str, Any] = {"neighbours": [(0, 1)], "patterns": False, "samples": 400_000, "seed": 1, "batch": True}
    assert sg.audit(trap, epsilon=claim, **options).violates


def test_the_audit_does_not_flag_tuning_itself() -> None:
    def tuned(bit: int) -> bool:
        best = tune(lambda _, rng: (response(bit, rng), None), candidates=[0], **PURE)
        return bool(best.score)

    claim = float(best_of(RunCost.pure(EPSILON), RunLaw.of("geometric", 10), Fraction(0)).epsilon)
    options: dict[str, Any] = {"neighbours": [(0, 1)], "patterns": False, "samples": 1_500, "seed": 1, "batch": False}
    assert not sg.audit(tuned, epsilon=claim, **options).violates


def test_exact_laws_of_the_traps_exceed_the_claim() -> None:
    claim = float(best_of(RunCost.pure(EPSILON), RunLaw.of("geometric", 10), Fraction(0)).epsilon)
    fixed = [{0: q**10, 1: 1 - q**10} for q in (UP, 1 - UP)]

    def told(q: float) -> dict[Any, float]:
        """K geometric of mean 10; what is seen is the whole sequence, by its number of ups."""
        return {
            (k, u): 0.1 * 0.9 ** (k - 1) * math.comb(k, u) * q**u * (1 - q) ** (k - u)
            for k in range(1, 60)
            for u in range(k + 1)
        }

    def summed(q: float) -> dict[Any, float]:
        sums: dict[Any, float] = {}
        for (k, u), p in told(q).items():
            sums[2 * u - k] = sums.get(2 * u - k, 0) + p
        return sums

    for one, other in (fixed, [told(UP), told(1 - UP)], [summed(UP), summed(1 - UP)]):
        assert excess(one, other, claim) > 1e-3


class Learns:
    """A law of candidates that is told scores."""

    def __call__(self, rng: np.random.Generator, scores: list[float]) -> float:
        return max(scores)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"runs": 40}, "runs.*random and secret.*fixed number.*not covered"),
        ({"candidates": Learns()}, "candidates.*see scores or earlier runs are not covered"),
        ({"candidates": lambda rng, history: 1}, "candidates.*see scores"),
        ({"candidates": []}, "candidates.*at least one"),
        ({"candidates": "abc"}, "candidates.*sequence"),
        ({"candidates": [1, 2], "weights": [1]}, "weights.*one for each of 2"),
        ({"candidates": lambda rng: 1, "weights": [1]}, "weights.*function"),
        ({"each": [RunCost.pure(1), RunCost.pure(2)]}, "each.*one bound for every candidate"),
        ({"each": 0.5}, "each.*RunCost"),
        ({"epsilon": 1}, "epsilon.*at least 1.313.*RunCost.within"),
        ({"train": lambda candidate: (1, 2)}, "train.*candidate and a generator"),
        ({"each": RunCost.zcdp(0.1)}, "delta.*must be given"),
        ({"source": sg.Seeded(1), "not_private": False}, "not_private"),
    ],
)
def test_a_hypothesis_that_does_not_hold_is_refused_by_name_and_costs_nothing(
    change: dict[str, Any], names: str
) -> None:
    account = Account()
    asked: dict[str, Any] = {"train": train, "candidates": [1, 2, 3], **PURE, **SEEDED, "ledger": account, **change}
    with pytest.raises(sg.ParameterError, match=names):
        tune(asked.pop("train"), **asked)
    assert not account.charged


def test_a_run_that_fails_stays_paid_releases_nothing_and_says_nothing_of_the_data() -> None:
    account = Account()

    def fails(candidate: int, rng: np.random.Generator) -> tuple[float, None]:
        raise KeyError("patient 17")

    for wrong in (fails, lambda c, rng: ("no number", None), lambda c, rng: 3):
        with pytest.raises(sg.SparsegateError, match="a run failed with") as failure:
            tune(wrong, candidates=[1], **PURE, ledger=account)
        assert "17" not in str(failure.value)
        assert failure.value.__context__ is None
    assert len(account.charged) == 3
    assert not account.kept


@pytest.mark.parametrize("error", [ValueError("patient 17"), KeyboardInterrupt()])
def test_no_variable_of_a_traceback_tells_how_many_runs_there_were_or_what_the_best_was(error: BaseException) -> None:
    runs = itertools.count()

    def third(candidate: int, rng: np.random.Generator) -> tuple[float, str]:
        if next(runs) == 2:
            raise error
        return train(candidate, rng)

    with pytest.raises((sg.SparsegateError, KeyboardInterrupt)) as failure:
        tune(third, candidates=[7], **PURE, source=sg.Seeded(1), not_private=True)
    ours = [entry.frame.f_locals for entry in failure.traceback if str(entry.path) == tuning.__file__]
    assert [names.get("_") for names in ours if "_" in names] == [None]
    assert not any("model 7" in repr(value) for names in ours for value in names.values())


def test_interrupted_anywhere_nothing_is_trained_unpaid_and_nothing_told_unkept() -> None:
    class Watched:
        def __init__(self) -> None:
            self.account, self.trained, self.told = Account(), 0, []  # type: ignore[var-annotated]

        def tune(self) -> None:
            def train(candidate: int, rng: np.random.Generator) -> tuple[float, int]:
                self.trained += 1
                return candidate, candidate

            source = {"source": sg.Seeded(2), "not_private": True}
            self.told.append(tune(train, candidates=[1, 2], **{**PURE, "mean": 2}, **source, ledger=self.account))

        def check(self) -> None:
            assert len(self.account.charged) <= 1
            assert not self.trained or self.account.charged
            assert not self.told or self.account.kept

    assert interrupt_everywhere(Watched, Watched.tune, Watched.check, every=7) > 5


def test_a_ledger_that_adds_and_one_of_zcdp_are_charged_what_is_proved(tmp_path: Path) -> None:
    each = RunCost.gaussian(8)
    options: dict[str, Any] = {"candidates": [1, 2], "each": each, "mean": 10, "delta": 1e-6, **SEEDED}
    with sg.Ledger.create(tmp_path / "adds", dataset="d", budget=3, budget_delta=1e-5) as ledger:
        best = tune(train, **options, ledger=ledger)
        spent = ledger.statement().entries[-1].amount
        assert (spent.epsilon, spent.delta) == (best.epsilon, Fraction(1, 10**6))
    with sg.Ledger.create(tmp_path / "rho", dataset="d", budget=(9, 1e-6)) as ledger:
        tune(train, **options, ledger=ledger)
        spent = ledger.statement().entries[-1].amount
        assert spent.delta == 0
        assert spent.rho is not None
        assert pure_rho(Fraction(2, 10)) < spent.rho < 1
        pure = tune(train, candidates=[1], each=RunCost.pure(0.1), mean=10, **SEEDED, ledger=ledger)
        assert ledger.statement().entries[-1].amount.rho == pytest.approx(pure_rho(pure.epsilon))
        with pytest.raises(sg.BudgetExceeded):
            tune(train, candidates=[1], each=RunCost.pure(50), mean=10, **SEEDED, ledger=ledger)


def test_without_a_run_the_public_default_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunLaw, "draw", lambda law, source: 0)
    best = tune(train, candidates=[1], **{**PURE, "runs": "poisson"}, default="public", **SEEDED)
    assert (best.model, best.score, best.candidate) == ("public", None, None)
    assert valid(best.to_dict())


def test_a_score_that_is_no_number_is_the_worst() -> None:
    best = tune(lambda c, rng: (math.nan if c else -5.0, c), candidates=[0, 1], **{**PURE, "mean": 50}, **SEEDED)
    assert (best.score, best.model) == (-5.0, 0)


def test_weights_are_the_law_of_candidates_and_another_law_is_noticed() -> None:
    source = sg.Seeded(5)
    drawn = [candidate_law(["abc", "x", "y"], [1, 0.5, 2.5])(source) for _ in range(8000)]
    seen = {name: drawn.count(name) for name in ("abc", "x", "y")}
    assert law_p(seen, {"abc": 0.25, "x": 0.125, "y": 0.625}) > FALSE_ALARM
    assert law_p(seen, {"abc": 0.3, "x": 0.125, "y": 0.575}) < FALSE_ALARM


def test_a_preview_charges_what_tuning_does_and_knows_what_composing_would() -> None:
    options: dict[str, Any] = {"each": RunCost.gaussian(4.5309), "mean": 100, "delta": 1e-6}
    preview = preview_tuning(**options)
    assert preview.epsilon == tune(train, candidates=[1], **options, **SEEDED).epsilon
    assert preview.composed == pytest.approx(13.16, abs=0.01)
    assert {row["law"] for row in preview.alternatives} == {"logarithmic", "geometric", "poisson"}
    by_law = {row["law"]: row for row in preview.alternatives}
    assert by_law["logarithmic"]["epsilon"] < by_law["geometric"]["epsilon"] < by_law["poisson"]["epsilon"]
    assert by_law["logarithmic"]["top"] > by_law["geometric"]["top"] > by_law["poisson"]["top"]
    geometric = RunLaw.of("geometric", 100)
    mean_share = sum(0.01 * 0.99 ** (k - 1) / (k + 1) for k in range(1, 5000))
    assert tuning._figures(geometric, 0.95)["expected"] == pytest.approx(mean_share, rel=0.02)
    assert len(preview.points("mean")) > 5


def test_optuna_is_asked_at_random_and_told_the_best_alone() -> None:
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(), direction="maximize")
    space = {"rate": optuna.distributions.FloatDistribution(1e-3, 1, log=True)}

    def suggest(trial: Any) -> None:
        trial.suggest_float("rate", 1e-3, 1, log=True)

    seen = []

    def scored(candidate: dict[str, float], rng: np.random.Generator) -> tuple[float, None]:
        seen.append(candidate["rate"])
        return -abs(math.log10(candidate["rate"]) + 1), None

    for number, kind in enumerate((space, suggest), start=1):
        law = OptunaSpace(kind, study)
        best = tune(scored, candidates=law, **PURE, **SEEDED)
        law.tell(best)
        assert len(study.trials) == number, "how many were asked is not told"
        assert study.trials[-1].params == best.candidate
    assert len(set(seen)) > 5


def test_a_study_whose_sampler_learns_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Optuna: what of it is touched before a sampler is refused."""
    random, tpe = type("RandomSampler", (), {}), type("TPESampler", (), {})
    monkeypatch.setattr(
        tuning, "import_module", lambda _: SimpleNamespace(samplers=SimpleNamespace(RandomSampler=random))
    )
    with pytest.raises(sg.ParameterError, match="RandomSampler: TPESampler does not draw afresh"):
        OptunaSpace({}, SimpleNamespace(sampler=tpe()))


@pytest.mark.parametrize("sampler", ["TPESampler", "CmaEsSampler", "GPSampler", "QMCSampler", "NSGAIISampler"])
def test_optuna_samplers_that_learn_or_walk_are_refused_by_name(sampler: str) -> None:
    optuna = pytest.importorskip("optuna")
    kind = getattr(optuna.samplers, sampler)
    study = optuna.create_study(sampler=object.__new__(kind))  # some need packages of their own to be made
    with pytest.raises(sg.ParameterError, match=f"RandomSampler: {sampler}"):
        OptunaSpace({}, study)
    for given in (study, study.sampler):
        with pytest.raises(sg.ParameterError, match="candidates.*one fixed law"):
            tune(train, candidates=given, **PURE)
    with pytest.raises(sg.ParameterError, match="study.*given to be told"):
        OptunaSpace({}).tell(Tuned(**dict.fromkeys(Tuned.__dataclass_fields__)))


def test_opacus_trains_and_its_settings_are_the_cost_of_a_run() -> None:
    torch = pytest.importorskip("torch")
    opacus = pytest.importorskip("opacus")
    pytest.importorskip("dp_accounting")
    x = torch.randn(256, 2, generator=torch.Generator().manual_seed(1))
    records = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).float())
    noise, epochs = 1.5, 2
    histories = []

    def trained(rate: float, rng: np.random.Generator) -> tuple[float, Any]:
        model = torch.nn.Linear(2, 1)
        engine = opacus.PrivacyEngine(accountant="rdp")
        loader = torch.utils.data.DataLoader(records, batch_size=32)
        private, optimizer, loader = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=rate),
            data_loader=loader,
            noise_multiplier=noise,
            max_grad_norm=1.0,
        )
        for _ in range(epochs):
            for inputs, labels in loader:
                optimizer.zero_grad()
                torch.nn.functional.binary_cross_entropy_with_logits(private(inputs)[:, 0], labels).backward()
                optimizer.step()
        histories.append((engine.accountant.history, len(loader)))
        public = torch.eye(2)
        return float((model(public) > 0).float().mean()), model.weight.detach().numpy()

    each = RunCost.dp_sgd(noise, sample_rate=1 / 8, steps=epochs * 8)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus's own: of hooks, and that its noise is not secure
        best = tune(
            trained, candidates=[0.1, 1.0], each=each, mean=2, delta=1e-5, source=sg.Seeded(1), not_private=True
        )
    for history, batches in histories:
        assert history == [(noise, 1 / batches, epochs * batches)], "what was declared is what was done"
        assert batches == 8
    assert each.profile(5.0) < 1e-5 < each.profile(0.5)
    assert float(best.epsilon) > 1
