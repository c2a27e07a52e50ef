"""Small MSCCL programs written by hand: a text writer of its own, and families of correct programs."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class S:
    """A step: ``S("cpy", "i0", "o3", cnt=2, dep=(1, 4), has=True)``."""

    type: str
    src: str = "i0"
    dst: str = "o0"
    cnt: int = 1
    dep: tuple[int, int] = (-1, -1)
    has: bool = False


@dataclass(frozen=True)
class T:
    """A threadblock."""

    steps: tuple[S, ...]
    send: int = -1
    recv: int = -1
    chan: int = 0


@dataclass(frozen=True)
class P:
    """A program; ``ranks[r]`` are the threadblocks of rank r."""

    coll: str
    chunks: int
    ranks: tuple[tuple[T, ...], ...]
    scratch: int = 0
    proto: str = "Simple"
    inplace: bool = True
    outofplace: bool = True
    channels: int = 1
    max_bytes: int = 65536


def write(p: P) -> str:
    n = len(p.ranks)
    inputs = p.chunks // n if p.coll == "allgather" else p.chunks
    outputs = p.chunks // n if p.coll == "reducescatter" else p.chunks
    head = (
        f'name="t" proto="{p.proto}" nchannels="{p.channels}" nchunksperloop="{p.chunks}" ngpus="{n}" coll="{p.coll}"'
    )
    tail = f'inplace="{int(p.inplace)}" outofplace="{int(p.outofplace)}" minBytes="0" maxBytes="{p.max_bytes}"'
    lines = [f"<algo {head} {tail}>"]
    for r, tbs in enumerate(p.ranks):
        lines.append(f'  <gpu id="{r}" i_chunks="{inputs}" o_chunks="{outputs}" s_chunks="{p.scratch}">')
        for t, tb in enumerate(tbs):
            lines.append(f'    <tb id="{t}" send="{tb.send}" recv="{tb.recv}" chan="{tb.chan}">')
            for k, s in enumerate(tb.steps):
                lines.append(
                    f'      <step s="{k}" type="{s.type}" srcbuf="{s.src[0]}" srcoff="{s.src[1:]}"'
                    f' dstbuf="{s.dst[0]}" dstoff="{s.dst[1:]}" cnt="{s.cnt}"'
                    f' depid="{s.dep[0]}" deps="{s.dep[1]}" hasdep="{int(s.has)}"/>'
                )
            lines.append("    </tb>")
        lines.append("  </gpu>")
    lines.append("</algo>")
    return "\n".join(lines) + "\n"


def ring_allgather(n: int, cnt: int = 1) -> P:
    """One threadblock per rank sends on what it receives."""

    def at(slice_: int) -> str:
        return f"o{slice_ % n * cnt}"

    ranks = []
    for r in range(n):
        steps = [S("cpy", "i0", at(r), cnt), S("s", at(r), at(r), cnt)]
        steps += [S("rcs", at(r - k), at(r - k), cnt) for k in range(1, n - 1)]
        steps.append(S("r", at(r + 1), at(r + 1), cnt))
        ranks.append((T(tuple(steps), (r + 1) % n, (r - 1) % n),))
    return P("allgather", n * cnt, tuple(ranks))


def ring_reduce_scatter(n: int, cnt: int = 1) -> P:
    ranks = []
    for r in range(n):
        steps = [S("s", f"i{(r - 1) % n * cnt}", "o0", cnt)]
        steps += [S("rrs", f"i{(r - k) % n * cnt}", "o0", cnt) for k in range(2, n)]
        steps.append(S("rrc", f"i{r * cnt}", "o0", cnt))
        ranks.append((T(tuple(steps), (r + 1) % n, (r - 1) % n),))
    return P("reducescatter", n * cnt, tuple(ranks))


def ring_allreduce(n: int, cnt: int = 1, proto: str = "Simple") -> P:
    ranks = []
    for r in range(n):

        def both(type_: str, c: int) -> S:
            return S(type_, f"i{c % n * cnt}", f"o{c % n * cnt}", cnt)

        steps = [both("s", r - 1), *(both("rrs", r - k) for k in range(2, n)), both("rrcs", r)]
        steps += [both("rcs", r - k) for k in range(1, n - 1)] + [both("r", r + 1)]
        ranks.append((T(tuple(steps), (r + 1) % n, (r - 1) % n),))
    return P("allreduce", n * cnt, tuple(ranks), proto=proto)


def tree_broadcast(n: int, root: int = 0) -> P:
    """A binary tree over (rank - root) mod n; one threadblock receives, one per child sends after it."""
    ranks = []
    for r in range(n):
        me = (r - root) % n
        children = [c for c in (2 * me + 1, 2 * me + 2) if c < n]
        tbs = []
        if me:
            tbs.append(T((S("r", "o0", "o0", 2, has=bool(children)),), recv=((me - 1) // 2 + root) % n))
        else:
            tbs.append(T((S("cpy", "i0", "o0", 2, has=bool(children)),)))
        tbs += [T((S("s", "o0", "o0", 2, dep=(0, 0)),), send=(c + root) % n) for c in children]
        ranks.append(tuple(tbs))
    return P("broadcast", 2, tuple(ranks))


def tree_reduce(n: int) -> P:
    """Up a binary tree into scratch, which lies in the input's place only at the root's end."""
    ranks = []
    for r in range(n):
        children = [c for c in (2 * r + 1, 2 * r + 2) if c < n]
        steps = [S("nop", dep=(1 + k, 0)) for k in range(len(children) - 1)]
        first = (len(children), 0) if children else (-1, -1)
        steps.append(S("cpy", "i0", "s0", 1, dep=first))
        steps += [S("re", f"s{1 + k}", "s0", 1) for k in range(len(children))]
        steps.append(S("s", "s0", "s0", 1) if r else S("cpy", "s0", "o0", 1))
        tbs = [T(tuple(steps), send=(r - 1) // 2 if r else -1)]
        tbs += [T((S("r", "s0", f"s{1 + k}", 1, has=True),), recv=c) for k, c in enumerate(children)]
        ranks.append(tuple(tbs))
    return P("reduce", 1, tuple(ranks), scratch=3)


def pairs_alltoall(n: int) -> P:
    """Out of place, one threadblock per peer."""
    ranks = []
    for r in range(n):
        others = [(r + k) % n for k in range(1, n)]
        tbs = [T((S("cpy", f"i{r}", f"o{r}"),))]
        tbs += [T((S("s", f"i{q}", "o0"), S("r", "i0", f"o{q}")), q, q) for q in others]
        ranks.append(tuple(tbs))
    return P("alltoall", n, tuple(ranks), inplace=False)


def pairs_allreduce(n: int) -> P:
    """In place: scatter into scratch, reduce with fused steps after a chain of nops, send the sums around."""
    ranks = []
    for r in range(n):
        peers = [q for q in range(n) if q != r]
        chain = [S("nop", dep=(1 + k, 1)) for k in range(len(peers) - 1)]
        adds = [S("re", f"s{q}", f"i{r}", dep=(len(peers), 1) if k == 0 else (-1, -1)) for k, q in enumerate(peers)]
        adds[-1] = replace(adds[-1], has=True)
        done = len(chain) + len(adds) - 1
        tbs = [T((*chain, *adds))]
        for q in peers:
            steps = (
                S("s", f"i{q}", f"s{r}"),
                S("r", f"i{r}", f"s{q}", has=True),
                S("s", f"i{r}", f"i{r}", dep=(0, done)),
                S("r", f"i{q}", f"i{q}"),
            )
            tbs.append(T(steps, q, q))
        ranks.append(tuple(tbs))
    return P("allreduce", n, tuple(ranks), scratch=n, outofplace=False)


FAMILIES = {
    "ring allgather": ring_allgather(4),
    "ring allgather of 3 chunks": ring_allgather(3, 3),
    "ring reduce-scatter": ring_reduce_scatter(4, 2),
    "ring allreduce": ring_allreduce(4, 2),
    "ring allreduce LL": ring_allreduce(3, 2, "LL"),
    "ring allreduce LL128": ring_allreduce(3, 2, "LL128"),
    "tree broadcast": tree_broadcast(6),
    "tree broadcast from 2": tree_broadcast(5, root=2),
    "tree reduce": tree_reduce(6),
    "alltoall": pairs_alltoall(4),
    "pairwise allreduce": pairs_allreduce(4),
}
