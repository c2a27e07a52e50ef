"""Documents about wiring."""

from __future__ import annotations

from topodesign.report.schemas.shapes import (
    array,
    declared,
    either,
    flag,
    fraction,
    integer,
    mapping,
    nullable,
    record,
    shared,
    text,
    texts,
    tuple_of,
    word,
)
from topodesign.report.schemas.shared import CLAIMS

PLAN = record(
    {
        "spec": nullable(text("What names and rebuilds the topology; null for links that have no spec.")),
        "alias": nullable(text("The short spec that it was asked for by, with the version of the catalog.")),
        "nodes": integer("Nodes N."),
        "mode": word("simplex", "duplex", about="Whether the two fibres of a lane are patched apart."),
        "hosts": texts("The host that is each node."),
        "cross_connects": integer("Patches."),
        "panels": array(
            record(
                {
                    "panel": text("Its name."),
                    "ports": integer("Ports."),
                    "cabled": integer("Ports with a host behind."),
                    "patched": integer("Ports that the plan uses."),
                    "blocked": integer("Ports that the inventory excludes."),
                    "leading": integer("Ports that lead to one of another panel."),
                }
            ),
            "Panels and switches.",
        ),
        "spare": array(shared("spare"), "Lanes that are left over."),
        "trunks": array(
            shared("trunk"),
            "Links between the same hosts.",
        ),
        "bill": array(
            record(
                {
                    "type": text("What to buy."),
                    "length_m": nullable(fraction("Metres; null where they are not known.")),
                    "count": integer("How many."),
                }
            ),
            "Bill of materials.",
        ),
        "cable_m": nullable(fraction("Metres in all; null where they are not known.")),
        "loss": nullable(
            declared("wiring.plan.losses:LossBudget"), "What links lose; null where no port has a budget."
        ),
    }
)
SHOW = either(
    PLAN | {"description": "without NAME"},
    record(
        {
            "traces": array(
                record(
                    {
                        "name": text("What was asked for."),
                        "note": text("What is to be said of it; or why it leads nowhere."),
                        "ways": array(
                            record(
                                {
                                    "from": text("Where the light comes from."),
                                    "through": texts("What it goes through."),
                                    "to": nullable(text("Where it goes to; null if nowhere.")),
                                    "cable_m": nullable(fraction("Metres of cable; null where they are not known.")),
                                    "note": text("What is to be said of the way."),
                                }
                            ),
                            "Where it leads.",
                        ),
                    }
                ),
                "One for each NAME.",
            )
        },
        "with NAME",
    ),
)
DIFF = record(
    {
        "moves": integer("Ends of patches to be plugged elsewhere."),
        "proven_fewest": flag("Whether no order of the hosts needs fewer."),
        "at_least": integer("What any order needs."),
        "kept": integer("Patches that stay."),
        **CLAIMS,
        "hosts": texts("The host that is each node afterwards."),
        "stages": array(
            record(
                {
                    "removed": texts("Patches to be pulled."),
                    "made": array(
                        tuple_of(text(), text(), text(), text(), text()),
                        "Patches to be plugged: name, and panel and port of both ends.",
                    ),
                    "words": texts("What to do."),
                    "panels": texts("Panels in the order in which to go to them."),
                    "walk_m": nullable(fraction("Metres of that way; null where they are not known.")),
                    "dark": integer("Links that a host lacks meanwhile, at most."),
                    "during": nullable(shared("strength"), "While it is done; null if not asked for."),
                    "after": nullable(shared("strength"), "When it is done; null as above."),
                }
            ),
            "What can be done at a time.",
        ),
    }
)
APPLY = record(
    {
        "outcome": word(
            "nothing to do",
            "dry run",
            "applied",
            "rolled back",
            "stopped",
            about="How it ended; stopped if the plan is neither in the switches nor out of them again.",
        ),
        "known": flag("Whether the circuits of all switches are known."),
        "done": integer("Stages that are done and checked."),
        "stages": array(
            record(
                {
                    "dark": integer("Links that a host lacks meanwhile, at most."),
                    "remove": mapping(texts(), "Circuits that go, by switch."),
                    "add": mapping(texts(), "Circuits that come, by switch."),
                }
            ),
            "What is changed at a time.",
        ),
        "switches": array(
            record(
                {
                    "switch": text("Its name."),
                    "address": text("Where it is."),
                    "circuits": texts("What it was last read to have, such as 1A-2B."),
                    "unknown": texts("Sides of ports of which that may not be true any more, such as 1A."),
                    "gone": nullable(text("Why it does not answer any more; null if it does.")),
                }
            ),
            "As they are now.",
        ),
        "notes": texts("What went otherwise than hoped."),
        "journal": nullable(text("Where it is noted what was read and sent.")),
    }
)
CHECK = record(
    {
        "ok": flag("Whether all is as planned."),
        "findings": array(
            record(
                {
                    "fault": text("Which kind."),
                    "cables": texts("Patches and fixed cables that it is about."),
                    "words": text("What is wrong."),
                    "seen": texts("What tells it."),
                }
            ),
            "What is not.",
        ),
        "patches_to_plan": integer("Patches that differ from the plan."),
        "repair": shared("change", "The fewest that make the links of the plan between its hosts; none if not known."),
        "other_order": shared("change", "The same if hosts may be other nodes."),
        **CLAIMS,
        "isomorphic": nullable(flag("Whether no patch has to move then; null if undecided.")),
    }
)
IMPACT = record(
    {
        "failures": integer("Failures that were looked at."),
        "before": shared("rest", "Without a failure."),
        "impacts": array(
            record(
                {
                    "failure": shared("failure"),
                    "alike": array(shared("failure"), "Others that a symmetry makes the same."),
                    "cables": texts("Patches that go dark."),
                    "after": shared("rest", "What is left."),
                    "repair": nullable(
                        record(
                            {
                                "restored": flag("Whether all is as before."),
                                "moves": integer("Ends of patches to be plugged elsewhere."),
                                "words": texts("What to do."),
                                "after": shared("rest", "What is then."),
                            },
                            "A way round it; null if there is none.",
                        )
                    ),
                }
            ),
            "The worst of each kind first.",
        ),
    }
)
IMPORT = record(
    {
        "same": flag("Whether it makes the links of the plan."),
        "nodes": integer("Nodes N."),
        "links": array(shared("link"), "What it makes."),
        "missing": array(shared("link"), "Links of the plan that it lacks."),
        "extra": array(shared("link"), "Links that the plan lacks."),
        "notes": texts("Labels of ports that were taken for others, such as 1 for 001."),
    }
)
