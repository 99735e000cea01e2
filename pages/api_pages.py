"""The reference of the Python library: a page for each subject, filled by mkdocstrings from the docstrings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from pages import public_names

FOLDER = "reference/python"


@dataclass(frozen=True, kw_only=True)
class ApiSubject:
    """One page: what it is about, its public names, and classes without one that they take or return."""

    title: str
    about: str
    names: tuple[str, ...]
    others: tuple[str, ...] = ()
    room: str = "sparsegate"


SUBJECTS: Mapping[str, ApiSubject] = {
    "gates": ApiSubject(
        title="Gates",
        about="Ask which private numbers are above a threshold, and pay only for those. "
        "Begin with [your first gate](../../tutorials/first_gate.md); what to set is in "
        "[how to choose a threshold](../../how-to/threshold.md).",
        names=("SparseVector", "Gates", "Answer", "ABOVE", "BELOW", "Budget"),
        others=("sparsegate.gates.preview.Preview",),
    ),
    "selection": ApiSubject(
        title="Selection and noise",
        about="The highest of many private scores, one noisy count, and where the noise comes from. For a table of "
        "rows take [`top_items`][sparsegate.top_items], which counts the scores itself.",
        names=("select_top", "Selection", "laplace", "gaussian", "Secure", "Seeded"),
        others=(
            "sparsegate.selection.scores.Scores",
            "sparsegate.opendp.make_top",
            "sparsegate.opendp.make_above_threshold",
        ),
    ),
    "tables": ApiSubject(
        title="Tables",
        about="Private counts over your own rows, in your own engine. Begin with "
        "[your first top-10](../../tutorials/first_top.md); the tasks are in [publish a top-c](../../how-to/top.md).",
        names=("session", "top_items", "items_above", "top_sums", "Table", "preview"),
        others=(
            "sparsegate.tables.session.Session",
            "sparsegate.tables.session.SessionGate",
            "sparsegate.tables.release.TopItems",
            "sparsegate.tables.release.Record",
        ),
    ),
    "ledger": ApiSubject(
        title="Ledger",
        about="What was spent on a dataset, and what each release gave. The tasks are in "
        "[keep a ledger](../../how-to/ledger.md).",
        names=("Ledger",),
        others=(
            "sparsegate.ledger.account.Statement",
            "sparsegate.ledger.account.Entry",
            "sparsegate.ledger.account.Release",
            "sparsegate.ledger.account.Amount",
            "sparsegate.ledger.ledger.Together",
        ),
    ),
    "uses": ApiSubject(
        title="Uses",
        about="What people reach for the technique for. [Which page](../../how-to/uses.md) says which of them fits.",
        room="sparsegate.uses",
        names=(
            *("Alert", "AlertAnswer", "TimeWindows"),
            *("Holdout", "HoldoutScore", "HoldoutScorer"),
            *("improved", "Improvement", "SelectKBestPrivate"),
            *("tune", "RunCost", "Tuned", "preview_tuning", "PrivateSearchCV", "OptunaSpace"),
            *("frequent_itemsets", "FrequentItemsets", "preview_itemsets"),
            *("dependency_tree", "DependencyTree", "preview_tree"),
            *("PrivatePredictor", "Prediction"),
            *("OnlineAnswers", "OnlineAnswer"),
        ),
        others=(
            "sparsegate.uses.holdout.HoldoutTerms",
            "sparsegate.uses.prediction.PredictionTerms",
            "sparsegate.uses.itemsets.ItemsetRecord",
        ),
    ),
    "client": ApiSubject(
        title="Client of a service",
        about="Gates over HTTP that are asked like the library's own. How to run the service is in "
        "[serve](../../how-to/service.md).",
        names=("connect",),
        others=(
            "sparsegate.service.client.connect_async",
            "sparsegate.service.client.Client",
            "sparsegate.service.client.RemoteGate",
            "sparsegate.service.client.RemoteState",
            "sparsegate.service.client.AsyncClient",
            "sparsegate.service.client.AsyncGate",
            "sparsegate.service.client.RemoteAnswer",
            "sparsegate.service.client.RemoteAsk",
            "sparsegate.service.client.RemotePreview",
            "sparsegate.service.client.RemoteToken",
            "sparsegate.service.client.TopAnswer",
            "sparsegate.service.client.ServedData",
        ),
    ),
    "variants": ApiSubject(
        title="Variants",
        about="Each published algorithm, sound or flawed, is a row of data, and one runner runs them all. "
        "How to add your own is in [variants](../../how-to/variants.md).",
        names=(
            *("VARIANTS", "run", "run_many"),
            *("variants.Variant", "variants.Scale", "variants.Noise", "variants.Compared", "variants.Released"),
            *("variants.Closes", "variants.gate", "variants.Outcomes"),
        ),
        others=("sparsegate.gates.bounds.Setting",),
    ),
    "privacy": ApiSubject(
        title="Exact privacy loss",
        about="`sparsegate.privacy`: what an outcome tells about one person, computed and not sampled. "
        "The mathematics is in [theory](../../explanation/theory.md).",
        room="sparsegate.privacy",
        names=(
            *("tight_epsilon", "worst_case", "WorstCase", "loss", "log_probability"),
            *("delta", "renyi", "search", "Found", "plan"),
        ),
    ),
    "auditor": ApiSubject(
        title="Auditor",
        about="Any mechanism in, a certified lower bound on its epsilon out. Begin with "
        "[your first audit](../../tutorials/first_audit.md).",
        names=("audit", "Verdict", "testing.assert_private", "testing.CONFIDENCE"),
        others=("sparsegate.auditor.audit.Evidence",),
    ),
    "paper": ApiSubject(
        title="Evaluation",
        about="`sparsegate.paper`: the paper's experiments, and your methods beside ours. Not private, by design: "
        "thresholds are computed from the true scores. The tasks are in [reproduce](../../how-to/reproduce.md) "
        "and [compare](../../how-to/compare.md).",
        room="sparsegate.paper",
        names=(
            *("run", "Progress", "read", "reproduce", "Reproduction", "write_report", "compare"),
            *("METHODS", "DEFAULT_METHODS", "Method", "SuppliedMethod"),
            *("PUBLISHED", "Dataset", "load", "fetch", "read_counts", "ItemCounts"),
            *("simulate", "measure", "Errors", "Ladder"),
        ),
        others=("sparsegate.paper.results.ExperimentResults",),
    ),
    "exceptions": ApiSubject(
        title="Exceptions, and the version",
        about="What is raised, and the call that raises it. What each means and the next step are in "
        "[errors](../errors.md).",
        names=(
            *("SparsegateError", "ParameterError", "GateClosed", "BudgetExceeded"),
            *("TableError", "LedgerError", "__version__"),
        ),
        others=tuple(f"sparsegate.errors.{name}" for name in ("ConditionError", "ServiceError", "SparsegateWarning")),
    ),
}


BESIDES = [path for subject in SUBJECTS.values() for path in subject.others]
"""All that is shown and has no public name."""


def api_page(subject: ApiSubject) -> str:
    """The Markdown of a page: a directive for each name."""
    named = [f"::: {subject.room}.{name}\n" for name in subject.names]
    more = [f"::: {path}\n" for path in subject.others]
    if more:
        more.insert(0, "## What they take and return\n\nThese have no public name of their own.\n")
    # One deeper than the heading above them.
    more[1:] = [f"{directive}    options:\n      heading_level: 3\n" for directive in more[1:]]
    return "\n".join([f"# {subject.title}\n", f"{subject.about}\n", *named, *more])


def theorems_page() -> str:
    """The docstrings of the modules that public ones refer to: what is proven there, and how."""
    modules = public_names.mentioned_modules(public_names.source(), besides=BESIDES)
    about = (
        "# Theorems beside the code\n\nThe modules that the pages of this reference refer to. What one of them says at "
        "its head is here: the theorem, its hypotheses and its proof stand where the code is. Their names are not "
        "public, and may change.\n"
    )
    options = "    options:\n      heading: {0}\n      toc_label: {0}\n      members: false\n"
    shown = [f"::: {name}\n{options.format(name.removeprefix('sparsegate.'))}" for name in modules]
    return "\n".join([about, *shown])


API_PAGES: dict[str, Callable[[], str]] = {
    **{f"{FOLDER}/{name}.md": partial(api_page, subject) for name, subject in SUBJECTS.items()},
    f"{FOLDER}/theorems.md": theorems_page,
}
