"""One example of every command, as `--help`, the manual and the site show it. Tests run them, in this order."""

from __future__ import annotations

import re
from typing import Final

EXAMPLES: Final = {
    "": "top visits.csv --item page --user visitor -c 3 --epsilon 1 --domain pages.csv",
    "ledger create": "ledger create visits.ledger --dataset visits --budget 4 --key visits.ledger.key",
    "top": "top visits.csv --item page --user visitor -c 3 --epsilon 1 --domain pages.csv --ledger visits.ledger",
    "itemsets": "itemsets sales.csv --item product --user buyer -c 3 --size 2 --epsilon 1 --domain products.csv",
    "watch": "watch visits.csv --user visitor --where \"page = '/pay'\" --threshold 500 --cutoff 1 --epsilon 0.5",
    "ledger": "ledger show visits.ledger",
    "ledger show": "ledger show visits.ledger --release 2",
    "ledger export": "ledger export visits.ledger --json",
    "ledger raise": 'ledger raise visits.ledger --budget 6 --why "agreed on 3 May"',
    "ledger backup": "ledger backup visits.ledger visits.backup",
    "ledger restore": "ledger restore again.ledger --from visits.backup --spent-since 0.5",
    "ledger rotate-key": "ledger rotate-key visits.ledger --key visits.ledger.key",
    "serve": "serve visits.csv --user visitor --new-ledger --budget 2",
    "token": "token add grace --ledger visits.ledger --role owner",
    "token add": "token add ada --ledger visits.ledger --expires 30d",
    "token list": "token list --ledger visits.ledger",
    "token revoke": "token revoke ada --ledger visits.ledger",
    "ledger asks": "ledger asks visits.ledger --by ada",
    "ledger compact": "ledger compact visits.ledger --to old_answers.csv --days 30",
    "holdout": "holdout score train.csv held.csv --label y --models tree --size 100 -t 0.1 -c 5 --epsilon 1",
    "holdout score": "holdout score train.csv held.csv --label y --size 100 --threshold 0.1 --cutoff 5 --epsilon 1",
    "holdout serve": (
        "holdout serve labels.csv --label y --threshold 0.04 --cutoff 50 --epsilon 1 "
        "--ledger board.ledger --budget 1 --dataset labels"
    ),
    "variants": "variants lee-clifton-2014",
    "loss": "loss lee-clifton-2014 --cutoff 3 --epsilon 0.1",
    "theorems": "theorems alg-5",
    "reproduce": "reproduce --paper-only --datasets kosarak --counts 25,50 --out quick",
    "compare": "compare --datasets zipf --counts 25 --epsilon 0.1,1 --out compared",
    "methods": "methods --json",
    "datasets": "datasets",
    "datasets fetch": "datasets fetch kosarak",
    "audit": "audit my_gate:answer --epsilon 1 --samples 20000",
}
"""By the words of a command; each without `sparsegate` before it."""


def example_lines(words: str, *, width: int) -> list[str]:
    """The example of a command, broken before its options where it is longer than ``width``.

    >>> print("\\n".join(example_lines("ledger create", width=70)))
    sparsegate ledger create visits.ledger --dataset visits --budget 4 \\
        --key visits.ledger.key
    """
    lines = [""]
    for part in re.split(r" (?=-)", f"sparsegate {EXAMPLES[words]}"):
        longer = f"{lines[-1]} {part}".lstrip(" ") if len(lines) == 1 else f"{lines[-1]} {part}"
        if lines[-1] and len(longer) > width - 2:
            lines.append(f"    {part}")
        else:
            lines[-1] = longer
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]
