"""The schemes of document joins, and the control loop that maintains their partitions (004-24..29).

Creators and merger run in the control step, on one sample per task: samples must travel to the merger anyway, because loads
are recomputed from documents (004-13). A *batch* is here what a window is in the paper: quality is measured per batch, as
averages and shares, and compared with what the merger published for its own sample (004-26, 004-27).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from weft.routing.documents.groups import Sample, association_groups, expansion_for, filled, merged_groups
from weft.routing.documents.notes import Documents, DocumentView, Noted, note_batch, noted_of
from weft.routing.documents.plan import DocumentPlan, Quality
from weft.routing.plan import Plan
from weft.routing.scheme import BatchView, Notes, Registry, Scheme, TaskStats
from weft.spec import JoinSpec
from weft.spec.options import check_choice, check_count, check_number, check_switch

__all__ = ["DOCUMENT_SCHEMES", "Association", "Auto", "DocumentScheme", "document_scheme", "worse"]


@dataclass(frozen=True)
class DocumentScheme(Scheme):
    """Settings that all document schemes share.

    `theta`: how much replication or maximal load may grow before new partitions are made. `delta`: how often a new pair
    must occur before it is assigned to a partition. `expand`: whether a disabling attribute is concatenated with others.
    `unseen`: a document with a pair that no task owns goes "everywhere" (as in the paper), or the "owner" of the pair is chosen
    by its hash, which costs one copy instead of all. `enough`: the number of documents in the first sample.
    `worth`: an update moves stored documents, so recurring new pairs must reach this share of a batch's documents first
    (the paper updates at once: its trees live for one window, and nothing moves). `alone`: documents that have all expanded
    attributes are routed by these alone. Documents that join agree on them, so no pair is lost, and such a document goes to one
    task; documents that lack one go everywhere. This beats the paper if nearly all documents have some attribute.
    """

    name: ClassVar[str] = ""

    theta: float = 0.2
    delta: int = 3
    expand: bool = True
    unseen: Literal["everywhere", "owner"] = "everywhere"
    enough: int = 16
    worth: float = 0.01
    alone: bool = False

    def __post_init__(self) -> None:
        check_number("theta", self.theta, "the growth of replication or load that triggers new partitions", "use 0.2.")
        check_count(
            "delta", self.delta, "occurrences after which a new pair is assigned to a partition", "use delta=3."
        )
        check_count("enough", self.enough, "documents in the first sample", "use enough=16.", least=0)
        check_number("worth", self.worth, "the smallest share of documents that justifies an update", "use 0.01.")
        check_choice("unseen", self.unseen, ("everywhere", "owner"))
        check_switch("expand", self.expand)
        check_switch("alone", self.alone)

    @classmethod
    def examples(cls) -> tuple[DocumentScheme, ...]:
        eager = cls(theta=0.0, delta=1, enough=1, worth=0.0)
        return cls(), eager, replace(eager, alone=True)

    def initial(self, spec: JoinSpec | None, tasks: int) -> Plan:
        """Nobody owns anything yet."""
        del spec
        return DocumentPlan(tasks, spread=self.unseen == "owner")

    def table(self, samples: Sequence[Sample], tasks: int) -> dict[int, int]:
        """Return the tasks of each pair of the samples, as bits."""
        raise NotImplementedError

    def create(self, samples: Sequence[Documents], tasks: int) -> DocumentPlan:
        """Make partitions from (offsets, attrs, pairs) of each creator's documents, with their published quality."""
        whole = joined(samples)
        expansion = expansion_for(*whole, tasks, self.alone) if self.expand else ()
        table = self.table([Sample.of(*sample, expansion, self.alone) for sample in samples], tasks)
        plan = DocumentPlan.over(tasks, table, expansion, self.unseen == "owner", self.alone)
        quality = plan.quality(*whole)
        return replace(plan, replication=quality.replication, load=quality.load)

    def watch(self, spec: JoinSpec | None, view: BatchView, before: Notes) -> Notes:
        """Note counts, a sample and what nobody owns."""
        del spec
        assert isinstance(view, DocumentView)
        return note_batch(view, before)

    def control(self, spec: JoinSpec | None, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        """Repartition when quality fell (004-26), else give pairs that keep coming to a partition (004-24)."""
        del spec
        assert isinstance(plan, DocumentPlan)
        noted = [noted_of(task.notes) for task in stats]
        documents = sum(note.documents for note in noted)
        samples = [note.sample for note in noted if len(note.sample[0]) > 1]
        if not documents or not samples or plan.tasks == 1:
            return plan, ""
        names = {word: name for note in noted for word, name in note.names.items()}
        if not plan.pairs:
            count = sum(len(sample[0]) - 1 for sample in samples)
            if count < self.enough:
                return plan, ""
            return self._published(samples, plan, names)[0], f"first partitions, from {count} documents"
        now = Quality(sum(note.sent for note in noted) / documents, max(note.arrived for note in noted) / documents)
        if worse(now, plan, self.theta):
            fresh, held = self._published(samples, plan, names)
            if _better(Quality(fresh.replication, fresh.load), held):
                return fresh, f"replication {now.replication:.2f}, largest load {now.load:.0%}: new partitions"
            plan = replace(plan, replication=now.replication, load=now.load)  # no better ones: this is what there is
        return self.update(plan, noted)

    def _published(
        self, samples: Sequence[Documents], plan: DocumentPlan, names: Mapping[int, str]
    ) -> tuple[DocumentPlan, Quality]:  # fmt: skip
        """Return new partitions with the quality to expect, and that of the present ones on the same documents.

        Partitions look too good on the documents they were made from, most of all where values are new all the time. So the
        quality is that of partitions made from one half of the documents, on the other half.
        """
        fresh = self._named(self.create(samples, plan.tasks), samples, names)
        seen, others = ([half_of(sample, half) for sample in samples] for half in (0, 1))
        rest = joined(others)
        if len(rest[0]) < 2:
            return fresh, plan.quality(*joined(samples))
        expected = self.create(seen, plan.tasks).quality(*rest)
        return replace(fresh, replication=expected.replication, load=expected.load), plan.quality(*rest)

    def _named(self, plan: DocumentPlan, samples: Sequence[Documents], names: Mapping[int, str]) -> DocumentPlan:
        """Give a plan the names of its expanded attributes; without them it does without the expansion."""
        if not all(word in names for word in plan.expansion):
            return replace(self, expand=False).create(samples, plan.tasks)
        return replace(plan, names=tuple(names[word] for word in plan.expansion))

    def update(self, plan: DocumentPlan, noted: Sequence[Noted]) -> tuple[DocumentPlan, str]:
        """Add documents whose unseen pairs have come `delta` times to the partition with most common pairs, then least load."""
        counts: Counter[int] = Counter()
        for note in noted:
            counts.update(note.unseen)
        often = {pair for pair, count in counts.items() if count >= self.delta}
        documents = sum(note.documents for note in noted)
        if plan.spread or sum(counts[pair] for pair in often) <= self.worth * documents:
            return plan, ""
        table, load = plan.table(), [note.arrived for note in noted] + [0] * plan.tasks
        added = 0
        for note in noted:
            sample = Sample.of(*note.strange, plan.expansion, plan.alone)
            words = sample.words.tolist()
            for start, end in zip(sample.offsets[:-1].tolist(), sample.offsets[1:].tolist(), strict=True):
                fresh = [pair for pair in words[start:end] if pair in often and pair not in table]
                if not fresh:
                    continue
                common = Counter(
                    task for pair in words[start:end] for task in range(plan.tasks) if table.get(pair, 0) >> task & 1
                )
                task = min(range(plan.tasks), key=lambda t: (-common[t], load[t], t))
                load[task] += 1
                added += len(fresh)
                table.update(dict.fromkeys(fresh, 1 << task))
        if not added:
            return plan, ""
        made = DocumentPlan.over(plan.tasks, table, plan.expansion, plan.spread, plan.alone)
        made = replace(made, replication=plan.replication, load=plan.load, names=plan.names)
        pairs = "1 new pair has" if added == 1 else f"{added} new pairs have"
        return made, f"{pairs} occurred {self.delta} times"


def _better(fresh: Quality, held: Quality) -> bool:
    """Tell whether new partitions are worth moving what is held: one measure a tenth better, the other not a tenth worse."""
    return (fresh.load < 0.9 * held.load and fresh.replication <= 1.1 * held.replication) or (
        fresh.replication < 0.9 * held.replication and fresh.load <= 1.1 * held.load
    )


def worse(now: Quality, plan: DocumentPlan, theta: float) -> bool:
    """Tell whether either measure has grown by more than theta since the partitions were made."""
    return now.replication > plan.replication * (1 + theta) or now.load > plan.load * (1 + theta)


def half_of(documents: Documents, half: int) -> Documents:
    """Return one half of the documents, drawn by their places."""
    offsets, attrs, pairs = documents
    drawn = (np.arange(len(offsets) - 1) * 2_654_435_761 >> 16) & 1 == half
    keep, sizes = np.repeat(drawn, np.diff(offsets)), np.diff(offsets)[drawn]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), attrs[keep], pairs[keep]


def joined(samples: Sequence[Documents]) -> Documents:
    """Append the documents of several samples."""
    sizes = np.concatenate([np.diff(sample[0]) for sample in samples]) if samples else np.zeros(0, np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if not samples:
        return offsets, np.zeros(0, np.int64), np.zeros(0, np.int64)
    return offsets, np.concatenate([s[1] for s in samples]), np.concatenate([s[2] for s in samples])


DOCUMENT_SCHEMES: Registry[DocumentScheme] = Registry(DocumentScheme, "association(theta=0.3)")
"""Schemes of document joins by the name users write."""


@DOCUMENT_SCHEMES.register
@dataclass(frozen=True)
class Association(DocumentScheme):
    """Association groups (AG). `absorb`: in which direction groups absorb others, see `association_groups`."""

    name: ClassVar[str] = "association"

    absorb: Literal["implying", "implied"] = "implying"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("absorb", self.absorb, ("implying", "implied"))

    @classmethod
    def examples(cls) -> tuple[DocumentScheme, ...]:
        return *super().examples(), cls(absorb="implied")

    def table(self, samples: Sequence[Sample], tasks: int) -> dict[int, int]:
        return filled(merged_groups([association_groups(sample, self.absorb) for sample in samples]), samples, tasks)


@DOCUMENT_SCHEMES.register
@dataclass(frozen=True)
class Auto(Association):
    """What "auto" means: association groups with owners for new pairs; `alone` if that loads the fullest task less.

    Both are built from one half of the documents and judged on the other: partitions look too good on their own documents.
    """

    name: ClassVar[str] = "auto"

    unseen: Literal["everywhere", "owner"] = "owner"

    def create(self, samples: Sequence[Documents], tasks: int) -> DocumentPlan:
        seen, others = ([half_of(sample, half) for sample in samples] for half in (0, 1))
        rest = joined(others)

        def expected(alone: bool) -> tuple[float, float, bool]:
            quality = Association.create(replace(self, alone=alone), seen, tasks).quality(*rest)
            return quality.load, quality.replication, alone

        alone = min(expected(choice) for choice in (False, True))[2] if len(rest[0]) > 1 else self.alone
        return Association.create(replace(self, alone=alone), samples, tasks)


def document_scheme(scheme: str | DocumentScheme) -> DocumentScheme:
    """Return a scheme by name, or the configured one as it is.

    "auto" is association with owners for new pairs, routed by expanded attributes alone if that is better: never more
    copies than the paper's "association", mostly fewer.
    """
    return DOCUMENT_SCHEMES.named(scheme)
