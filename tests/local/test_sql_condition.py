"""Conditions taken apart: where each conjunct goes, what is refused, and that the parts together mean the whole."""

from __future__ import annotations

import datetime as dt
import functools
import math
import operator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.errors import SpecError, UnknownColumn, WeftError
from weft.local.analyze import Analyzed, analyze
from weft.local.expr import Compiled, compile_expression
from weft.spec import Compare, Op
from weft.spec.parse import check_syntax, render

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN, INF = math.nan, math.inf
SCHEMA = pa.schema(
    {
        "id": pa.int64(), "i": pa.int32(), "x": pa.float64(), "f": pa.float32(), "s": pa.string(), "n": pa.string(),
        "d": pa.date32(), "ts": pa.timestamp("us"), "tz": pa.timestamp("us", "UTC"), "p": pa.decimal128(10, 2),
        "w": pa.decimal128(30, 2), "b": pa.bool_(), "o": pa.struct({"k": pa.int32()}),
    }
)  # fmt: skip


def shown(compare: Compare) -> str:
    limits = f" [{compare.lo:g}, {compare.hi:g}]" if compare.op in (Op.BAND, Op.FBAND) else ""
    encode = "" if compare.left.encode == "value" else f" by {compare.left.encode}"
    return (
        f"{compare.left.text} {compare.op.name} {compare.right.text}{limits}{encode}{' weak' if compare.weak else ''}"
    )


@pytest.mark.parametrize(
    ("on", "compares", "residual"),
    [
        ("l.id = r.id", ["l.id EQ r.id"], ""),
        ("r.id > l.id", ["l.id LT r.id"], ""),
        ("l.id == r.id AND l.i <> r.i", ["l.id EQ r.id", "l.i NE r.i"], ""),
        ("L.ID = R.Id", ["l.id EQ r.id"], ""),
        ("l.i = r.id", ["CAST(l.i AS BIGINT) EQ r.id"], ""),
        ("l.x < r.f", ["l.x LT CAST(r.f AS DOUBLE)"], ""),
        ("l.f < r.i", ["CAST(l.f AS DOUBLE) LT CAST(r.i AS DOUBLE)"], ""),
        ("l.f = r.f", ["l.f EQ r.f"], ""),
        ("l.p = r.i", ["CAST(l.p AS DECIMAL(12, 2)) EQ CAST(r.i AS DECIMAL(12, 2))"], ""),
        ("l.p < r.x", ["CAST(l.p AS DOUBLE) LT r.x"], ""),
        ("l.d < r.ts", ["CAST(l.d AS TIMESTAMP_NTZ) LT r.ts"], ""),
        ("l.d < r.tz", ["CAST(l.d AS TIMESTAMP) LT r.tz"], ""),
        ("l.n = r.id", ["CAST(l.n AS BIGINT) EQ r.id"], ""),
        ("l.n > r.p", ["CAST(l.n AS DOUBLE) GT CAST(r.p AS DOUBLE)"], ""),
        ("l.s = r.d", ["CAST(l.s AS DATE) EQ r.d"], ""),
        ("l.b = r.b", ["l.b EQ r.b"], ""),
        ("l.o.k + 1 > r.o.K", ["l.o.k + 1 GT r.o.K"], ""),
        ("l.s = r.s", ["l.s EQ r.s by hash weak"], "l.s = r.s"),
        ("l.s < r.s", ["l.s LT r.s by prefix weak"], "l.s < r.s"),
        ("l.s <> r.s", [], "l.s <> r.s"),
        ("l.w = r.w", ["l.w EQ r.w by hash weak"], "l.w = r.w"),
        ("l.x <=> r.x", [], "l.x IS NOT DISTINCT FROM r.x"),
        ("l.x = r.x OR l.i = r.i", [], "l.x = r.x OR l.i = r.i"),
        ("l.id = r.id AND (l.x = r.x OR l.i = r.i)", ["l.id EQ r.id"], "l.x = r.x OR l.i = r.i"),
        ("(l.x = r.x OR l.b) AND l.s LIKE r.s", [], "(l.x = r.x OR l.b) AND l.s LIKE r.s"),
        ("l.x + r.x > 5", [], "l.x + r.x > 5"),
        ("NOT (l.id < r.id)", ["l.id GE r.id"], ""),
        ("l.id = r.id AND TRUE", ["l.id EQ r.id"], ""),
        ("l.id = r.id AND l.id = r.id", ["l.id EQ r.id"], ""),
        ("l.x BETWEEN r.x - 5 AND r.x + 5", ["l.x GE r.x - 5", "l.x LE r.x + 5"], ""),
        ("r.i BETWEEN l.i AND l.id", ["l.i LE r.i", "l.id GE CAST(r.i AS BIGINT)"], ""),
        ("abs(l.id - r.id) <= 5", ["l.id BAND r.id [-5, 5]"], ""),
        ("abs(r.id - l.id) < 5", ["l.id BAND r.id [-4, 4]"], ""),
        ("2.5 > abs(l.i - r.id)", ["CAST(l.i AS BIGINT) BAND r.id [-2, 2]"], ""),
        ("abs(l.id - r.id) < 2.5", ["l.id BAND r.id [-2, 2]"], ""),
        ("abs(l.id - r.id) <= 2 * 3 + 1", ["l.id BAND r.id [-7, 7]"], ""),
        ("abs(l.id - r.id) <= -1", ["l.id BAND r.id [1, -1]"], ""),
        ("abs(l.id - r.id) < 0", ["l.id BAND r.id [1, -1]"], ""),
        ("abs(l.id - r.id) <= 1e300", [], "ABS(l.id - r.id) <= 1e300"),
        ("abs(l.id - r.id) <= NULL", [], "ABS(l.id - r.id) <= NULL"),
        ("abs(l.p - r.p) <= 0.05", ["l.p BAND r.p [-5, 5]"], ""),
        ("abs(l.p - r.p) < 0.055", ["l.p BAND r.p [-5, 5]"], ""),
        ("abs(l.p - r.p) < 0.05", ["l.p BAND r.p [-4, 4]"], ""),
        ("abs(l.p - r.p) <= 0.3D", ["l.p BAND r.p [-30, 30]"], ""),
        ("abs(l.x - r.x) <= 3", ["l.x FBAND r.x [-3, 3]"], ""),
        ("abs(l.x - r.x) < 0.5", ["l.x FBAND r.x [-0.5, 0.5] weak"], "ABS(l.x - r.x) < 0.5"),
        ("abs(l.f - r.f) <= 1", ["l.f FBAND r.f [-1, 1] weak"], "ABS(l.f - r.f) <= 1"),
        ("abs(l.x - r.i) <= 1", ["l.x FBAND CAST(r.i AS DOUBLE) [-1, 1]"], ""),
        ("abs(l.ts - r.ts) <= INTERVAL 5 SECONDS", ["l.ts BAND r.ts [-5e+06, 5e+06]"], ""),
        ("abs(l.ts - r.ts) < INTERVAL '1' MILLISECOND", ["l.ts BAND r.ts [-999, 999]"], ""),
        ("abs(datediff(l.d, r.d)) <= 3", ["l.d BAND r.d [-3, 3]"], ""),
        ("abs(datediff(r.ts, l.d)) < 3", ["l.d BAND TO_DATE(r.ts) [-2, 2]"], ""),
        ("abs(l.d - r.d) <= INTERVAL 36 HOURS", ["l.d BAND r.d [-1, 1]"], ""),
        ("abs(l.d - r.d) < INTERVAL 2 DAYS", ["l.d BAND r.d [-1, 1]"], ""),
    ],
)
def test_where_conjuncts_go(on: str, compares: list[str], residual: str) -> None:
    analyzed = analyze(on, SCHEMA, SCHEMA)
    assert [shown(compare) for compare in analyzed.condition.compares] == compares
    assert analyzed.condition.residual == residual
    assert (analyzed.residual is None) == (residual == "")
    for compare in analyzed.condition.compares:
        left, right = analyzed.left_keys[compare.left.text], analyzed.right_keys[compare.right.text]
        assert left.type == right.type, "keys are compared in one type"


def test_float_bands_are_widened_not_narrowed() -> None:
    (compare,) = analyze("abs(l.f - r.f) <= 1", SCHEMA, SCHEMA).condition.compares
    assert 1 < compare.hi < 1.000001
    assert compare.lo == -compare.hi


def test_one_sided_conjuncts_and_the_normal_form() -> None:
    analyzed = analyze("l.id=r.id and l.x>5 and (r.s like 'a%') and L.b -- comment", SCHEMA, SCHEMA)
    condition = analyzed.condition
    assert (condition.left_only, condition.right_only) == ("l.x > 5 AND l.b", "r.s LIKE 'a%'")
    assert condition.text == "l.id = r.id AND l.x > 5 AND (r.s LIKE 'a%') AND l.b"
    assert analyzed.only("left") is analyzed.left_only
    assert analyzed.keys("right") is analyzed.right_keys
    assert analyzed.alias("right") == "r"


def test_self_joins_have_their_own_aliases() -> None:
    analyzed = analyze("a.id < b.id", SCHEMA, SCHEMA, ("a", "b"))
    assert [shown(compare) for compare in analyzed.condition.compares] == ["a.id LT b.id"]


def test_an_unqualified_name_belongs_to_the_side_that_has_it() -> None:
    left, right = (
        pa.schema({"id": pa.int64(), "Price": pa.float64()}),
        pa.schema({"id": pa.int64(), "o": SCHEMA.field("o").type}),
    )
    analyzed = analyze("l.id = r.id AND price > o.k", left, right)
    assert analyzed.condition.text == "l.id = r.id AND l.Price > r.o.k"


def test_odd_names_are_quoted() -> None:
    schema = pa.schema({"a b": pa.int64(), "order": pa.int64()})
    analyzed = analyze("l.`a b` = r.`A B` AND l.order < r.`order`", schema, schema)
    assert analyzed.condition.text == "l.`a b` = r.`a b` AND l.order < r.order"


@pytest.mark.parametrize(
    ("on", "error", "words"),
    [
        ("", SpecError, "is empty"),
        ("l.id = ", SpecError, "does not parse at character 6, near '='"),
        ("l.id = r.id foo", SpecError, "near 'foo'"),
        ("l.id = r.id; DROP TABLE t", SpecError, "does not parse"),
        ("l.s = 'abc AND r.id = 1", SpecError, "a quote"),
        ("z.id = r.id", SpecError, "The sides are called l (left) and r (right)"),
        ("l.idd = r.id", UnknownColumn, "did you mean 'id'"),
        ("id = r.i", SpecError, "'id' is ambiguous"),
        ("foo = r.i", UnknownColumn, "Neither side has a column 'foo'"),
        ("l.id = 5", SpecError, "does not mention the right side"),
        ("r.id = 5", SpecError, "does not mention the left side"),
        ("TRUE", SpecError, "the left or the right side"),
        ("l.x > 5 AND r.x < 3", SpecError, "no comparison between the sides"),
        ("l.id IN (SELECT r.id)", SpecError, "a subquery"),
        ("l.id = max(r.id)", SpecError, "an aggregate"),
        ("l.id = ? + r.id", SpecError, "a parameter"),
        ("l.d = r.id", SpecError, "cannot be compared: DATE with BIGINT"),
        ("l.b = r.id", SpecError, "BOOLEAN with BIGINT"),
        ("l.o = r.o", SpecError, "cannot be compared"),
        ("abs(l.d - r.d) <= 5", SpecError, "INTERVAL with INT"),
        ("l.x + r.x", SpecError, "is not a condition"),
        ("soundex(l.s) = r.s", SpecError, "SOUNDEX is not supported locally"),
    ],
)
def test_what_is_refused(on: str, error: type[WeftError], words: str) -> None:
    with pytest.raises(error, match="Hint: ") as caught:
        analyze(on, SCHEMA, SCHEMA)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) >= 3, "what is wrong, what there is, what to try"


def test_names_that_differ_in_case_only_are_ambiguous() -> None:
    schema = pa.schema({"a": pa.int64(), "A": pa.int64()})
    with pytest.raises(SpecError, match=r"l\.a is ambiguous"):
        analyze("l.a = r.a", schema, schema)


def test_syntax_is_checked_before_columns_are_known() -> None:
    assert render(check_syntax("l.anything = r.other.thing AND soundex(l.q) = 'x'", ("l", "r"), None, None))
    assert render(check_syntax("exists(l.a, v -> v > r.b)", ("l", "r"), None, None))
    assert render(check_syntax("price > r.x", ("l", "r"), None, ["x"])) == "price > r.x"
    with pytest.raises(UnknownColumn, match="right side has no column 'y'"):
        check_syntax("l.a = r.y", ("l", "r"), None, ["x"])
    with pytest.raises(SpecError, match="no comparison between"):
        check_syntax("l.a = 1 AND r.y = 2", ("l", "r"), None, None)


# --- the parts together mean the whole --------------------------------------------------------------------------------

NUMBERS = st.one_of(st.none(), st.integers(-3, 3))
FLOATS = st.sampled_from([None, NAN, INF, -INF, -0.0, 0.0, 0.1, 0.3, 0.5, 1.0, -1.0])
MIDNIGHT = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc).replace(tzinfo=None)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": NUMBERS, "i": NUMBERS, "x": FLOATS, "f": FLOATS, "s": st.sampled_from([None, "", "a", "ab", "b"]),
            "n": st.sampled_from([None, "1", " 2",
            "-3"]), "d": st.sampled_from([None, *(dt.date(2024, 1, k) for k in (1, 2, 5))]),
            "ts": st.sampled_from([None, *(MIDNIGHT + dt.timedelta(seconds=k) for k in (0, 1, 86400))]),
            "tz": st.none(), "p": st.sampled_from([None, Decimal("0.10"), Decimal("0.15"), Decimal("0.40"), Decimal("-1.00")]),
            "w": st.sampled_from([None, Decimal("0.10"), Decimal("7.00")]),
            "b": st.sampled_from([None, True, False]), "o": st.none(),
        }
    ),
    min_size=1, max_size=5,
)  # fmt: skip
CONDITIONS = [
    "l.id = r.i AND l.x > r.x AND l.b", "l.x <= r.f AND r.i > 0", "l.x = r.x", "l.x <> r.x", "l.f < r.f",
    "l.s = r.s AND l.i <> r.i",
    "l.s < r.s", "l.w >= r.w", "l.p = r.i", "l.p > r.x", "l.p <> r.w", "l.n = r.id", "l.n < r.x", "l.d <= r.ts",
    "l.b < r.b",
    "abs(l.id - r.i) <= 2", "abs(l.id - r.id) < 1.5", "abs(l.x - r.x) <= 0.5", "abs(l.x - r.x) < 0.4",
    "abs(l.f - r.f) <= 0.2",
    "abs(l.p - r.p) < 0.3D", "abs(l.p - r.i) <= 0.6", "abs(l.d - r.d) < INTERVAL 4 DAYS",
    "abs(datediff(l.d, r.ts)) <= 1",
    "abs(l.ts - r.ts) <= INTERVAL 1 SECOND", "abs(l.ts - r.d) < INTERVAL 1 DAY", "l.i BETWEEN r.i - 1 AND r.id + 1",
    "l.id BETWEEN r.i AND 2", "1 BETWEEN l.i AND r.i", "NOT l.x < r.x", "l.x <=> r.x AND l.i >= r.i",
    "l.id = r.id OR l.x < r.x",
    "abs(l.id - r.id) <= -1", "abs(l.x - r.x) <= CAST('NaN' AS DOUBLE)",
]  # fmt: skip
HOLDS: dict[Op, Any] = {
    Op.LT: operator.lt, Op.LE: operator.le, Op.GT: operator.gt, Op.GE: operator.ge, Op.EQ: operator.eq, Op.NE: operator.ne,
}  # fmt: skip
LOOSE = {Op.LT: Op.LE, Op.GT: Op.GE}


def word(value: Any, kind: pa.DataType) -> Any:
    """Return something ordered as Spark orders it."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value


def steps(value: Any, kind: pa.DataType) -> int:
    """Return the integer behind a value, in its smallest step."""
    if isinstance(value, dt.datetime):
        return (value - MIDNIGHT) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return value.toordinal()
    return int(value.scaleb(kind.scale)) if isinstance(value, Decimal) else int(value)


def holds(compare: Compare, a: Any, b: Any, kind: pa.DataType) -> bool:
    if a is None or b is None:
        return False
    if compare.op is Op.BAND:
        return bool(compare.lo <= steps(a, kind) - steps(b, kind) <= compare.hi)
    if compare.op is Op.FBAND:
        return bool(compare.lo <= a - b <= compare.hi)
    op = LOOSE.get(compare.op, compare.op) if compare.weak else compare.op
    return bool(HOLDS[op](word(a, kind), word(b, kind)))


def pairs_of(left: pa.Table, right: pa.Table) -> dict[str, pa.Table]:
    numbers = [(i, j) for i in range(len(left)) for j in range(len(right))]
    return {"l": left.take([i for i, _ in numbers]), "r": right.take([j for _, j in numbers])}


def by_parts(analyzed: Analyzed, tables: dict[str, pa.Table]) -> list[bool]:
    result = [True] * len(tables["l"])
    for compare in analyzed.condition.compares:
        left, right = analyzed.left_keys[compare.left.text], analyzed.right_keys[compare.right.text]
        columns = left.evaluate(tables).to_pylist(), right.evaluate(tables).to_pylist()
        result = [yes and holds(compare, a, b, left.type) for yes, a, b in zip(result, *columns, strict=True)]
    rest: list[Compiled | None] = [analyzed.left_only, analyzed.right_only, analyzed.residual]
    for part in rest:
        if part is not None:
            result = [yes and bool(more) for yes, more in zip(result, part.mask(tables), strict=True)]
    return result


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@functools.cache
def prepared(on: str) -> tuple[Analyzed, Compiled]:
    tree = check_syntax(on, ("l", "r"), SCHEMA.names, SCHEMA.names)
    return analyze(on, SCHEMA, SCHEMA), compile_expression(tree, {"l": SCHEMA, "r": SCHEMA})


@pytest.mark.parametrize("on", CONDITIONS)
@at_most(30)
@given(left=ROWS, right=ROWS)
def test_the_parts_mean_the_whole(on: str, left: list[dict[str, Any]], right: list[dict[str, Any]]) -> None:
    tables = pairs_of(as_table(left), as_table(right))
    analyzed, whole = prepared(on)
    assert by_parts(analyzed, tables) == whole.mask(tables).tolist()


SAMPLE = [
    {"id": 1, "i": 1, "x": NAN, "f": 0.1, "s": "a", "n": "1", "d": dt.date(2024, 1, 1), "ts": MIDNIGHT,
     "p": Decimal("0.10"), "w": Decimal("0.10"), "b": True},
    {"id": -2, "i": 0, "x": -0.0, "f": NAN, "s": "ab", "n": " 2", "d": dt.date(2024, 1, 5), "p": Decimal("0.40"),
     "w": Decimal("7.00"), "b": False},
    {"i": 3, "x": 0.3, "f": 0.3, "s": "", "ts": MIDNIGHT + dt.timedelta(seconds=1), "p": Decimal("-1.00"), "b": None},
    {"id": 3, "x": INF, "f": -0.0, "n": "-3", "d": dt.date(2024, 1, 2), "ts": MIDNIGHT + dt.timedelta(days=1),
     "w": Decimal("0.10")},
    {"id": 2, "i": 2, "x": 0.0, "f": -INF, "s": "b", "d": dt.date(2024, 1, 2), "p": Decimal("0.15"), "b": True},
]  # fmt: skip


@pytest.mark.spark
def test_spark_finds_the_same_pairs(spark: SparkSession) -> None:
    names = [name for name in SCHEMA.names if name not in ("o", "tz")]
    table = as_table(SAMPLE).select(names).append_column("row", pa.array(range(len(SAMPLE))))
    left, right = spark.createDataFrame(table).alias("l"), spark.createDataFrame(table).alias("r")
    columns = [f"coalesce({on}, false) AS c{index}" for index, on in enumerate(CONDITIONS)]
    theirs = left.crossJoin(right).selectExpr("l.row AS a", "r.row AS b", *columns).orderBy("a", "b").toArrow()
    tables = pairs_of(table, table)
    wrong = []
    for index, on in enumerate(CONDITIONS):
        ours, spark_says = (
            by_parts(analyze(on, table.schema, table.schema), tables),
            theirs.column(f"c{index}").to_pylist(),
        )
        if ours != spark_says:
            wrong.append(f"{on}: {ours} but Spark {spark_says}")
    assert not wrong, "\n".join(wrong)
