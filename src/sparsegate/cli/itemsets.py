"""`sparsegate itemsets`: the sets of items that most people have together, privately; or a preview of that."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from sparsegate.cli import options as opt
from sparsegate.cli.options import option
from sparsegate.cli.printing import publish
from sparsegate.cli.top import check_candidates, check_preview, show_preview
from sparsegate.errors import ParameterError


@opt.grouped
def itemsets(
    count: Annotated[int, option("", "How many sets to select.", "--count", "-c")],
    files: opt.FilesOrNone = None,
    epsilon: Annotated[float | None, option("", "The privacy loss of the selection, all levels together.")] = None,
    size: Annotated[int, option("", "The most items of a set.")] = 3,
    smallest: Annotated[int, option("", "The fewest: 2 leaves single items out.")] = 1,
    item: Annotated[str | None, option("COLUMN", "What sets are made of; not needed for baskets.")] = None,
    user: opt.User = None,
    domain: opt.Domain = None,
    where: opt.Where = None,
    delta: Annotated[float, option("", "For --domain observed: such as 1e-6.")] = 0.0,
    answers_epsilon: Annotated[float, option("", "Spend this much more on the sets' noisy counts.")] = 0.0,
    method: Annotated[
        str, option("WORD", "whole, items-first or levels; auto: the first that can be counted.")
    ] = "auto",
    pool: Annotated[int | None, option("", "How many items are selected first; 4 times the root of -c.")] = None,
    selection: Annotated[str, option("WORD", "How a level selects: subset, one-shot or exponential.")] = "auto",
    *,
    source: opt.InputOptions,
    memory_limit: opt.MemoryLimit = None,
    preview: Annotated[bool, option("", "Say how good it will be; the data is not opened.", "--preview")] = False,
    within: Annotated[int | None, option("W", "With --preview: the epsilon for W people at most.")] = None,
    times: opt.Times = None,
    people: Annotated[int | None, option("N", "With --preview: how many people there are, PUBLIC.")] = None,
    account: opt.LedgerOptions,
    shown: opt.OutputOptions,
    plot: opt.Plot = None,
) -> None:
    """The --count sets of up to --size items that most people have, without exposing a person."""
    from sparsegate.uses.itemsets import ItemsetQuestion, SetQuestion, frequent_itemsets
    from sparsegate.uses.itemsets_preview import preview_sets

    form = shown.word
    check_preview(files, epsilon, preview=preview, within=within, times=times)
    if people is not None and not preview:
        raise ParameterError("people", "is for --preview", people, "give --preview too")
    data = source.opened(files, memory_limit)
    sets: dict[str, Any] = {"count": count, "size": size, "smallest": smallest, "method": method, "pool": pool}
    public: dict[str, Any] = {
        "item": item,
        "user": user,
        "where": where,
        "epsilon": 1 if epsilon is None else epsilon,
        "answers_epsilon": answers_epsilon,
        "delta": delta,
        "selection": selection,
        "domain": opt.read_domain(domain),
    }
    question = ItemsetQuestion(sets=SetQuestion(**sets), **public)
    if preview:
        check_candidates(question.domain, files)
        look = partial(preview_sets, question, fixed=epsilon is not None, within=within, people=people)
        show_preview(look, account, times=times, form=form, plot=plot)
        return
    spending = opt.Spending(account=account)
    publish(
        partial(frequent_itemsets, data, **sets, **public, ledger=spending),
        spending,
        cost=question.least_cost,
        form=form,
        plot=plot,
        estimated=bool(answers_epsilon),
    )
