"""Tuning: what it holds of the theorem's hypotheses, what it refuses, and that it fails closed."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from types import SimpleNamespace

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

SEEDED = {"source": sg.Seeded(7), "not_private": True}
PURE = {"each": RunCost.pure(0.5), "runs": "geometric", "mean": 10}
EPSILON = 0.5
UP = 1 / (1 + math.exp(-EPSILON))


def train(candidate, rng):
    return float(candidate), f"model {candidate}"


def response(bit, rng):
    """Randomised response: what a training that is 0.5-DP may tell at most."""
    return bit if rng.random() < UP else 1 - bit


def test_the_best_is_given_and_charged_once_before_anything_is_drawn():
    account, seen = Account(), []

    def watched(candidate, rng):
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


def test_a_tiny_training_is_tuned_by_the_exact_law_of_the_best():
    law, runs = RunLaw.of("geometric", 4), 1000

    def coin(candidate, rng):
        return float(response(1, rng)), None

    options = {**PURE, "mean": 4, "source": sg.Seeded(3), "not_private": True}
    scores = [tune(coin, candidates=[0], **options).score for _ in range(runs)]
    seen = {score: scores.count(score) for score in (0.0, 1.0)}
    none_is_up = {p: law.generating(1 - p) for p in (UP, 0.8 * UP)}
    assert law_p(seen, {0.0: none_is_up[UP], 1.0: 1 - none_is_up[UP]}) > FALSE_ALARM
    assert law_p(seen, {0.0: none_is_up[0.8 * UP], 1.0: 1 - none_is_up[0.8 * UP]}) < FALSE_ALARM


CLAIM = float(best_of(RunCost.pure(EPSILON), RunLaw.of("geometric", 10), Fraction(0)).epsilon)
AUDIT = {"neighbours": [(0, 1)], "patterns": False, "seed": 1}
RNG = np.random.default_rng(3)


def fixed_number(bit, n):
    """Ten runs, always: whether the best is up."""
    return (RNG.random((n, 10)) < (UP if bit else 1 - UP)).any(axis=1)[:, None]


def all_scores(bit, n):
    """A random number of runs, and how many were up and down."""
    runs = RNG.geometric(0.1, n)
    ups = RNG.binomial(runs, UP if bit else 1 - UP)
    return np.column_stack([ups, runs - ups])


def adaptive_candidates(bit, n):
    """Each candidate is the sum of all answers so far, and scores the more the later it is: the best has that sum."""
    counts = all_scores(bit, n)
    return (counts[:, 0] - counts[:, 1])[:, None]


@pytest.mark.parametrize("trap", [fixed_number, all_scores, adaptive_candidates])
def test_the_audit_flags_whoever_breaks_a_hypothesis(trap):
    assert sg.audit(trap, epsilon=CLAIM, samples=400_000, batch=True, **AUDIT).violates


def test_the_audit_does_not_flag_tuning_itself():
    def tuned(bit):
        return bool(tune(lambda _, rng: (response(bit, rng), None), candidates=[0], **PURE).score)

    assert not sg.audit(tuned, epsilon=CLAIM, samples=1_500, batch=False, **AUDIT).violates


def test_exact_laws_of_the_traps_exceed_the_claim():
    def told(q):
        """K geometric of mean 10; what is seen is the whole sequence, by its number of ups."""
        return {
            (k, u): 0.1 * 0.9 ** (k - 1) * math.comb(k, u) * q**u * (1 - q) ** (k - u)
            for k in range(1, 60)
            for u in range(k + 1)
        }

    def summed(q):
        sums = {}
        for (k, u), p in told(q).items():
            sums[2 * u - k] = sums.get(2 * u - k, 0) + p
        return sums

    for law in (lambda q: {0: q**10, 1: 1 - q**10}, told, summed):
        assert excess(law(UP), law(1 - UP), CLAIM) > 1e-3


class Learns:
    """A law of candidates that is told scores."""

    def __call__(self, rng, scores):
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
def test_a_hypothesis_that_does_not_hold_is_refused_by_name_and_costs_nothing(change, names):
    account = Account()
    asked = {"train": train, "candidates": [1, 2, 3], **PURE, **SEEDED, "ledger": account, **change}
    with pytest.raises(sg.ParameterError, match=names):
        tune(asked.pop("train"), **asked)
    assert not account.charged


def test_a_run_that_fails_stays_paid_releases_nothing_and_says_nothing_of_the_data():
    account = Account()

    def fails(candidate, rng):
        raise KeyError("patient 17")

    for wrong in (fails, lambda c, rng: ("no number", None), lambda c, rng: 3):
        with pytest.raises(sg.SparsegateError, match="a run failed with") as failure:
            tune(wrong, candidates=[1], **PURE, ledger=account)
        assert "17" not in str(failure.value)
        assert failure.value.__context__ is None
    assert len(account.charged) == 3
    assert not account.kept


@pytest.mark.parametrize("error", [ValueError("patient 17"), KeyboardInterrupt()])
def test_no_variable_of_a_traceback_tells_how_many_runs_there_were_or_what_the_best_was(error):
    runs = itertools.count()

    def third(candidate, rng):
        if next(runs) == 2:
            raise error
        return train(candidate, rng)

    with pytest.raises((sg.SparsegateError, KeyboardInterrupt)) as failure:
        tune(third, candidates=[7], **PURE, source=sg.Seeded(1), not_private=True)
    ours = [entry.frame.f_locals for entry in failure.traceback if str(entry.path) == tuning.__file__]
    assert [names.get("_") for names in ours if "_" in names] == [None]
    assert not any("model 7" in repr(value) for names in ours for value in names.values())


def test_interrupted_anywhere_nothing_is_trained_unpaid_and_nothing_told_unkept():
    class Watched:
        def __init__(self):
            self.account, self.trained, self.told = Account(), 0, []

        def tune(self):
            def train(candidate, rng):
                self.trained += 1
                return candidate, candidate

            source = {"source": sg.Seeded(2), "not_private": True}
            self.told.append(tune(train, candidates=[1, 2], **{**PURE, "mean": 2}, **source, ledger=self.account))

        def check(self):
            assert len(self.account.charged) <= 1
            assert not self.trained or self.account.charged
            assert not self.told or self.account.kept

    assert interrupt_everywhere(Watched, Watched.tune, Watched.check, every=7) > 5


def test_a_ledger_that_adds_and_one_of_zcdp_are_charged_what_is_proved(tmp_path):
    each = RunCost.gaussian(8)
    options = {"candidates": [1, 2], "each": each, "mean": 10, "delta": 1e-6, **SEEDED}
    with sg.Ledger.create(tmp_path / "adds", dataset="d", budget=3, budget_delta=1e-5) as ledger:
        best = tune(train, **options, ledger=ledger)
        spent = ledger.statement().entries[-1].amount
        assert (spent.epsilon, spent.delta) == (best.epsilon, Fraction(1, 10**6))
    with sg.Ledger.create(tmp_path / "rho", dataset="d", budget=(9, 1e-6)) as ledger:
        tune(train, **options, ledger=ledger)
        spent = ledger.statement().entries[-1].amount
        assert spent.delta == 0
        assert pure_rho(Fraction(2, 10)) < spent.rho < 1
        pure = tune(train, candidates=[1], each=RunCost.pure(0.1), mean=10, **SEEDED, ledger=ledger)
        assert ledger.statement().entries[-1].amount.rho == pytest.approx(pure_rho(pure.epsilon))
        with pytest.raises(sg.BudgetExceeded):
            tune(train, candidates=[1], each=RunCost.pure(50), mean=10, **SEEDED, ledger=ledger)


def test_without_a_run_the_public_default_is_given(monkeypatch):
    monkeypatch.setattr(RunLaw, "draw", lambda law, source: 0)
    best = tune(train, candidates=[1], **{**PURE, "runs": "poisson"}, default="public", **SEEDED)
    assert (best.model, best.score, best.candidate) == ("public", None, None)
    assert valid(best.to_dict())


def test_a_score_that_is_no_number_is_the_worst():
    best = tune(lambda c, rng: (math.nan if c else -5.0, c), candidates=[0, 1], **{**PURE, "mean": 50}, **SEEDED)
    assert (best.score, best.model) == (-5.0, 0)


def test_weights_are_the_law_of_candidates_and_another_law_is_noticed():
    source = sg.Seeded(5)
    drawn = [candidate_law(["abc", "x", "y"], [1, 0.5, 2.5])(source) for _ in range(8000)]
    seen = {name: drawn.count(name) for name in ("abc", "x", "y")}
    assert law_p(seen, {"abc": 0.25, "x": 0.125, "y": 0.625}) > FALSE_ALARM
    assert law_p(seen, {"abc": 0.3, "x": 0.125, "y": 0.575}) < FALSE_ALARM


def test_a_preview_charges_what_tuning_does_and_knows_what_composing_would():
    options = {"each": RunCost.gaussian(4.5309), "mean": 100, "delta": 1e-6}
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


def test_optuna_is_asked_at_random_and_told_the_best_alone():
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(), direction="maximize")
    space = {"rate": optuna.distributions.FloatDistribution(1e-3, 1, log=True)}

    def suggest(trial):
        trial.suggest_float("rate", 1e-3, 1, log=True)

    seen = []

    def scored(candidate, rng):
        seen.append(candidate["rate"])
        return -abs(math.log10(candidate["rate"]) + 1), None

    for number, kind in enumerate((space, suggest), start=1):
        law = OptunaSpace(kind, study)
        best = tune(scored, candidates=law, **PURE, **SEEDED)
        law.tell(best)
        assert len(study.trials) == number, "how many were asked is not told"
        assert study.trials[-1].params == best.candidate
    assert len(set(seen)) > 5


def test_a_study_whose_sampler_learns_is_refused(monkeypatch):
    """Without Optuna: what of it is touched before a sampler is refused."""
    random, tpe = type("RandomSampler", (), {}), type("TPESampler", (), {})
    monkeypatch.setattr(
        tuning, "import_module", lambda _: SimpleNamespace(samplers=SimpleNamespace(RandomSampler=random))
    )
    with pytest.raises(sg.ParameterError, match="RandomSampler: TPESampler does not draw afresh"):
        OptunaSpace({}, SimpleNamespace(sampler=tpe()))


@pytest.mark.parametrize("sampler", ["TPESampler", "CmaEsSampler", "GPSampler", "QMCSampler", "NSGAIISampler"])
def test_optuna_samplers_that_learn_or_walk_are_refused_by_name(sampler):
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(sampler=object.__new__(getattr(optuna.samplers, sampler)))  # some cannot be made here
    with pytest.raises(sg.ParameterError, match=f"RandomSampler: {sampler}"):
        OptunaSpace({}, study)
    for given in (study, study.sampler):
        with pytest.raises(sg.ParameterError, match="candidates.*one fixed law"):
            tune(train, candidates=given, **PURE)
    with pytest.raises(sg.ParameterError, match="study.*given to be told"):
        OptunaSpace({}).tell(Tuned(**dict.fromkeys(Tuned.__dataclass_fields__)))


def test_opacus_trains_and_its_settings_are_the_cost_of_a_run():
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")
    x = torch.randn(256, 2, generator=torch.Generator().manual_seed(1))
    records = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).float())
    noise, epochs, histories = 1.5, 2, []

    def trained(rate, rng):
        model, engine = torch.nn.Linear(2, 1), opacus.PrivacyEngine(accountant="rdp")
        private, optimizer, loader = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=rate),
            data_loader=torch.utils.data.DataLoader(records, batch_size=32),
            noise_multiplier=noise,
            max_grad_norm=1.0,
        )
        for _ in range(epochs):
            for inputs, labels in loader:
                optimizer.zero_grad()
                torch.nn.functional.binary_cross_entropy_with_logits(private(inputs)[:, 0], labels).backward()
                optimizer.step()
        histories.append((engine.accountant.history, len(loader)))
        return float((model(torch.eye(2)) > 0).float().mean()), model.weight.detach().numpy()

    each = RunCost.dp_sgd(noise, sample_rate=1 / 8, steps=epochs * 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus's own: of hooks, and that its noise is not secure
        best = tune(trained, candidates=[0.1, 1.0], each=each, mean=2, delta=1e-5, **SEEDED)
    assert histories
    assert all(each == ([(noise, 1 / 8, epochs * 8)], 8) for each in histories), "what was declared is what was done"
    assert each.profile(5.0) < 1e-5 < each.profile(0.5)
    assert float(best.epsilon) > 1
