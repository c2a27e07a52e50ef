"""Plans applied to simulated switches, which fail in all ways that are known; what is said afterwards is the truth."""

from __future__ import annotations

import contextlib
import json
import random
import socket
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tests.floors import reached
from tests.samples.simulated_switch import FAULTS, HARMLESS, PASSWORD, Fault, SimulatedSwitch, host_key, shell
from tests.samples.wirings import wired
from topodesign import build
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError
from topodesign.cli.main import program
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.change.patches import Change
from topodesign.wiring.change.rewire import rewire
from topodesign.wiring.change.stages import stages
from topodesign.wiring.plan.files import load_wiring, save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.apply import Applied, apply_wiring
from topodesign.wiring.switches.devices import Device, read_journal, sides
from topodesign.wiring.switches.drivers import as_address
from topodesign.wiring.switches.steps import export_stages, wanted_circuits
from topodesign.wiring.switches.switch import SwitchError, listed_pairs

QUICK: dict[str, Any] = {"timeout": "200ms", "patience": "500ms", "pause": "10ms"}
SLOW: dict[str, Any] = {"late": 1.5, "options": {"timeout": "1s", "patience": "2s"}}  # for SSH
SPECS = ("circulant(6,1,2)", "circulant(6,1,3)", "torus(3,2)", "biring(2,6)", "hypercube(3)", "circulant(8,1,3)")


def circuits_of(plan: WiringPlan) -> dict[str, dict[int, int]]:
    names = {panel.name: None for panel in plan.inventory.panels}
    return {name: dict(pairs) for name, pairs in wanted_circuits(plan, names).items()}


def switches_of(plan: WiringPlan, **options: Any) -> dict[str, SimulatedSwitch]:
    """Switches with the circuits of a plan, and four ports more than the plan knows."""
    sizes = {panel.name: len(panel.ports) + 4 for panel in plan.inventory.panels}
    return {name: SimulatedSwitch(sizes[name], dict(made), **options) for name, made in circuits_of(plan).items()}


def applied(plan: WiringPlan, switches: dict[str, SimulatedSwitch], protocol: str = "scpi", **options: Any) -> Applied:
    with contextlib.ExitStack() as stack:
        ports = {name: stack.enter_context(switch.listening(protocol)) for name, switch in switches.items()}  # type: ignore[arg-type]
        scheme = "scpi://127.0.0.1" if protocol == "scpi" else "sonic://admin@127.0.0.1"
        addresses = {name: f"{scheme}:{port}" for name, port in ports.items()}
        if protocol != "scpi":
            options["spelling"] = protocol
            Path(options["known_hosts"]).write_text(
                "".join(
                    f"[127.0.0.1]:{port} {host_key().get_name()} {host_key().get_base64()}\n" for port in ports.values()
                )
            )
        return apply_wiring(plan, addresses, **{"dry_run": False} | QUICK | options)


def check_truth(report: Applied, plan: WiringPlan, switches: dict[str, SimulatedSwitch], journal: Path) -> None:
    """Raise AssertionError unless what is said of the switches is so."""
    wanted = wanted_circuits(plan, switches)
    past = read_journal(journal)
    for state in report.switches:
        switch = switches[state.name]
        truth = switch.truth
        unseen = set(sides(switch.others_unseen))
        if state.gone is None:
            assert not state.unknown
            assert state.circuits == truth, "what is said to be known is so"
        else:
            doubt = state.unknown | unseen
            known = [
                frozenset(p for p in pairs if not doubt.intersection(sides([p]))) for pairs in (state.circuits, truth)
            ]
            assert known[0] == known[1], "what is not said to be unknown is so"
            named = [pair for sent in past.switches[state.name].sent for pair in sent.remove | sent.add]
            assert state.unknown == set(sides(named)), "only what was sent since the last reading is unknown"
            assert past.switches[state.name].last == state.circuits
    assert past.outcome == report.outcome
    if report.outcome == "applied":
        assert all(switches[name].truth >= pairs for name, pairs in wanted.items())
        assert report.known
    elif report.outcome == "rolled back":
        for step in report.steps:
            assert all(switches[n].truth | switches[n].others >= pairs for n, pairs in step.removed.items())
            assert not any((switches[n].truth - switches[n].others) & pairs for n, pairs in step.made.items())
        assert report.known
    else:
        assert report.outcome == "stopped"
        assert report.notes


def stages_there(change: Change) -> bool:
    try:
        return len(stages(change, 1)) > 0
    except InfeasibleError:
        return False


def fault_sequence(seed: int, protocol: str, folder: Path) -> tuple[str, list[str], bool]:
    """Apply a random plan to random switches with random faults, and check what is said; return how it ended."""
    rng = random.Random(seed)  # noqa: S311
    panels = rng.choice([1, 1, 2])
    specs = rng.sample([spec for spec in SPECS if ("8" in spec or "hyper" in spec) == (seed % 2 == 0)], 2)
    before = wired(build(specs[0]), 4, panels, kind="ocs")
    change = fewest_moves(before, build(specs[1]))
    downtime = rng.random() < 0.4 or not stages_there(change)
    wanted = change.after
    switches = switches_of(before, seed=seed)
    for switch in switches.values():
        outer = switch.size - 4
        switch.circuits[outer + 1] = outer + 2  # of somebody else
        switch.faults = [Fault(rng.choice(FAULTS), rng.randint(3, 10)) for _ in range(rng.choice([1, 1, 2, 3]))]
        switch.late = SLOW["late"] if protocol != "scpi" else 0.4
    journal = folder / f"{seed}.journal"
    try:
        report = applied(
            wanted,
            switches,
            protocol,
            journal=journal,
            downtime=downtime,
            rollback=rng.choice(["all", "all", "stage", "none"]),
            **({} if protocol == "scpi" else {"known_hosts": folder / "hosts"} | SLOW["options"]),
        )
    except SwitchError as error:  # before anything was sent
        if journal.exists() or "nothing was changed" not in str(error):
            raise
        return "not read", [], True
    kinds = [kind for switch in switches.values() for kind in switch.struck]
    check_truth(report, wanted, switches, journal)
    if HARMLESS.issuperset(kinds) and len(kinds) < 2:
        assert report.outcome == "applied", (kinds, str(report))
    return report.outcome, kinds, report.known


BLOCK = 20


@pytest.mark.floor(sequences=12, applied=2)
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.thorough) for first in range(BLOCK, 200, BLOCK))]
)
def test_what_is_said_after_faults_is_the_truth(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + BLOCK):
        outcome, struck, _ = fault_sequence(seed, "scpi", tmp_path)
        if struck:
            reached("sequences")
        if outcome == "applied":
            reached("applied")


@pytest.fixture
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPODESIGN_SWITCH_PASSWORD", PASSWORD)
    pytest.importorskip("paramiko")


@pytest.mark.usefixtures("_password")
@pytest.mark.floor(sequences=2)
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.thorough) for first in range(BLOCK, 100, BLOCK))]
)
def test_what_is_said_of_sonic_switches_after_faults_is_the_truth(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + (BLOCK if first else 4)):
        _, struck, _ = fault_sequence(seed, "ocs" if seed % 3 else "yang", tmp_path)
        if struck:
            reached("sequences")


def moved() -> tuple[WiringPlan, WiringPlan]:
    """Two plans with one stage or more from the first to the second."""
    before = wired(build("circulant(6,1,2)"), 4, 1, kind="ocs")
    return before, fewest_moves(before, build("circulant(6,1,3)")).after


def test_a_dry_run_tells_and_changes_nothing(tmp_path: Path) -> None:
    before, wanted = moved()
    switches = switches_of(before)
    there = switches["panel0"].truth
    found = applied(wanted, switches, dry_run=True, downtime=True, journal=tmp_path / "j")
    assert (found.outcome, found.ok, found.known, found.journal) == ("dry run", False, True, None)
    assert switches["panel0"].truth == there
    assert not (tmp_path / "j").exists()
    (step,) = found.steps
    wish = wanted_circuits(wanted, switches)["panel0"]
    assert step.removed["panel0"] == there - wish
    assert step.made["panel0"] == wish - there
    assert {row["circuit"] for row in found.to_records() if row["do"] == "add"} == {
        f"{a}A-{b}B" for a, b in wish - there
    }


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_an_empty_switch_and_one_that_is_done(mode: Any, tmp_path: Path) -> None:
    wanted = wired(build("circulant(6,1,2)"), 4, 2, mode, kind="ocs")
    switches = switches_of(wanted)
    for switch in switches.values():
        switch.circuits = {switch.size: 1, switch.size - 1: switch.size}  # the first is in the way
    found = applied(wanted, switches, journal=tmp_path / "j")
    assert found.outcome == "applied"
    assert [len(step.made) for step in found.steps] == [0, 2], "what is in the way goes before"
    for name, pairs in wanted_circuits(wanted, switches).items():
        size = switches[name].size
        assert switches[name].truth == pairs | {(size - 1, size)}, "what is not in the way stays"
    again = applied(wanted, switches, journal=tmp_path / "j")
    assert (again.outcome, again.ok, again.steps) == ("nothing to do", True, ())
    only = applied(wanted, switches, journal=tmp_path / "j", only=True)
    assert only.outcome == "applied"
    assert all(switches[name].truth == pairs for name, pairs in wanted_circuits(wanted, switches).items())


def test_duplex_links_go_both_ways_at_a_time() -> None:
    before = wired(build("circulant(8,1,2)"), 4, 1, "duplex", kind="ocs")
    wanted = fewest_moves(before, build("circulant(8,1,3)")).after
    found = applied(wanted, switches_of(before), dry_run=True)
    for step in found.steps:
        for part in (step.removed, step.made):
            assert all((b, a) in pairs for pairs in part.values() for a, b in pairs)


def test_an_apply_that_was_ended_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, wanted = moved()
    (switch,) = switches_of(before).values()
    journal = tmp_path / "j"
    real = Device.look
    looks = 0

    def look(device: Device) -> bool:
        nonlocal looks
        looks += 1
        if looks == 2:
            raise KeyboardInterrupt
        return real(device)

    monkeypatch.setattr(Device, "look", look)
    with pytest.raises(KeyboardInterrupt):
        applied(wanted, {"panel0": switch}, journal=journal, downtime=True)
    monkeypatch.setattr(Device, "look", real)
    past = read_journal(journal)
    assert past.outcome is None
    (known,) = past.switches.values()
    assert known.last == wanted_circuits(before, {"panel0": 0})["panel0"]
    sent = {pair for one in known.sent for pair in one.remove | one.add}
    assert sent == known.last ^ wanted_circuits(wanted, {"panel0": 0})["panel0"]
    with pytest.raises(ParameterError, match="did not end"):
        applied(wanted, {"panel0": switch}, journal=journal)
    with pytest.raises(ParameterError, match="another plan"):
        applied(before, {"panel0": switch}, journal=journal, resume=True)
    with journal.open("a") as torn:
        torn.write('{"send": "pan')
    switch.circuits[switch.size] = switch.size  # of somebody else
    removed = min(known.last - sent)
    del switch.circuits[removed[0]]
    found = applied(wanted, {"panel0": switch}, journal=journal, resume=True, downtime=True)
    assert found.outcome == "applied"
    said = "\n".join(found.notes)
    assert "did not end, 0 of 1 stages checked" in said
    assert "sent after the last reading: remove" in said
    assert f"changed by somebody else since: {listed_pairs([removed, (switch.size, switch.size)])}" in said
    assert read_journal(journal).outcome == "applied"


def test_a_journal_that_cannot_be_written_ends_the_work_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, wanted = moved()
    switches = switches_of(before)
    there = switches["panel0"].truth
    calls = 0

    def full(_: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    found = applied(wanted, switches, journal=tmp_path / "j", downtime=True)
    assert found.outcome == "rolled back"
    assert "No space left" in found.notes[0]
    assert switches["panel0"].truth == there == found.switches[0].circuits


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ocs1",
        "http://ocs1",
        "scpi://",
        "scpi://h:x",
        "scpi://h/p",
        "scpi://u@h",
        "sonic://a:secret@h",
        "scpi://[::1",
    ],
)
def test_addresses_that_are_none_are_refused(address: str) -> None:
    with pytest.raises(ParameterError) as caught:
        as_address(address)
    assert "secret" not in str(caught.value)


def test_addresses() -> None:
    assert str(as_address("scpi://10.0.0.5")) == "scpi://10.0.0.5:5025"
    assert str(as_address("sonic://admin@ocs2:2222")) == "sonic://admin@ocs2:2222"
    assert str(as_address("scpi://[fe80::1]:7")) == "scpi://[fe80::1]:7"


def test_what_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    _, wanted = moved()
    for switches in ({}, {"panel1": "scpi://127.0.0.1"}):
        with pytest.raises(ParameterError):
            apply_wiring(wanted, switches)
    with pytest.raises(ParameterError, match="has none"):
        apply_wiring(wired(build("circulant(6,1,2)"), 4), {"panel0": "scpi://127.0.0.1"})
    with pytest.raises(ParameterError, match="name the journal"):
        apply_wiring(wanted, {"panel0": "scpi://127.0.0.1"}, resume=True)
    (tmp_path / "j").write_text('{"a": 1}\n')
    with pytest.raises(FileFormatError, match="not a journal"):
        apply_wiring(wanted, {"panel0": "scpi://127.0.0.1"}, journal=tmp_path / "j")
    with pytest.raises(SwitchError, match="nothing was changed"):
        apply_wiring(wanted, {"panel0": "scpi://127.0.0.1:9"}, patience="1ms", pause="1ms")


@pytest.mark.usefixtures("_password")
def test_sonic_switches_let_in_whom_they_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, wanted = moved()
    hosts = tmp_path / "hosts"
    options = {"known_hosts": hosts, "timeout": "5s", "downtime": True}
    (switch,) = switches_of(before).values()
    switch.only_done = {next(iter(switch.circuits))}
    found = applied(wanted, {"panel0": switch}, "ocs", **options)
    assert found.outcome == "applied", str(found)
    assert PASSWORD not in str(found) + json.dumps(found.record())
    (tmp_path / "empty").write_text("")
    with switch.listening("ocs") as port, pytest.raises(SwitchError, match="no known host"):
        apply_wiring(wanted, {"panel0": f"sonic://admin@127.0.0.1:{port}"}, known_hosts=tmp_path / "empty")
    monkeypatch.setenv("TOPODESIGN_SWITCH_PASSWORD", "wrong")
    with pytest.raises(SwitchError, match="lets nobody in") as caught:
        applied(wanted, {"panel0": switch}, "ocs", **options)
    assert "wrong" not in str(caught.value)


def test_the_command(tmp_path: Path) -> None:
    before, wanted = moved()
    save_wiring(wanted, tmp_path / "plan.json")
    (switch,) = switches_of(before).values()
    run = CliRunner()

    def call(*options: str) -> Any:
        with switch.listening() as port:
            address = f"panel0=scpi://127.0.0.1:{port}"
            words = ["wire", "apply", str(tmp_path / "plan.json"), "--switch", address, "--downtime", *options]
            return run.invoke(program, words, standalone_mode=False)

    dry = call()
    assert dry.return_value == 1
    assert dry.output.endswith("nothing was changed: this was a dry run\nwith --yes it is done\n")
    done = call("--yes")
    assert done.return_value == 0
    assert "applied: the switches make the circuits of the plan" in done.output
    assert read_journal(tmp_path / "plan.journal").outcome == "applied"
    again = call("--json")
    assert again.return_value == 0
    assert json.loads(again.output)["outcome"] == "nothing to do"
    for wrong in ("panel0", "=scpi://h", "panel0="):
        result = run.invoke(program, ["wire", "apply", "p.json", "--switch", wrong], standalone_mode=False)
        assert isinstance(result.exception, click.UsageError)


def scpi_run(switch: SimulatedSwitch, text: str) -> None:
    """Give a switch the lines of a file as one does who copies them."""
    with switch.listening() as port, socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(text.encode() + b":SYSTem:ERRor?\n")
        assert one.recv(100) == b'0,"No error"\n'


@pytest.mark.parametrize("file_format", ["scpi", "sonic"])
def test_the_commands_of_all_stages_lead_from_one_wiring_to_the_other(file_format: Any, tmp_path: Path) -> None:
    before = wired(build("circulant(8,1,2)"), 4, 2, kind="ocs")
    change = rewire(before, "circulant(8,1,3)", throughput=False)
    assert len(change.stages) > 1
    names = export_stages(change, file_format, tmp_path / "out")
    assert sorted(names) == sorted(file.name for file in (tmp_path / "out").iterdir())
    sizes = {panel.name: len(panel.ports) for panel in before.inventory.panels}
    switches = {name: SimulatedSwitch(sizes[name], dict(made)) for name, made in circuits_of(before).items()}
    for name in names:
        switch = switches[name.split("-")[1].split(".")[0]]
        text = (tmp_path / "out" / name).read_text()
        if file_format == "scpi":
            scpi_run(switch, text)
        else:
            for line in text.splitlines()[1:]:
                status, said = shell(switch, line.replace("sudo ", "sudo -n "), "ocs")
                assert not status, said
    for name, pairs in wanted_circuits(change.after, switches).items():
        assert switches[name].truth == pairs


def test_diff_writes_commands(tmp_path: Path) -> None:
    save_wiring(wired(build("circulant(6,1,2)"), 4, 1, kind="ocs"), tmp_path / "plan.json")
    words = ["wire", "diff", str(tmp_path / "plan.json"), "circulant(6,1,3)", "--downtime", "--no-throughput"]
    result = CliRunner().invoke(program, [*words, "--commands", str(tmp_path / "c"), "--format", "sonic"])
    assert result.exit_code == 0, result.output
    first, remove, add = (tmp_path / "c" / "stage1-panel0.sh").read_text().splitlines()
    assert first == "#!/bin/sh -e"
    assert remove.startswith("sudo config ocs cross-connect delete ")
    assert add.startswith("sudo config ocs cross-connect add ")
    assert isinstance(
        CliRunner().invoke(program, [*words, "--format", "sonic"], standalone_mode=False).exception, click.UsageError
    )


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The console of docs/switches.md that needs a switch, with a simulated one."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "switches.md").read_text()
    inventory = page.split("```yaml\n")[1].split("```")[0]
    Path("room.yaml").write_text(inventory)
    run = CliRunner()
    for words in (
        ["plan", "circulant(6,1,2)", "--inventory", "room.yaml", "-o", "plan.json"],
        ["diff", "plan.json", "circulant(6,1,3)", "--downtime", "--no-throughput", "-o", "next.json"],
    ):
        assert run.invoke(program, ["wire", *words]).exit_code == 0
    switch = SimulatedSwitch(24, circuits_of(load_wiring("plan.json"))["ocs1"])
    console = page.split("a simulated one -->\n\n")[1].split("\n\nEach stage")[0]
    said = []
    with switch.listening() as port:
        for line in console.splitlines():
            if line.startswith("    $ "):
                words = line.replace("10.0.0.5", f"127.0.0.1:{port}").split()[2:]
                output = run.invoke(program, words).output.replace(f"127.0.0.1:{port}", "10.0.0.5:5025")
                said += [line, *(f"    {text}".rstrip() for text in output.splitlines())]
    assert console.splitlines() == said, "\n".join(said)
