"""Conditions as text: whose columns they name, what is refused, and that taking apart and tidying keep the meaning."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import SpecError, UnknownColumn
from weft.spec.parse import check_syntax, conjuncts, parse, references, render, without_casts

SIDES = ("l", "r")
ATOMS = ("l.a = r.a", "l.b < r.b", "l.c > r.c")

logic = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        inner.map(lambda text: f"NOT ({text})"),
        inner.map(lambda text: f"({text})"),
        st.tuples(inner, st.sampled_from(("AND", "OR")), inner).map(" ".join),
    ),
    max_leaves=6,
)
"""Conditions over three comparisons, with brackets where they matter and where they do not."""


def truth(text: str) -> list[bool]:
    """Evaluate a condition for every answer that the three comparisons can give."""
    for number, atom in enumerate(ATOMS):
        text = text.replace(atom, f"x[{number}]")
    python = re.sub("AND|OR|NOT", lambda found: found.group().lower(), text)
    return [bool(eval(python, {"x": x})) for x in itertools.product((False, True), repeat=len(ATOMS))]


@given(logic)
def test_conjuncts_together_are_the_condition(text: str) -> None:
    parts = [render(part) for part in conjuncts(parse(text, SIDES))]
    assert [all(answers) for answers in zip(*map(truth, parts), strict=True)] == truth(text)
    assert not any(re.fullmatch(r"\(.*\)|[^()]* AND [^()]*", part) for part in parts if "OR" not in part)


@given(logic)
def test_what_is_rendered_is_parsed_to_the_same(text: str) -> None:
    once = render(parse(text, SIDES))
    assert render(parse(once, SIDES)) == once and truth(once) == truth(text)


# Whose columns

names = st.sampled_from(("a", "A", "b", "c"))
columns = st.lists(st.sampled_from(("a", "A", "b")), max_size=3, unique=True)


def expected(alias: str | None, name: str, known: dict[str, list[str]]) -> str | type[SpecError]:
    """Find a column by looking at every name: the spelling, or the error."""
    having = {each: [column for column in known[each] if column.lower() == name.lower()] for each in known}
    owners = [alias] if alias is not None else [each for each in known if having[each]]
    if not owners:
        return UnknownColumn
    if len(owners) > 1:
        return SpecError
    found = having[owners[0]]
    return f"{owners[0]}.{found[0]}" if len(found) == 1 else SpecError if found else UnknownColumn


@given(st.sampled_from(("l", "r", "L", None)), names, columns, columns)
def test_a_column_is_found_as_spark_finds_it(alias: str | None, name: str, left: list[str], right: list[str]) -> None:
    known = {"l": [*left, "x"], "r": [*right, "x"]}
    wanted = expected(None if alias is None else alias.lower(), name, known)
    text = f"{name if alias is None else f'{alias}.{name}'} + 1 > 0 AND l.x = r.x"
    if isinstance(wanted, str):
        assert render(check_syntax(text, SIDES, known["l"], known["r"])) == f"{wanted} + 1 > 0 AND l.x = r.x"
    else:
        with pytest.raises(SpecError) as refused:
            check_syntax(text, SIDES, known["l"], known["r"])
        assert type(refused.value) is wanted


@given(st.sampled_from(("a", "A", "x.y", "l.a.b", "R.s.t.u")))
def test_a_side_that_is_not_known_yet_is_not_checked(name: str) -> None:
    text = f"{name} = 1 AND l.x = r.x"
    if name == "x.y":
        with pytest.raises(
            SpecError, match=r"There is no side 'x': x\.y\.\nThe sides are called l \(left\) and r \(right\)"
        ):
            parse(text, SIDES)
    else:
        assert render(parse(text, SIDES)).lower() == text.lower()


def test_fields_of_structs_follow_the_column() -> None:
    assert render(check_syntax("L.s.f = k.G.h", SIDES, ["S"], ["K"])) == "l.S.f = r.K.G.h"
    assert references(parse("l.s.f = r.k", SIDES)) == {"l", "r"}


def test_names_inside_a_lambda_are_its_own() -> None:
    text = "EXISTS(l.xs, a -> a > r.k)"
    assert render(check_syntax(text, SIDES, ["xs"], ["k"])) == text


# What a join condition must be


@given(st.lists(st.sampled_from(("l.a = r.a", "l.a > 1", "r.a > 1", "l.a = l.b", "2 > 1")), min_size=1, max_size=4))
def test_a_condition_relates_the_sides(parts: list[str]) -> None:
    sides = [{alias for alias in SIDES if f"{alias}." in part} for part in parts]
    text = " AND ".join(parts)
    if any(len(named) == 2 for named in sides):
        assert render(check_syntax(text, SIDES, ["a", "b"], ["a", "b"])) == text
        return
    says = "has no comparison between the sides" if set().union(*sides) == set(SIDES) else "does not mention the"
    with pytest.raises(SpecError, match=f"{says}.*\n.*\nHint: compare the sides, such as l.x = r.x."):
        check_syntax(text, SIDES, ["a", "b"], ["a", "b"])


@pytest.mark.parametrize(
    ("on", "what"),
    [
        ("l.a = (SELECT 1)", "a subquery"), ("l.a IN (SELECT k FROM t) AND l.a = r.a", "a subquery"),
        ("l.a = MAX(r.a)", "an aggregate"), ("l.a = ROW_NUMBER() OVER (ORDER BY r.a)", "a window function"),
        ("COUNT(*) = l.a", "an aggregate"), ("l.a = :p", "a parameter"), ("l.a = ?", "a parameter"),
    ],
)  # fmt: skip
def test_what_one_row_of_each_side_cannot_decide_is_refused(on: str, what: str) -> None:
    with pytest.raises(SpecError, match=f"contains {what}: .*\nA condition is evaluated on one row of each side"):
        parse(on, SIDES)


@pytest.mark.parametrize(
    ("on", "what"),
    [
        ("", "The join condition is empty."), (" \n", "The join condition is empty."),
        ("l.a = = r.a", "does not parse at character 7, near '='"), ("l.a =\n= r.a", "at line 2, character 7, near '='"),
        ("l.a = 'r", "a quote or a bracket is not closed"),
    ],
)  # fmt: skip
def test_what_does_not_parse_says_where(on: str, what: str) -> None:
    with pytest.raises(SpecError, match=what):
        parse(on, SIDES)


# Spark's casts

LEAVES = (("l.x", "CAST(l.x AS DOUBLE)"), ("r.y", "r.y"), ("2", "2L"), ("3", "CAST(3BD AS DECIMAL(10,1))"))

sums = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(
            lambda made: (f"({made[0][0]} {made[1]} {made[2][0]})", f"({made[0][1]} {made[1]} {made[2][1]})")
        ),
        inner.map(lambda made: (made[0], f"CAST({made[1]} AS BIGINT)")),
    ),
    max_leaves=5,
)
"""Arithmetic as a person thinks of it, fully bracketed, and as Spark's analyzer writes it."""


@given(sums, sums)
def test_tidied_text_has_no_casts_and_means_the_same(left: tuple[str, str], right: tuple[str, str]) -> None:
    plain, written = f"({left[0]} <= {right[0]})", f"({left[1]} <= {right[1]})"
    tidy = without_casts(written)
    assert "CAST" not in tidy.upper() and not re.search(r"\d[A-Z]", tidy)
    assert tidy == without_casts(plain)
    assert _answers(tidy) == _answers(plain)


def _answers(text: str) -> list[bool]:
    """Evaluate a comparison for every small x and y."""
    python = text.replace("l.x", "x").replace("r.y", "y")
    return [bool(eval(python, {"x": x, "y": y})) for x in range(-2, 3) for y in range(-2, 3)]


@given(logic)
def test_tidied_logic_means_the_same(text: str) -> None:
    assert truth(without_casts(f"({text})")) == truth(text)


def test_what_is_no_sql_is_left_as_it_is() -> None:
    assert without_casts("l.x <= 'r") == "l.x <= 'r"
