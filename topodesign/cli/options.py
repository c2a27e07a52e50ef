"""Options shared by several commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from topodesign import collectives
from topodesign.base import entry_points
from topodesign.base.options import SETTINGS, Choice, Either, Flag, Option, PathOf, WholeKind, collect_options, flag_of
from topodesign.base.work_options import MessageOptions, OwnWorkOptions, WorkOptions
from topodesign.cli.answers import SETTING
from topodesign.compiler.options import CallOptions, MscclppOptions, ProgramOptions
from topodesign.fabrics.options import GroupOptions, PartOptions, PlaceOptions
from topodesign.runtime.msccl.profiles import PROFILES
from topodesign.schedulers import SCHEDULERS
from topodesign.schedulers.options import SearchOptions, ShapeOptions, TimeOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective

_Command = TypeVar("_Command", bound=Callable[..., Any])

SECTIONS: dict[type, str] = {
    ShapeOptions: "Options",
    PlaceOptions: "Place",
    PartOptions: "Place",
    GroupOptions: "Place",
    WorkOptions: "Work",
    OwnWorkOptions: "Work",
    MessageOptions: "Work",
    TimeOptions: "Work",
    SearchOptions: "Search",
}
"""Under what help texts list the options of a group; ``Options`` are those that come first."""


SETTLED = (ShapeOptions, PlaceOptions, TimeOptions, SearchOptions, ProgramOptions, CallOptions, MscclppOptions)
"""Groups in which they are."""


class SectionOption(click.Option):
    """An option that help texts list in a section."""

    section = "Options"


def offer(group: type, *names: str, section: str | None = None, **changed: Any) -> Callable[[_Command], _Command]:
    """Return what adds the options of a group to a command.

    * ``group``: as :mod:`topodesign.base.options` describes.
    * ``names``: those that are offered; all if there are none.
    * ``section``: where help texts list them; by default as ``SECTIONS`` says.
    * ``changed``: by name: another default, or another :class:`~topodesign.base.options.Option`.
    """
    known = collect_options(group)
    title = SECTIONS.get(group, "Options") if section is None else section

    def added(function: _Command) -> _Command:
        for name in reversed(names or tuple(known)):
            other = changed.get(name, known[name].default)
            option = other if isinstance(other, Option) else known[name]
            default = option.default if isinstance(other, Option) else other
            make = _as_setting if group in SETTLED and name in SETTINGS else partial(_as_click, section=title)
            function = make(name, option, default)(function)
        return function

    return added


def _word_of(kind: Either, _context: click.Context, _option: click.Parameter, value: bool) -> str:
    """Return the word that a flag stands for."""
    return kind.words[value]


def _as_setting(name: str, option: Option, default: Any) -> Callable[[_Command], _Command]:
    """Return a setting as click wants it."""
    kind: Any = option.kind
    what: Any = bool if isinstance(kind, Flag) else click.Choice(kind.words) if isinstance(kind, Choice) else None
    if isinstance(kind, WholeKind):
        what = WholeNumber(kind)
    return setting(SETTINGS[name], option.about, name, type=what, default=default, metavar=option.metavar)


def _as_click(name: str, option: Option, default: Any, section: str) -> Callable[[_Command], _Command]:
    """Return the option as click wants it."""
    kind = option.kind
    words = [*(option.flags or (flag_of(name),)), name]
    more: dict[str, Any] = {"help": option.about, "metavar": option.metavar, "multiple": option.many}
    if isinstance(kind, Either):
        more = {"help": option.about, "type": bool, "callback": partial(_word_of, kind)}
        default = default == kind.words[1]
    elif isinstance(kind, Flag):
        more = {"help": option.about, "type": bool}
        if kind.other is None:
            more["is_flag"] = True
        else:
            words[0] += f"/--{kind.other}"
    elif isinstance(kind, Choice):
        more["type"] = click.Choice(kind.words)
    elif isinstance(kind, PathOf):
        more["type"] = click.Path(path_type=Path)
    elif isinstance(kind, WholeKind):
        more["type"] = WholeNumber(kind)
    if option.many and isinstance(default, str):
        default = (default,)
    if not (option.many and default == ()):
        silent = default is None or (default is False and words[0] == flag_of(name))
        more |= {"default": default, "show_default": not silent}
    decorator = click.option(*words, cls=SectionOption, **more)

    def in_section(function: _Command) -> _Command:
        function = decorator(function)
        params: list[Any] = function.__click_params__  # type: ignore[attr-defined]
        params[-1].section = section
        return function

    return in_section


class WholeNumber(click.ParamType["int | str"]):
    """A whole number in a range, or a word in its place."""

    name = "n"

    def __init__(self, kind: WholeKind) -> None:
        self.kind = kind
        self.range = click.IntRange(kind.least, kind.most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return it."""
        return str(value) if value == self.kind.word else self.range.convert(value, param, ctx)


class CollectiveChoice(click.ParamType["Collective"]):
    """A collective by its name."""

    name = "collective"

    def __init__(self, names: Sequence[str]) -> None:
        self.choice = click.Choice(names)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Return the names."""
        return self.choice.get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Collective:
        """Return the collective."""
        return collectives.as_collective(self.choice.convert(value, param, ctx) if isinstance(value, str) else value)


class MethodChoice(click.ParamType[str]):
    """A method by name.

    Methods of plugins are searched for only if ours have no such name.
    """

    name = "method"

    def __init__(self, *more: str) -> None:
        self.more = more

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        known = [*self.more, *SCHEDULERS]
        return str(
            click.Choice(known if value in known else [*known, *entry_points.SCHEDULERS.others]).convert(
                value, param, ctx
            )
        )


PATH = click.Path(path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


def option(usage: str, about: str, *, words: Iterable[str] = (), **more: Any) -> Callable[[_Command], _Command]:
    """Return an option of one command; help texts show its default.

    * ``usage``: what it is called, its name in Python if that is another, and what help texts call its value, such as
      ``--size sizes SIZE...``: dots say that it may be repeated. A FILE, DIR or PATH is a path.
    * ``words``: those that it takes.
    """
    names = []
    for word in usage.split():
        if word.startswith("-") or (word.isidentifier() and word.islower()):
            names.append(word)
        else:
            more |= {"metavar": word.removesuffix("..."), "multiple": word.endswith("...")}
    if words:
        more["type"] = click.Choice(list(words))
    elif more.get("metavar") in {"FILE", "DIR", "PATH"}:
        more.setdefault("type", PATH)
    return click.option(*names, help=about, **{"show_default": more.get("default") is not None, **more})


def flag(usage: str, about: str, **more: Any) -> Callable[[_Command], _Command]:
    """Return an option that is there or not."""
    return click.option(*usage.split(), help=about, is_flag=True, **more)


def setting(name: str, about: str, keyword: str | None = None, **more: Any) -> Callable[[_Command], _Command]:
    """Return a setting of one algorithm, target, format or reader.

    ``--set NAME=VALUE`` gives it.

    * ``keyword``: what functions call it, if not by its name.
    """
    return click.option(SETTING + name, keyword or name.replace("-", "_"), help=about, hidden=True, **more)


def number_range(_context: click.Context, _option: click.Parameter, value: str | None) -> range | None:
    """Parse a number ``1000``, a range ``1000..1040`` or a range in steps.

    Both ends are included; ``1000-1040`` is a range, too.
    """
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})(?:(?:\.\.|-)([0-9]{1,9})(?:\.\.([0-9]{1,9}))?)?", value)
    if match is None:
        raise click.BadParameter(f"{value!r} is not a number or range; expected 1000, 1000..1040 or 16..64..16.")
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    if not 1 <= first <= last or not step:
        raise click.BadParameter(f"{value!r} must increase from at least 1.")
    return range(first, last + 1, step)


def whole_range(context: click.Context, option: click.Parameter, value: str | None) -> range | None:
    """Read a number or a range, of which all count."""
    span = number_range(context, option, value)
    if span is not None and span.step != 1:
        raise click.BadParameter(f"{value!r} has a step; use a range without one.")
    return span


def number_or_range(context: click.Context, option: click.Parameter, value: str | None) -> int | range | None:
    """Parse a number or a range; None stays None."""
    if value is None:
        return None
    with suppress(ValueError):
        return int(value)
    span = number_range(context, option, value) if ".." in value or "-" in value else None
    if span is None:
        raise click.BadParameter(f"{value!r:.50} is not a valid integer or range; expected 4 or 4..8.")
    return span


def whole(least: int, most: int | None = None) -> WholeNumber:
    """Return the option type of a whole number in a range."""
    return WholeNumber(WholeKind(least, most))


COLLECTIVES = CollectiveChoice(list(collectives.COLLECTIVES))


def collective_of(default: str | None, about: str = "What to schedule") -> Callable[[_Command], _Command]:
    """Return ``--collective`` with a default."""
    return option(
        "--collective NAME", f"{about}: {', '.join(collectives.COLLECTIVES)}.", type=COLLECTIVES, default=default
    )


collective_option = collective_of("allreduce")
root_option = offer(ShapeOptions, "root")
without_option = offer(PartOptions, "without")
jobs_option = option("--jobs J", "Processes to use.  [default: one per core]", type=WholeNumber(WholeKind(1, 256)))
catalog_option = option(
    "--catalog DIR",
    "Look into another catalog than the one that TOPODESIGN_CATALOG names or the package came with.",
    type=FOLDER,
)
bidirectional_option = flag("--duplex bidirectional", "Only topologies that duplex cabling can wire.")
runtime_option = option(
    "--runtime NAME",
    f"Whose limits and rules an XML program has to keep: {', '.join(PROFILES)}. msccl-executor-256 is a build of "
    "msccl-executor with MSCCL_MAX_NUM_STEPS=256 instead of 64.",
    words=PROFILES,
    default="msccl",
)
method_option = option(
    "--algorithm method NAME",
    "Scheduling algorithm; 'topodesign info algorithms' lists them.",
    type=MethodChoice("auto"),
    default="auto",
)


def seed_option(about: str = "Where the search begins.", default: int | None = 0) -> Callable[[_Command], _Command]:
    """Return ``--seed`` with what it settles."""
    return offer(SearchOptions, "seed", seed=Option(about, collect_options(SearchOptions)["seed"].kind, default, "S"))


def time_limit_option(default: str, about: str) -> Callable[[_Command], _Command]:
    """Return ``--time-limit`` with a default."""
    return offer(SearchOptions, "time_limit", time_limit=Option(about, default=default, metavar="TIME"))


def nodes_option(about: str, read: Callable[..., Any] = number_range, **more: Any) -> Callable[[_Command], _Command]:
    """Return ``--nodes`` of a command for ranges of N."""
    return option("-n --nodes RANGE", about, callback=read, **more)


def degrees_option(about: str, read: Callable[..., Any] = number_range, **more: Any) -> Callable[[_Command], _Command]:
    """Return ``--degree`` of a command for ranges of degrees."""
    return option("-d --degree degrees RANGE", about, callback=read, **more)


def output_option(about: str, metavar: str = "FILE", **more: Any) -> Callable[[_Command], _Command]:
    """Return ``-o`` of a command that writes another file than its answer."""
    return option(f"-o --output {metavar}", about, type=PATH, **more)


def schedule_options(function: _Command) -> _Command:
    """Add the options of a schedule: collective, method, shape, members."""
    place = offer(PlaceOptions, "only", "others", "without", "group", "placement")
    return collective_option(method_option(offer(ShapeOptions)(place(function))))


work_options = offer(WorkOptions)
own_work_options = offer(OwnWorkOptions)
message_options = offer(MessageOptions)


def parse_named_values(
    example: str,
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, str] | None]:
    """Return the parser of NAME=VALUE options, repeated or with commas.

    ``example`` is one.
    """

    def read(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str] | None:
        found: dict[str, str] = {}
        for text in (part for value in values for part in value.split(",")):
            name, equals, said = text.partition("=")
            if not equals:
                raise click.BadParameter(f"{text!r} is invalid; expected {example}.")
            found[name.strip()] = said.strip()
        return found or None

    return read


class SpecText(click.types.StringParamType):
    """Text that names a topology or fabric: a spec or a file."""

    reads_networks = True  # commands that take such texts have --read

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return completions of a word, each with its meaning, and files.

        Past the opening bracket there are numbers, which cannot be completed.
        """
        del ctx, param
        if "(" in incomplete:
            return []
        from topodesign.report.families import families  # noqa: PLC0415  heavy, and only for shells that ask

        found = {one.name: one.call for one in families() if one.name.startswith(incomplete)}
        items = [CompletionItem(name, help=call) for name, call in found.items()]
        return [*items, CompletionItem(incomplete, type="file")]


SPEC = SpecText()
