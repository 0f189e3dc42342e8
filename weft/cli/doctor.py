"""`weft doctor`: each check says what it found, whether that is well, and what to do if not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich.table import Table
from rich.text import Text

from weft.cli.output import check_master, err, log_file, out, print_json, size
from weft.errors import WeftError

__all__ = ["Check", "check_facts", "check_java", "check_kernels", "run_doctor"]

Verdict = Literal["ok", "warn", "fail"]
_STYLE = {"ok": "green", "warn": "yellow", "fail": "bold red"}
_LEAST = {"pyspark": (4, 1), "pyarrow": (18,), "numpy": (1, 26), "numba": (0, 60), "sqlglot": (26,)}
_GIB = 1 << 30


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    found: str
    todo: str = ""
    where: str = "driver"


def run_doctor(*, master: str | None, state: str | None, as_json: bool) -> int:
    """Check this machine, and the executors when a master is given; 1 if anything fails."""
    check_master(master)
    java = check_java()
    try:
        from weft.spark import workers
    except ImportError as error:
        missing = Check("PySpark", "fail", f"cannot be imported: {error}", "pip install 'pyspark>=4.1'")
        checks = [java, missing]
    else:
        checks = [java, *check_facts(workers.facts(state), "driver"), check_kernels()]
        if master is not None and java.verdict != "fail":
            checks += _executors(master, state, as_json)
    failed = any(check.verdict == "fail" for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        _show(checks, failed)
    return 1 if failed else 0


def check_java() -> Check:
    """Find Java the way PySpark does: JAVA_HOME, else the PATH."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java") or ""
    how = "JAVA_HOME" if home else "the PATH"
    todo = "install a JRE of version 17 or newer (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME."
    if not java:
        return Check("Java", "fail", "none on the PATH, and JAVA_HOME is not set", todo)
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("Java", "fail", f"{java} (by {how}) does not run: {error}", todo)
    version = re.search(r'version "(\d+)([^"]*)"', done.stderr + done.stdout)
    if not version:
        return Check("Java", "fail", f"{java} (by {how}) does not report its version", todo)
    found = f"{version[1]}{version[2]}, {java}, by {how}"
    return Check("Java", "ok" if int(version[1]) >= 17 else "fail", found, "" if int(version[1]) >= 17 else todo)


def check_kernels() -> Check:
    """Tell whether the first join has to compile."""
    try:
        from weft.cli.warm import compiled

        now = compiled()
    except Exception as error:  # noqa: BLE001  whatever it is, the report must say it
        found = f"cannot tell whether they are compiled: {error}"
        return Check("kernels", "warn", found, "run `weft warm`, and see whether it works.")
    todo = "run `weft warm`: otherwise the first joins compile, for up to half a minute."
    return Check("kernels", "ok" if now.all else "warn", str(now), "" if now.all else todo)


def check_facts(facts: dict[str, Any], where: str) -> list[Check]:
    """Judge the facts of one machine."""
    python = tuple(int(part) for part in facts["python"].split(".")[:2])
    checks = [
        _check(
            "Python", python >= (3, 10), f"{facts['python']}, {facts['executable']}", "use Python 3.10 or newer.", where
        )
    ]
    for name, least in _LEAST.items():
        have = facts["versions"].get(name)
        wanted = ".".join(map(str, least))
        todo = f"pip install '{name}>={wanted}'"
        checks.append(_check(name, have is not None and _version(have) >= least, have or "not installed", todo, where))
    pandas = facts["versions"].get("pandas")
    well = pandas is not None and (2, 2) <= _version(pandas) < (3,)
    checks.append(
        _check("pandas", well, pandas or "not installed", "pip install 'pandas>=2.2,<3': PySpark requires it.", where)
    )
    cache = facts["cache"]
    todo = "set NUMBA_CACHE_DIR to a writable folder, otherwise every new Python worker compiles for seconds."
    if facts["kernel"]:
        checks.append(Check("kernels", "fail", facts["kernel"], "reinstall numba and numpy for this Python.", where))
    verdict: Verdict = "ok" if cache["writable"] else "warn"
    checks.append(
        Check(
            "kernel cache",
            verdict,
            f"{cache['folder']}, {'writable' if cache['writable'] else 'not writable'}",
            "" if cache["writable"] else todo,
            where,
        )
    )
    checks += [_memory(facts["memory"], facts["cores"], where), _disk(facts["disk"], where)]
    if facts["state"] is not None:
        todo = "give a folder that the driver and every executor can write."
        checks.append(_check("state path", not facts["state"], facts["state"] or "writable", todo, where))
    return checks


def _check(name: str, well: bool, found: str, todo: str, where: str) -> Check:
    return Check(name, "ok" if well else "fail", found, "" if well else todo, where)


def _version(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version.

    >>> _version("4.1.0rc2")
    (4, 1, 0)
    """
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("rc")[0])[:3])


def _memory(memory: int | None, cores: int, where: str) -> Check:
    if memory is None:
        return Check("memory", "warn", "unknown on this system", "Weft wants about 2 GB, and 1 GB per core.", where)
    found = f"{size(memory)} available, {cores} cores"
    if memory < _GIB:
        return Check(
            "memory", "fail", found, "free some: Spark's JVM and its Python workers need at least 1 GB.", where
        )
    few = memory < (1 + cores) * _GIB
    todo = "give Spark fewer cores (--master local[2]), or free some: 1 GB plus 1 GB per core is enough."
    return Check("memory", "warn" if few else "ok", found, todo if few else "", where)


def _disk(free: int, where: str) -> Check:
    verdict: Verdict = "ok" if free > 2 * _GIB else "warn" if free > _GIB // 4 else "fail"
    todo = "free some, or point spark.local.dir and TMPDIR elsewhere."
    return Check("disk", verdict, f"{size(free)} free for temporary files", "" if verdict == "ok" else todo, where)


def _executors(master: str, state: str | None, as_json: bool) -> list[Check]:
    from weft.spark import jobs, workers

    try:
        with nullcontext() if as_json else err().status(f"asking the executors of {master} ..."):
            spark = jobs.quiet_session("weft doctor", master=master, state=None, conf={}, log=log_file("doctor"))
            found = workers.executor_facts(spark, state)
            spark.stop()
    except WeftError as error:
        lines = str(error).splitlines()
        hint = next((line.removeprefix("Hint: ") for line in lines if line.startswith("Hint: ")), "")
        return [Check("executors", "fail", lines[0], hint, master)]
    checks = [Check("executors", "ok", f"{len(found)} answered: {', '.join(one['host'] for one in found)}", "", master)]
    for one in found:
        checks += check_facts(one, f"executor {one['host']}")
    return checks


def _show(checks: list[Check], failed: bool) -> None:
    console = out()
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    where = "driver"
    for check in checks:
        if check.where != where:
            where = check.where
            table.add_row("", "", "")
            table.add_row("", Text(where, style="bold"), "")
        found = Text(check.found)
        if check.todo:
            found.append(f"\n→ {check.todo}", style=_STYLE[check.verdict])
        table.add_row(Text(check.verdict, style=_STYLE[check.verdict]), check.name, found)
    console.print(table, soft_wrap=False)
    console.print()
    warned = any(check.verdict == "warn" for check in checks)
    verdict = (
        "Fix the errors first."
        if failed
        else "Weft can run; see the warnings."
        if warned
        else "All is well: try `weft demo`."
    )
    console.print(Text(verdict, style="bold red" if failed else "bold green"))
