"""Choice of methods and the best plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from topodesign.base.arguments import as_choice
from topodesign.base.claims import THE_LEAST, Claim, Of
from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError, ParameterError, TopologyError
from topodesign.base.options import format_option
from topodesign.base.units import format_factor, format_rate
from topodesign.collectives import Collective
from topodesign.fabrics.part import select_part
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate
from topodesign.plans.group_ops import alongside, carried_over, empty, part_of_topology, restricted
from topodesign.plans.measure import cost_claim
from topodesign.plans.plan import Plan
from topodesign.plans.time.models import compute_claim
from topodesign.schedulers import ROUNDS, SCHEDULERS
from topodesign.schedulers.for_size import chooses_by_size, explain_skipped, fastest_for_size, gains_by_trees
from topodesign.schedulers.forest import MAY_BE_FASTER
from topodesign.schedulers.method import Method, Request, cost_in, plan_rounds
from topodesign.topology.topology import Topology

Methods = Mapping[str, Method]

_WANTED = {
    "without": "can do without what has failed",
    "shards": "takes shards of unequal size",
    "ready": "takes nodes that start late",
}
"""Options that say what is wanted, not how it is made, so that ``auto`` asks who can do it; and what that one can."""
_OF_ONE = frozenset({"proof", "bound", "rounds"})  # what a plan tells of itself that does not hold for two in turn


def make_plan(request: Request, method: str, methods: Methods) -> Plan:
    """Return the best plan of one method, or with ``auto``.

    See :func:`topodesign.schedulers.schedule`.
    """
    return make_plans(request, method, methods)[0]


def make_plans(request: Request, method: str, methods: Methods) -> list[Plan]:
    """Return the best plan, and those of other methods that may be faster for some size."""
    as_choice("method", method, ("auto", *methods))
    request.collective.check_root(request.root)
    if _needs_what_is_left(request, method, methods):
        return [_on_what_is_left(request, method, methods)]
    if method == "auto" and chooses_by_size(request):
        return [fastest_for_size(request, lambda asked, name: make_plan(asked, name, methods), methods)]
    if method == "auto" and not request.plain and request.fabric.shared:
        method = "fluid"
    chosen = (method == "auto" and _rounds(request, methods)) or _able(request, method, methods)
    if not request.plain and method != "fluid":
        request.fabric.check_unshared(f"the method '{chosen[0].name}'")
    ask = _plans
    if request.grouped and not any(one.movement == "rounds" or "group" in one.options for one in chosen):
        request = _only(request, chosen[0])
    if request.grouped and all(one.movement == "rounds" for one in chosen):
        request, ask = request.but(collective=request.among, only=(), group=(), placement=None, root=None), among
    whole = all(request.collective.like(*one.collectives) for one in chosen)
    steps = (request.collective,) if whole else request.collective.parts
    if request.time_limit is not None and len(steps) > 1:  # the limit is for all searches together
        request = request.but(time_limit=request.time_limit / len(steps))
    # Whoever was late is there when the first part of an allreduce is over.
    after = request if request.ready is None else request.but(ready=None)
    parts = [ask((after if place else request).asking(part), chosen) for place, part in enumerate(steps)]
    if not all(parts):
        where = "this topology" if ask is _plans else "these nodes of this topology"
        hint = "" if method == "auto" else "; omit --algorithm to use one that has"
        raise InfeasibleError(f"the method '{method}' has no schedule for {where}{hint}")
    first = [min(plans, key=_rank) for plans in parts]
    best = _in_turn(first)
    made = [best if row == first else _in_turn(row) for row in _alike(parts)] if best.cost is not None else []
    others = [one for one in made if not cost_in(best).dominates(cost_in(one))]
    best = _add_notes(best, made, others)
    if method == "auto" and request.plain and (wanted := _WANTED.keys() & request.list_given()):
        able = " and ".join(words for name, words in _WANTED.items() if name in wanted)
        best = replace(best, notes=(*best.notes, f"by --algorithm {_method(best)}, which {able}"))
    if method == "auto" and best.cost is not None and gains_by_trees(request) and not request.list_given():
        best = _note_trees(best, methods["forest"].make(request))
    if method == "auto" and MAY_BE_FASTER in best.notes:
        best = _through_switches(best, request, methods["in-network"])
    return [best, *(_add_notes(one, [one], []) for one in others)]


def _needs_what_is_left(request: Request, method: str, methods: Methods) -> bool:
    """Return whether to remove failures and switches first.

    So groups, and methods that make rounds of topologies alone, do without failed links and unwound switches.
    """
    if request.without and request.group not in ("", ()):
        return True
    if method == "auto" or not (request.without or request.unwind):
        return False
    one = methods[method]
    return one.movement == "rounds" and not {"without", "unwind"} & one.options


def _on_what_is_left(request: Request, method: str, methods: Methods) -> Plan:
    """Return the plan on the remaining links."""
    fabric = select_part(request.whole, without=request.without) if request.unwind is None else request.unwound
    alone = request.but(without=(), unwind=None)
    if isinstance(fabric, Topology) or (not request.plain and request.unwind is None):
        return make_plan(alone.but(place=fabric), method, methods)
    if request.plain and len(fabric.names) < len(request.whole.names):
        what = "groups" if request.group not in ("", ()) else f"--algorithm {method}"
        raise ParameterError(f"{what} cannot do without a node; name links in --fail, or use --algorithm forest")
    root = None if request.root_name is None else fabric.number(request.root_name)
    plan = make_plan(alone.but(place=fabric.topology, root=root, bandwidth=None), method, methods)
    return replace(plan, place=fabric, spec=None)


def _through_switches(best: Plan, request: Request, method: Method) -> Plan:
    """Return the in-network plan if faster, otherwise ``best``."""
    from topodesign.optima.trees import best_allreduce  # noqa: PLC0415  not for rounds

    if explain_skipped(method, request) is None:
        for plan in method.make(request):
            if plan.claim["algorithmic_bandwidth"] > best.claim["algorithmic_bandwidth"]:
                ranks = format_rate(best.claim["algorithmic_bandwidth"])
                return plan.saying(f"by ranks alone (--set by-ranks=yes) it is {ranks}")

    other = best_allreduce(best.fabric)
    reached = best.claim["algorithmic_bandwidth"]
    if other.bandwidth > reached:
        by = f"{float(other.bandwidth / reached - 1):.1%}"
        said = f": --algorithm in-network is {by} faster for large data, {format_rate(other.bandwidth)}; {other.claim}"
    else:
        claim = Claim.to_bound(Of.RATE, reached, other.among, other.bound, missed=other.missed)
        said = f", but no trees are known that are faster by it; {claim}"
    note = f"switches copy or add here{said}"
    return replace(best, notes=(*(one for one in best.notes if one != MAY_BE_FASTER), note))


def _note_trees(best: Plan, trees: list[Plan]) -> Plan:
    """Add a note if trees are faster for large data."""
    for plan in trees:
        factor = plan.topology.degree * plan.fabric.unit / plan.claim["algorithmic_bandwidth"]
        if factor < best.claim["bandwidth"]:
            gain, words = f"{float(best.claim['bandwidth'] / factor - 1):.1%}", format_factor(Fraction(factor))
            return best.saying(f"for large data --algorithm forest is {gain} faster: {words}; --size chooses")
    return best


def _rounds(request: Request, methods: Methods) -> list[Method]:
    """Return the default methods for a plain topology."""
    if not request.plain or request.grouped or request.without or request.list_given():
        return []
    asked = [methods[one] for one in methods if one in ROUNDS or one not in SCHEDULERS]
    able = [one for one in asked if one.auto and one.movement == "rounds" and one.does(request.collective)]
    return able if able and able[0].name in ROUNDS else []


def _able(request: Request, name: str, methods: Methods) -> list[Method]:
    """Return the named method, or supporting methods of one kind."""
    collective = request.collective
    does = [one for one in methods.values() if one.does(collective)]
    if not does:
        known = "; ".join(f"{one.name} makes {' and '.join(map(str, one.collectives))}" for one in methods.values())
        raise InfeasibleError(f"no method schedules {collective} yet: {known}; an allreduce is made of two of these")
    if name == "auto":
        fit = _fit(request, does)
        several = request.grouped and not request.only and (request.plain or request.among.groups is not None)
        if several:
            grouping = [one for one in does if one.groups(collective) and (one.fabrics or request.plain)]
            fit = [one for one in fit if one.movement == "rounds"] or [
                one for one in grouping if one.movement == "rounds" or one in fit
            ]
            fit.sort(key=lambda one: one.movement != "rounds")
        if not fit and several:
            makes = ", ".join(
                dict.fromkeys(str(part) for one in methods.values() if one.fabrics for part in one.grouped)
            )
            raise InfeasibleError(
                f"on fabrics several groups at once do {makes}, and no {collective} yet; --members makes a plan of one"
            )
        if not fit:
            names = ", ".join(one.name for one in does if one.fabrics or request.plain)
            where = "" if request.plain else " of fabrics"
            named = f" unless it is named: --algorithm {names}" if names else ""
            raise InfeasibleError(f"no method schedules {collective}{where}{named}")
        able = [one for one in fit if one.movement == fit[0].movement]
    else:
        able = [methods[name].select_variant(request)]
        if not able[0].does(collective):
            other = next((one for one in does if one.auto), does[0])
            if other.movement == able[0].movement:
                raise ParameterError(f"--algorithm {name} makes no {collective}; use --algorithm {other.name}")
            raise ParameterError(f"{collective} goes over {other.movement}; use --algorithm {other.name}")
    given = request.list_given()
    if request.plain and able[0].movement == "rounds":  # which are carried over from parts, whatever made them
        given = [option for option in given if option not in {"only", "group", "placement"}]
    elif "group" not in able[0].options and "only" in able[0].options:
        given = [option for option in given if option not in {"group", "placement"}]
    for option in given:
        those = [one for one in able if option in one.options]
        if not those:
            raise ParameterError(
                _explain_option(option, able[0], [one for one in methods.values() if one.does(collective)])
            )
        able = those
    return able


def _fit(request: Request, does: list[Method]) -> list[Method]:
    """Return the ``auto`` methods that support the special options."""
    fit = [one for one in does if one.auto and (one.fabrics or request.plain)]
    if not _WANTED.keys() & request.list_given():
        return fit
    all_said = [one for one in does if one.options.issuperset(request.list_given())]
    return [one for one in fit if one in all_said] or (all_said if request.without else all_said[:1]) or fit


def _only(request: Request, method: Method) -> Request:
    """Return the request with its single group as members."""
    among = request.among
    if among.groups is not None:
        raise InfeasibleError(
            f"{method.name} makes plans of one group; for several use --algorithm fluid (trees) or pipeline (rounds)"
        )
    names = tuple(request.called.names[node] for node in among.group or ())
    root = None if among.root is None else request.called.names[among.root]
    alone = replace(among, group=None)
    return request.but(collective=alone, root=root, only=names, group=(), placement=None)


def _explain_option(option: str, method: Method, methods: Iterable[Method]) -> str:
    """Return the error text for an unsupported option."""
    flag = format_option(option)
    users = [one for one in methods if option in one.options]
    if any(one.movement == method.movement for one in users):
        return f"{flag} is not for --algorithm {method.name}, but for {', '.join(one.name for one in users)}"
    if method.fabrics or not users:
        return f"{flag} is not for {method.movement}; remove it"
    return f"{flag} is for {users[0].movement}; use --algorithm {users[0].name}"


def _plans(request: Request, methods: list[Method]) -> list[Plan]:
    """Return plans of quick methods up to an unbeatable one."""
    plans: list[Plan] = []
    for one in methods:
        if len(methods) > 1 and one.soon is not None and not one.soon(request):
            continue
        plans += one.make(request)
        if any(_unbeatable(plan) for plan in plans):
            break
    return plans


def _unbeatable(plan: Plan) -> bool:
    """Return whether no later method can improve on the plan."""
    nodes = plan.topology.nodes
    if "least" in plan.generator:
        return bool(plan.generator["least"] == str(plan.claim["bandwidth"]))
    return plan.generator["method"] == "spff" and plan.claim["bandwidth"] == Fraction(nodes - 1, nodes)


def _rank(plan: Plan) -> tuple[Fraction, ...]:
    """Return the sort key of a plan; smaller is better."""
    claim = plan.claim
    if "algorithmic_bandwidth" in claim:
        return -claim["algorithmic_bandwidth"], claim["height"]
    return (claim["time"],) if "time" in claim else (claim["steps"], claim["bandwidth"])


def _alike(parts: list[list[Plan]]) -> list[list[Plan]]:
    """Return the plans of each method, one per phase."""
    first, *rest = parts
    rows = [[plan] for plan in first]
    for plans in rest:
        rows = [[*row, plan] for row in rows for plan in plans if _method(plan) == _method(row[0])]
    return rows


def _method(plan: Plan) -> str:
    return str(plan.generator["method"])


def _in_turn(plans: list[Plan]) -> Plan:
    """Return two phases in sequence, or a single plan itself."""
    if len(plans) == 1:
        return plans[0]
    first, second = plans
    made: dict[str, Any] = {
        **{name: value for name, value in first.generator.items() if name not in _OF_ONE},
        "method": ", ".join(dict.fromkeys(map(_method, plans))),
    }
    notes = tuple(f"{plan.collective}: {note}" for plan in plans for note in plan.notes)
    if any("proof" in plan.generator for plan in plans):
        notes += ("that no allreduce is better does not follow",)
    both = Plan(first.place, concatenate(first.flow, second.flow), {}, first.spec, made, notes)
    one, other = first.cost, second.cost
    if one is None or other is None:
        return replace(both, claim=compute_claim(both))
    cost = Cost(one.steps + other.steps, one.bandwidth + other.bandwidth)
    for name in ("lost", "lost_at_most"):
        if name in made:
            made[name] = str(sum(Fraction(plan.generator[name]) for plan in plans))
    return replace(both, claim=cost_claim(cost), generator=made)


def _add_notes(best: Plan, made: list[Plan], others: list[Plan]) -> Plan:
    """Return the plan with notes on limits of those made and on others with a smaller factor."""
    if best.cost is None:
        return best
    notes, told = [], dict(best.generator)
    proved = [Fraction(plan.generator["least"]) for plan in made if "least" in plan.generator]
    if proved and "least" in told:  # all by methods whose plans have the fewest steps, or as many as asked
        told |= {"least": str(max(proved)), "lost": str(best.claim["bandwidth"] - max(proved))}
    lost, at_most = (Fraction(told.get(name, 0)) for name in ("lost", "lost_at_most"))
    if lost > 0:
        bound = f" (Theorem 21: at most {float(at_most):.4f})" if at_most else ""
        than = THE_LEAST if "least" in told else "without a limit on chunks"
        notes.append(f"{float(lost):.4f} more than {than}{bound}")
    notes += [
        f"with --set steps={more['steps']}: {format_factor(Fraction(more['bandwidth']))}"
        for more in next((plan.generator["more_steps"] for plan in made if "more_steps" in plan.generator), ())
    ]
    beside = [(_method(plan), cost_in(plan)) for plan in others]
    if beside:
        told["others"] = [
            {"method": name, "steps": cost.steps, "bandwidth": str(cost.bandwidth)} for name, cost in beside
        ]
    for name, cost in beside:
        notes.append(f"with --algorithm {name}: {cost.steps} steps, {format_factor(cost.bandwidth)}")
    return replace(best, generator=told, notes=(*best.notes, *notes))


Made = dict[object, Flow | None]


def among(request: Request, methods: list[Method]) -> list[Plan]:
    """Return up to one plan per method and routing for groups.

    Where the others vanish, every group is a topology of its own, its members and the links among them, and a plan for
    that is carried over. Where they forward, there is another way: a plan for all nodes of which the members' blocks
    are kept, with as much of their way as leads to a member. What groups do at the same time is then one schedule, step
    next to step, and its cost is that of the links that they share.
    """
    topology, collective = request.topology, request.collective
    collective.members(topology.nodes)  # says what is no node
    plans: list[Plan] = []
    refused: Exception | None = None
    ways: list[Callable[[Request, Method, Collective, Made], Flow | None]] = [_inside]
    if request.others == "forward":
        ways.append(_through)
    for method in methods:
        own: list[Plan] = []
        native = "group" in method.options  # it knows groups and who forwards, so that no whole plan is cut down
        for way in ways[:1] if native else ways:
            made: Made = {}
            parts = []
            for one in collective.single:
                try:
                    part = way(request, method, one, made)
                except (InfeasibleError, TopologyError) as error:
                    refused, part = error, None
                if part is None:
                    break
                parts.append(part)
            else:
                movement = alongside(parts, collective)
                own.append(plan_rounds(topology, movement, method.name, other_nodes=request.others))
        if request.others == "forward" and native:
            own += method.make(request)
        if own and "alpha" in method.options:  # made for a size, so that what is fastest for it is wanted
            own = [min(own, key=lambda plan: request.runtime(cost_in(plan)))]
        plans += own
    if not plans and refused is not None:
        hint = "" if request.others == "forward" else "; --forward lets them send through other nodes"
        raise InfeasibleError(f"over the links among members alone there is no schedule: {refused}{hint}") from None
    return plans


def _inside(request: Request, method: Method, one: Collective, made: Made) -> Flow | None:
    """Return a group's rounds on inner links, shared by equal groups."""
    topology = request.topology
    members = one.members(topology.nodes).tolist()
    if len(members) == 1:
        return empty(one, topology)
    part = part_of_topology(topology, members)
    root = None if one.root is None else members.index(one.root)
    place = {node: at for at, node in enumerate(members)}
    table = request.unequal
    if table is not None:
        table = table.rename(lambda link: (place[link[0]], place[link[1]]) if place.keys() >= {*link} else None)
    key = part, root, None if table is None else str(table)
    if key not in made:
        alone = replace(one, root=None, group=None)
        asked = request.but(place=part, collective=alone, root=root, link_table=table, others="vanish")
        made[key] = _best_rounds(method.make(asked))
    found = made[key]
    return None if found is None else carried_over(found, members, topology)


def _through(request: Request, method: Method, one: Collective, made: Made) -> Flow | None:
    """Return a group's part of an all-node plan."""
    topology = request.topology
    if len(one.members(topology.nodes)) == 1:
        return empty(one, topology)
    if one.root not in made:
        alone = replace(one, root=None, group=None)
        made[one.root] = _best_rounds(method.make(request.but(collective=alone, root=one.root, others="vanish")))
    found = made[one.root]
    return None if found is None else restricted(found, one)


def _best_rounds(plans: list[Plan]) -> Flow | None:
    """Return the rounds with minimum steps, then minimum bandwidth."""
    if any(one.cost is None for one in plans):
        raise ParameterError(f"plans in {plans[0].kind} are not carried over to some of the nodes")
    ranked = sorted(plans, key=lambda one: (cost_in(one).steps, cost_in(one).bandwidth))
    return ranked[0].rounds if ranked else None
