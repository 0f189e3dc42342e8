"""`weft new`: a job file from questions or flags, that passes the check."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from weft.cli import new_job
from weft.cli.app import app
from weft.cli.job import load_job
from weft.cli.job.compose import look_into
from weft.cli.job.schema import job_schema
from weft.errors import JobError
from weft.spec import last, within

TRADES = "ts,symbol,price\n2026-01-05 10:00:01,ACME,100.2\n2026-01-05 10:00:04,ACME,100.9\n"
QUOTES = "ts,symbol,ask\n2026-01-05 10:00:00,ACME,100.1\n2026-01-05 10:00:03,ACME,101.3\n"


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("trades", TRADES), ("quotes", QUOTES)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.csv").write_text(text, encoding="utf-8")
    return tmp_path


def weft(*words: str, answers: str | None = None):
    return CliRunner().invoke(app, ["new", *words], input=answers)


def test_flags_make_a_job_that_passes_the_check(folders: Path) -> None:
    on = "l.symbol = r.symbol AND l.price >= r.ask"
    done = weft(
        "--left",
        "trades",
        "--right",
        "quotes",
        "--on",
        on,
        "--within",
        "5 seconds",
        "--delay",
        "1 second",
        "--how",
        "left",
    )
    assert done.exit_code == 0, done.output
    job = load_job(folders / "job.toml", reads=True, writes=True)
    assert job.on == on and job.how == "left"
    assert job.window == within("5 seconds", on="ts", delay="1 second")
    assert job.left.schema == "ts timestamp, symbol string, price double"
    assert job.left.options == {"path": "trades", "header": "true"}
    assert job.trigger == {"availableNow": True}
    assert sorted(path.name for path in folders.iterdir()) == ["job.toml", "quotes", "trades"]


def test_questions_are_asked_until_the_answer_serves(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_job, "at_terminal", lambda: True)
    answers = [
        "nowhere",
        "trades",
        "quotes",
        "l.price >= r.bid",
        "l.price >= r.ask",
        "",
        "5 lightyears",
        "5 seconds",
        "",
    ]
    done = weft("new.toml", answers="\n".join(answers) + "\n")
    assert done.exit_code == 0, done.output
    for said in (
        "There is no folder nowhere.",
        "no column 'bid'",
        "r: ts timestamp, symbol string, ask double",
        "not a duration",
    ):
        assert said in done.output
    job = load_job(folders / "new.toml")
    assert job.window == within("5 seconds", on="ts", delay="5 seconds")


def test_a_self_join_over_the_last_rows(folders: Path) -> None:
    done = weft("--stream", "trades", "--on", "a.price < b.price", "--last", "100", "--live", "--out", "elsewhere/")
    assert done.exit_code == 0, done.output
    job = load_job(folders / "job.toml")
    assert job.right is None and job.window == last(100)
    assert job.trigger == {"processingTime": "5 seconds"}
    assert job.checkpoint == "elsewhere/checkpoint"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--left", "trades"], "--right is missing"),
        (["--left", "trades", "--right", "quotes"], "--on is missing"),
        (["--left", "trades", "--right", "quotes", "--on", "l.price > r.bid"], "no column 'bid'"),
        (["--left", "trades", "--right", "gone", "--on", "l.price > r.ask"], "There is no folder gone"),
        (["--left", "trades", "--stream", "quotes"], "--stream is a self join"),
        (
            ["--left", "trades", "--right", "quotes", "--on", "l.price > r.ask", "--within", "1 s", "--last", "3"],
            "two windows",
        ),
        (["--left", "trades", "--right", "quotes", "--on", "l.price > r.ask", "--time", "when"], "no column 'when'"),
        (
            ["--left", "trades", "--right", "quotes", "--on", "l.price > r.ask", "--how", "cross"],
            "There is no how='cross'",
        ),
    ],
)
def test_a_wrong_flag_is_told_and_leaves_no_file(folders: Path, words: list[str], said: str) -> None:
    done = weft(*words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert not (folders / "job.toml").exists()


def test_a_file_is_replaced_only_if_asked(folders: Path) -> None:
    flags = ["--left", "trades", "--right", "quotes", "--on", "l.price > r.ask"]
    (folders / "job.toml").write_text("mine", encoding="utf-8")
    assert weft(*flags).exit_code == 2
    assert weft(*flags, "--force", "--time", "gone").exit_code == 2
    assert (folders / "job.toml").read_text(encoding="utf-8") == "mine"
    assert weft(*flags, "--force").exit_code == 0
    assert load_job(folders / "job.toml").on == "l.price > r.ask"


def test_the_schema_is_printed_and_named_where_it_lies(folders: Path) -> None:
    printed = weft("--schema")
    assert json.loads(printed.stdout) == job_schema()
    (folders / new_job.SCHEMA_FILE).write_text(printed.stdout, encoding="utf-8")
    assert weft("--left", "trades", "--right", "quotes", "--on", "l.price > r.ask").exit_code == 0
    text = (folders / "job.toml").read_text(encoding="utf-8")
    assert text.startswith(f"#:schema ./{new_job.SCHEMA_FILE}\n")
    jsonschema.Draft7Validator.check_schema(json.loads(printed.stdout))


def test_files_of_every_known_format_are_looked_into(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array([1], pa.int32()), "a b": ["x"], "at": pa.array([0], pa.timestamp("us", "UTC"))})
    (tmp_path / "p" / "day=1").mkdir(parents=True)
    (tmp_path / "p" / "_SUCCESS").touch()
    pq.write_table(table, tmp_path / "p" / "day=1" / "1.parquet")
    found = look_into(str(tmp_path / "p"))
    assert (found.format, found.schema, found.times) == ("parquet", "id int, `a b` string, at timestamp", ("at",))
    (tmp_path / "j").mkdir()
    (tmp_path / "j" / "1.jsonl").write_text('{"id": 1, "tags": ["a"]}\n{"id": 2, "tags": []}\n', encoding="utf-8")
    assert look_into(str(tmp_path / "j")).schema == "id bigint, tags array<string>"
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.bin").touch()
    with pytest.raises(JobError, match=r"It has: 1\.bin"):
        look_into(str(tmp_path / "b"))
