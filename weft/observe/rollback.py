"""Going back: a query whose newest state is lost continues from an older batch that state and checkpoint both have whole.

Spark runs the one batch again that is planned and not finished, as it was planned; what came behind it is planned anew, with
other borders. So `to` N keeps the plan of batch N + 1 where that is whole, and takes away everything later: Weft's manifests,
Spark's logs and the versions of its own operators. A file sink does not even run batches that its log has, so what it has of
later ones goes too. Every file is copied into the checkpoint before it goes, and Weft's go first: until all is done the
query finds no state, and the same command can be given again.
"""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from weft.errors import SpecError, StateError
from weft.observe.checkpoint import Checkpoint, SparkLog, Tree, open_tree
from weft.observe.leftovers import asked_for
from weft.state import Folder, Holder, Verifier, known_checkpoint, known_sink

__all__ = ["Rollback", "plan_rollback", "roll_back"]

_TASK = re.compile(r"\d+/(?:\d+-\d+/)?(\d+)\.(?:metrics\.)?json")
_PLAN = re.compile(r"plans/(?:\d+-\d+/)?(\d+)\.json")
_TOLD = re.compile(r"told/\d+-\d+/(\d+)/[^/]+\.json")

_FILES = re.compile(r"FileSink\[(.+)\]")
_FORGETFUL = re.compile(r"Memory|Console|Noop|Kafka", re.IGNORECASE)
"""Sinks that take every batch, also one that they have seen."""


@dataclass(frozen=True)
class Move:
    """A file that goes, and what its copy is called."""

    file: Tree
    copy: str


@dataclass(frozen=True)
class Rollback:
    """What changes when a query goes back behind a batch."""

    query: str
    folders: tuple[str, ...]
    to: int
    newest: int
    """The newest batch that the checkpoint, the state or the sink knows."""
    same: int
    """The last batch that keeps its borders: `to`, or the one after it, which runs again as it was planned."""
    checkpoint: Checkpoint
    sink: str
    moves: tuple[Move, ...]
    commit: str
    """What has to be written as the commit of `to`, "" where that is whole."""
    written: datetime | None
    unlisted: tuple[str, ...] = ()
    """Files of the sink that no entry of its log names afterwards."""

    @property
    def cut_anew(self) -> bool:
        """Tell whether rows reach the sink again under other batch numbers."""
        return self.newest > self.same

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return {
            "query": self.query, "folders": list(self.folders), "to": self.to, "newest": self.newest,
            "runs_again": list(range(self.to + 1, self.same + 1)), "planned_anew": list(range(self.same + 1, self.newest + 1)),
            "checkpoint": str(self.checkpoint.tree), "sink": self.sink, "commit_rewritten": bool(self.commit),
            "files": [str(move.file) for move in self.moves], "unlisted": list(self.unlisted),
        }  # fmt: skip


def plan_rollback(
    state: Folder, start: str, to: int | None = None, *, checkpoint: str | None = None, sink: str | None = None,
    repeats: bool = False,
) -> Rollback:  # fmt: skip
    """Say what going back behind batch `to` changes; without it, behind the last batch that is whole everywhere.

    `sink` is the folder of a file sink, where the query has not noted it; `repeats` says that the sink takes batches again.
    """
    stored = asked_for(state, start)
    folders = [state / name for name in stored.folders]
    where = checkpoint or next((path for path in map(known_checkpoint, folders) if path), None)
    if where is None:
        raise StateError.of(
            f"Where the checkpoint of query {stored.query} is, its state does not say.",
            "Weft notes it when the query starts.",
            "name the query's checkpointLocation: --checkpoint PATH.",
        )
    found = Checkpoint.open(where, stored.query)
    checks = [Verifier(folder) for folder in folders]
    trouble = _trouble_with(found, checks)
    chosen = _chosen(checks, to, trouble)
    known = next((text for text in map(known_sink, folders) if text), "") if sink is None else f"FileSink[{sink}]"
    named = _FILES.fullmatch(known)
    log = SparkLog(open_tree(named[1]) / "_spark_metadata") if named else None
    state_newest = max((batch for check in checks for batch in check.batches()), default=-1)
    newest = max(found.newest, state_newest, max(log.names(), default=-1) if log else -1)
    same = chosen + 1 if chosen < found.newest and found.stands(chosen + 1) else chosen
    if newest > chosen and log is None and not (repeats or _FORGETFUL.search(known)):
        raise _unsure(known, chosen, newest)
    sunk = [] if log is None else _behind(log, "sink", chosen)
    if log is not None and sunk and not log.starts(min(chosen, max(log.names()))):
        raise StateError.of(
            f"The log of the sink, {log.tree}, cannot go back behind batch {chosen}.",
            "Spark has deleted the entries that it would need.",
            "go back to a later batch, or restore the log from a backup.",
        )
    moves = [
        *(move for folder in folders for move in _weft_files(folder, chosen)),
        *sunk,
        *(Move(file, _below(found.tree, file)) for file in found.versions(chosen + 1)),
        *(Move(file, _below(found.tree, file)) for file in found.unread(same)),
        *_behind(found.commits, "commits", chosen),
        *_behind(found.offsets, "offsets", same),
    ]
    return Rollback(
        stored.query, stored.folders, chosen, newest, same, found, known, tuple(moves), found.commit(chosen),
        _last_written(found, stored.written), tuple(_unlisted(sunk)),
    )  # fmt: skip


def _trouble_with(found: Checkpoint, checks: Sequence[Verifier]) -> Callable[[int], str]:
    def trouble(batch: int) -> str:
        if why := found.trouble(batch):
            return why
        for check in checks:
            known = len(check.damage)
            if not check.good(batch):
                told = [f"{one.file}: {one.why}" for one in (*check.damage[known:], *check.damage)]
                return f"{check.query} is not whole there ({(told or ['not all tasks have finished it'])[0]})"
        return ""

    return trouble


def _chosen(checks: Sequence[Verifier], to: int | None, trouble: Callable[[int], str]) -> int:
    """Return the batch to go back to: as asked if that can be, else the newest that can."""
    kept = set.intersection(*(set(check.batches()) for check in checks)) if checks else set[int]()
    if to is not None:
        why = trouble(to) if to in kept else f"no state of it is kept (kept: {_span(kept)})"
        if not why:
            return to
        best = next((batch for batch in sorted(kept, reverse=True) if batch != to and not trouble(batch)), None)
        there_is = "There is no batch to go back to." if best is None else f"The last batch to go back to is {best}."
        hint = "start from a new checkpoint." if best is None else f"write --to {best}."
        raise SpecError.of(f"The query cannot go back to batch {to}: {why}.", there_is, hint)
    whys = dict[int, str]()
    for batch in sorted(kept, reverse=True):
        whys[batch] = trouble(batch)
        if not whys[batch]:
            return batch
    told = next(iter(whys.values()), "no state is kept")
    raise StateError.of(
        "There is no batch that state and checkpoint both have whole.",
        f"Kept: {_span(kept)}. The newest one: {told}.",
        "restore the files from a backup, or start from a new checkpoint.",
    )


def _span(kept: Iterable[int]) -> str:
    found = sorted(kept)
    return f"{found[0]} to {found[-1]}" if found else "none"


def _unsure(sink: str, to: int, newest: int) -> SpecError:
    batches = f"Batches {to + 1} to {newest} run" if newest > to + 1 else f"Batch {newest} runs"
    return SpecError.of(
        f"It is not known whether the sink takes batches again: it is {sink or 'not noted'}.",
        f"{batches} again, partly with other rows. A sink that skips batch numbers it has seen (Delta, foreachBatch with a "
        "check of its own) would lose pairs.",
        f"take the sink back behind batch {to}, then add --repeats; of a file sink, give its folder: --sink PATH.",
    )


def _behind(log: SparkLog, kept: str, last: int) -> list[Move]:
    """Return the entries of a log behind a batch, newest first."""
    names = sorted(log.names().items(), reverse=True)
    return [Move(log.tree / name, f"{kept}/{name}") for number, name in names if number > last]


def _weft_files(folder: Folder, last: int) -> Iterator[Move]:
    """Yield what Weft wrote of later batches; segments stay, and go when a later batch collects them."""
    tree = Tree(folder.system, folder.path)
    for info in tree.files(deep=True):
        file = Tree(tree.system, str(info.path))
        name = _below(tree, file)
        for pattern, most in ((_TASK, last), (_TOLD, last), (_PLAN, last + 1)):
            found = pattern.fullmatch(name)
            if found and int(found[1]) > most:
                yield Move(file, f"weft/{folder.path.rpartition('/')[2]}/{name}")


def _below(tree: Tree, file: Tree) -> str:
    return file.path.removeprefix(f"{tree.path}/")


def _last_written(found: Checkpoint, state: datetime | None) -> datetime | None:
    files = [*found.offsets.tree.files(), *found.commits.tree.files()]
    return max([info.mtime for info in files if info.mtime is not None] + ([state] if state else []), default=None)


def _unlisted(sunk: Sequence[Move]) -> Iterator[str]:
    """Yield the files that only entries name that go."""
    for move in sunk:
        if "." in move.copy.rpartition("/")[2]:  # all of the batches before as well
            continue
        for line in (move.file.read() or b"").decode(errors="replace").split("\n")[1:]:
            with contextlib.suppress(ValueError, KeyError, TypeError):  # it is damaged
                yield str(json.loads(line)["path"])


def roll_back(state: Folder, plan: Rollback, now: datetime, idle: timedelta) -> str:
    """Go back, and return where the copies are. Refused while the query may be running."""
    if idle and plan.written is not None and now - plan.written < idle:
        minutes = int(idle.total_seconds() // 60)
        raise StateError.of(
            f"Query {plan.query} may be running: it wrote {int((now - plan.written).total_seconds())} seconds ago.",
            f"A query must not run while it goes back; one that wrote nothing for {minutes} minutes counts as stopped.",
            "stop it and wait, or add --idle 0 if you know that it is stopped.",
        )
    for name in plan.folders:  # a driver that runs all the same is refused from here on
        Holder(str(uuid.uuid4()), "rollback").take(state / name)
    copies = plan.checkpoint.tree / f"weft-rollback-{now:%Y%m%dT%H%M%S}"
    (copies / "rollback.json").write(json.dumps(_notes(plan), indent=1).encode())
    for move in plan.moves:
        content = move.file.read()
        if content is not None:
            (copies / move.copy).write(content)
    committed = plan.checkpoint.tree / "commits" / str(plan.to)
    if plan.commit and (content := committed.read()) is not None:
        (copies / "commits" / str(plan.to)).write(content)
    for move in plan.moves:
        move.file.delete()
    if plan.commit:
        committed.delete()
        committed.write(plan.commit.encode())
    return str(copies)


def _notes(plan: Rollback) -> dict[str, Any]:
    """Return what stands beside the copies: where each of them came from."""
    return {**plan.to_dict(), "copies": {move.copy: str(move.file) for move in plan.moves}}
