"""`explain` of as-of joins: which right row a left row is given, when it is emitted, and what is kept until then."""

from __future__ import annotations

from collections.abc import Callable

from weft.planner.explain import Explanation, passed_on, stream_and_table
from weft.routing import AsofPlan, AsofScheme, Plan
from weft.spec import JoinSpec, Within, unit_shown
from weft.spec.asof import Asof, AsofAsked, asof_lags
from weft.spec.join_spec import shown_tolerance

__all__ = ["explain_asof", "explain_asof_table"]

_AT = {
    "backward": ("at or before", "before"),
    "forward": ("at or after", "after"),
    "nearest": ("nearest to", "nearest to, but not at,"),
}


def explain_asof(
    spec: JoinSpec, asked: AsofAsked, scheme: AsofScheme, tasks: int, *, streaming: bool
) -> Explanation:  # fmt: skip
    """Explain the match, the routing, and on streams when rows are emitted and what is kept."""
    asof = spec.asof
    assert asof is not None
    plan = scheme.initial(spec, tasks)
    parts = [
        *_chosen(spec, asof, asked, "arrived"),
        ("plan", f"{tasks} task{'s' if tasks != 1 else ''}: {_plan(spec, asked, plan)}"),
    ]
    if not streaming:
        return Explanation((*parts, ("state", "none: both sides are read completely, in one batch")))
    window = spec.window
    if not isinstance(window, Within) or window.delays.known is None:
        late = "all left rows at the end of the input, because a side has no delay. Set delay= to emit them earlier"
        return Explanation(
            (*parts, ("emitted", late), ("state", "grows without bound: both sides are kept until the end"))
        )
    show, delays = unit_shown(window.unit), window.delays.known
    both = show(delays["left"]) if delays["left"] == delays["right"] else (
        f"{show(delays['left'])} on the left and {show(delays['right'])} on the right"
    )  # fmt: skip
    parts += [
        ("emitted", _emitted(asof)),
        ("state", _state(asof)),
        (
            "late",
            f"the watermark is the newest time of the slower side minus its delay ({both}); older rows are dropped and counted",
        ),
    ]
    lags = asof_lags(asof, window)
    told = [
        f"{alias}.{name} {_lag(lag, show)}"
        for alias, name, lag in (("l", window.left, lags.left), ("r", window.right, lags.right))
    ]
    return Explanation((*parts, ("order", "from batch to batch, " + ", ".join(told))))


def explain_asof_table(spec: JoinSpec, asked: AsofAsked, refresh: str | None) -> Explanation:
    """Explain how each row of a stream, the left side, is given the nearest row of a table."""
    asof = spec.asof
    assert asof is not None
    by = [two for _, two in asked.by]
    order = [*(["a hash of its equal columns" if len(by) > 1 else by[0]] if by else []), asked.right]
    index = f"rows sorted by {' and '.join(order)}; each row of the stream finds its match by binary search"
    parts = (
        *_chosen(spec, asof, asked, "was read"), *stream_and_table("left", refresh), ("index", index), *passed_on(),
    )  # fmt: skip
    return Explanation(parts)


def _chosen(spec: JoinSpec, asof: Asof, asked: AsofAsked, arrived: str) -> list[tuple[str, str]]:
    """Tell which right row a left row is given."""
    alone = ", or with NULLs" if spec.kind.preserved else ", if there is one"
    where = [("where", f"{asof.where}; right rows are tried in order of distance")] if asof.chooses else []
    return [
        ("join", f"each left row with one right row{alone}"), ("match", _match(asof, asked)), *where,
        ("ties", _ties(asof, asked, arrived)),
    ]  # fmt: skip


def _lag(lag: int | None, show: Callable[[int], str]) -> str:
    """Say how far out of order a time of the result is."""
    return "without bound" if lag is None else f"up to {show(lag)} out of order" if lag else "in order"


def _match(asof: Asof, asked: AsofAsked) -> str:
    equal = " and ".join(f"l.{one} = r.{two}" for one, two in asked.by)
    among = f" among those with {equal}" if equal else ""
    far = shown_tolerance(asof)
    return (
        f"the right row whose {asked.right} is {'' if asof.direction == 'nearest' else 'the nearest '}"
        f"{_AT[asof.direction][asof.strict]} l.{asked.left}{among}{f', at most {far} away' if far else ''}"
    )


def _ties(asof: Asof, asked: AsofAsked, arrived: str) -> str:
    first = f"the one with the greatest {asked.ties}, then " if asked.ties else ""
    same = f"among right rows with the same {asked.right}, {first}the one that {arrived} last"
    return (
        f"{same}; between an earlier and a later row at the same distance, the earlier"
        if asof.direction == "nearest"
        else same
    )


def _plan(spec: JoinSpec, asked: AsofAsked, plan: Plan) -> str:
    """Say which task has which rows, now and later."""
    asof = spec.asof
    assert asof is not None and isinstance(plan, AsofPlan)
    if plan.tasks == 1:
        return plan.describe()
    if asof.chooses and asof.tolerance is None:
        uncut = "hot keys are not split" if asked.by else "the other tasks have none"
        return f"{plan.describe()}; {uncut}, because where= without a tolerance may choose any right row"
    copies = "all right rows within the tolerance are" if asof.chooses else "right rows at the borders of a slice are"
    if asked.by:
        return (
            f"{plan.describe()}; keys too hot for one task are split into slices of {asked.left}, and {copies} copied to "
            "the key's other tasks"
        )
    length = ""
    if plan.length and isinstance(spec.window, Within):
        length = f" ({unit_shown(spec.window.unit)(plan.length)} long at first)"
    return f"slices of {asked.left}{length} go to the tasks in turn; {copies} copied to other tasks"


def _emitted(asof: Asof) -> str:
    """Tell when a left row is emitted."""
    if asof.direction == "backward":
        return f"a left row is emitted when the watermark {'reaches' if asof.strict else 'passes'} its time"
    far = shown_tolerance(asof)
    or_else = f", or is {far} past its own time" if far else "; if its key is not seen again, at the end of the input"
    return f"a left row is emitted when the watermark passes its nearest right row{or_else}"


def _state(asof: Asof) -> str:
    waiting = "waiting left rows"
    since = "the oldest of these or the watermark, whichever is earlier"
    far = shown_tolerance(asof)
    if asof.chooses and not far:
        return "grows without bound: any right row may be the one that where= chooses. Set tolerance= to bound it"
    if asof.chooses:
        return f"{waiting}; right rows from {far} before {since}"
    if asof.direction == "forward":
        return f"{waiting}; right rows from {since}"
    behind = "one earlier right row per key" + (f", if it is within {far}" if far else "")
    return f"{waiting}; right rows from {since}; and {behind}"
