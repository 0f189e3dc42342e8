"""The JSON Schema of job files: what it accepts and refuses, compared with what `weft run --check` says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from weft.cli.job import JobMistakes, load_job
from weft.cli.job.schema import job_schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
WHOLE = (HERE / "plant.toml").read_text(encoding="utf-8")
WINDOW = '{ kind = "within", span = "10 seconds", on = "ts", delay = "5 seconds" }'
SELF = WHOLE.replace("[left]", "[stream]").partition("[right]")[0] + "[join]" + WHOLE.partition("[join]")[2]


def refused(text: str) -> bool:
    schema = jsonschema.Draft7Validator(job_schema())
    data: Any = tomllib.loads(text)
    return not schema.is_valid(data)


def test_it_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(job_schema())


@pytest.mark.parametrize(
    "path", [HERE / "plant.toml", *sorted((ROOT / "examples").rglob("*.toml"))], ids=lambda path: path.name
)
def test_our_own_job_files_are_accepted(path: Path) -> None:
    jsonschema.validate(tomllib.loads(path.read_text(encoding="utf-8")), job_schema(), jsonschema.Draft7Validator)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE + "[spark]\nmaster = 'local[2]'\nconf.spark.a.b = 1\n",
        WHOLE + "[trigger]\nprocessing_time = '5 seconds'\n",
        SELF.replace("l.v1 > r.v2 AND l.i1 < r.i2", "a.v1 > b.v1"),
        WHOLE.replace(WINDOW, '{ kind = "last", rows = 100_000, order = "ts" }'),
        WHOLE.replace(WINDOW, '{ kind = "tumbling", size = "1 minute", left = "ts", right = "ts" }'),
        WHOLE.replace(WINDOW, '{ kind = "unbounded" }'),
        WHOLE.replace(
            "state =", 'how = "left_outer"\nindex = "runs"\ntasks = 4\nscheme = "matrix(rows=2, columns=2)"\nstate ='
        ),
        WHOLE.replace(WINDOW, '{ kind = "within", span = 5, on = "id", delay = 2 }'),
    ],
)
def test_what_the_check_accepts_is_accepted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.toml"
    path.write_text(text, encoding="utf-8")
    load_job(path)
    assert not refused(text)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE.replace("checkpoint =", "checkpoints ="),
        WHOLE.replace('checkpoint = "out/checkpoint"', ""),
        WHOLE.replace('format = "parquet"', "format = 3", 1),
        WHOLE.replace("state =", 'scheme = "fastjion"\nstate ='),
        WHOLE.replace("state =", "tasks = 0\nstate ="),
        WHOLE.replace('on = "l.v1 > r.v2 AND l.i1 < r.i2"', 'on = ""'),
        WHOLE.replace('kind = "within"', 'kind = "withing"'),
        WHOLE.replace('span = "10 seconds"', 'size = "10 seconds"'),
        WHOLE.replace(WINDOW, '{ kind = "last" }'),
        WHOLE + "[sink.extra]\nx = 1\n",
        WHOLE + "[trigger]\navailable_now = 'yes'\n",
        WHOLE + '[stream]\nformat = "rate"\n',
        WHOLE.replace("[right]", "[other]"),
        WHOLE.replace("state =", "select = []\nstate ="),
    ],
)
def test_what_the_schema_refuses_the_check_refuses(tmp_path: Path, text: str) -> None:
    assert text != WHOLE
    path = tmp_path / "job.toml"
    path.write_text(text, encoding="utf-8")
    assert refused(text)
    with pytest.raises(JobMistakes):
        load_job(path)
