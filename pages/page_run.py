"""Runs the blocks of a page as a reader would: in their order, in a new folder, in one Python and one shell.

Python and bash are processes of their own, in process groups of their own: what a page imports, sets or starts ends
with it. Each reads the names of files with code from its standard input and says when it has run one; what the code
prints goes to files.
"""

from __future__ import annotations

import fcntl
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import sparsegate
from pages.blocks import ROOT, Output, Step, steps
from pages.installed import HIDING, hidden
from pages.needs import provided, unmet
from pages.outputs import ANY_LINES, agree

MOST_SECONDS = {False: 120, True: 1800}
"""How long a block may take: as a rule, and where there are minutes."""

GRACE = 2
"""How many seconds what a block has stopped may take to end."""

PYTHON = """
def _run(names):  # a function: a page finds no names but its own
    import os, sys, traceback
    asked, said = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for number, file in enumerate([os.devnull, *sys.argv[1:3]]):
        os.dup2(os.open(file, os.O_RDWR | os.O_APPEND), number)
    sys.argv = [""]
    for line in asked:
        names["__file__"] = file = line.split()[1]  # without it, libraries take this for somebody at a prompt
        try:
            exec(compile(open(file).read(), file, "exec"), names)
            code = 0
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        print(code, file=said, flush=True)
_run(globals())
"""

BASH = """
while read -r _mode _name; do
  if [ "$_mode" = try ]; then
    set +e; source "$_name" </dev/null >>"$0" 2>&1; _code=$?; set -e
  else
    source "$_name" </dev/null >>"$0" 2>>"$1"; _code=0
  fi
  echo "$_code"
done
"""

INTERPRETERS = {
    "python": [sys.executable, "-c", PYTHON],
    "sh": ["bash", "-euo", "pipefail", "-c", BASH],
    "console": ["bash", "-euo", "pipefail", "-c", BASH],
}


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A step that ran: what it printed, whether it failed, and what was wrong with either."""

    step: Step
    printed: tuple[str, ...]
    failed: bool
    wrong: str | None


@dataclass(frozen=True, kw_only=True)
class Report:
    """How the run of a page went."""

    failures: tuple[str, ...]
    """One paragraph for each block that failed, and each process that stayed."""
    ran: tuple[Ran, ...]
    skipped: tuple[tuple[Step, str], ...]
    wrong: tuple[str, ...]
    """One paragraph for each thing that is not as the page says, failures included."""
    pictures: dict[str, bytes]
    """The pictures that its blocks made, and that it shows."""
    seconds: float

    @property
    def printed(self) -> list[tuple[Output, tuple[str, ...]]]:
        """What was printed, with the output that the page shows for it; not where `...` is shown and agrees."""
        return [
            (ran.step.expected, ran.printed)
            for ran in self.ran
            if ran.step.expected and not (ANY_LINES in ran.step.expected.lines and not ran.wrong)
        ]


class _Interpreter:
    """One Python, or one bash, that runs blocks for as long as the page runs."""

    def __init__(self, command: list[str], folder: Path, files: tuple[Path, Path], env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [*command, *map(str, files)],
            cwd=folder,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, mode: str, file: Path, seconds: float) -> int:
        """Run a file of code; the code with which it ended, or by which the interpreter was ended."""
        assert self._process.stdin
        assert self._process.stdout
        clock = threading.Timer(seconds, self._kill)
        clock.start()
        try:
            self._process.stdin.write(f"{mode} {file}\n")
            self._process.stdin.flush()
            said = self._process.stdout.readline()
        except BrokenPipeError:
            said = ""
        finally:
            clock.cancel()
        return int(said) if said else self._process.wait()

    def _kill(self) -> None:
        for process in _alive(self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def end(self) -> bool:
        """End it, and whatever it started; whether anything it started stayed."""
        with suppress(BrokenPipeError):
            self._process.communicate()
        last = time.monotonic() + GRACE
        while (stayed := bool(_alive(self._process.pid))) and time.monotonic() < last:
            time.sleep(0.02)
        self._kill()
        return stayed


def _alive(session: int) -> list[int]:
    """The processes of a session that run: not the dead whom nobody has collected."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, theirs = file.read_text().rpartition(")")[2].split()[:4]
            if int(theirs) == session and state not in "ZX":
                found.append(int(file.parent.name))
    return found


def run_page(page: Path, *, minutes: bool = False) -> Report:
    """Run the blocks of a page. The first block that fails is the last one that runs."""
    text = page.read_text(encoding="utf-8")
    todo = steps(text)
    skipped = [(step, why) for step in todo if (why := unmet(step.needs, minutes=minutes))]
    here = [step for step in todo if not unmet(step.needs, minutes=minutes)]
    began = _children_seconds()
    with _alone(text), tempfile.TemporaryDirectory(prefix="page-") as place:
        folder = Path(place) / page.stem
        folder.mkdir()
        with provided({word for step in here for word in step.needs}) as variables:
            ran, left = _run(
                page, here, folder, {**_environment(text, folder.parent), **variables}, MOST_SECONDS[minutes]
            )
        pictures = {
            name: (folder / name).read_bytes()
            for name in re.findall(r"\]\((?:[^()\s]*/)?pictures/([\w.-]+)\)", text)
            if (folder / name).exists()
        }
    wrong = {each: f"{page.name}:{each.step.line}: {each.wrong}" for each in ran if each.wrong}
    failures = [said for each, said in wrong.items() if each.failed]
    if left and not failures:
        failures.append(f"{page.name}: a process that a block started was still there at the end")
    others = [said for each, said in wrong.items() if not each.failed]
    others += [f"{page.name}: {name} {said}" for name, data in pictures.items() if (said := _unlike(name, data))]
    return Report(
        failures=tuple(failures),
        ran=tuple(ran),
        skipped=tuple(skipped),
        wrong=(*failures, *others),
        pictures=pictures,
        seconds=_children_seconds() - began,
    )


@contextmanager
def _alone(text: str) -> Iterator[None]:
    """A page that serves on a port of this machine runs while no other such page does."""
    with (Path(tempfile.gettempdir()) / "sparsegate-pages.lock").open("a") as lock:
        if "127.0.0.1:" in text:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(page: Path, todo: list[Step], folder: Path, env: dict[str, str], seconds: float) -> tuple[list[Ran], bool]:
    out, err = files = folder.parent / "out", folder.parent / "err"
    for file in files:
        file.touch()
    interpreters: dict[str, _Interpreter] = {}
    ran: list[Ran] = []
    try:
        for step in todo:
            if step.language == "file":
                target = folder / str(step.title)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(step.code, encoding="utf-8")
                continue
            name = INTERPRETERS[step.language][0]
            if name not in interpreters:
                interpreters[name] = _Interpreter(INTERPRETERS[step.language], folder, files, env)
            # Blank lines before it: a traceback names the line of the page.
            code = folder.parent / f"{page.stem}.md"
            code.write_text("\n" * (step.line - 1) + step.code, encoding="utf-8")
            before = out.stat().st_size, err.stat().st_size
            ended = interpreters[name].run("try" if step.language == "console" else "run", code, seconds)
            printed, complained = (_since(file, start) for file, start in zip(files, before, strict=True))
            failed, wrong = _failed(step, ended), _wrong(step, ended, printed, complained)
            ran.append(Ran(step=step, printed=printed, failed=failed, wrong=wrong))
            if failed:
                break
    finally:
        left = [each.end() for each in interpreters.values()]
    return ran, any(left)


def _failed(step: Step, ended: int) -> bool:
    """Whether a step ended as it should not. A command of a console may fail where the page shows what it says."""
    return ended != 0 and not (step.language == "console" and step.expected and any(step.expected.lines))


def _wrong(step: Step, ended: int, printed: tuple[str, ...], complained: tuple[str, ...]) -> str | None:
    said = "\n".join([*printed, *complained])
    if _failed(step, ended):
        return f"ended with {ended}:\n{step.code}\n{said}"
    if step.expected and not agree(step.expected.lines, printed, noisy=step.expected.noisy):
        shown = "\n".join(step.expected.lines)
        most = "" if step.expected.noisy is None else f", noisy: {step.expected.noisy}"
        return f"printed\n{said}\nand the page shows{most}\n{shown}"
    return None


def _since(file: Path, start: int) -> tuple[str, ...]:
    with file.open("rb") as stream:
        stream.seek(start)
        return tuple(stream.read().decode(errors="replace").rstrip().splitlines())


def without_settings() -> dict[str, str]:
    """This process's environment without what a CI, a database or pytest have set: a reader has none of it."""
    settings = ("SPARSEGATE", "PYTEST", "PG", "CI", "GITHUB_")
    return {name: value for name, value in os.environ.items() if not name.startswith(settings)}


def _environment(text: str, place: Path) -> dict[str, str]:
    """That of a reader who has installed what the page says, and nothing set: no colours, one width."""
    (place / "sitecustomize.py").write_text(HIDING.format(hidden=sorted(hidden(text))), encoding="utf-8")
    return {
        **without_settings(),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": f"{place}{os.pathsep}{Path(sparsegate.__file__).parents[1]}",
        "COLUMNS": "80",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "TZ": "UTC",
    }


def _unlike(name: str, data: bytes) -> str | None:
    """What tells that the picture in the docs is not the one that was made: it is not there, or of another size."""
    kept = ROOT / "docs" / "pictures" / name
    if not kept.exists():
        return "is not in docs/pictures"
    if name.endswith(".png") and (size := data[16:24]) != kept.read_bytes()[16:24]:
        return f"is {int.from_bytes(size[:4])} by {int.from_bytes(size[4:])} pixels, and not so in docs/pictures"
    return None


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
