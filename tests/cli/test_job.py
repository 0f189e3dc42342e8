"""The job file: what is read, and every mistake with its key, its line and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

import weft
from weft.cli.job import CheckedJob, JobMistakes, blaming, load_job
from weft.cli.job.expressions import schema_types, selected_columns
from weft.cli.job.reader import key_lines
from weft.errors import JobError, SpecError, StateError

WHOLE = (Path(__file__).parent / "plant.toml").read_text(encoding="utf-8")
WINDOW = 'window = { kind = "within", span = "10 seconds", on = "ts", delay = "5 seconds" }'


def load(tmp_path: Path, text: str) -> CheckedJob:
    path = tmp_path / "job.toml"
    path.write_text(text, encoding="utf-8")
    return load_job(path)


def mistakes(tmp_path: Path, text: str) -> list[tuple[str, int, str]]:
    with pytest.raises(JobMistakes) as caught:
        load(tmp_path, text)
    return [(m.key, m.line, f"{m.what} {m.right}") for m in caught.value.mistakes]


def test_a_sound_job_is_read_whole(tmp_path) -> None:
    job = load(tmp_path, WHOLE + "[trigger]\navailable_now = true\n[spark]\nmaster = 'local[2]'\nconf.spark.a.b = 1\n")
    assert job.left.options == {"path": "data/left"}
    assert job.window == weft.within("10 seconds", on="ts", delay="5 seconds")
    assert job.trigger == {"availableNow": True}
    assert (job.master, job.conf) == ("local[2]", {"spark.a.b": "1"})
    assert job.state == str(Path("out/state").absolute())
    assert job.right is not None and job.sink.mode == "append"


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ('{ kind = "within", before = "1 min", after = 0, left = "ts", right = "ts" }', None),
        ('{ kind = "within", before = "1 min", on = "ts" }', weft.within(before="1 min", on="ts")),
        ('{ kind = "within", span = 5, on = "id", delay = 2 }', weft.within(5, on="id", delay=2)),
        ('{ kind = "last", rows = 100, order = "ts" }', weft.last(100, order="ts")),
        ('{ kind = "last", rows = 100 }', weft.last(100)),
        ('{ kind = "tumbling", size = "1 minute", on = "ts" }', weft.tumbling("1 minute", on="ts")),
        ('{ kind = "tumbling_rows", rows = 10 }', weft.tumbling_rows(10)),
        ('{ kind = "unbounded" }', weft.unbounded()),
    ],
)
def test_every_kind_of_window(tmp_path, text, window) -> None:
    whole = WHOLE.replace(WINDOW, f"window = {text}")
    if window is None:
        ((key, _, said),) = mistakes(tmp_path, whole)
        assert key == "[join].window" and "mixes plain numbers with durations" in said
    else:
        assert load(tmp_path, whole).window == window


def test_kinds_of_joins(tmp_path) -> None:
    assert load(tmp_path, WHOLE).how == "inner"
    assert load(tmp_path, WHOLE.replace("[sink]", 'how = "left_outer"\n[sink]')).how == "left_outer"


# ruff: noqa: E501  one mistake per line reads as a table
MISTAKES = {
    "unknown key": (("v1 double, i1 double\"", "v1 double, i1 double\"\ncolums = [\"id\"]"), "[left].colums", 7, "did you mean 'select'?"),
    "unknown table": (("[sink]", "[sinks]\n[sink]"), "sinks", 18, "did you mean 'sink'?"),
    "missing key": (('on = "l.v1 > r.v2 AND l.i1 < r.i2"\n', ""), "[join].on", 13, 'write on = "l.v1 > r.v2 AND'),
    "missing checkpoint": (('checkpoint = "out/checkpoint"\n', ""), "checkpoint", 0, 'write checkpoint = "out/checkpoint"'),
    "checkpoint below": (("path = \"out/pairs\"", "path = \"out/pairs\"\ncheckpoint = 'c'"), "[sink].checkpoint", 21, "at the top of the file"),
    "missing state": (('state = "out/state"\n', ""), "[join].state", 13, "every executor can write"),
    "missing table": (("[sink]\nformat = \"parquet\"\npath = \"out/pairs\"\n", ""), "[sink]", 0, "add a table [sink]"),
    "wrong type": (('path = "data/left"', "path = 3"), "[left].path", 5, "It is the number 3, and must be a text"),
    "no schema": (('schema = "id long, ts timestamp, v2 double, i2 double"\n', ""), "[right].schema", 8, "needs a schema"),
    "bad schema": (("id long, ts timestamp, v1", "id long, ts, v1"), "[left].schema", 6, "no type for ts"),
    "no path": (('path = "data/right"\n', ""), "[right].path", 8, "needs its folder"),
    "on does not parse": (("l.v1 > r.v2", "(l.v1 > r.v2"), "[join].on", 14, "does not parse"),
    "unknown column": (("l.v1 >", "l.v9 >"), "[join].on", 14, "The left side has no column 'v9'. It has: id, ts, v1, i1."),
    "unknown alias": (("l.v1 >", "x.v1 >"), "[join].on", 14, "There is no side 'x'"),
    "one side": (("l.v1 > r.v2 AND l.i1 < r.i2", "l.v1 > 3"), "[join].on", 14, "does not mention the right side"),
    "unknown window": (('kind = "within"', 'kind = "withn"'), "[join].window.kind", 15, "did you mean 'within'?"),
    "no kind": (('kind = "within", ', ""), "[join].window.kind", 15, "Windows are: within, last"),
    "window key": (("span =", "spam ="), "[join].window.spam", 15, "did you mean 'span'?"),
    "window column": (('on = "ts"', 'on = "time"'), "[join].window.on", 15, "The left side has no column 'time'"),
    "bad duration": (('"10 seconds"', '"10 secnds"'), "[join].window", 15, "which is not a duration"),
    "negative duration": (('"10 seconds"', '"-10 seconds"'), "[join].window", 15, "negative"),
    "unknown scheme": (("[sink]", "scheme = \"hsh\"\n[sink]"), "[join].scheme", 18, "did you mean 'hash'?"),
    "unknown index": (("[sink]", "index = \"btre\"\n[sink]"), "[join].index", 18, "Known: auto, runs"),
    "no tasks": (("[sink]", "tasks = 0\n[sink]"), "[join].tasks", 18, "whole number of at least 1"),
    "select": (("[sink]", "select = [\"l.id\", \"r.v1\"]\n[sink]"), "[join].select", 18, "r has no column 'v1'"),
    "select syntax": (("[sink]", "select = [\"l.id AS\", \"(\"]\n[sink]"), "[join].select", 18, "does not parse"),
    "unordered": (("[sink]", "unordered = true\n[sink]"), "[join].unordered", 18, "Only a self join"),
    "no such kind": (("[sink]", "how = \"cross\"\n[sink]"), "[join].how", 18, "Known: inner, left, right, full, left_semi, left_anti."),
    "kind without an end": ((', delay = "5 seconds" }', ' }\nhow = "left"'), "[join].how", 16, "needs a window that ends"),
    "right columns of a semi join": (("[sink]", "how = \"semi\"\nselect = [\"r.id\"]\n[sink]"), "[join].select", 19, "names columns of r"),
    "mode": (("path = \"out/pairs\"", "path = \"out/pairs\"\nmode = \"complete\""), "[sink].mode", 21, "Known: append"),
    "memory sink": (('path = "out/pairs"', "\n[trigger]"), "[sink].path", 18, "needs its folder"),
    "both triggers": (("[sink]", "[trigger]\nonce = true\navailable_now = true\n[sink]"), "[trigger]", 18, "keep one of them"),
    "trigger time": (("[sink]", "[trigger]\nprocessing_time = \"soon\"\n[sink]"), "[trigger].processing_time", 19, "not a duration"),
    "where": (("[join]", "where = \"v3 > 1\"\n[join]"), "[right].where", 13, "There is no column 'v3'"),
    "sink is source": (("out/pairs", "data/left"), "[sink].path", 20, "It is the folder of [left].path (line 5)"),
    "sink in source": (("out/pairs", "./data/right/pairs"), "[sink].path", 20, "It is inside the folder of [right].path (line 10)"),
    "sink holds source": (("out/pairs", "data"), "[sink].path", 20, "It contains the folder of [left].path (line 5)"),
    "checkpoint is sink": (("out/checkpoint", "out/pairs/"), "checkpoint", 1, "It is the folder of [sink].path (line 20)"),
    "checkpoint in source": (("out/checkpoint", "data/left/check"), "checkpoint", 1, "as rows of the source"),
    "checkpoint is state": (("out/checkpoint", "out/state"), "checkpoint", 1, "It is the folder of [join].state (line 16)"),
    "state in source": (("out/state", "data/left/state"), "[join].state", 16, "It is inside the folder of [left].path (line 5)"),
    "state of no kind": (("out/state", "foo://host/state"), "[join].state", 16, "Weft opens no foo://"),
    "state of Hadoop's s3": (("out/state", "s3a://bucket/state"), "[join].state", 16, 'write state = "s3://bucket/state"'),
    "sink among sources": (('"data/left"', '"{data,out}/*"'), "[sink].path", 20, "It is the folder of [left].path (line 5)"),
    "master": (("[sink]", "[spark]\nmaster = \"lokal[2]\"\n[sink]"), "[spark].master", 19, 'write "local[2]"'),
    "format": (('format = "parquet"', 'format = "parqet"'), "[left].format", 4, 'did you mean "parquet"?'),
    "sink format": (('format = "parquet"\npath = "out', 'format = "consol"\npath = "out'), "[sink].format", 19, 'did you mean "console"?'),
    "column twice": (("v1 double, i1 double", "v1 double, V1 double"), "[left].schema", 6, "two columns named 'V1'"),
    "hash without equality": (("[sink]", "scheme = \"hash\"\n[sink]"), "[join].scheme", 18, "needs an equality between the sides"),
    "slices without time": (('kind = "within", span = "10 seconds", on = "ts", delay = "5 seconds"', 'kind = "last", rows = 9}\nscheme = "slices(rounds=2)" # {'), "[join].scheme", 16, "It needs a time window, and the window is"),
    "scheme setting": (("[sink]", "scheme = \"fastjoin(treshold=1.3)\"\n[sink]"), "[join].scheme", 18, "did you mean 'threshold'?"),
    "scheme value": (("[sink]", "scheme = \"matrix(rows=two)\"\n[sink]"), "[join].scheme", 18, "rows='two' is not valid. It is the number of rows of the matrix"),
    "scheme with half a setting": (("[sink]", "scheme = \"matrix(rows)\"\n[sink]"), "[join].scheme", 18, "'rows' is not a setting"),
    "hash index": (("[sink]", "index = \"hash\"\n[sink]"), "[join].index", 18, "needs an equality between the sides"),
    "number over time": (('span = "10 seconds"', "span = 10"), "[join].window", 15, "mixes plain numbers"),
    "number over timestamp": (('span = "10 seconds", on = "ts", delay = "5 seconds"', 'span = 10, on = "ts"'), "[join].window.span", 15, 'span = "10 seconds"'),
    "duration over number": (('on = "ts"', 'on = "id"'), "[join].window.span", 15, "is a whole number"),
    "duration over double": (('on = "ts"', 'left = "v1", right = "ts"'), "[join].window.span", 15, "neither a time nor a whole number"),
    "select without alias": (("[sink]", "select = [\"zz\"]\n[sink]"), "[join].select", 18, "neither side has a column 'zz'. There are: id, ts, v1, i1, v2, i2."),
    "select near": (("[sink]", "select = [\"r.v22\"]\n[sink]"), "[join].select", 18, "did you mean 'v2'?"),
    "where near": (("[join]", "where = \"v22 > 1\"\n[join]"), "[right].where", 13, "did you mean 'v2'?"),
    "where ends early": (("[join]", "where = \"v2 >\"\n[join]"), "[right].where", 13, "something is missing behind '>'"),
    "where with a name": (("[join]", "where = \"v2 > 1 x\"\n[join]"), "[right].where", 13, "is not one condition"),
    "list of tables": (("[join]", "[[join]]"), "[join]", 13, "write [join] in single brackets"),
    "key twice": (("[sink]", "state = \"s\"\n[sink]"), "[join].state", 18, "on line 16 and on line 18"),
    "table twice": (("[sink]", "[left]\n[sink]"), "[left]", 18, "on line 3 and on line 18"),
    "both kinds": (("[sink]", "[stream]\nformat = \"rate\"\n[sink]"), "[stream]", 18, "either [stream]"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_names_key_line_and_what_would_be_right(tmp_path, name) -> None:
    (old, new), key, line, said = MISTAKES[name]
    assert old in WHOLE
    found = mistakes(tmp_path, WHOLE.replace(old, new, 1))
    assert (key, line) in {(k, n) for k, n, _ in found}, found
    assert any(k == key and said in text for k, _, text in found), found


NUL = "It contains a NUL character, which paths and SQL cannot have. remove \\u0000 from it."
HOLDS_NUL = {
    "[left].path": ('path = "data/left"', 'path = "data\\u0000left"', 5),
    "[right].options.path": ('path = "data/right"', 'options = { path = "data\\u0000right" }', 10),
    "[sink].path": ('path = "out/pairs"', 'path = "out\\u0000pairs"', 20),
    "checkpoint": ('"out/checkpoint"', '"out/checkpoint\\u0000"', 1),
    "[join].state": ('"out/state"', '"file:///out/\\u0000state"', 16),
    "[join].on": ("l.v1 >", "l.v1\\u0000 >", 14),
    "[sink].partition_by": ("[sink]", '[sink]\npartition_by = ["id", "i\\u0000"]', 19),
    "[spark].conf.spark.weft.state": ("[sink]", '[spark]\nconf = { "spark.weft.state" = "a\\u0000" }\n[sink]', 19),
}


@pytest.mark.parametrize("key", HOLDS_NUL)
def test_a_nul_character_is_a_mistake_like_any_other(tmp_path, key) -> None:
    old, new, line = HOLDS_NUL[key]
    assert old in WHOLE
    path = tmp_path / "job.toml"
    path.write_text(WHOLE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(JobMistakes) as caught:
        load_job(path, reads=True, writes=True)
    found = [(m.key, m.line, f"{m.what} {m.right}") for m in caught.value.mistakes]
    assert (key, line, NUL) in found


@pytest.mark.parametrize("path", ["~nobody-of-that-name/x", "a" * 300])
@pytest.mark.parametrize("old", ["data/left", "out/pairs", "out/checkpoint", "out/state"])
def test_a_path_that_cannot_be_is_no_traceback(tmp_path, old, path) -> None:
    file = tmp_path / "job.toml"
    file.write_text(WHOLE.replace(old, path), encoding="utf-8")
    with pytest.raises(JobMistakes, match=r"There is no .*data/right"):  # told with the others, or left to Spark
        load_job(file, reads=True, writes=True)


def test_all_mistakes_come_at_once_in_the_order_of_the_file(tmp_path) -> None:
    text = WHOLE.replace("l.v1 >", "l.v9 >").replace('path = "data/left"', "path = 1").replace("out/pairs", "")
    found = mistakes(tmp_path, text)
    assert [(key, line) for key, line, _ in found] == [("[left].path", 5), ("[join].on", 14), ("[sink].path", 20)]
    with pytest.raises(JobError, match=r"job.toml has 3 mistakes") as caught:
        load(tmp_path, text)
    assert "line 14, [join].on: The left side has no column 'v9'" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("out/checkpoint", "out/pairs/_checkpoint"),  # hidden: no reader looks there
        ("out/checkpoint", "out"),
        ("out/state", "out"),
        ("out/state", "s3://bucket/state"),
        ("data/left", "data/right"),
        ('format = "parquet"', 'format = "delta"'),
        ('format = "parquet"', 'format = "org.example.parqet"'),
        ("[sink]", '[spark]\nmaster = "spark://one:7077,two:7077"\n[sink]'),
        ("[sink]", 'scheme = "hash"\n[sink]'),
        ("[sink]", 'select = ["transform(array(l.v1), x -> x + r.v2) AS x", "l.*"]\n[sink]'),
    ],
)
def test_what_works_is_not_refused(tmp_path, old, new) -> None:
    text = WHOLE.replace("l.v1 > r.v2", "l.id = r.id") if "hash" in new else WHOLE
    assert load(tmp_path, text.replace(old, new, 1)).on


def test_one_mistake_is_told_once(tmp_path) -> None:
    assert len(mistakes(tmp_path, WHOLE.replace("[join]", "[[join]]"))) == 1
    assert len(mistakes(tmp_path, WHOLE.replace("out/pairs", "data/left"))) == 1


def test_what_spark_finds_wrong_has_key_and_line_too(tmp_path) -> None:
    job = load(tmp_path, WHOLE)
    for argument, key, line in (("on", "[join].on", 14), ("left.where", "[left].where", 3), ("checkpoint",) * 2 + (1,)):
        error = SpecError.of("It is wrong.", "There is this.", "try that.")
        error.argument = argument
        with pytest.raises(JobMistakes, match=r"job.toml has a mistake") as caught, blaming(job):
            raise error
        (mistake,) = caught.value.mistakes
        assert (mistake.key, mistake.line) == (key, line)
        assert (mistake.what, mistake.right) == ("It is wrong. There is this.", "try that.")
    with pytest.raises(StateError), blaming(job):
        raise StateError("damaged")


def test_a_self_join_reads_one_stream(tmp_path) -> None:
    text = '[stream]\nformat = "rate"\n[join]\non = "a.value > b.value"\nstate = "s"\nunordered = true\n'
    text += 'window = { kind = "last", rows = 10, order = "timestamp" }\n[sink]\nformat = "noop"\n'
    job = load(tmp_path, 'checkpoint = "c"\n' + text)
    assert job.right is None and job.unordered and job.left.format == "rate"
    ((key, line, said),) = mistakes(tmp_path, 'checkpoint = "c"\n' + text.replace("b.value", "b.valu"))
    assert (key, line) == ("[join].on", 5) and "no column 'valu'" in said


def test_columns_follow_the_selection(tmp_path) -> None:
    select = 'schema = "id long, ts timestamp, v1 double, i1 double"\nselect = ["ts", "v1 * 1000 AS mv", "i1"]'
    text = WHOLE.replace('schema = "id long, ts timestamp, v1 double, i1 double"', select)
    ((key, _, said),) = mistakes(tmp_path, text)
    assert key == "[join].on" and "It has: ts, mv, i1." in said
    assert load(tmp_path, text.replace("l.v1", "l.mv")).left.select == ("ts", "v1 * 1000 AS mv", "i1")


def test_what_is_not_toml_says_where(tmp_path) -> None:
    with pytest.raises(JobError, match=r"is not TOML: .*line 2"):
        load(tmp_path, "[left]\nformat = \n")
    with pytest.raises(JobError, match="There is no job file"):
        load_job(tmp_path / "none.toml")


def test_lines_of_keys() -> None:
    text = 'a = 1\n[t]\n"b c" = """\n[x]\nd = 1\n"""\ne = [\n  "f = 1", # g = 2\n]\n[t.u]\nv = { w = "x = 1", y = 2 }\n'
    lines = key_lines(text)
    assert lines == {"a": 1, "t": 2, "t.b c": 3, "t.e": 7, "t.u": 10, "t.u.v": 11, "t.u.v.w": 11, "t.u.v.y": 11}


def test_columns_of_schema_and_selection() -> None:
    assert list(schema_types("`a b` int NOT NULL, m map<string, int>, d decimal(10, 2)")) == ["a b", "m", "d"]
    assert selected_columns(["*", "a + 1 AS c"], ("a", "b")) == ("a", "b", "c")
    assert selected_columns(["*"], None) is None


def test_the_examples_are_sound() -> None:
    examples = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))
    assert examples
    for path in examples:
        assert load_job(path).path == path


def test_a_scheme_keeps_the_settings_of_its_name(tmp_path) -> None:
    path = tmp_path / "job.toml"
    path.write_text(WHOLE.replace("[sink]", 'scheme = "adsp(memory=4e5, patience=2)"\n[sink]', 1))
    assert load_job(path).scheme == "adsp(memory=4e5, patience=2)"
