"""The page of the command line has every command, every option and every example, and its links lead somewhere."""

from __future__ import annotations

import re

from pages.blocks import ROOT, fences
from pages.command_reference import commands_part, exit_codes_part, prose
from pages.hooks import anchor
from pages.manual import documented_commands

from sparsegate.cli.help_page import example_lines

PART = commands_part()


def test_every_command_has_a_section_with_its_example_and_its_options() -> None:
    sections = dict(re.findall(r"^###? (sparsegate [^\n]+)\n(.*?)(?=^##|\Z)", PART, re.DOTALL | re.MULTILINE))
    commands = documented_commands()
    assert list(sections) == [command.name for command in commands]
    for command in commands:
        section = sections[command.name]
        assert "\n".join(example_lines(command.words, width=80)) in section
        named = {one for panel in command.panels.values() for one in panel}
        rows = [line for line in section.splitlines() if line.startswith("| `")]
        assert len(rows) == len(named)
        assert [one.long for one in named if one.long and not any(one.long in row for row in rows)] == []


def test_its_links_lead_to_sections_and_pages_that_are_there() -> None:
    headings = {anchor(heading, "-") for heading in re.findall(r"^#+ (.*)$", PART, re.MULTILINE)}
    targets = re.findall(r"\]\(([^)]*)\)", PART)
    assert len(targets) > 15
    assert [target for target in targets if target.startswith("#") and target[1:] not in headings] == []
    pages = [target for target in targets if not target.startswith("#")]
    assert [page for page in pages if not (ROOT / "docs" / "reference" / page).is_file()] == []


def test_every_row_has_two_cells_where_code_is_put_aside() -> None:
    for line in (PART + exit_codes_part()).splitlines():
        if line.startswith("|"):
            assert re.sub(r"`[^`]*`|\\.", "", line).count("|") == 3, line


def test_no_sign_of_the_words_means_more_than_itself() -> None:
    assert prose("a_b <int> | --no-refund [x] 2*3 at --top.") == r"a\_b \<int\> \| `--no-refund` \[x\] 2\*3 at `--top`."
    assert prose("$0-5 pages, 1e-6, -c 5") == "$0-5 pages, 1e-6, `-c` 5"


def test_examples_on_the_page_are_blocks_of_a_shell() -> None:
    assert sum(fence.language == "sh" for fence in fences(PART)) == len(documented_commands())
