"""What runtimes say in their logs: every line that tells whether a program was loaded and used, and where it was read.

Lines are facts of the runtimes' sources, named by repository, commit, file and line. To teach the doctor another one,
add a :class:`Sign` to ``SIGNS``; the first that matches a line counts. Those of ranks that are connected, or cannot be,
are in :mod:`topodesign.runtime.connections`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Role = Literal[
    "told", "loading", "loaded", "refused", "ready", "call", "ran", "built-in", "trouble",
    "rings", "joined", "trees", "connection", "failed",
]  # fmt: skip
"""What a line says: an environment variable, that a file is read, that it was, that it was not, that the start is over,
that somebody calls a collective, that a program ran, that something else did, and that something is in the way; that
the ranks are joined in rings, which ones trees join, that they do, that two ranks cannot be connected, and that the
start failed, without a reason."""

MSCCL = "microsoft/msccl b23e9cd"
EXECUTOR = "Azure/msccl-executor-nccl c6f6b36"
SCHEDULER = "Azure/msccl-scheduler a0bfca1"
RCCL = "ROCm/rccl 0cbce2a"
MSCCLPP = "microsoft/mscclpp 1f5f065"
NCCL = "NVIDIA/nccl 5067397"


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of a log.

    Attributes
    ----------
    role
        What it says.
    pattern
        Of the message, after whatever the logger puts before it.
    runtime
        Whose line it is; nothing where several say it alike.
    means
        What it tells, with the pattern's groups in braces.
    remedy
        What to do about it.
    source
        Where it was read.
    """

    role: Role
    pattern: re.Pattern[str]
    runtime: str
    means: str
    remedy: str
    source: str


def sign_of(role: Role, pattern: str, runtime: str, *said: str) -> Sign:
    """Return a sign; what follows its runtime is the meaning, the source, and the remedy if there is one."""
    means, source, remedy = (*said, "")[:3]
    return Sign(role, re.compile(pattern), runtime, means, remedy, source)


_CALL = (
    r"opCount [0-9a-f]+ sendbuff (?P<send>\S+) recvbuff (?P<recv>\S+) count (?P<count>\d{1,19}) "
    r"datatype (?P<datatype>\d{1,3}) op (?P<op>\d{1,9}) root (?P<root>-?\d{1,9}) .*?\[nranks=(?P<ranks>\d{1,7})\]"
)
_RECOMPILE = "compile the program again with --runtime of this runtime, and check the file with topodesign verify"
_FEWER = "use fewer channels, a schedule with fewer --chunks or trees (--fixed-k), or another runtime"

SIGNS: tuple[Sign, ...] = (
    # -- the environment -------------------------------------------------------------------------------------------
    sign_of(
        "told",
        r"(?P<name>[A-Z][A-Z0-9_]{2,60}) set by environment to (?P<value>.{0,400}?)\.?$",
        "",
        "{name} is {value}",
        f"{NCCL} src/misc/param.cc:100; {MSCCL} src/graph/topo.cc:1196, src/graph/tuning.cc:195",
    ),
    # -- calls that ran one of our programs ------------------------------------------------------------------------
    sign_of(
        "ran",
        rf"mscclFunc(?P<name>[A-Za-z]+): {_CALL}",
        "rccl",
        "a program ran a call",
        f"{RCCL} src/misc/msccl/msccl_lifecycle.cc:406",
    ),
    sign_of(
        "ran",
        r"MSCCL: Setup Kernel finished, smem \d+ needsFence \d",
        "msccl-executor",
        "a program ran a call",
        f"{EXECUTOR} src/misc/msccl/msccl_setup.cc:483",
    ),
    sign_of(
        "loaded",
        r"MSCCL: SchedulerSelectAlgo: Algo (?P<file>.{1,400}) is selected",
        "msccl-executor",
        "{file} is chosen for a call (a build with tracing says so)",
        f"{EXECUTOR} src/misc/msccl/msccl_lifecycle.cc:342",
    ),
    sign_of(
        "ran",
        r"Starting execution with plan: (?P<file>.{0,400}?), collective: (?P<name>\w+)",
        "mscclpp",
        "the plan {file} ran a call",
        f"{MSCCLPP} src/core/executor/executor.cc:551",
    ),
    sign_of(
        "ran",
        r"^(?P<bytes>\d{1,19}) Bytes -> Algo 2 proto \d",
        "msccl",
        "a program ran a call (a build with tracing says so)",
        f"{MSCCL} src/enqueue.cc:483, src/include/devcomm.h:22",
    ),
    # -- calls, and what ran them instead --------------------------------------------------------------------------
    sign_of(
        "built-in",
        rf"mscclpp_nccl(?P<name>[A-Za-z]+): {_CALL}",
        "rccl",
        "RCCL's own MSCCL++ ran a call",
        f"{RCCL} src/misc/msccl/msccl_lifecycle.cc:531",
        "RCCL_MSCCLPP_ENABLE=0 leaves such calls to others",
    ),
    sign_of(
        "call",
        rf"(?P<name>[A-Z][A-Za-z]+): {_CALL}",
        "",
        "a call",
        f"{MSCCL} src/enqueue.cc:1479; {EXECUTOR} src/enqueue.cc:2352; {NCCL} src/enqueue.cc:3152",
    ),
    sign_of(
        "built-in",
        r"((?P<name>[A-Za-z]+): )?(?P<bytes>\d{1,19}) Bytes -> Algo (?P<algorithm>\w+) proto (?P<protocol>\w+)",
        "",
        "built-in algorithm {algorithm} ran a call",
        f"{NCCL} src/enqueue.cc:822; {EXECUTOR} src/enqueue.cc:1856; {MSCCL} src/enqueue.cc:1625",
    ),
    sign_of(
        "call",
        r"rank \d+ (?P<name>allreduce|allgather|broadcast) sendbuff (?P<send>\S+) recvbuff (?P<recv>\S+) "
        r"count (?P<count>\d{1,19}), dtype (?P<datatype>\d{1,3})",
        "mscclpp",
        "a call",
        f"{MSCCLPP} src/ext/nccl/nccl.cc:566, 625, 736",
    ),
    sign_of(
        "call",
        r"(?P<name>ReduceScatter) recvcount: (?P<count>\d{1,19}), datatype: (?P<datatype>\d{1,3})",
        "mscclpp",
        "a call",
        f"{MSCCLPP} src/ext/nccl/nccl.cc:679",
    ),
    sign_of(
        "built-in",
        r"(?P<algorithm>\w+) context cache (MISS|HIT)",
        "mscclpp",
        "MSCCL++'s own {algorithm} ran a call",
        f"{MSCCLPP} src/core/algorithm.cc:55, 62",
        "no plan fits the call: number of ranks, ranks per node, collective, in place or not, and size all have to",
    ),
    sign_of(
        "built-in",
        r"No suitable algorithm found for collective '(?P<name>\w+)', fallback to nccl/rccl",
        "mscclpp",
        "no plan fits a call of {name}; NCCL or RCCL ran it",
        f"{MSCCLPP} src/ext/nccl/nccl.cc:277",
        "number of ranks, ranks per node, collective, in place or not, and size of the plan all have to fit",
    ),
    sign_of(
        "built-in",
        r"Multi-node collective not yet supported, fallback to nccl/rccl",
        "mscclpp",
        "no plan fits a call over several nodes; NCCL or RCCL ran it",
        f"{MSCCLPP} src/ext/nccl/algorithm_selector.cc:174",
        "number of ranks, ranks per node, collective, in place or not, and size of the plan all have to fit",
    ),
    sign_of(
        "trouble",
        r"No FallBack implementation for (?P<name>\w+)",
        "mscclpp",
        "no plan fits a call of {name}, and there is no NCCL to fall back to: the call failed",
        f"{MSCCLPP} src/ext/nccl/nccl.cc:603, 658, 714, 770",
        "set MSCCLPP_NCCL_LIB_PATH to libnccl.so or librccl.so, and see why the plan does not fit",
    ),
    # -- loading ---------------------------------------------------------------------------------------------------
    sign_of(
        "loading",
        r"MSCCL: Parsing algorithm (?P<file>.{1,400})",
        "msccl",
        "{file} is read",
        f"{MSCCL} src/graph/topo.cc:760",
    ),
    sign_of(
        "loaded",
        r"Parsed MSCCL Algorithm (?P<file>.{1,400}) successfully\.",
        "msccl",
        "{file} was read",
        f"{MSCCL} src/graph/topo.cc:1209",
    ),
    sign_of(
        "refused",
        r"MSCCL: algorithm (?P<file>.{1,400}) failed to initialize\. Will be ignored\.",
        "msccl",
        "{file} is left out",
        f"{MSCCL} src/graph/topo.cc:1211",
        "the warning before this line says why",
    ),
    sign_of(
        "ready",
        r"Connected (?P<number>\d{1,9}) MSCCL algorithms",
        "msccl",
        "{number} programs are ready",
        f"{MSCCL} src/init.cc:841",
    ),
    sign_of(
        "loading",
        r"Using MSCCL Algo files from (?P<file>.{1,400})",
        "msccl-executor",
        "programs are read from {file}",
        f"{EXECUTOR} src/misc/msccl/msccl_lifecycle.cc:152; {SCHEDULER} src/scheduler.cc:142",
    ),
    sign_of(
        "loading",
        r"Using MSCCL files from (?P<file>.{1,400})",
        "rccl",
        "programs are read from {file}",
        f"{RCCL} src/misc/msccl/msccl_lifecycle.cc:176",
    ),
    sign_of(
        "ready",
        r"MSCCL: Initialization finished, localSize \d+",
        "rccl",
        "the programs are ready",
        f"{RCCL} src/misc/msccl/msccl_lifecycle.cc:290",
    ),
    sign_of(
        "ready",
        r"MSCCL: Initialization finished",
        "msccl-executor",
        "the programs are ready",
        f"{EXECUTOR} src/misc/msccl/msccl_lifecycle.cc:291",
    ),
    sign_of(
        "loading",
        r"Loading plan: \"?(?P<file>[^\"]{1,400})\"?",
        "mscclpp",
        "{file} is read",
        f"{MSCCLPP} src/ext/collectives/algorithm_collection_builder.cc:136",
    ),
    sign_of(
        "loaded",
        r"Successfully loaded plan: (?P<file>\S{1,400}) for collective: (?P<name>\w+)",
        "mscclpp",
        "a plan of {name} was read",
        f"{MSCCLPP} src/ext/collectives/algorithm_collection_builder.cc:148",
    ),
    sign_of(
        "refused",
        r"Failed to load plan : \"?(?P<file>[^\" ]{1,400})\"? (?P<why>.{0,400})",
        "mscclpp",
        "{file} is left out: {why}",
        f"{MSCCLPP} src/ext/collectives/algorithm_collection_builder.cc:150",
        "check the file with topodesign verify",
    ),
    # -- what is in the way ----------------------------------------------------------------------------------------
    sign_of(
        "trouble",
        r"(Plan file does not exist|Default plan directory does not exist): \"?(?P<file>[^\"]{1,400})\"?",
        "mscclpp",
        "{file} is not there",
        f"{MSCCLPP} src/ext/collectives/algorithm_collection_builder.cc:131, 138",
        "plans of one's own are given to the library by its Python or C++ interface; only its four default names are "
        "looked for in MSCCLPP_CACHE_DIR/default",
    ),
    sign_of(
        "trouble",
        r"Could not open (XML MSCCL graph|MSCCL XML algorithm|XML MSCCL config) file (?P<file>.{1,400}?) : (?P<why>.+)",
        "",
        "{file} cannot be opened: {why}",
        f"{MSCCL} src/graph/xml.cc:885; {EXECUTOR} src/misc/msccl/msccl_parser.cc:246",
        "the path has to exist on every host, and for every rank",
    ),
    sign_of(
        "trouble",
        r"MSCCL Internal Scheduler: +(open algorithm in share directory|Unable to find algorithm files in) "
        r"(?P<file>.{1,400}?)( failed|\. Please.*)$",
        "",
        "there is no directory of programs; the last that was tried is {file}",
        f"{EXECUTOR} src/misc/msccl/msccl_lifecycle.cc:141; {RCCL} src/misc/msccl/msccl_lifecycle.cc:169",
        "set MSCCL_ALGO_DIR to the directory, on every host",
    ),
    sign_of(
        "trouble",
        r"There is no related algo file for the detected Azure VM SKU:(?P<name>.{0,60}) been",
        "msccl-executor",
        "the scheduler has nothing for this machine ({name})",
        f"{SCHEDULER} src/scheduler.cc:84",
        "set MSCCL_ALGO_DIR to the directory, on every host",
    ),
    sign_of(
        "trouble",
        r"MSCCL: ngpus set in the MSCCL algo \((?P<has>\d+)\) doesn't match the communicator ngpus \((?P<wants>\d+)\)",
        "msccl",
        "the program is for {has} ranks, and the communicator has {wants}",
        f"{MSCCL} src/graph/topo.cc:777",
        "make a program for as many ranks",
    ),
    sign_of(
        "trouble",
        r"MSCCL: (collective type (?P<name>.{1,60}) is not supported|unsupported collective: (?P<other>.{1,60}))",
        "",
        "the runtime has another word for the collective, or does not know it",
        f"{MSCCL} src/graph/topo.cc:843; {EXECUTOR} src/misc/msccl/msccl_parser.cc:371",
        _RECOMPILE,
    ),
    sign_of(
        "trouble",
        r"MSCCL: minBytes cannot be greater than maxBytes",
        "msccl",
        "the sizes of the file are no range",
        f"{MSCCL} src/graph/topo.cc:808",
        _RECOMPILE,
    ),
    sign_of(
        "trouble",
        r"MSCCL: too many steps are requested\. Max number of steps: (?P<most>\d+), requested: (?P<has>\d+)",
        "",
        "a threadblock has {has} steps or more, and {most} are allowed",
        f"{MSCCL} src/graph/topo.cc:973; {EXECUTOR} src/misc/msccl/msccl_parser.cc:486",
        f"{_FEWER}; msccl-executor can be built with MSCCL_MAX_NUM_STEPS=256",
    ),
    sign_of(
        "trouble",
        r"MSCCL: too many thread blocks are requested\. Max thread blocks: (?P<most>\d+)",
        "",
        "a rank has more threadblocks than the {most} that are allowed",
        f"{MSCCL} src/graph/topo.cc:904; {EXECUTOR} src/misc/msccl/msccl_parser.cc:422",
        _FEWER,
    ),
    sign_of(
        "trouble",
        r"MSCCL: too many (?P<name>sends|recvs) per channel\. Max allowed (?P<most>\d+)",
        "",
        "more than {most} threadblocks have {name} on one channel",
        f"{MSCCL} src/graph/topo.cc:1077, 1091; {EXECUTOR} src/misc/msccl/msccl_parser.cc:590, 603",
        _FEWER,
    ),
    sign_of(
        "trouble",
        r"(MSCCL: number of channels available \((?P<has>\d+)\) less than required \((?P<wants>\d+)\)"
        r"|NCCL_MAX_NCHANNELS:(?P<most>\d+) is lesser than number of channels required by MSCCL:(?P<needs>\d+))",
        "",
        "the program needs more channels than there are",
        f"{EXECUTOR} src/misc/msccl/msccl_setup.cc:94; {RCCL} src/misc/msccl/msccl_lifecycle.cc:132",
        "raise NCCL_MAX_NCHANNELS (or NCCL_MIN_NCHANNELS), or compile with fewer --channels",
    ),
    sign_of(
        "trouble",
        r"MSCCL: count \((?P<has>\d+)\) must be positive and less than (?P<most>\d+)",
        "",
        "a step moves {has} chunks, and fewer than {most} are allowed",
        f"{MSCCL} src/graph/topo.cc:1066; {EXECUTOR} src/misc/msccl/msccl_parser.cc:578",
        _RECOMPILE,
    ),
    sign_of(
        "trouble",
        r"(MSCCL: too many algorithms \((?P<most>\d+)\)|MSCCL: MSCCL_MAX_NUM_ALGOS \((?P<limit>\d+)\) limit reached)",
        "",
        "more programs than the runtime takes; the rest is left out",
        f"{MSCCL} src/graph/topo.cc:1203 (4 at most); {EXECUTOR} src/collectives.cc:318",
        "name fewer files",
    ),
    sign_of(
        "trouble",
        r"Attribute (?P<name>\S{1,60}) of node (?P<node>\S{1,60}) not found",
        "",
        "the file has no {name} in {node}, which this runtime wants",
        f"{EXECUTOR} src/include/msccl/msccl_parser.h:70; {RCCL} src/include/msccl/msccl_parser.h:70",
        _RECOMPILE,
    ),
    sign_of(
        "trouble",
        r"(XML Parse( error)? ?: (?P<why>.{1,200})|XML Mismatch : (?P<where>.{1,200})"
        r"|Error : XML parser is limited to (?P<most>\d+) nodes)",
        "",
        "the runtime cannot parse the file",
        f"{MSCCL} src/graph/xml.cc:22; {EXECUTOR} src/misc/msccl/msccl_parser.cc:20, 170",
        "check the file with topodesign verify; RCCL and msccl-executor read every file of their directory, so leave "
        "the program alone there",
    ),
    sign_of(
        "trouble",
        r"MSCCL doesn't support multiple GPUs in one process and is not available",
        "msccl-executor",
        "a process has several GPUs, and then no program is used",
        f"{EXECUTOR} src/misc/msccl/msccl_lifecycle.cc:221",
        "run one process for each GPU (nccl-tests: -g 1 under mpirun)",
    ),
    sign_of(
        "trouble",
        r"MSCCL algorithms is not supposed to be used in async mode!",
        "msccl",
        "a call is one of several of a group, and there no program may be used",
        f"{MSCCL} src/enqueue.cc:449",
        "call the collective outside of ncclGroupStart and ncclGroupEnd",
    ),
    sign_of(
        "trouble",
        r"MSCCL: MSCCL scratch pad size is smaller than expected (?P<has>\d+) < (?P<wants>\d+)",
        "msccl",
        "the call needs {wants} bytes of scratch, and {has} were taken at the start",
        f"{MSCCL} src/enqueue.cc:585",
        "compile with a larger --max-size",
    ),
    sign_of(
        "trouble",
        r"MSCCL: this version of MSCCL build doesn't support full Ops",
        "rccl",
        "this build of RCCL has no kernel for the program's steps (rcs, rrs, rrc or rrcs)",
        f"{RCCL} src/misc/msccl/msccl_setup.cc:436",
        "use another build of RCCL, or MSCCL++",
    ),
    sign_of(
        "trouble",
        r"(?P<why>Input or output size is not (aligned with buffer alignment or chunks|within the valid range)"
        r"|Plan name does not match|GPU rank does not match)",
        "mscclpp",
        "the plan cannot run the call: {why}",
        f"{MSCCLPP} src/core/executor/execution_plan.cc:240, 258, 303, 309",
        "sizes have to be multiples of the alignment times the chunks, and within the plan's range",
    ),
    sign_of(
        "trouble",
        r"(?P<why>Failed to load the shared library for nccl/rccl"
        r"|The value of MSCCLPP_NCCL_LIB_PATH is empty!|MSCCLPP_NCCL_LIB_PATH points to a directory: .{0,200}"
        r"|Cannot open the shared library specified by MSCCLPP_NCCL_LIB_PATH: .{0,200})",
        "mscclpp",
        "there is no library to fall back to: {why}",
        f"{MSCCLPP} src/ext/nccl/nccl.cc:87, 93, 97, 326",
        "set MSCCLPP_NCCL_LIB_PATH to libnccl.so or librccl.so",
    ),
    sign_of(
        "trouble",
        r"MSCCL: (?P<why>(protocol|nScratchChunks|bid|duplicate|peer|wrong|recvpeer|threadblock|thread block|step|type|"
        r"there is|when there|has_dependence|hasDependence|something went wrong|minBytes|maxBytes).{1,300})",
        "",
        "the runtime refuses the file: {why}",
        f"{MSCCL} src/graph/topo.cc:753-1179; {EXECUTOR} src/misc/msccl/msccl_parser.cc:298-690",
        _RECOMPILE,
    ),
)
"""All lines that mean something here."""
