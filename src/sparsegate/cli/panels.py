"""The groups in which `--help`, the manual and the site show the options of each command, and in which order.

A test finds an option that has no place here, and a name here that is no option.
"""

from __future__ import annotations

from typing import Final

_INPUT: Final = ("table", "sql", "separator", "encoding")
_LEDGER: Final = ("ledger", "budget", "budget_delta", "dataset")
_PRINTED: Final = ("formats", "as_json", "as_csv", "plot")
_DATASETS: Final = ("datasets", "data", "records", "scale_to_records")
_TLS: Final = ("host", "port", "allowed_host", "trusted_proxy", "tls_cert", "tls_key")

ASKED: Final = "What is asked"
PRIVACY: Final = "Privacy"
LEDGER: Final = "Ledger"
INPUT: Final = "Input"
OUTPUT: Final = "Output"
EFFORT: Final = "Effort"

PANELS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "": {"Options": ("version", "install_completion", "show_completion")},
    "top": {
        ASKED: (
            *("count", "above", "item", "user", "unit", "domain", "where", "ordered"),
            *("itemset_size", "max_items"),
        ),
        PRIVACY: ("epsilon", "delta", "answers_epsilon", "method", "threshold", "max_items_per_user", "dbar"),
        "Groups and sums": ("per", "groups", "groups_per_user", "value", "clip", "granularity"),
        "Before you pay": ("preview", "within", "like", "people"),
        LEDGER: _LEDGER,
        INPUT: _INPUT,
        OUTPUT: _PRINTED,
    },
    "itemsets": {
        ASKED: ("count", "size", "smallest", "item", "user", "domain", "where"),
        PRIVACY: ("epsilon", "delta", "answers_epsilon", "method", "pool", "selection"),
        LEDGER: _LEDGER,
        INPUT: _INPUT,
        OUTPUT: _PRINTED,
    },
    "watch": {
        ASKED: ("threshold", "where", "conditions", "user", "unit"),
        PRIVACY: ("epsilon", "cutoff"),
        "With --follow": (
            *("follow", "time", "width", "start", "until", "lateness", "windows_per_user", "fires", "two_sided"),
            *("method", "name", "state", "metrics", "webhook"),
        ),
        LEDGER: (*_LEDGER, "no_refund"),
        INPUT: ("table", "sql", "format", "separator", "encoding"),
        OUTPUT: ("as_json",),
    },
    "serve": {
        "Data": ("user", "unit", "columns", "max_cell", "read", "table", "sql", "format", "separator", "encoding"),
        LEDGER: (
            *("ledger", "new_ledger", "budget", "budget_delta", "dataset", "key", "new_key", "close_gates"),
            *("no_refund", "token_file"),
        ),
        "Sizes": ("size_epsilon", "size_delta", "person_rows", "capacity"),
        "Answers": ("delay", "headroom", "most_asks"),
        "Network": (*_TLS, "max_connections", "max_connections_of_one", "metrics_port"),
        "Running it": ("config", "log_format"),
    },
    "token add": {
        "Token": ("role", "expires", "most_above", "most_epsilon"),
        LEDGER: ("ledger",),
        OUTPUT: ("token_file",),
    },
    "token list": {LEDGER: ("ledger",), OUTPUT: ("as_json",)},
    "token revoke": {LEDGER: ("ledger",)},
    "holdout score": {
        ASKED: ("threshold", "size", "label", "models", "low", "high"),
        PRIVACY: ("epsilon", "cutoff"),
        LEDGER: ("ledger", "budget", "dataset", "name"),
        OUTPUT: ("as_json",),
    },
    "holdout serve": {
        ASKED: ("threshold", "label"),
        PRIVACY: ("epsilon", "cutoff"),
        LEDGER: ("ledger", "budget", "dataset", "name"),
        "Network": _TLS,
        "Running it": ("log_format",),
    },
    "ledger show": {ASKED: ("release",), OUTPUT: _PRINTED},
    "ledger create": {LEDGER: ("dataset", "budget", "budget_delta"), "Key": ("key",)},
    "ledger export": {OUTPUT: ("as_json",)},
    "ledger asks": {ASKED: ("gate", "by"), OUTPUT: ("as_json", "as_csv")},
    "ledger compact": {"What is moved": ("to", "days")},
    "ledger raise": {"Budget": ("budget", "budget_delta", "why")},
    "ledger restore": {"Backup": ("backup", "spent_since", "delta_since", "write_off")},
    "ledger rotate-key": {"Key": ("key",)},
    "variants": {OUTPUT: ("formats", "as_json")},
    "loss": {
        "The gate": ("cutoff", "epsilon", "monotonic", "queries", "lattice"),
        "A pair of your own": ("answers", "neighbour", "outcome", "threshold", "estimates"),
        OUTPUT: ("formats", "as_json", "plot"),
    },
    "theorems": {OUTPUT: ("brief", "as_json")},
    "reproduce": {
        "What is run": ("counts", "epsilon", "methods", "paper_only", "reading"),
        "Data": _DATASETS,
        EFFORT: ("runs", "most_runs", "jobs", "seed"),
        OUTPUT: ("out", "as_json"),
    },
    "compare": {
        "What is run": ("counts", "epsilon", "methods", "mine", "no_peers", "uses", "by"),
        "Data": _DATASETS,
        EFFORT: ("runs", "most_runs", "jobs", "seed"),
        OUTPUT: ("out", "as_json"),
    },
    "methods": {OUTPUT: ("as_json",)},
    "datasets": {OUTPUT: ("as_json",)},
    "datasets fetch": {OUTPUT: ("folder",)},
    "audit": {
        "The claim": ("epsilon", "delta", "sensitivity", "monotonic"),
        "The mechanism": ("batch", "queries", "centre", "call_timeout", "variants"),
        EFFORT: ("seconds", "samples", "confidence", "whole_budget", "seed"),
        OUTPUT: ("formats", "as_json"),
    },
}
"""Of each command, by its words after `sparsegate`: the groups, and in them the names of parameters."""
