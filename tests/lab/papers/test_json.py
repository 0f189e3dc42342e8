"""The workloads of the schema-free join are what the paper says, and its figures can be measured."""

from __future__ import annotations

import base64
import json
import random
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest

from weft.documents import Coded, DocumentReader
from weft.kernels.documents.attributes import ranked, taken
from weft.kernels.documents.fptree import build_tree, count_partners
from weft.routing.documents import gini
from weft_lab.kernels.document_joins import hash_join, nested_loop
from weft_lab.papers import SYSTEMS
from weft_lab.papers.json.simulate import run
from weft_lab.workloads import ideal_windows, log_windows, nobench, nobench_object, server_log


def read(texts: pa.Array) -> Coded:
    done = DocumentReader(arrays="sets").read(texts)
    assert not len(done.refused)
    return done.coded


def pairs_by_all(made: Coded) -> int:
    """Return the number of pairs, on which the three joins agree."""
    rows, order = ranked(made.offsets, made.attrs, made.pairs)
    tree = build_tree(rows, len(order.attrs))
    found = int(count_partners(tree, taken(rows, tree.docs.astype(np.int64)), np.arange(len(made))).sum())
    assert found == nested_loop(rows)[0] == hash_join(rows, len(order.pairs))[0]
    return found


@pytest.mark.paper("004-39")
def test_a_nobench_object() -> None:
    made = nobench_object(1234, 2000, random.Random(1))
    assert base64.b32decode(made["str1"]) == b"10011010010" and base64.b32decode(made["str2"]) == b"11101010"
    assert (made["num"], made["bool"], made["dyn1"], made["thousandth"]) == (1234, False, 1234, 234)
    assert made["nested_obj"] == {"str": made["str2"], "num": 234} and len(made["nested_arr"]) == 1234 % 8
    assert [key for key in made if key.startswith("sparse")] == [f"sparse_{340 + k}" for k in range(10)]
    assert made["sparse_340"] == base64.b32encode(b"10").decode()  # 1234 mod 11 = 2


@pytest.mark.paper("004-37", "004-38")
def test_nobench_joins_only_when_it_is_capped() -> None:
    assert pairs_by_all(read(nobench(600, joinable=False))) == 0
    assert pairs_by_all(read(nobench(600))) > 600
    assert nobench(50).equals(nobench(50)) and not nobench(50).equals(nobench(50, seed=1))


@pytest.mark.paper("004-36", "004-40")
def test_every_window_of_the_log_brings_unseen_pairs_and_the_ideal_one_few() -> None:
    def unseen(windows: list[pa.Array]) -> float:
        coded = [read(window) for window in windows]
        strange = ~np.isin(coded[1].pairs, coded[0].pairs)
        return len(np.unique(coded[1].rows[strange])) / len(coded[1])

    assert unseen(log_windows(2, 2_000)) > 0.1 > unseen(ideal_windows(2, 2_000)) > 0
    assert {json.loads(text)["Server"] for text in server_log(500).to_pylist()} == {f"srv{n}" for n in range(5)}
    assert pairs_by_all(read(server_log(700))) > 700


def test_wide_documents_join_where_narrow_ones_do() -> None:
    wide, narrow = read(server_log(500, wide=True)), read(server_log(500))
    assert 8 <= wide.sizes.mean() < 8.5 and pairs_by_all(wide) == pairs_by_all(narrow)


@pytest.mark.paper("004-34")
def test_gini() -> None:
    assert gini([3, 3, 3]) == 0 and gini([0, 0, 9]) == pytest.approx(2 / 3) and gini([]) == 0.0


@pytest.mark.paper("004-35", "004-42")
def test_a_run_of_the_topology_has_the_shape_of_the_paper() -> None:
    ag, sc, ds = (run("rwData", approach, 5, 3, 0.2, 0.2) for approach in ("AG", "SC", "DS"))
    assert ds.replication >= 1 and ag.replication < sc.replication <= 5 and sc.max_load > 0.9
    assert sc.repartitions == 0 and all(0 <= r.repartitions <= 0.5 and 0 <= r.gini < 1 for r in (ag, sc, ds))


def test_figures_can_be_measured() -> None:
    figures = import_module(SYSTEMS["json"]).FIGURES
    assert {name.rstrip("abcd") for name in figures} == {"6", "7", "8", "9", "10", "11"}
    for name in ("11a", "11d"):
        figure = figures[name](0.02)
        assert (
            figure.id == name and len(figure.rows) == 4 and all(len(row) == len(figure.columns) for row in figure.rows)
        )


@pytest.mark.paper("004-41")
def test_a_figure_of_counts_holds() -> None:
    figure = import_module(SYSTEMS["json"]).FIGURES["9a"](0.2)
    assert figure.holds, figure.verdict
