"""The paper's evaluation and the leaderboard, from the command line: seconds, and peak memory of all processes.

Each command runs alone, on its default grid, in a new folder. The seconds are those of the clock; beside them are those
of the processor, because a busy machine stretches the first and not the second. The memory is what all processes of the
command hold at a time, looked at twenty times a second: pages that they share are counted once for each.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Result

COMMANDS = {"reproduce": "<= 60", "compare": "<= 300"}
"""The seconds that each may take on two idle cores."""

MEGABYTES = "<= 1000"
_LOOK = 0.05


def results() -> Iterator[Result]:
    for command, seconds in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            took, cpu, peak = measured(["sparsegate", command, "--out", folder])
        about = {"cpu_s": round(cpu, 1), "cores": os.cpu_count()}
        name = f"sparsegate {command}, default grid"
        yield Result(benchmark=name, ours=round(took, 1), unit="s", target=seconds, judged="ours", details=about)
        yield Result(benchmark=f"peak memory, {name}", ours=round(peak), unit="MB", target=MEGABYTES, judged="ours")


def measured(command: list[str]) -> tuple[float, float, float]:
    """Seconds, processor seconds, and megabytes at the peak of a command of this environment, with its children."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    path = Path(sys.executable).with_name(command[0])
    process = subprocess.Popen([path, *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(_resident, _tree(process.pid))))
        time.sleep(_LOOK)
    took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, cpu, peak / 1e6


def _tree(process: int) -> Iterator[int]:
    """A process and all that it has started; none where /proc does not say."""
    yield process
    for task in Path(f"/proc/{process}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
        except OSError:  # it has ended
            continue
        for child in children:
            yield from _tree(int(child))


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def main() -> None:
    for result in results():
        print(result.line())


if __name__ == "__main__":
    main()
