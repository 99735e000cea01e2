"""Labels from private records where a public classifier is wrong: accuracy over epsilon on scikit-learn's digits.

    python examples/private_labels.py

Sixty digits are public, 1,300 belong to one person each, 437 are the questions. The public model is a logistic
regression on the sixty. A person votes for the label of their own digit where it is nearer to the question than RADIUS,
and abstains otherwise. The noise comes from seeds, so the table is the same each time.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import sparsegate as sg

PUBLIC, PRIVATE, RADIUS = 60, 1300, 2.2
SETTINGS = ((1, 0, 5), (2, 0, 10), (5, 0, 20), (2, 1e-5, 10), (5, 1e-5, 40))
"""Epsilon, delta, cutoff."""
LEAD = 10 / PRIVATE
SPLITS, RUNS = 3, 3


def vote(own: np.ndarray, label: int, question: np.ndarray) -> int | None:
    """What one person says: the label of their own digit if it is near."""
    return label if float(((own - question) ** 2).sum()) < RADIUS**2 else None


def accuracy(split: int, epsilon: float, delta: float, cutoff: int, run: int) -> tuple[float, float]:
    """The share of right labels: of the public model alone, and with the votes of people."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(split).permutation(len(labels))
    public, private, asked = np.split(order, [PUBLIC, PUBLIC + PRIVATE])
    model = LogisticRegression(max_iter=500).fit(pixels[public] / 16, labels[public])
    people = [partial(vote, pixels[person] / 16, int(labels[person])) for person in private]
    predictor = sg.uses.PrivatePredictor(
        people,
        lambda question: model.predict(question[None])[0],
        vocabulary=10,
        threshold=LEAD,
        cutoff=cutoff,
        epsilon=epsilon,
        delta=delta,
        gives="labels",
        alone=True,
        source=sg.Seeded(1 + run),
        not_private=True,
    )
    with predictor:
        given = [predictor.predict(pixels[each] / 16, unchecked=True).token for each in asked]
    alone = model.predict(pixels[asked] / 16)
    return float((alone == labels[asked]).mean()), float((np.array(given) == labels[asked]).mean())


def main() -> None:
    for epsilon, delta, cutoff in SETTINGS:
        runs = [accuracy(split, epsilon, delta, cutoff, run) for split in range(SPLITS) for run in range(RUNS)]
        public, ours = np.mean(runs, axis=0)
        print(f"epsilon {epsilon}, delta {delta:g}, at most {cutoff} paid: {ours:.3f}, the public model {public:.3f}")


if __name__ == "__main__":
    main()
