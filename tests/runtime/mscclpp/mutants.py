"""Plans with one thing changed: an operation lost, doubled, moved or altered, or a number somewhere."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

Document = dict[str, Any]
Change = Callable[[Document, random.Random], bool]


def _block(document: Document, rng: random.Random) -> Document:
    blocks = [block for gpu in document["gpus"] for block in gpu["threadblocks"] if block["ops"]]
    chosen: Document = rng.choice(blocks)
    return chosen


def lose(document: Document, rng: random.Random) -> bool:
    ops = _block(document, rng)["ops"]
    del ops[rng.randrange(len(ops))]
    return True


def lose_nop(document: Document, rng: random.Random) -> bool:
    ops = _block(document, rng)["ops"]
    places = [at for at, op in enumerate(ops) if op["name"] == "nop"]
    if places:
        del ops[rng.choice(places)]
    return bool(places)


def double(document: Document, rng: random.Random) -> bool:
    ops = _block(document, rng)["ops"]
    at = rng.randrange(len(ops))
    ops.insert(at, copy.deepcopy(ops[at]))
    return bool(ops[at]["name"] != "nop")


def swap(document: Document, rng: random.Random) -> bool:
    ops = _block(document, rng)["ops"]
    if len(ops) < 2:
        return False
    at = rng.randrange(len(ops) - 1)
    ops[at], ops[at + 1] = ops[at + 1], ops[at]
    return bool(ops[at] != ops[at + 1])


def rename(document: Document, rng: random.Random) -> bool:
    other = {"wait": "signal", "signal": "wait", "pwsf": "pws", "pws": "put", "sem_acquire": "sem_release", "rre": "re"}
    ops = [op for op in _block(document, rng)["ops"] if op["name"] in other]
    if ops:
        op = rng.choice(ops)
        op["name"] = other[op["name"]]
    return bool(ops)


def shift(document: Document, rng: random.Random) -> bool:
    ops = [op for op in _block(document, rng)["ops"] if "src_buff" in op]
    if not ops:
        return False
    operand = rng.choice([one for key in ("src_buff", "dst_buff") for one in rng.choice(ops)[key]])
    operand["index"] = max(0, operand["index"] + rng.choice((-1, 1)))
    return True


def retype(document: Document, rng: random.Random) -> bool:
    ops = [op for op in _block(document, rng)["ops"] if "src_buff" in op]
    places = [one for op in ops for key in ("src_buff", "dst_buff") for one in op[key] if "type" in one]
    if places:
        place = rng.choice(places)
        place["type"] = rng.choice([one for one in "ios" if one != place["type"]])
    return bool(places)


def turn_semaphore(document: Document, rng: random.Random) -> bool:
    ops = [op for op in _block(document, rng)["ops"] if "semaphore_ids" in op]
    if not ops:
        return False
    rng.choice(ops)["semaphore_ids"][0] += 1
    return True


def start_semaphore(document: Document, rng: random.Random) -> bool:
    found = [one for gpu in document["gpus"] for one in gpu["semaphores"]]
    if found:
        rng.choice(found)["init_value"] = rng.choice((-1, 1))
    return bool(found)


def reconnect(document: Document, rng: random.Random) -> bool:
    gpu = rng.choice(document["gpus"])
    lines = [one["connected_to"] for one in gpu["channels"] if len(set(one["connected_to"])) > 1]
    if not lines:
        return False
    line = rng.choice(lines)
    at, to = rng.sample(range(len(line)), 2)
    line[at], line[to] = line[to], line[at]
    return bool(line[at] != line[to])


def flip(document: Document, rng: random.Random) -> bool:
    key = rng.choice(("inplace", "use_double_scratch_buffer"))
    document[key] = not document[key]
    return True


def exchange(document: Document, rng: random.Random) -> bool:
    """Let two threadblocks of a rank have each other's operations from some place on."""
    gpu = rng.choice(document["gpus"])
    if len(gpu["threadblocks"]) < 2:
        return False
    one, other = rng.sample(gpu["threadblocks"], 2)
    if one["channels"] != other["channels"] or one["remote_buffer_refs"] != other["remote_buffer_refs"]:
        return False
    one["ops"], other["ops"] = other["ops"], one["ops"]
    return True


def _switches(document: Document) -> list[Document]:
    return [one for gpu in document["gpus"] for one in gpu["channels"] if one["channel_type"] == "switch"]


def part_from_a_switch(document: Document, rng: random.Random) -> bool:
    """Let a switch channel join one rank less, at one rank or at all."""
    some = _switches(document)
    if not some:
        return False
    everywhere = rng.random() < 0.5
    gone = rng.choice(some[0]["rank_groups"][0]["ranks"])
    for one in some if everywhere else [rng.choice(some)]:
        for group in one["rank_groups"]:
            group["ranks"] = [rank for rank in group["ranks"] if rank != gone]
    return True


def rebind_a_switch(document: Document, rng: random.Random) -> bool:
    """Let a switch channel join another buffer, at one rank or at all."""
    some = _switches(document)
    if not some:
        return False
    other = rng.choice([one for one in "ios" if one != some[0]["buffer_type"]])
    for one in some if rng.random() < 0.5 else some[:1]:
        one["buffer_type"] = other
    return True


def turn_a_switch(document: Document, rng: random.Random) -> bool:
    """Let an operation take another part than it should, or another place of the group's buffer."""
    ops = [op for op in _block(document, rng)["ops"] if op["name"] in {"glres", "gstore", "gstorepkt"}]
    if not ops:
        return False
    op = rng.choice(ops)
    if rng.random() < 0.5 and "tbg_info" in op:
        op["tbg_info"]["tb_id"] = (op["tbg_info"]["tb_id"] + 1) % op["tbg_info"]["tbg_size"]
    else:
        place = rng.choice([op["src_buff"][0], op["dst_buff"][0]])
        place["index"] += 1 if not place["index"] else rng.choice((-1, 1))
    return True


def lose_signal(document: Document, rng: random.Random) -> bool:
    ops = _block(document, rng)["ops"]
    places = [at for at, op in enumerate(ops) if op["name"] in {"signal", "wait"}]
    if places:
        del ops[rng.choice(places)]
    return bool(places)


SWITCHED: tuple[Change, ...] = (part_from_a_switch, rebind_a_switch, turn_a_switch, lose_signal, rename)
"""Changes of plans through switches: another group, buffer or place, and a signal that is not given or waited for."""


CHANGES: tuple[Change, ...] = (
    lose, lose_nop, double, swap, rename, shift, retype, turn_semaphore, start_semaphore, reconnect, flip, exchange,
)  # fmt: skip


def mutant(text: str, seed: int, changes: tuple[Change, ...] = CHANGES) -> tuple[str, str] | None:
    """Return the name of a change and the plan with it, None where the plan has nothing to change in that way."""
    rng = random.Random(seed)  # noqa: S311
    document = json.loads(text)
    change = rng.choice(changes)
    if not change(document, rng):
        return None
    return change.__name__, json.dumps(document)
