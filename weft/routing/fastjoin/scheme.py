"""FastJoin: a biclique that monitors its load and moves keys from the heaviest to the lightest task (003-01 to 003-24).

Statistics are the notes of every task (`notes`), decisions are made by one monitor per group (`monitor`), and a decision
is a new routing table (`plan`). The paper's migration protocol (stop, extract, signal, buffer, forward: 003-18 to
003-22) has no counterpart here and needs none: the plan of a batch is pinned before it starts, so all dispatchers switch at
the same batch boundary, nothing is in flight there, and a task pulls what it gains before its first probe. The flag `moving`
stays set until statistics of the new plan arrive; meanwhile the monitors do nothing.

References
----------
[^1]: Zhou, Zhang, Chen, Jin, Zhou. FastJoin: A Skewness-Aware Distributed Stream Join System. IPDPS 2019.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, get_args

from weft.routing.conditions import Need, equality_columns
from weft.routing.fastjoin.load_model import Selection, greedy_fit
from weft.routing.fastjoin.monitor import MonitorLimits, Verdict, judge, load_table
from weft.routing.fastjoin.notes import phi_counts, watch_keys
from weft.routing.fastjoin.plan import FastJoinPlan, Memory, Splits, Table
from weft.routing.plan import Plan
from weft.routing.scheme import SCHEMES, BatchView, Notes, Scheme, TaskStats
from weft.spec import JoinSpec, Op
from weft.spec.options import check_choice, check_count, check_number, check_switch
from weft.types import SIDES

__all__ = ["FastJoin"]

Phi = Literal["halved", "arrivals"]
Load = Literal["product", "work"]

REST = 8
"""A monitor rests at most so many batches."""


@SCHEMES.register
@dataclass(frozen=True)
class FastJoin(Scheme):
    """Moves keys when the heaviest task has more than `threshold` times the load of the lightest.

    From the paper: `threshold` is Θ, `least_benefit` is the theta_gap of GreedyFit, and `phi` replaces the queue length:
    arrivals halved with every batch, or only those of the last batch.

    Our additions: `load="work"` counts arrivals and pairs instead of the paper's product. `biclique=False` lets every task
    store both sides, so that a tuple whose key is not split visits one task, as with hash partitioning. `split_hot` splits a
    key that no migration can help. `rounds` is the number of migrations in one plan change (default: one per task). `gain` is
    the share by which a change must improve LI or the greatest load. `noise` is the number of standard deviations of the
    arrivals by which LI must exceed the threshold. `calls` is the number of consecutive control steps that must find LI too
    high before any change but the first, so that plans for a stationary stream settle. `enough` is the number of arrivals per
    task below which statistics are ignored. `keys` is the number of keys that a task records (exact counts up to that number,
    heavy hitters beyond). `table` is the maximum number of entries in a routing table.
    """

    name: ClassVar[str] = "fastjoin"
    needs = (Need.EQUALITY,)

    threshold: float = 2.2
    least_benefit: float = 0.0
    phi: Phi = "halved"
    load: Load = "product"
    split_hot: bool = False
    biclique: bool = True
    rounds: int | None = None
    gain: float = 0.1
    noise: float = 2.0
    calls: int = 1
    enough: float = 16.0
    keys: int = 256
    table: int = 4096

    def __post_init__(self) -> None:
        check_choice("phi", self.phi, get_args(Phi))
        check_choice("load", self.load, get_args(Load))
        for name, number, what, least, hint in (
            ("threshold", self.threshold, "the ratio of the heaviest to the lightest load above which keys move", 1,
             "the paper uses 2.2."),
            ("least_benefit", self.least_benefit, "the smallest benefit for which a key is moved", 0, "use 0."),
            ("gain", self.gain, "the share by which a change must improve LI or the greatest load", 0, "use 0.1."),
            ("noise", self.noise, "the standard deviations by which LI must exceed the threshold", 0, "use 2."),
            ("enough", self.enough, "the arrivals per task below which statistics are ignored", 0, "use 16."),
        ):  # fmt: skip
            check_number(name, number, what, hint, least=least)
        counts = [("calls", self.calls, "control steps that call for a change")]
        counts += [
            ("keys", self.keys, "keys that a task records"),
            ("table", self.table, "entries a routing table may have"),
        ]
        if self.rounds is not None:
            counts.append(("rounds", self.rounds, "migrations in one plan change"))
        for name, count, what in counts:
            check_count(name, count, what, "leave it out for the default.")
        check_switch("split_hot", self.split_hot)
        check_switch("biclique", self.biclique)

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        eager = FastJoin(threshold=1.0, noise=0.0, gain=0.0, enough=0.0, keys=3)
        split = replace(eager, split_hot=True)
        return eager, split, replace(split, biclique=False), replace(split, load="work")

    def first_plan(self, spec: JoinSpec, tasks: int) -> FastJoinPlan:
        return FastJoinPlan(tasks, *equality_columns(spec), shared=not self.biclique)

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        return watch_keys(spec, view, before, bound=self.keys, halve=self.phi == "halved")

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        first = self.first_plan(spec, plan.tasks)
        if not isinstance(plan, FastJoinPlan) or _shape(plan) != _shape(first):
            layout = "two groups of tasks, each keeps one side" if self.biclique else "all tasks keep both sides"
            # A new version: what was noted under the plan before must not be taken for notes under this one.
            first = replace(first, version=getattr(plan, "version", 0) + 1)
            return first, f"scheme is now {self.name}, {layout}"
        plan = replace(plan, age=plan.age + 1, memory=plan.memory or (Memory(),) * plan.groups)
        if plan.tasks == 1 or not _fresh(plan, stats):
            return plan, ""
        plan = replace(plan, moving=False)
        verdicts: dict[int, Verdict] = {}
        memory = list(plan.memory)
        for group in range(plan.groups):  # two monitors, one per group (003-04)
            if plan.age < memory[group].ready:
                continue
            if _arrivals(plan, group, stats) < self.enough * plan.members(group).size:
                continue
            table = load_table(
                plan, group, stats, _pair_share(spec) if self.load == "work" else None, spec.kind.preserved
            )
            verdict = judge(plan, group, table, self._limits(spec, plan))
            called = memory[group].called + 1 if verdict.exceeded else 0
            if verdict.useful and memory[group].acted and called < self.calls:
                memory[group] = memory[group]._replace(called=called)
                continue
            verdicts[group] = verdict
            memory[group] = _remember(memory[group], plan.age, verdict)
        plan = replace(plan, memory=tuple(memory))
        useful = {group: verdict for group, verdict in verdicts.items() if verdict.useful}
        return self._changed(plan, useful) if useful else (plan, "")

    def _limits(self, spec: JoinSpec, plan: FastJoinPlan) -> MonitorLimits:
        rounds = plan.tasks if self.rounds is None else self.rounds
        splits = self.split_hot and len(spec.kind.preserved) < len(SIDES)  # one side of a split key has copies
        return MonitorLimits(self.threshold, self.selection(plan), rounds, self.gain, self.noise, splits)

    def selection(self, plan: FastJoinPlan) -> Selection:
        """Return what picks the keys that move from a source to a target task: the paper's GreedyFit."""
        del plan
        return partial(greedy_fit, least=self.least_benefit)

    def _changed(self, plan: FastJoinPlan, verdicts: dict[int, Verdict]) -> tuple[Plan, str]:
        """Write the verdicts into the routing tables of their groups, and say what was done and why."""
        moved, split = list(plan.moved or ((),) * plan.groups), list(plan.split or ((),) * plan.groups)
        reasons = []
        for group, verdict in verdicts.items():
            split[group] = _split_table(split[group], verdict)
            hot = {one.key for one in split[group]}
            merged = dict(moved[group]) | verdict.moved
            table = tuple(sorted((key, task) for key, task in merged.items() if key not in hot))
            moved[group] = self._trimmed(plan.without_homes(group, table), verdict)
            reasons.append(_reason("both sides" if plan.shared else f"{plan.keeps(group)[0]} group", verdict))
        after = replace(
            plan, moved=tuple(moved), split=tuple(split), version=plan.version + 1, moving=True,
            migrations=plan.migrations + 1, volume=round(sum(verdict.volume for verdict in verdicts.values())),
        )  # fmt: skip
        return after, "; ".join(reasons)

    def _trimmed(self, table: Table, verdict: Verdict) -> Table:
        """Keep the table within its bound: the keys that move now stay, older entries go back to their hash."""
        if len(table) <= self.table:
            return table
        kept = sorted(table, key=lambda entry: (entry[0] not in verdict.moved, entry[0]))[: self.table]
        return tuple(sorted(kept))


def _pair_share(spec: JoinSpec) -> float:
    """Guess which part of the pairs of equal keys meets the other conditions: each inequality keeps half of them."""
    times = (spec.left.time, spec.left.seq)
    return float(0.5 ** sum(term.op is not Op.EQ and term.left not in times for term in spec.terms))


def _shape(plan: FastJoinPlan) -> tuple[object, ...]:
    return plan.left, plan.right, plan.shared


def _fresh(plan: FastJoinPlan, stats: list[TaskStats]) -> bool:
    """Tell whether the statistics were taken under this very plan."""
    seen = [(one.notes.get("version"), one.notes.get("tasks")) for one in stats]
    return len(stats) == plan.tasks and all(one == (plan.version, plan.tasks) for one in seen)


def _arrivals(plan: FastJoinPlan, group: int, stats: list[TaskStats]) -> float:
    """Return phi of a group in all, without a look at its keys: an idle join costs nothing."""
    members = plan.members(group)
    notes = [one.notes for one in stats[members.start : members.start + members.size]]
    return float(sum(phi_counts(one, side).total for one in notes for side in plan.keeps(group)))


def _remember(memory: Memory, age: int, verdict: Verdict) -> Memory:
    """Back off: behind an action that soon has to be followed by another, and when nothing useful can be done (003-13)."""
    if verdict.useful:
        # As soon as it was allowed to: what it did before has not lasted.
        at_once = memory.streak and age <= memory.ready + 1
        streak = min(memory.streak + 1, 8) if at_once else max(memory.streak - 1, 1)
        return Memory(age + 1 + min(REST, 1 << (streak - 1)), streak, acted=age)
    if verdict.exceeded:
        rest = min(REST, 1 << min(memory.failures, 8))
        return memory._replace(ready=age + rest, failures=memory.failures + 1, called=memory.called + 1)
    return memory._replace(ready=age, failures=0, called=0)


def _split_table(old: Splits, verdict: Verdict) -> Splits:
    kept = {one.key: one for one in old if one.key not in verdict.whole}
    return tuple(sorted((kept | verdict.split).values()))


def _keys(count: int, which: str = "") -> str:
    return f"{count} {which}key{'s' if count != 1 else ''}"


def _reason(who: str, verdict: Verdict) -> str:
    parts = []
    if verdict.moved:
        targets = sorted(set(verdict.moved.values()))
        parts.append(
            f"{_keys(len(verdict.moved))} to task{'s' if len(targets) > 1 else ''} {', '.join(map(str, targets))}"
        )
    parts += [
        f"key {one.key} split over {len(one.tasks)} tasks ({one.rows} x {one.shape.columns})"
        for one in sorted(verdict.split.values())
    ]
    if verdict.whole:
        parts.append(f"{_keys(len(verdict.whole), 'cooled ')} merged back")
    done = f"{', '.join(parts)}, about {verdict.volume:,.0f} rows"
    return f"{who}: LI {verdict.before:.2f}, {done}, LI {verdict.after:.2f} expected"
