"""Gates as they travel: what may be posted about them, and what is answered, each with an example."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass as with_schema

from sparsegate.service import gates
from sparsegate.service.web.fields import MOST_THRESHOLD, MOST_WHOLE, Positive, Posted, example


class GateView(BaseModel):
    """A gate as everybody may see it."""

    model_config = example(
        id="g-0123456789abcdef",
        name="Visits to the new page",
        description="Asked by the team that made it.",
        opened_by="olga",
        threshold=1000,
        cutoff=25,
        epsilon="0.5",
        queries=None,
        noise="exponential",
        closes="above",
        standard_error=96.5,
        margin=412.0,
        margin_all=691.0,
        confidence=0.95,
        asked=3,
        positives=1,
        lost=0,
        remaining=24,
        closed=False,
        because=None,
        opened_at="2030-01-01T12:00:00+00:00",
        spent="0.052375",
        given_back="0",
        reserved="0.447625",
    )

    id: str
    name: Annotated[str, Field(description="What people call it; empty where nobody named it.")]
    description: str
    opened_by: Annotated[str | None, Field(description="The name of a token; null where that was not noted.")]
    threshold: int
    cutoff: int
    epsilon: str
    queries: int | None
    noise: Literal["exponential", "laplace"]
    closes: Literal["above", "rarer"]
    standard_error: Annotated[float | None, Field(description="Of the estimate that an ABOVE carries, if it does.")]
    margin: Annotated[float, Field(description="An answer this far from the threshold is right with `confidence`.")]
    margin_all: Annotated[
        float,
        Field(
            description="The same for several answers at once: with `confidence` all of any `cutoff` answers (all "
            "`queries` of a gate that is planned for them) whose counts are this far from the threshold are right."
        ),
    ]
    confidence: float
    asked: int
    positives: Annotated[int, Field(description="What counts as ABOVE, lost answers included.")]
    lost: int
    remaining: int
    closed: bool
    because: Annotated[str | None, Field(description="Why it is closed.")]
    opened_at: str
    spent: Annotated[str, Field(description="What its answers have cost so far, of `epsilon`.")]
    given_back: Annotated[str, Field(description="What went back to the ledger when it closed.")]
    reserved: Annotated[str, Field(description="The rest of `epsilon`, which the ledger keeps for it.")]
    practice: Annotated[bool, Field(description="Whether it is made up, to practise on, and free.")] = False


Answered = with_schema(
    gates.Answered,
    frozen=True,
    config=example(
        gate="g-0123456789abcdef",
        number=4,
        above=True,
        remaining=23,
        closed=False,
        estimate=1870,
        standard_error=96.5,
        spent="0.0725",
    ),
)
Answered.__doc__ = gates.Answered.__doc__  # which is lost on the way


class PastAnswer(BaseModel):
    """A question that was asked before; ``above`` is null where the answer was lost."""

    model_config = example(
        number=4, at="2030-01-01T12:00:03+00:00", where="country = 'DE'", above=True, estimate=1870, by="anna"
    )

    number: int
    at: str
    where: str
    above: bool | None
    estimate: int | None
    by: Annotated[str | None, Field(description="The token that asked: for owners, and for whoever asked it.")]
    practice: Annotated[bool, Field(description="Whether it is made up, to practise on, and free.")] = False


class GateNumbers(Posted):
    """What a gate is made from."""

    threshold: Annotated[int, Field(ge=-MOST_THRESHOLD, le=MOST_THRESHOLD, description="A PUBLIC number of people.")]
    cutoff: Annotated[int, Field(ge=1, le=MOST_WHOLE, description="Close after this many ABOVE.")]
    epsilon: Annotated[Positive, Field(description="The privacy loss of all the gate's answers together.")]
    queries: Annotated[
        int | None, Field(ge=1, le=MOST_WHOLE, description="Plan for this many questions, and close after them.")
    ] = None
    noise: Literal["auto", "exponential", "laplace"] = "auto"
    closes: Literal["above", "rarer"] = "above"


class OpenGate(GateNumbers):
    """A new gate. It closes after `cutoff` ABOVE, or with "rarer" when both answers were given as often."""

    model_config = example(
        threshold=1000, cutoff=25, epsilon="0.5", queries=None, name="Visits to the new page", description=""
    )

    name: Annotated[str, Field(max_length=gates.LONGEST_NAME, description="What people call it, in one line.")] = ""
    description: Annotated[str, Field(max_length=gates.LONGEST_DESCRIPTION, description="What it is for.")] = ""


class AskPreview(GateNumbers):
    """A gate that is not opened: what would it be good for?"""

    model_config = example(threshold=5, cutoff=25, epsilon="0.5", queries=None)


class CurvePoint(BaseModel):
    """The margin of the same gate at another epsilon."""

    model_config = example(epsilon=0.05, margin=911.0)

    epsilon: float
    margin: float


class CutoffPoint(BaseModel):
    """The margin of the same gate at another cutoff."""

    model_config = example(cutoff=50, margin=170.0)

    cutoff: int
    margin: float


class Preview(BaseModel):
    """What a gate would be good for: public numbers, without a look at the data, and free."""

    model_config = example(
        confidence=0.95,
        margin=92.0,
        margin_all=272.0,
        standard_error=59.0,
        noise="exponential",
        cost="0.5",
        remaining="1.5",
        warning="The margin, 92, is larger than the threshold, 5: this gate often cannot tell a count at the threshold "
        "from 0. Take a larger epsilon, a smaller cutoff or a larger threshold.",
        curve=[{"epsilon": 0.05, "margin": 911.0}, {"epsilon": 0.5, "margin": 92.0}],
        by_cutoff=[{"cutoff": 25, "margin": 92.0}, {"cutoff": 50, "margin": 170.0}],
    )

    confidence: float
    margin: Annotated[float, Field(description="As in a gate.")]
    margin_all: Annotated[float, Field(description="As in a gate.")]
    standard_error: Annotated[float | None, Field(description="As in a gate.")]
    noise: Literal["exponential", "laplace"]
    cost: Annotated[str, Field(description="The epsilon that opening it reserves.")]
    remaining: Annotated[str | None, Field(description="The epsilon that the ledger has left; null for analysts.")]
    warning: Annotated[str | None, Field(description="Why it is of little use, or cannot be opened; in sentences.")]
    curve: Annotated[list[CurvePoint], Field(description="From a tenth of its epsilon to ten times that.")]
    by_cutoff: Annotated[
        list[CutoffPoint],
        Field(description="From a tenth of its cutoff to ten times that, but for those whose plans take long."),
    ]
    practice: Annotated[bool, Field(description="Whether it is made up, to practise on, and free.")] = False


class AskGate(Posted):
    """A question: how many people have a row that matches, compared with the threshold."""

    model_config = example(where="country = 'DE' AND page IN ('/pay', '/cart')")

    where: Annotated[str, Field(description="A condition on the declared columns of one row.")]
