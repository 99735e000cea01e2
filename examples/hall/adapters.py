"""Runs inside another package's environment: asks that package, and hands out what it answered, line by line.

    python adapters.py NAME '{"setting": 1}'

The first line out is ``{"claim": epsilon}``, as the package states it. Then each line in, ``{"data": ..., "runs": n}``,
is answered by a list of n outcomes. Nothing of sparsegate is imported but by the adapter that audits sparsegate.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

Settings = dict[str, Any]
Run = Callable[[Any, int], list[Any]]
"""So many fresh outcomes for one input."""


def each(run: Callable[[Any], Any]) -> Run:
    """A mechanism that gives one outcome at a time."""
    return lambda data, runs: [run(data) for _ in range(runs)]


def load(name: str) -> Any:
    """A module that has no types here, and may not be installed."""
    return importlib.import_module(name)


def nvflare_filter(settings: Settings) -> tuple[float, Run]:
    """NVFlare's SVTPrivacy on one parameter. What leaves the client: places and values, and, where sent, the passes."""
    import logging

    import numpy as np

    logging.disable(logging.CRITICAL)
    dxo = load("nvflare.apis.dxo")
    # One filter for all runs, as for all rounds of a job: it keeps a list of what it spent, and nothing else.
    svt = load("nvflare.app_common.filters.svt_privacy").SVTPrivacy(**settings)
    shareable, context = load("nvflare.apis.shareable").Shareable(), load("nvflare.apis.fl_context").FLContext()

    def answer(weights: list[float]) -> Any:
        update = dxo.DXO(dxo.DataKind.WEIGHT_DIFF, data={"layer": np.array(weights, dtype=float)})
        return svt.process_dxo(update, shareable, context)

    def run(weights: list[float]) -> Any:
        sent = answer(weights)
        (places,) = np.nonzero(sent.data["layer"])
        passes = sent.meta.get("svt_privacy_budget", {}).get("acceptance_passes", 0)
        return [places.tolist(), sent.data["layer"][places].tolist(), passes]

    stated = answer([0.0] * 10).meta.get("svt_privacy_budget", {})
    return stated.get("epsilon_total", settings["epsilon"]), each(run)


def opendp_selection(settings: Settings) -> tuple[float, Run]:
    """OpenDP's noisy max, or with ``k`` its noisy top-k; the claim is the measurement's own privacy map."""
    dp = load("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64"), dp.max_divergence()
    make = dp.m.make_noisy_top_k if "k" in settings else dp.m.make_noisy_max
    measurement = make(*space, **settings)
    return measurement.map(1), each(measurement)


def diffprivlib_selection(settings: Settings) -> tuple[float, Run]:
    """A selection of diffprivlib, by the name of its class."""
    kind = getattr(load("diffprivlib.mechanisms"), settings["mechanism"])
    epsilon = settings["epsilon"]
    return epsilon, each(lambda scores: kind(epsilon=epsilon, sensitivity=1, utility=scores).randomise())


def opendp_numbers(settings: Settings) -> tuple[float, Run]:
    """A measurement of OpenDP, by the name of its constructor, on a number, on scores or on counts by key."""
    dp = load("opendp.prelude")
    dp.enable_features("contrib")
    whole = dp.atom_domain(T="i64")
    kind, measure = settings["kind"], getattr(dp, settings.get("measure", "max_divergence"))()
    if kind == "noisy_max":
        measurement = dp.m.make_noisy_max(
            dp.vector_domain(whole), dp.linf_distance(T="i64"), measure, settings["scale"]
        )
        return measurement.map(1), each(measurement)
    if kind == "laplace_threshold":
        space = dp.map_domain(dp.atom_domain(T=str), whole), dp.l01inf_distance(dp.absolute_distance(T="i64"))
        measurement = dp.m.make_laplace_threshold(*space, scale=settings["scale"], threshold=settings["threshold"])
        return measurement.map((1, 1, 1))[0], each(measurement)
    make = getattr(dp.m, f"make_{kind}")
    measurement = make(whole, dp.absolute_distance(T="i64"), settings["scale"])
    return measurement.map(1), each(lambda answers: measurement(answers[0]))


def diffprivlib_number(settings: Settings) -> tuple[float, Run]:
    """A mechanism of diffprivlib for one number, by the name of its class."""
    settings = dict(settings)
    mechanism = getattr(load("diffprivlib.mechanisms"), settings.pop("mechanism"))(**settings)
    return settings["epsilon"], each(lambda answers: mechanism.randomise(answers[0]))


def python_dp_count(settings: Settings) -> tuple[float, Run]:
    """The private count of PyDP, over as many rows as the answer says."""
    count = load("pydp.algorithms.laplacian").Count

    def run(answers: list[int]) -> int:
        return int(count(epsilon=settings["epsilon"], dtype="int").quick_result([1] * answers[0]))

    return settings["epsilon"], each(run)


def eeprivacy_quantile(settings: Settings) -> tuple[float, Run]:
    """The private quantile of eeprivacy: report noisy max over the options."""
    import numpy as np

    operation = load("eeprivacy.operations").PrivateQuantile(options=settings["options"])
    epsilon, quantile = settings["epsilon"], settings["quantile"]
    return epsilon, each(lambda data: operation.execute(values=np.array(data), epsilon=epsilon, quantile=quantile))


def pipeline_dp_selection(settings: Settings) -> tuple[float, Run]:
    """The exponential mechanism of PipelineDP, for scores that may move either way."""
    kind = load("pipeline_dp.dp_computations").ExponentialMechanism
    scoring: Any = kind.ScoringFunction

    class Given(scoring):
        global_sensitivity, is_monotonic = 1.0, False

        def __init__(self, scores: list[int]) -> None:
            self.scores = scores

        def score(self, k: int) -> float:
            return self.scores[k]

    def run(scores: list[int]) -> int:
        chooser = kind(Given(scores))
        return int(chooser.apply(settings["epsilon"], list(range(len(scores)))))

    return settings["epsilon"], each(run)


def sparsegate_gate(settings: Settings) -> tuple[float, Run]:
    """Our own gate, asked as a user asks it, with noise from the operating system."""
    import sparsegate as sg

    def run(answers: list[int]) -> list[bool]:
        with sg.SparseVector(threshold=0, sensitivity=1, **settings) as gate:
            return [bool(answer) for answer in gate.ask_many(answers)]

    return settings["epsilon"], each(run)


def tumult_prefix_sums(settings: Settings) -> tuple[float, Run]:
    """Tumult Core's sparse vector over the prefix sums of counts; the claim is the measurement's own privacy function.

    Each call is a job of Spark, seconds long, so ten thousand runs are one job: a group for each, and each group has
    noise of its own.
    """
    import pandas as pd

    os.environ["PYSPARK_PYTHON"] = sys.executable
    local = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.driver.host": "127.0.0.1"}
    spark = load("pyspark.sql").SparkSession.builder.master("local[1]").config(map=local).getOrCreate()
    domains = load("tmlt.core.domains.spark_domains")
    columns = {name: domains.SparkIntegerColumnDescriptor() for name in ("run", "rank", "count")}
    measurement = load("tmlt.core.measurements.spark_measurements").SparseVectorPrefixSums(
        input_domain=domains.SparkDataFrameDomain(schema=columns),
        count_column="count",
        rank_column="rank",
        grouping_columns=["run"],
        **settings,
    )

    stock: dict[str, list[int]] = {}

    def job(counts: list[int], runs: int) -> list[int]:
        rows = [(run, rank, count) for run in range(runs) for rank, count in enumerate(counts)]
        told = measurement(spark.createDataFrame(pd.DataFrame(rows, columns=list(columns)))).collect()
        return [row["rank"] for row in told]

    def many(counts: list[int], runs: int) -> list[int]:
        ready = stock.setdefault(json.dumps(counts), [])
        while len(ready) < runs:
            ready += job(counts, 10_000)
        taken, ready[:runs] = ready[:runs], []  # each outcome is handed out once
        return taken

    return float(measurement.privacy_function(1).to_float(round_up=True)), many


def any_module(settings: Settings) -> tuple[float, Run]:
    """A function ``run(data)`` of a module that is given by name."""
    return settings["epsilon"], each(load(settings["module"]).run)


ADAPTERS: dict[str, Callable[[Settings], tuple[float, Run]]] = {
    "nvflare": nvflare_filter,
    "opendp": opendp_selection,
    "diffprivlib": diffprivlib_selection,
    "opendp-numbers": opendp_numbers,
    "diffprivlib-number": diffprivlib_number,
    "python-dp": python_dp_count,
    "eeprivacy": eeprivacy_quantile,
    "pipeline-dp": pipeline_dp_selection,
    "tmlt.core": tumult_prefix_sums,
    "sparsegate": sparsegate_gate,
    "module": any_module,
}


def main(name: str, settings: str) -> None:
    # Packages print; the pipe to the audit is ours alone.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    claim, run = ADAPTERS[name](json.loads(settings))

    def say(value: Any) -> None:
        # Numbers of numpy are handed out as numbers.
        pipe.write(json.dumps(value, default=lambda number: number.item()) + "\n")
        pipe.flush()

    say({"claim": claim})
    for line in sys.stdin:
        asked = json.loads(line)
        say(run(asked["data"], asked["runs"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
