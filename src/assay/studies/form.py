"""What the tables of a study file may hold: keys, types, bounds and defaults.

The description of a field is what its value must be: a mistake is told with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from assay.core.errors import SpecError, suggest
from assay.core.floors import Rule
from assay.core.records import printable
from assay.core.spec import Value
from assay.studies.limits import LARGEST_BLOCK, LARGEST_GALLERY, LONGEST_TEXT, MOST_ITEMS, MOST_SEEDS
from assay.studies.study import AGREEMENT, BLOCK, SAMPLES


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError
    return printable(text, LONGEST_TEXT)


def _different(numbers: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(numbers)) < len(numbers):
        raise ValueError
    return numbers


def _counted(seeds: Any) -> Any:
    """A number of seeds as the seeds themselves, from 0 on."""
    whole = isinstance(seeds, int) and not isinstance(seeds, bool)
    return tuple(range(seeds)) if whole and 0 < seeds <= MOST_SEEDS else seeds


def _value(value: Any) -> Value:
    if isinstance(value, list | tuple):
        return tuple(map(_value, value))
    if isinstance(value, bool | str) or (isinstance(value, int | float) and abs(value) <= sys.float_info.max):
        return value
    raise ValueError


# ``strict=False`` lets a list be a tuple; the items stay strict.
Text = Annotated[str, AfterValidator(_text), Field(description="a text")]
Texts = Annotated[tuple[Text, ...], Field(strict=False, description="a list of texts")]
Switch = Annotated[bool, Field(description="true or false")]
Number = Annotated[float, Field(allow_inf_nan=False, description="a number")]
Samples = Annotated[int, Field(ge=1, description="a whole number of at least 1")]
Block = Annotated[int, Field(ge=1, le=LARGEST_BLOCK, description=f"a whole number of 1 to {LARGEST_BLOCK}")]
Seeds = Annotated[
    tuple[int, ...], BeforeValidator(_counted), AfterValidator(_different), Field(strict=False, min_length=1)
]
Count = Annotated[int, Field(ge=0, le=LARGEST_GALLERY)]
Index = Annotated[int, Field(ge=0)]
Indices = Annotated[
    tuple[Index, ...], AfterValidator(_different), Field(strict=False, min_length=1, max_length=LARGEST_GALLERY)
]
Values = Annotated[
    tuple[Annotated[Any, AfterValidator(_value)], ...], Field(strict=False, min_length=2, max_length=MOST_ITEMS)
]
QuestionTable = Annotated[dict[str, Any], Field(description="a table such as { baseline = 'true' }")]
Tables = Annotated[tuple[dict[str, Any], ...], Field(strict=False, max_length=MOST_ITEMS)]
Items = Annotated[
    tuple[Any, ...],
    Field(strict=False, min_length=1, max_length=MOST_ITEMS, description=f"a list of 1 to {MOST_ITEMS} items"),
]


class Table(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Item(Table):
    """An environment, a method or a metric."""

    use: str = Field(description="a spec in quotes")
    label: Text = ""  # empty: as ``use``


class EnvironmentItem(Item):
    samples: Samples = SAMPLES
    block: Block = BLOCK


class MetricItem(Item):
    only: Texts = ()


class MethodItem(MetricItem):
    question: QuestionTable = {}
    family: Text = ""


class SweepTable(Table):
    of: Literal["environments", "methods", "metrics"] = Field(description="'environments', 'methods' or 'metrics'")
    parameter: Text = Field(description="the name of a parameter")
    values: Values = Field(
        description=f"a list of 2 to {MOST_ITEMS} values: finite numbers, texts, true, false or lists of these"
    )
    only: Texts = ()
    label: Text = ""  # empty: as ``parameter``


class FaithfulnessTable(Table):
    metric: Text = ""
    gamma: Number = 0.5
    require: Texts = ()
    signs: Switch = True
    agreement: Number = AGREEMENT
    by: dict[Text, Text] = Field({}, description="a table of methods and metrics such as { GradCAM = 'F1 smooth' }")
    rule: Rule = Field("interval", description="'interval' or 'point'")
    strict: Switch = False


class AgreementTable(Table):
    truth: Text = ""
    metrics: Texts = ()
    methods: Texts = ()


class SlopeTable(Table):
    left: Text = ""
    right: Text = ""
    suffix: Text = ""
    methods: Texts = ()


class StudyTable(Table):
    """A study at one scale."""

    title: Text = ""
    seeds: Seeds = Field(
        (0,), description=f"a list of different whole numbers, or how many of them (1 to {MOST_SEEDS})"
    )
    data_seed: int | None = Field(None, description="a whole number")
    samples: Samples = SAMPLES
    block: Block = BLOCK
    gallery: Count | Indices = Field(
        4, description=f"a whole number of 0 to {LARGEST_GALLERY}, or a list of different indices of samples"
    )
    question: QuestionTable = {}
    environments: Items = ()
    methods: Items = ()
    metrics: Items = ()
    faithfulness: Tables = Field(
        (), description=f"a list of at most {MOST_ITEMS} tables such as {{ metric = 'f1', gamma = 0.5 }}"
    )
    agreement: Tables = Field((), description=f"a list of at most {MOST_ITEMS} tables such as {{ truth = 'f1' }}")
    slope: Tables = Field(
        (), description=f"a list of at most {MOST_ITEMS} tables such as {{ left = 'f1', right = 'insertion' }}"
    )
    sweep: dict[str, Any] | None = Field(
        None, description="a table such as { of = 'methods', parameter = 'steps', values = [8, 64] }"
    )


class FileTable(StudyTable):
    full: dict[str, Any] | None = Field(
        None, min_length=1, description="a table with keys of the study such as samples = 1000"
    )


T = TypeVar("T", bound=Table)


def checked(form: type[T], table: Mapping[str, Any], problems: list[str]) -> T:
    """The table. What is wrong in it joins the problems and has its default; SpecError where there is none."""
    fields = form.model_fields
    for key in islice((key for key in table if key not in fields), MOST_ITEMS):
        parameter = f' Parameters belong to the spec: use = "NAME({key}=...)".' if "use" in fields else ""
        problems.append(f"unknown key '{key}'.{suggest(key, fields) or parameter}")
    known = {key: value for key, value in table.items() if key in fields}
    try:
        return form.model_validate(known)
    except ValidationError as error:
        wrong = {found["loc"][0] for found in error.errors(include_url=False)}
    for key in (key for key in fields if key in wrong):
        problems.append(f"{key} must be {fields[key].description}, {_given(table.get(key))}")
    if any(fields[key].is_required() for key in fields if key in wrong):
        raise SpecError(problems.pop())
    return form.model_validate({key: value for key, value in known.items() if key not in wrong})


def _given(value: Any) -> str:
    if value is None:  # which TOML does not have
        return "and is missing"
    return f"not {len(value)} items" if isinstance(value, list) and len(value) > MOST_ITEMS else f"not {value!r}"


@contextmanager
def located(location: str, problems: list[str]) -> Iterator[list[str]]:
    """What is found within, and a SpecError that ends it, joins the problems with its location."""
    found: list[str] = []
    try:
        yield found
    except SpecError as error:
        found.append(str(error))
    problems += [f"{location}: {problem}" for problem in found]
