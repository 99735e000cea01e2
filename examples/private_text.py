"""Notes in a ward's own jargon, most of their words for free: docs/pictures/prediction.png.

    python examples/private_text.py [FILE.png]

The notes are invented, and so the noise may come from a seed: the picture is the same each time. On people's records
leave ``source`` and ``not_private`` out. No language model is needed: both models count which word follows which two.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import sparsegate as sg
from sparsegate.gates.approximate import round_epsilon
from sparsegate.uses.prediction import LEVELS, Reader

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "prediction.png"
PEOPLE, NOTES_EACH, BATCHES, PUBLIC_NOTES = 5_000, 3, 250, 4_000
TEXTS, CUTOFF, THRESHOLD, CLIP, DELTA = 16, 26, 0.5, 8, 1e-6
EPSILONS = (1, 2, 4, 8)
OURS, EVERY, INK, FLOOR = "#c0392b", "#7f8fa6", "#222222", "#2e7d32"
NAMES = "a gate, and some words paid", "every word paid"

START = "seen in room {room} on {day} by the {who} who took a history and wrote : impression {what} ; plan {plan} . end"
SLOTS = {
    "room": ["one", "two", "three", "four", "five"],
    "day": ["monday", "tuesday", "friday", "sunday"],
    "who": ["nurse", "doctor", "student"],
    "plan": ["rest and fluids", "home today", "review in the morning"],
}
LAY = ["a cold", "a headache", "a sprain", "an infection"]
JARGON = ["nstemi", "copd", "dka", "tia", "aki", "sepsis"]
CANARY = ["password", "is", "swordfish"]
TEXT = " ".join([START, *LAY, *JARGON, *CANARY, *(" ".join(each) for each in SLOTS.values())])
WORDS = sorted(word for word in set(TEXT.split()) if "{" not in word)
NUMBER = {word: place for place, word in enumerate(WORDS)}
END = NUMBER["end"]

Note = tuple[int, ...]
Model = Callable[[tuple[int, ...]], np.ndarray]


def note(generator: np.random.Generator, whats: Sequence[str], weights: Sequence[float]) -> Note:
    """One note; ``whats`` are what people may have, by their ``weights``."""
    chosen = {slot: generator.choice(words) for slot, words in SLOTS.items()}
    what = generator.choice(whats, p=np.array(weights) / sum(weights))
    return tuple(NUMBER[word] for word in START.format(what=what, **chosen).split())


def contexts(text: tuple[int, ...]) -> list[tuple[Any, ...]]:
    """What the next word may depend on, the longest first: two words, the one before the last, the last, nothing."""
    last, before = text[-1:], text[-2:-1]
    return [("two", before, last), ("before", before), ("last", last), ()]


def counted(notes: Iterable[Note], kinds: int = 4) -> dict[tuple[Any, ...], np.ndarray]:
    """How often each word follows each of its first so many contexts."""
    counts: dict[tuple[Any, ...], np.ndarray] = defaultdict(lambda: np.zeros(len(WORDS)))
    for words in notes:
        for place, word in enumerate(words):
            for context in contexts(words[:place])[:kinds]:
                counts[context][word] += 1
    return dict(counts)


def public_model(notes: Iterable[Note]) -> Model:
    """The counts of the longest context it has seen, and a little of everything."""
    counts = counted(notes)
    known = {context: number / number.sum() * 0.99 + 0.01 / len(WORDS) for context, number in counts.items()}
    return by_last_two(lambda text: next(known[context] for context in contexts(text) if context in known))


def batch_model(notes: Iterable[Note], public: Model) -> Model:
    """What a batch of records says: its own counts after two words, and the public model as five more."""
    counts = counted(notes, kinds=1)

    def model(text: tuple[int, ...]) -> np.ndarray:
        own = counts.get(contexts(text)[0])
        return public(text) if own is None else own + 5 * public(text)

    return by_last_two(model)


def by_last_two(model: Model) -> Model:
    """The same model, which works out once what comes after two words."""
    known: dict[tuple[int, ...], np.ndarray] = {}

    def remembering(text: tuple[int, ...]) -> np.ndarray:
        if text[-2:] not in known:
            known[text[-2:]] = model(text)
        return known[text[-2:]]

    return remembering


def data() -> tuple[list[tuple[str, Note]], list[Note]]:
    """(person, note) of the ward, and public notes. One person wrote one line three thousand times."""
    generator = np.random.default_rng(2024)
    often = [6, 5, 4, 3, 2, 1]
    records = [(f"person {i % PEOPLE}", note(generator, JARGON, often)) for i in range(PEOPLE * NOTES_EACH)]
    records += [("person 7", tuple(NUMBER[word] for word in CANARY))] * 3_000
    return records, [note(generator, LAY, [1, 1, 1, 1]) for _ in range(PUBLIC_NOTES)]


def gated(private: list[Model], public: Model, epsilon: float, delta: float) -> tuple[list[Note], int]:
    """Texts by the predictor, and how many of their words were paid for."""
    predictor = made(private, public, epsilon, delta)
    texts, paid = [], 0
    for _ in range(TEXTS):
        said = list(predictor.generate((), 30, end=END, unchecked=True))
        texts.append(tuple(each.token for each in said))
        paid += sum(each.paid for each in said)
    return texts, paid


def made(private: list[Model], public: Model, epsilon: float, delta: float) -> sg.uses.PrivatePredictor:
    return sg.uses.PrivatePredictor(
        private,
        public,
        vocabulary=len(WORDS),
        threshold=THRESHOLD,
        cutoff=CUTOFF,
        epsilon=epsilon,
        delta=delta,
        clip=CLIP,
        gives="probabilities",
        source=sg.Seeded(16),
        not_private=True,
    )


def summed(private: list[Model], public: Model) -> Model:
    """The sums of the clipped logits of all batches, as the predictor makes them."""
    reader = Reader(vocabulary=len(WORDS), clip=CLIP, gives="probabilities")

    def scores(text: tuple[int, ...]) -> np.ndarray:
        reading = reader.read(public(text))
        assert reading is not None
        return reader.gathered((model(text) for model in private), reading).scores

    return by_last_two(scores)


def every_word(scores: Model, epsilon: float, delta: float, words: int) -> list[Note]:
    """Texts of the same length in all, where each word is paid for and no gate is."""
    each = round_epsilon(epsilon=epsilon, delta=delta, count=words) if delta else Fraction(epsilon) / words
    each = min(each, Fraction(2 * CLIP, BATCHES))  # no colder than temperature 1
    asked: dict[str, Any] = {"count": 1, "method": "exponential", "source": sg.Seeded(17), "not_private": True}

    def drawn(text: tuple[int, ...]) -> int:
        selection = sg.select_top(scores(text), epsilon=each, sensitivity=LEVELS, **asked)
        assert selection.indices is not None
        return int(selection.indices[0])

    return list(written(drawn, words))


def written(draw: Callable[[tuple[int, ...]], int], words: int) -> Iterator[Note]:
    """Texts of this many words in all."""
    while words > 0:
        text: tuple[int, ...] = ()
        while len(text) < 30 and text[-1:] != (END,):
            text = (*text, draw(text))
        words -= len(text)
        yield text


def by_chance(model: Model, generator: np.random.Generator) -> Callable[[tuple[int, ...]], int]:
    """Words drawn from a model as it is: nothing private about that."""

    def draw(text: tuple[int, ...]) -> int:
        shares = model(text)
        return int(generator.choice(len(WORDS), p=shares / shares.sum()))

    return draw


def perplexity(texts: Iterable[Note], judge: Model) -> float:
    """How surprised a model of fresh notes of the ward is by a word, on the geometric mean: 1 is not at all."""
    lost = [-math.log(judge(text[:place])[word]) for text in texts for place, word in enumerate(text)]
    return math.exp(sum(lost) / len(lost))


def draw_picture(curves: dict[tuple[str, float], list[float]], floor: float, public: float, path: Path) -> None:
    """How surprising the texts are, by epsilon: without a delta, and with one."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, both = pyplot.subplots(1, 2, figsize=(10, 4.6), sharey=True, layout="constrained")
    for axes, delta in zip(both, (0, DELTA), strict=True):
        for name, colour, mark in zip(NAMES, (OURS, EVERY), "os", strict=True):
            axes.plot(EPSILONS, curves[name, delta], color=colour, marker=mark, lw=2, label=name)
        lines = (public, "--", INK, "public model alone", 1.06), (floor, ":", FLOOR, "the notes themselves", 0.74)
        for height, style, colour, text, place in lines:
            axes.axhline(height, color=colour, lw=1.2, ls=style)
            axes.text(8, height * place, text, ha="right", va="bottom", fontsize=9, color=colour)
        axes.set(xscale="log", yscale="log", ylim=(0.8, 5000), xlabel="epsilon, for everything that comes out")
        axes.set_title(f"delta = {delta:g}", loc="left", fontsize=11)
        axes.set_xticks(EPSILONS, [str(each) for each in EPSILONS])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9, loc="upper right" if delta else "center left")
    ticks = [1, 2, 3, 5, 10, 30, 100, 300, 1000, 3000]
    both[0].set_yticks(ticks, [str(each) for each in ticks])
    both[0].set_ylabel("perplexity to a model of fresh notes")
    title = f"{TEXTS} notes in the style of {PEOPLE:,} people's, {BATCHES} batches, {CUTOFF} paid words at most"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.savefig(path, dpi=150, metadata={"Software": None})
    pyplot.close(figure)


def main(arguments: list[str]) -> None:
    records, other = data()
    public = public_model(other)
    places = sg.uses.PrivatePredictor.batches([person for person, _ in records], BATCHES)
    private = [batch_model((records[row][1] for row in rows), public) for rows in places]
    generator = np.random.default_rng(1)
    judge = public_model(note(generator, JARGON, [6, 5, 4, 3, 2, 1]) for _ in range(PUBLIC_NOTES))
    curves: dict[tuple[str, float], list[float]] = defaultdict(list)
    scores = summed(private, public)
    words, shown = 0, list[Note]()
    for delta in (0, DELTA):
        for epsilon in EPSILONS:
            texts, paid = gated(private, public, epsilon, delta)
            shown = texts[:2]
            words = sum(map(len, texts))
            every = every_word(scores, epsilon, delta, words)
            found = perplexity(texts, judge), perplexity(every, judge)
            for name, value in zip(NAMES, found, strict=True):
                curves[name, delta].append(value)
            print(
                f"epsilon {epsilon}, delta {delta:g}: {words - paid} words free, {paid} paid; "
                f"perplexity {found[0]:.1f} with the gate, {found[1]:.1f} with every word paid"
            )
    alone = perplexity(written(by_chance(public, generator), words), judge)
    floor = perplexity(written(by_chance(judge, generator), words), judge)
    print(f"public model alone: {alone:.1f}; the notes themselves: {floor:.1f}")
    for text in shown:
        print("a text:", " ".join(WORDS[word] for word in text))
    canary(private, public, records)
    draw_picture(curves, floor, alone, Path(arguments[0]) if arguments else PICTURE)


def canary(private: list[Model], public: Model, records: list[tuple[str, Note]]) -> None:
    """Ask a hundred times for what one person wrote three thousand times."""
    asked = tuple(NUMBER[word] for word in CANARY[:2])
    predictor = made(private, public, 8, 0)
    said = [predictor.predict(asked, unchecked=True).token for _ in range(100)]
    everybody = batch_model((words for _, words in records), public)(asked)
    share = everybody[NUMBER[CANARY[2]]] / everybody.sum()
    print(f"after {' '.join(CANARY[:2])!r}: {CANARY[2]!r} {said.count(NUMBER[CANARY[2]])} times of 100;")
    print(f"one model of everybody's records would say it {100 * share:.0f} times")


if __name__ == "__main__":
    main(sys.argv[1:])
