"""What a user meets first: few names, each where one looks for it."""

from __future__ import annotations

import subprocess
import sys

import weft
import weft_lab.schemes
from weft import schemes
from weft.routing import PLUGINS, SCHEMES
from weft.routing.documents import DOCUMENT_SCHEMES
from weft.spec.names import installed, load

ONLY_BY_NAME = {"auto"}
"""The choice itself."""


def test_the_front_has_about_twenty_names() -> None:
    assert len(weft.__all__) <= 22
    assert [name for name in weft.__all__ if name[0].isupper()] == ["WeftError"]


def test_every_scheme_can_be_configured() -> None:
    every = {**SCHEMES, **DOCUMENT_SCHEMES}
    registered = {name: kind for name, kind in every.items() if kind.__module__.startswith("weft.")}
    shown = {getattr(schemes, name) for name in schemes.__all__}
    assert {name for name, kind in registered.items() if kind not in shown} == ONLY_BY_NAME
    assert shown <= set(registered.values())


def test_every_scheme_of_the_laboratory_is_found_by_its_name() -> None:
    every = {**weft_lab.schemes.SCHEMES, **weft_lab.schemes.DOCUMENT_SCHEMES}
    laboratory = {name: kind for name, kind in every.items() if kind.__module__.startswith("weft_lab.")}
    assert installed(PLUGINS) == sorted(laboratory)
    assert {name: load(PLUGINS, name) for name in laboratory} == laboratory
    assert not {kind.__name__ for kind in laboratory.values()} & set(schemes.__all__)


FRESH = """
import sys
from weft.routing import PLANS, SCHEMES, plan_from_json, scheme_named
from weft.errors import StateError, UnknownName

assert "weft_lab" not in sys.modules and "readj" not in SCHEMES
plan = plan_from_json({"scheme": "readj", "tasks": 2})
assert plan.scheme == "readj" and "readj" in SCHEMES
assert scheme_named("pim(merge=3)").merge == 3 and "chain" in PLANS
for wrong, error in ((lambda: scheme_named("hsah"), UnknownName), (lambda: plan_from_json({"scheme": "?"}), StateError)):
    try:
        wrong()
    except error as refused:
        print(refused)
"""


def test_a_worker_that_knows_only_weft_reads_plans_of_the_laboratory() -> None:
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "There is no scheme named 'hsah'." in done.stdout and "did you mean 'hash'?" in done.stdout
    assert "A plan has the unknown scheme '?'." in done.stdout
