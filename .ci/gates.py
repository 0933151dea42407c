#!/usr/bin/env python3
"""Runs the gates of .ci/gates.toml whose inputs changed since they passed, each within its budget.

Prints a closing line for each gate and exits with 1 if one fails. The output of a gate goes to
target/ci/GATE.log. Needs what CONTRIBUTING.md lists; no GPU and no CUDA.

Usage: .ci/run [--all] [GATE...]      without names, all gates of the tier "change"
  --all      also gates whose inputs are unchanged, and all units of tsan and asan
  --nightly  without names, all gates of both tiers

A gate that passed leaves a stamp beside the compiled units (~/.cache/gpuint/gates, or below
GPUINT_CACHE_DIR; `off` disables it), so that every checkout of a machine finds it. Its name is a
hash of the gate's inputs and script, the versions of its tools and the environment's settings.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib

import facts

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / ".ci/gates.toml"
TAIL = 60  # lines of the log of a gate that fails
STAMPS = 50  # kept of each gate
LANES = ("cargo", "compilers")
EITHER = "either"
GRACE = 5  # seconds between SIGTERM and SIGKILL


@dataclasses.dataclass(frozen=True)
class Gate:
    """A check; .ci/gates.toml documents the fields."""

    name: str
    run: str
    protects: str
    budget: int
    inputs: tuple = ()
    names: tuple = ()
    tools: tuple = ()
    needs: tuple = ()
    tier: str = "change"
    lane: str = "cargo"
    facts: str = ""
    closing: bool = False


@dataclasses.dataclass(frozen=True)
class Gates:
    """The content of .ci/gates.toml, with sets expanded."""

    gates: dict
    tools: dict
    settings: tuple
    without_gate: tuple
    shell: str
    run_seconds: int
    reference: dict


def load(path=DATA):
    data = tomllib.loads(path.read_text())
    sets = data.get("sets", {})

    def expand(patterns):
        for pattern in patterns:
            if pattern.startswith("@"):
                yield from expand(sets[pattern[1:]])
            else:
                yield pattern

    gates = {}
    for name, fields in data["gate"].items():
        lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
        for key in lists.keys() & {"inputs", "names"}:
            lists[key] = tuple(expand(lists[key]))
        gates[name] = Gate(name, **{**fields, **lists})
    return Gates(
        gates,
        data.get("tools", {}),
        tuple(data.get("settings", ())),
        tuple(data.get("without_gate", ())),
        data.get("shell", ""),
        data["run_seconds"],
        data["reference"],
    )


# Inputs and stamps.


@functools.cache
def expression(pattern):
    """Returns the regular expression of a glob: `**` crosses folders, `*` does not."""
    parts = re.split(r"(\*\*/|\*\*|\*)", pattern)
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return re.compile("".join(meaning.get(part, re.escape(part)) for part in parts))


def matches(path, patterns):
    """Returns true if the last pattern that applies to the path is not negated by `!`."""
    for pattern in reversed(patterns):
        if expression(pattern.removeprefix("!")).fullmatch(path):
            return not pattern.startswith("!")
    return False


class Tree:
    """The files of a working tree that git does not ignore."""

    def __init__(self, root):
        self.root = root
        listed = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        paths = sorted(set(listed.split("\0")) - {""})
        self.paths = [path for path in paths if os.path.lexists(root / path)]

    def git(self, *arguments):
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def commit(self):
        """Returns the name of the commit, and says if the tree differs from it."""
        name = self.git("rev-parse", "--short", "HEAD").strip()
        return name + (" with changes" if self.git("status", "--porcelain").strip() else "")

    @functools.cache
    def digest(self, path):
        file = self.root / path
        if file.is_symlink():
            return f"link {os.readlink(file)}"
        mode = file.stat().st_mode & 0o111
        return f"{mode:o} {hashlib.sha256(file.read_bytes()).hexdigest()}"


def settings_of(environment, patterns):
    return sorted(item for item in environment.items() if matches(item[0], patterns))


@functools.cache
def output_of(command):
    """Returns what a tool says about its version, or about its absence."""
    done = subprocess.run(
        ["bash", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


def key_of(gate, gates, tree, environment):
    """Returns the hash of everything that the outcome of the gate depends on."""
    parts = {
        "script": [gates.shell, gate.run],
        "settings": settings_of(environment, gates.settings),
        "tools": [output_of(gates.tools[tool]) for tool in gate.tools],
        "inputs": [(path, tree.digest(path)) for path in tree.paths if matches(path, gate.inputs)],
        "names": [path for path in tree.paths if matches(path, gate.names)],
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def cache_folder(environment):
    """Returns the folder of the library's caches (catalogue/src/cache.rs), if it has one."""
    if chosen := environment.get("GPUINT_CACHE_DIR"):
        return None if chosen == "off" else pathlib.Path(chosen)
    caches = pathlib.Path(environment.get("XDG_CACHE_HOME", ""))
    home = pathlib.Path(environment.get("HOME", ""))
    if caches.is_absolute():
        return caches / "gpuint"
    return home / ".cache/gpuint" if home.is_absolute() else None


class Stamps:
    """Records of gates that passed: a file for each gate and key."""

    def __init__(self, cache):
        self.folder = cache and cache / "gates"

    def path(self, gate, key):
        return self.folder / gate.name / f"{key}.json"

    def find(self, gate, key):
        """Returns the record of the run that made the stamp."""
        if self.folder:
            with contextlib.suppress(OSError, ValueError):
                return json.loads(self.path(gate, key).read_text())
        return None

    def write(self, gate, key, record):
        if not self.folder:
            return
        path = self.path(gate, key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as new:
            json.dump(record, new)
        os.replace(new.name, path)
        found = sorted(path.parent.glob("*.json"), key=lambda stamp: stamp.stat().st_mtime)
        for old in found[:-STAMPS]:
            old.unlink(missing_ok=True)

    def remove(self, gate, key):
        if self.folder:
            self.path(gate, key).unlink(missing_ok=True)


# Processes and budgets.


@dataclasses.dataclass
class Outcome:
    """How a process ended; `status` is None if it exceeded its limit."""

    status: int | None
    seconds: float
    cpu: float


class Stopped(Exception):
    """The run was interrupted."""


stop = threading.Event()


def run_limited(command, log, limit, **options):
    """Runs a command in a process group of its own, and ends the group after `limit` seconds."""
    start = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        **options,
    )
    ended = exceeded = None
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        now = time.monotonic()
        if ended is None and (now - start > limit or stop.is_set()):
            exceeded, ended = not stop.is_set(), now
            end_group(process.pid, signal.SIGTERM)
        elif ended is not None and now - ended > GRACE:
            end_group(process.pid, signal.SIGKILL)
        time.sleep(0.05)
    process.returncode = os.waitstatus_to_exitcode(status)
    # Processes that the command left behind, or that ignore SIGTERM.
    end_group(process.pid, signal.SIGKILL)
    if stop.is_set():
        raise Stopped
    seconds, cpu = time.monotonic() - start, usage.ru_utime + usage.ru_stime
    return Outcome(None if exceeded else process.returncode, seconds, cpu)


def end_group(group, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def measure_reference(reference):
    """Returns the seconds that this machine takes for the reference job."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "reference.cpp"
        source.write_text(reference["source"])
        with open(os.devnull, "w") as log:
            command = ["bash", "-c", reference["run"]]
            outcome = run_limited(command, log, reference["longest"], cwd=folder)
    return outcome if outcome.status == 0 else Outcome(0, reference["longest"], 0)


def limit_of(gate, factor, left):
    """Returns the seconds that a gate may take; `left` remain of the run.

    Gates of the tier "nightly" have no run to end with.
    """
    budget = gate.budget * factor
    return budget if gate.tier == "nightly" else max(1, min(budget, left))


# The run.


def select(gates, names, nightly):
    """Returns the gates with these names, or all of the tier (both tiers if `nightly`)."""
    for name in names:
        if name not in gates.gates:
            sys.exit(f'unknown gate "{name}"; expected one of {" ".join(gates.gates)}')
    tiers = {"change", "nightly"} if nightly else {"change"}
    return [
        gate
        for gate in gates.gates.values()
        if (gate.name in names if names else gate.tier in tiers)
    ]


def take_first(queue):
    """Removes and returns the first gate, or returns None."""
    with contextlib.suppress(IndexError):
        return queue.popleft()
    return None


class Run:
    """One run of gates in a working tree."""

    def __init__(self, gates, root=ROOT, environment=None, ignore_stamps=False, out=print):
        self.gates = gates
        self.root = root
        self.environment = dict(os.environ if environment is None else environment)
        self.ignore_stamps = ignore_stamps
        self.stamps = Stamps(cache_folder(self.environment))
        self.commit = Tree(root).commit()
        self.logs = root / self.environment.get("CARGO_TARGET_DIR", "target") / "ci"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()
        self.out = out
        self.failed = []
        self.cpu = 0
        self.factor = 1
        self.start = time.monotonic()

    def say(self, *lines):
        with self.lock:
            self.out("\n".join(lines), flush=True)

    def key(self, gate):
        # Of the files as they are now.
        return key_of(gate, self.gates, Tree(self.root), self.environment)

    def execute(self, chosen):
        """Runs those of the gates that are not stamped; returns true if none failed."""
        self.start, pending = time.monotonic(), []
        for gate in chosen:
            stampable = gate.tier == "change" and not self.ignore_stamps
            record = self.stamps.find(gate, self.key(gate)) if stampable else None
            if record:
                self.say(*unchanged(gate, record))
            else:
                pending.append(gate)
        needed = {name for gate in pending for name in gate.needs}
        setup = [self.gates.gates[name] for name in self.gates.gates if name in needed]
        setup = [gate for gate in setup if gate not in pending]
        if pending:
            self.run_pending(setup, pending)
        verdict = f"gates FAILED: {' '.join(self.failed)}" if self.failed else "all gates ok"
        seconds = time.monotonic() - self.start
        self.say(
            f"{verdict} ({seconds:.0f} s, {self.cpu:.0f} s of CPU; {len(pending)} run, "
            f"{len(chosen) - len(pending)} unchanged)"
        )
        return not self.failed

    def run_pending(self, setup, pending):
        reference = measure_reference(self.gates.reference)
        self.factor = max(1, reference.seconds / self.gates.reference["seconds"])
        self.say(
            f"reference job: {reference.seconds:.1f} s, {reference.cpu:.1f} s of CPU; "
            f"machine factor {self.factor:.2f}"
        )
        for gate in setup:
            self.run_gate(gate)
        lanes = {lane: collections.deque() for lane in (*LANES, EITHER)}
        for gate in pending:
            lanes[gate.lane].append(gate)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = [pool.submit(self.run_lane, lanes[lane], lanes[EITHER]) for lane in LANES]
        ends = [run.result() for run in runs]
        idle = max(ends) - min(ends)
        self.say(f"lane {LANES[ends.index(min(ends))]} ended {idle:.0f} s before the other one")

    def run_lane(self, lane, either):
        """Runs the gates of a lane, then those of either; returns the time of the end."""
        while gate := take_first(lane) or take_first(either):
            self.run_gate(gate)
        return time.monotonic()

    def run_gate(self, gate):
        path = self.logs / f"{gate.name}.log"
        before = self.key(gate)
        left = self.gates.run_seconds - (time.monotonic() - self.start)
        limit = limit_of(gate, self.factor, left)
        environment = self.environment | {
            "CARGO_TERM_COLOR": "never",
            "CARGO_TERM_PROGRESS_WHEN": "never",
            "LOGS": str(self.logs.resolve()),
            "SAMPLE": "" if self.ignore_stamps else "--sample",
        }
        script = f"set -euo pipefail\n{self.gates.shell}\n{gate.run}"
        with path.open("wb") as log:
            outcome = run_limited(
                ["bash", "-c", script], log, limit, cwd=self.root, env=environment
            )
        text = path.read_text(errors="replace")
        with self.lock:
            self.cpu += outcome.cpu
        took = f"{outcome.seconds:.0f} of {limit:.0f} s, {outcome.cpu:.0f} s of CPU"
        closing = facts.closing_lines(text) if gate.closing else []
        if outcome.status == 0:
            said = facts.render(gate.facts, text)
            # Files that changed meanwhile were not all checked as they are now.
            if gate.tier == "change" and self.key(gate) == before:
                record = {"commit": self.commit, "facts": said, "closing": closing}
                self.stamps.write(gate, before, record)
            lines = [f"gate {gate.name}: ok ({took}{said and ', '}{said})"]
        else:
            self.failed.append(gate.name)
            self.stamps.remove(gate, before)
            if outcome.status is None:
                took = f"exceeded its budget: {took}"
            lines = [f"gate {gate.name}: FAILED ({took}), the end of {path}:"]
            lines += [f"  | {line}" for line in text.splitlines()[-TAIL:]]
        self.say(*lines, *(f"  {line}" for line in closing))


def unchanged(gate, record):
    """Returns the lines of a gate that need not run, with the facts of the run that passed."""
    yield f"gate {gate.name}: ok (unchanged since {record['commit']})"
    if record["facts"]:
        yield f"  recorded at {record['commit']}: {record['facts']}"
    yield from (f"  recorded: {line}" for line in record["closing"])


def main():
    parser = argparse.ArgumentParser(usage="\n" + __doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--nightly", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    gates = load()
    try:
        passed = Run(gates, ignore_stamps=options.all).execute(
            select(gates, options.names, options.nightly)
        )
    except Stopped:
        sys.exit("interrupted")
    sys.exit(not passed)


if __name__ == "__main__":
    main()
