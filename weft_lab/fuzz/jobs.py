"""Job files: TOML text to the loader, which must name every mistake and never start Spark to find one."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from random import Random

from weft.cli.job import load_job
from weft.cli.job.model import SYNONYMS, TABLES, WINDOWS
from weft.errors import WeftError
from weft_lab.fuzz.grammar import SEEDS as CONDITIONS
from weft_lab.fuzz.grammar import drawn
from weft_lab.fuzz.mutations import changed_bytes, changed_text
from weft_lab.fuzz.target import ANSWERED, REFUSED, Target

__all__ = ["TARGET"]

_TWO = """checkpoint = "out/checkpoint"

[left]
format = "parquet"
path = "data/left"
schema = "id long, ts timestamp, v1 double, i1 double"

[right]
format = "json"
path = "data/right"
schema = "id long, ts timestamp, v2 double, place struct<x: double, y: double>"
where = "v2 IS NOT NULL AND id > 0"
select = ["id", "ts", "v2 * 1000 AS mv", "place.x AS x"]

[join]
on = "l.v1 > r.mv AND l.id = r.id"
window = { kind = "within", span = "10 seconds", on = "ts", delay = "5 seconds" }
state = "out/state"
select = ["l.id AS left_id", "r.*"]
tasks = 4

[sink]
format = "parquet"
path = "out/pairs"

[trigger]
processing_time = "5 seconds"

[spark]
master = "local[2]"
conf.spark.sql.shuffle.partitions = 4
"""
_ONE = """checkpoint = "/tmp/c"
stream = { format = "rate", options = { rowsPerSecond = 10 } }
[join]
on = "abs(a.value - b.value) <= 5"
window = { kind = "last", rows = 100, order = "timestamp" }
state = "file:///tmp/s"
unordered = true
scheme = "matrix"
index = "pim-tree(merge_ratio=1/8)"
suffix = "_b"
[sink]
format = "kafka"
options."kafka.bootstrap.servers" = "h:9092"
options.topic = "pairs"
[spark.conf]
"spark.jars.packages" = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.0"
[trigger]
available_now = true
"""
_VALUES = (
    '""', '"x"', "0", "1", "-1", "1.5", "inf", "nan", "true", "false", "[]", "{}", "[1]", '["a"]', '["*"]', "1979-05-27",
    "07:32:00", "1979-05-27T07:32:00Z", "'''a\nb'''", '"\\u0000"', '"\\U0010FFFF"', "9223372036854775808", "0x1F",
    "[[1], {a = 1}]",
    '"10 seconds"', '"1 month"', '"-5 s"', '"99999999999999 days"', '"1e9 s"', '"file://host/x"', '"s3a://b/k"', '"~root/x"',
    '"//"',
    '"id long, id int"', '"id array<struct<a:int>>, `b c` map<string,int>"', '"id"', '"*"', '"local[0]"', '"spark://"', '"kafka"',
    '"a AS b AS c"', '"l.*, r.*"', '"x -> x"', '"../../x"', '"hdfs:/x"', '"file:"', '"file:x"', '"auto"', '"hash"', '"fastjoin"',
    '"pim-tree(merge_ratio=1/0)"', '"pim-tree(("', "1_000", '"/"', '"."', '"\\t"', '"transform(a, x -> x + 1)"', '"~"', '"~~/x"',
)  # fmt: skip
_KEYS = (
    *(key for table in TABLES.values() for key in table), *(key for table in WINDOWS.values() for key in table), *SYNONYMS,
    "é", '""', '"a.b"', "a.b", "0",
)  # fmt: skip
_WORDS = (
    "[", "]", "[[", "]]", "{", "}", "=", ".", '"', "'", "#", "\n", "\\", ",", "\0", '"""', "[join]\n", "[left]\n", "[stream]\n",
    "[join.window]\n", "[left.options]\n", "[[left]]\n", "\r\n", "\ufeff",
)  # fmt: skip


def _run(data: bytes) -> str:
    path = _folder() / "job.toml"
    path.write_bytes(data)
    try:
        load_job(path, reads=len(data) % 2 == 0)
    except WeftError:
        return REFUSED
    return ANSWERED


@lru_cache(maxsize=1)
def _folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="weft-fuzz-jobs-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _mutate(data: bytes, draw: Random) -> bytes:
    way = draw.random()
    if way < 0.1:
        return changed_bytes(data, draw)
    text = data.decode("utf-8", "replace")
    if way < 0.35:
        return changed_text(text, draw, (*_WORDS, *_VALUES, *_KEYS)).encode("utf-8", "replace")
    lines = text.split("\n")
    at = draw.randrange(len(lines))
    key, equals, _ = lines[at].partition("=")
    if way < 0.65 and equals:
        lines[at] = f"{key}= {_value(draw)}"
    elif way < 0.72 and equals:
        lines[at] = f"{draw.choice(_KEYS)} ={lines[at][len(key) + 1 :]}"
    elif way < 0.8:
        lines.insert(at, f"{draw.choice(_KEYS)} = {_value(draw)}")
    elif way < 0.86:
        del lines[at]
    elif way < 0.93:
        other = draw.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines.insert(draw.randrange(len(lines)), draw.choice((_ONE, _TWO)).split("\n")[draw.randrange(18)])
    return "\n".join(lines).encode("utf-8", "replace")


def _value(draw: Random) -> str:
    way = draw.random()
    if way < 0.5:
        return draw.choice(_VALUES)
    if way < 0.65:
        return _quoted(drawn("truth", draw, 2))
    if way < 0.75:
        return _quoted(draw.choice(CONDITIONS))
    if way < 0.85:
        return f"[{_quoted(drawn('number', draw, 2))}, {draw.choice(_VALUES)}]"
    kind = draw.choice(list(WINDOWS))
    entries = [f"{key} = {draw.choice((field.example, draw.choice(_VALUES)))}" for key, field in WINDOWS[kind].items()]
    entries = [entry for entry in entries if draw.random() < 0.6]
    return "{ " + ", ".join([f'kind = "{kind}"', *(one for one in entries if not one.startswith("kind"))]) + " }"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


TARGET = Target("jobs", _run, _mutate, lambda: [_TWO.encode(), _ONE.encode()], longest=4096)
