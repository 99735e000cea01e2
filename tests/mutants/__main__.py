"""`python -m tests.mutants`: does every mutant die? Exit code 1 when one does not."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.catalogue import FOLDER, ROOT, Mutant, problems, read
from tests.mutants.runner import KILLED, NOT_RUN, Copy, Verdict, copy_of, judge, unfit_tests


def turn(root: Path = ROOT) -> int:
    """A number that goes up by one with each commit; where the history is cut short or missing, with each day."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if git("rev-parse", "--is-shallow-repository") == "false":
            return int(git("rev-list", "--count", "HEAD"))
    except (OSError, subprocess.CalledProcessError):
        pass
    return int(time.time() // 86_400)


def dozen(mutants: Sequence[Mutant], size: int, number: int) -> list[Mutant]:
    """At most `size` of them, from all rooms. Successive numbers bring every mutant its turn."""
    groups = max(1, -(-len(mutants) // size))
    return list(mutants[number % groups :: groups])


def run(
    mutants: Sequence[Mutant],
    *,
    root: Path = ROOT,
    jobs: int = 1,
    limit: float = float("inf"),
    say: Callable[[str], None],
) -> list[Verdict]:
    """Judge the mutants, `jobs` at a time; after `limit` seconds no other one is started."""
    end = time.monotonic() + limit
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    free: SimpleQueue[Copy] = SimpleQueue()

    @contextmanager
    def borrowed() -> Iterator[Copy]:
        copy = free.get()
        try:
            yield copy
        finally:
            free.put(copy)

    def unfit_of(part: Sequence[str]) -> dict[str, tuple[str, str]]:
        with borrowed() as copy:
            return unfit_tests(copy, part)

    def one(mutant: Mutant) -> Verdict:
        with borrowed() as copy:
            if time.monotonic() > end:
                return Verdict(mutant=mutant, outcome=NOT_RUN, detail="out of time")
            verdict = judge(copy, mutant, unfit)
        say(f"{verdict.outcome:9} {verdict.seconds:5.1f} s  {mutant.room}: {mutant.name}")
        return verdict

    with ExitStack() as stack:
        for _ in range(jobs):
            free.put(stack.enter_context(copy_of(root)))
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        say(f"{len(tests)} tests without a mutant")
        unfit: dict[str, tuple[str, str]] = {}
        for found in pool.map(unfit_of, [part for start in range(jobs) if (part := tests[start::jobs])]):
            unfit |= found
        say(f"{len(mutants)} mutants")
        return list(pool.map(one, mutants))


def report(verdicts: Sequence[Verdict], equivalent: Sequence[Mutant]) -> str:
    """The table at the end: what did not die, with the reason; then one line per outcome."""
    lines = [
        f"\n{v.outcome}: {v.mutant.room}: {v.mutant.name}\n    {v.detail}" for v in verdicts if v.outcome != KILLED
    ]
    if equivalent:
        lines.append("\nEquivalent, by their reason:")
        lines += [f"    {mutant.room}: {mutant.name}: {mutant.equivalent}" for mutant in equivalent]
    rooms = sorted({verdict.mutant.room for verdict in verdicts})
    width = max([4, *map(len, rooms)])
    lines.append(f"\n{'room':{width}}  mutants  killed")
    for room in rooms:
        there = Counter(verdict.outcome for verdict in verdicts if verdict.mutant.room == room)
        lines.append(f"{room:{width}}  {there.total():7}  {there[KILLED]:6}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--room", action="append", help="only mutants of this file of tests/mutants (repeatable)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this mutant (repeatable)")
    parser.add_argument("--rotate", type=int, metavar="N", help="only N of them: others at the next commit")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default 1)")
    parser.add_argument("--limit", type=float, default=float("inf"), metavar="SECONDS", help="start none after this")
    parser.add_argument("--catalogue", type=Path, default=FOLDER, metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--tree", type=Path, default=ROOT, metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)

    def say(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    every = read(options.catalogue)
    chosen = [
        mutant
        for mutant in every
        if (not options.room or mutant.room in options.room) and (not options.only or mutant.name in options.only)
    ]
    if not chosen:
        parser.error("no mutant has this room and this name")
    live = [mutant for mutant in chosen if not mutant.equivalent]
    if options.rotate:
        live = dozen(live, options.rotate, turn(options.tree))
    if wrong := problems(live if options.rotate else chosen, options.tree):
        say("\n".join(wrong))
        return 1
    verdicts = run(live, root=options.tree, jobs=options.jobs, limit=options.limit, say=say)
    say(report(verdicts, [mutant for mutant in chosen if mutant.equivalent]))
    outcomes = {verdict.outcome for verdict in verdicts}
    return 0 if not outcomes - {KILLED, NOT_RUN} and outcomes != {NOT_RUN} else 1


if __name__ == "__main__":
    sys.exit(main())
