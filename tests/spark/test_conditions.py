"""Conditions and selections of every kind of expression that Spark's analyzer makes: the answer is Spark's own."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import weft
from weft.errors import SpecError

DDL = (
    "id long, a int, x double, s string, arr array<int>, m map<string,int>, st struct<u:int,v:string>, ts timestamp, "
    "d date, `a.b` int, `c``d` int"
)
_made: dict[str, DataFrame] = {}


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    """Return rows with a null, strings, arrays, maps, structs and awkward names."""
    if "rows" not in _made:
        start = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
        found = [
            (n, n % 3 if n % 7 else None, n / 2, f"ab{n % 4}", [n, n + 1], {"k": n}, (n, f"s{n}"),
             start + dt.timedelta(seconds=n), start.date() + dt.timedelta(days=n), n, n)
            for n in range(12)
        ]  # fmt: skip
        _made["rows"] = spark.createDataFrame(found, DDL).coalesce(1).cache()
    return _made["rows"]


BETWEEN = [
    "l.x BETWEEN r.x AND r.x + 1", "l.x NOT BETWEEN r.x AND r.x + 1", "l.a = r.a OR l.x BETWEEN r.x AND 3",
    "coalesce(l.x BETWEEN r.x AND 3, true)", "CASE WHEN l.x BETWEEN 1 AND r.x THEN l.a ELSE r.a END = 1",
    "l.a = r.a AND l.x NOT BETWEEN 1 AND 3", "l.a = r.a AND (l.x BETWEEN 1 AND 3 OR l.id = 2)",
    "l.a = CASE WHEN r.x BETWEEN 1 AND 3 THEN 1 ELSE 2 END", "CASE WHEN l.x BETWEEN 1 AND 3 THEN 1 ELSE 2 END = r.a",
    "l.id < r.id AND NOT (l.a = r.a AND l.x BETWEEN 0 AND 3)", "(l.id BETWEEN 1 AND 2) = (r.id BETWEEN 1 AND 2)",
    "(l.id + r.id) BETWEEN (CASE WHEN l.a BETWEEN 0 AND 1 THEN 3 ELSE 4 END) AND 9",
    "l.ts NOT BETWEEN r.ts AND r.ts + INTERVAL 2 SECOND", "abs(l.x - r.x) NOT BETWEEN 0 AND 1", "l.x - r.x BETWEEN -1 AND 1",
    "not between(l.x, r.x, r.x + 1)", "l.`a.b` BETWEEN r.`c``d` AND 3 OR l.`c``d` = r.`a.b`",
    "exists(l.arr, x -> x BETWEEN r.id AND r.id + 1)", "l.id = r.id AND l.a BETWEEN NULL AND 3",
    "l.x = r.x OR l.st.v BETWEEN 's1' AND r.st.v",
]  # fmt: skip

NULLS = [
    "nullif(l.a, 1) = r.a", "nullif(l.a, r.a) = 1", "nullif(l.a, 1) = nullif(r.a, 2)", "nullif(nullif(l.a, 2), r.a) = 1",
    "nullif(l.a BETWEEN r.a AND 2, false)", "l.id < r.id AND nullif(l.x BETWEEN 1 AND 4, true) IS NULL",
    "nvl2(l.a, r.a, 7) = 1", "nvl(l.a, 0) = nvl(r.a, 0)", "l.a <=> r.a", "NOT (l.a <=> r.a)", "equal_null(l.a, r.a)",
    "l.a IS DISTINCT FROM r.a", "isnull(l.a) = isnull(r.a)", "nullifzero(l.a) = r.a", "zeroifnull(l.a) = r.a",
    "l.a IS NULL OR r.a = 1", "l.id = r.id AND NULL", "l.id = r.id OR false",
]  # fmt: skip

LISTS = [
    "l.a IN (r.a, 1, 2)", "l.a NOT IN (r.a, 1)", "l.a IN (1, 2) AND l.id = r.id",
    "l.a IN (1,2,3,4,5,6,7,8,9,10,11,12,13) OR r.a = 1", "(l.a, l.id) IN ((r.a, r.id))", "l.st IN (r.st)",
    "l.s LIKE ANY ('ab%', '%1') OR l.id = r.id", "l.s LIKE ALL ('ab%', '%1') AND l.id <= r.id", "l.s LIKE r.s",
    "l.s NOT LIKE ANY ('ab%', '%1') AND l.id <= r.id", "l.s LIKE ANY (r.s, 'b%')", "l.s ILIKE concat('%', r.s)",
    "l.s RLIKE r.s", "startswith(l.s, r.s)", "left(l.s, 3) = left(r.s, 3)", "regexp_like(l.s, r.s)",
    "split_part(l.s, 'b', 2) = split_part(r.s, 'b', 2)", "l.s COLLATE UTF8_LCASE = r.s COLLATE UTF8_LCASE",
]  # fmt: skip

TRIED = [
    "try_add(l.a, 1) = r.a", "try_divide(l.x, r.x) > 1", "try_cast(l.s AS int) <=> r.a", "try_subtract(l.id, r.id) < 3",
    "try_to_number(l.s, '99') = r.a OR l.id = r.id", "get(l.arr, 0) = get(r.arr, 1)", "extract(SECOND FROM l.ts) = r.id",
    "timestampdiff(SECOND, l.ts, r.ts) BETWEEN 0 AND 3", "dateadd(DAY, 1, l.d) = r.d", "date_add(l.d, r.a) > r.d",
    "decode(l.a, 0, 'x', 1, 'y', 'z') = decode(r.a, 0, 'y', 'z')", "CASE l.a WHEN 1 THEN r.a WHEN 2 THEN r.id ELSE 0 END = 1",
    "CASE WHEN l.a = 1 THEN r.a = 1 ELSE l.id = r.id END", "if(l.a > r.a, true, false)", "greatest(l.x, r.x) < 3",
    "current_date() > l.d AND l.id = r.id", "now() BETWEEN l.ts AND r.ts OR l.id = r.id", "typeof(l.a) = typeof(r.a)",
]  # fmt: skip

NESTED = [
    "exists(l.arr, x -> x > r.a)", "forall(l.arr, x -> x > r.a)", "transform(l.arr, x -> x + r.id)[0] = 4",
    "filter(l.arr, (x, i) -> x > r.id AND i = 0) = array(3)", "aggregate(l.arr, 0, (acc, x) -> acc + x) = r.id",
    "aggregate(l.arr, r.a, (acc, x) -> acc + x) > 3", "zip_with(l.arr, r.arr, (x, y) -> x + y)[0] = 5",
    "l.st.u = r.st.u", "l.st.u < r.st.u", "l.st = r.st", "l.st < r.st", "struct(l.a, l.id) = struct(r.a, r.id)",
    "named_struct('p', l.a, 'q', l.id) = named_struct('p', r.a, 'q', r.id)", "l.arr = r.arr", "l.arr[0] = r.arr[0]",
    "l.m['k'] = r.m['k']", "array_contains(l.arr, r.id)", "arrays_overlap(l.arr, r.arr)", "array(l.a, r.a) = array(1, 1)",
    "map(l.s, l.a)[r.s] = 1", "array_append(l.arr, 1) = array_append(r.arr, 1)", "to_json(l.st) = to_json(r.st)",
]  # fmt: skip

CALLED = [
    "above(l.id, r.id)", "above(l.id, r.id) OR l.x BETWEEN 1 AND 2", "above(l.id, l.a) AND l.id = r.id",
    "one_more(l.a) = one_more(r.a)", "one_more(l.a) NOT BETWEEN r.a AND 2", "nullif(one_more(l.a), 1) = r.a",
    "near(l.x, r.x)", "NOT near(l.x, r.x)", "next_one(l.a) = r.a", "l.a + one = r.a", "l.a NOT BETWEEN one AND r.a",
    "l.a = one AND l.id = r.id", "IDENTIFIER('l.id') = r.id",
]  # fmt: skip


def compared(frame: DataFrame, conditions: list[str]) -> None:
    """Compare all conditions in one Spark job each way: a union of joins, tagged by their number."""
    ours, theirs = [], []
    for number, on in enumerate(conditions):
        ours.append(weft.join(frame, frame, on=on, select=["l.id AS x", "r.id AS y", f"{number} AS c"], tasks=1))
        crossed = frame.alias("l").crossJoin(frame.alias("r")).where(on)
        theirs.append(crossed.selectExpr("l.id AS x", "r.id AS y", f"{number} AS c"))
    found, expected = (_counted(parts) for parts in (ours, theirs))
    for number, on in enumerate(conditions):
        assert found.get(number) == expected.get(number), on


def _counted(parts: list[DataFrame]) -> dict[int, Counter[tuple[int, int]]]:
    union = parts[0]
    for part in parts[1:]:
        union = union.unionAll(part)
    counts: dict[int, Counter[tuple[int, int]]] = {}
    for row in union.toArrow().to_pylist():
        counts.setdefault(row["c"], Counter())[row["x"], row["y"]] += 1
    return counts


@pytest.mark.parametrize(
    "conditions", [BETWEEN, NULLS, LISTS, TRIED, NESTED], ids=["between", "nulls", "lists", "tried", "nested"]
)
def test_every_expression_decides_as_in_spark(rows: DataFrame, conditions: list[str]) -> None:
    compared(rows, conditions)


def test_functions_of_the_user_and_variables_decide_as_in_spark(spark: SparkSession, rows: DataFrame) -> None:
    spark.udf.register("above", F.udf(lambda p, q: (p or 0) > (q or 0), "boolean"))
    spark.udf.register("one_more", F.udf(lambda p: (p or 0) + 1, "int"))
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION next_one(p INT) RETURNS INT RETURN p + 1")
    spark.sql(
        "CREATE OR REPLACE TEMPORARY FUNCTION near(p DOUBLE, q DOUBLE) RETURNS BOOLEAN RETURN p BETWEEN q AND q + 1"
    )
    spark.sql("DECLARE OR REPLACE VARIABLE one INT DEFAULT 1")
    compared(rows, CALLED)


def test_columns_decide_as_in_spark(spark: SparkSession, rows: DataFrame) -> None:
    x, y, a, b = (F.col(name) for name in ("l.x", "r.x", "l.a", "r.a"))
    conditions = [
        ~x.between(y, y + 1), (a == b) | x.between(1, 3), F.nullif(a, b) == 1, a.eqNullSafe(b),
        F.when(x.between(1, y), a).otherwise(b) == 1, F.exists("l.arr", lambda each: each.between(F.col("r.id"), b)),
    ]  # fmt: skip
    both = [F.col("l.id").alias("x"), F.col("r.id").alias("y")]
    ours = [
        weft.join(rows, rows, on=on, select=[*both, F.lit(n).alias("c")], tasks=1) for n, on in enumerate(conditions)
    ]
    crossed = rows.alias("l").crossJoin(rows.alias("r"))
    theirs = [crossed.where(on).select(*both, F.lit(n).alias("c")) for n, on in enumerate(conditions)]
    assert _counted(ours) == _counted(theirs)


CHOSEN = [
    "l.x BETWEEN r.x AND 3", "l.x NOT BETWEEN r.x AND 3", "nullif(l.a, r.a)", "nvl2(l.a, r.a, 7)", "l.st.u", "r.arr[0]",
    "CASE WHEN l.x BETWEEN 1 AND r.x THEN l.a ELSE r.a END", "named_struct('p', l.a, 'q', r.id)", "to_json(struct(l.*))",
    "exists(l.arr, x -> x BETWEEN r.id AND r.id + 1)", "transform(l.arr, x -> nullif(x, r.a))", "l.`a.b` + r.`c``d`",
    "nullif(nullif(l.a, 1), nullif(r.a, 2))", "try_divide(l.x, r.x)", "rand(3) BETWEEN l.x - 100 AND 100", "1 BETWEEN 0 AND 2",
]  # fmt: skip


def test_every_expression_can_be_selected(rows: DataFrame) -> None:
    on = "l.id <= r.id AND l.a = r.a"
    chosen = ["l.id AS x", "r.id AS y", *(f"{text} AS q{number}" for number, text in enumerate(CHOSEN))]
    ours = weft.join(rows, rows, on=on, select=chosen, tasks=1)
    theirs = rows.alias("l").crossJoin(rows.alias("r")).where(on).selectExpr(*chosen)
    found, expected = (Counter(map(repr, frame.collect())) for frame in (ours, theirs))
    assert expected
    assert found == expected


SELF = [
    "a.x NOT BETWEEN b.x AND b.x + 1", "a.a = b.a OR a.x BETWEEN b.x AND 3", "nullif(a.a, 1) = nullif(b.a, 2)",
    "nullif(a.a, b.a) = 1", "CASE WHEN b.x BETWEEN 1 AND 3 THEN 1 ELSE 2 END = a.a", "a.id BETWEEN b.id - 1 AND b.id + 1",
    "a.id > b.id AND a.x NOT BETWEEN 1 AND 2 AND (b.x BETWEEN 0 AND 3 OR b.id = 7)",
]  # fmt: skip


@pytest.mark.parametrize("unordered", [False, True])
def test_self_joins_decide_as_in_spark(rows: DataFrame, unordered: bool) -> None:
    one, two = ("least(a.id, b.id)", "greatest(a.id, b.id)") if unordered else ("a.id", "b.id")
    crossed = rows.alias("a").crossJoin(rows.alias("b")).where("a.id <> b.id")
    ours, theirs = [], []
    for number, on in enumerate(SELF):
        chosen = [f"{one} AS x", f"{two} AS y", f"{number} AS c"]
        chosen += [] if unordered else ["nullif(a.a, b.a) AS p", "a.x NOT BETWEEN b.x AND 3 AS q"]
        ours.append(weft.self_join(rows, on=on, unordered=unordered, select=chosen, tasks=1))
        expected = crossed.where(on).selectExpr(*chosen)
        theirs.append(expected.distinct() if unordered else expected)
    assert _counted(ours) == _counted(theirs)


def test_what_spark_cannot_take_in_a_join_is_told(rows: DataFrame) -> None:
    with pytest.raises(SpecError) as caught:
        weft.join(rows, rows, on="window(l.ts, '5 seconds') = window(r.ts, '5 seconds')")
    what, there_is, hint = str(caught.value).splitlines()
    assert what == "on= contains something that Spark does not allow in a join."
    assert there_is == "Given: window(l.ts, '5 seconds') = window(r.ts, '5 seconds')"
    assert hint == "Hint: compute it as a column before the join, or after it."


def test_a_shared_value_that_is_random_and_rests_on_a_column_is_refused(rows: DataFrame) -> None:
    with pytest.raises(SpecError) as caught:
        weft.join(rows, rows, on="l.id = r.id", select=["l.id", "rand(3) + l.x BETWEEN 0 AND r.x AS q"])
    what, there_is, hint = str(caught.value).splitlines()
    assert what == "BETWEEN or nullif uses a random value that depends on a column."
    assert there_is == "It is: (rand(3) + l.x)."
    assert hint == "Hint: compute it with .select() after the join."


@pytest.mark.parametrize(
    ("what", "asked"),
    [
        ("on=", {"on": "l._metadata.file_name = r._metadata.file_name"}),
        ("select=", {"on": "l.id = r.id", "select": ["l._metadata.file_name"]}),
    ],
)
def test_a_hidden_column_is_refused_and_can_be_shown(spark, rows: DataFrame, tmp_path, what, asked) -> None:
    rows.select("id", "x").write.parquet(str(tmp_path / "files"))
    frame = spark.read.parquet(str(tmp_path / "files"))
    with pytest.raises(SpecError) as caught:
        weft.join(frame, frame, **asked)
    assert str(caught.value).splitlines() == [
        f"{what} names a hidden column of a source, such as _metadata.",
        "A join sees only the regular columns of its sides.",
        "Hint: select it before the join: frame.select('*', '_metadata').",
    ]
    shown = frame.select("*", "_metadata")
    assert weft.join(shown, shown, **asked, tasks=1).count() in (12, 144)
