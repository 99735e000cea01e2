"""How to cite: the page is CITATION.cff in BibTeX."""

from __future__ import annotations

import re

import sparsegate
from pages import citation


def test_the_page_has_the_software_and_the_paper() -> None:
    page = citation.citation_page()
    assert "@software{sparsegate,\n  author = {{The sparsegate contributors}},\n  title = {{" in page
    assert re.search(rf"  version = {{{sparsegate.__version__}}},\n  year = {{20\d\d}},\n", page)
    assert (
        "@article{lyu2017,\n"
        "  author = {Lyu, Min and Su, Dong and Li, Ninghui},\n"
        "  title = {{Understanding the Sparse Vector Technique for Differential Privacy}},\n"
        "  pages = {637--648},\n"
        "  journal = {Proceedings of the VLDB Endowment},\n"
        "  year = {2017},\n"
        "  volume = {10},\n"
        "  number = {6},\n"
        "  doi = {10.14778/3055330.3055331},\n"
        "}"
    ) in page
