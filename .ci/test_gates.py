"""Tests of the gates' machinery and of the gates themselves."""
import io
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import time
import tomllib
import unittest
import unittest.mock

import facts
import gates

GATES = gates.load()
TREE = gates.Tree(gates.ROOT)

# Gates that start whenever Rust code of the library changes, and whenever a kernel does.
LIBRARY = "fmt clippy test members compile-fail doc divide cross"
INTERFACE = f"{LIBRARY} capi python"
KERNEL = "ci fmt test nvrtc tsan asan kernels"
MANIFEST = f"{INTERFACE} ci benches package mpi cross versions"
# The gates of the tier "change" that a change of a file must start, and no others.
EXAMPLES = {
    ".ci/gates.py": "fmt ci",
    ".ci/gates.toml": "ci",
    "CHANGELOG.md": "",
    "Cargo.lock": f"{MANIFEST} features ptxi".replace("fmt ", ""),
    "Cargo.toml": f"{MANIFEST} features",
    "README.md": "test doc package benches versions",
    "benches/RESULTS.md": "benches",
    "benches/speed/measure.rs": "fmt clippy benches doc",
    "benches/src/roofline.rs": "fmt clippy benches doc",
    "benches/tests/tuning.rs": "fmt clippy benches doc",
    "build/library.rs": f"{INTERFACE} nvrtc tsan asan kernels",
    "capi/include/gpuint.h": "fmt capi",
    "capi/src/operations.rs": "fmt clippy doc capi cross",
    "catalogue/src/kernel.rs": f"{INTERFACE} benches nvrtc tsan asan kernels",
    "cli/data/divide.txt": "test members divide",
    "cli/src/batch_gcd/der.rs": "fmt clippy test members doc divide mpi cross",
    "cli/src/divide/app.rs": "fmt clippy test members doc divide mpi cross",
    "cli/src/expression/syntax.rs": "fmt clippy test members doc divide mpi cross",
    "cli/src/prp/formats/abc.rs": "fmt clippy test members doc divide mpi cross",
    "cli/src/job/files.rs": "fmt clippy test members doc divide mpi cross",
    "cli/tests/divide.rs": "fmt clippy test members doc",
    "cli/tests/keys/public.der": "test members",
    "compile-fail/cases/clone.stderr": "compile-fail",
    "docs/testing.md": "",
    "examples/src/bin/primality.rs": "fmt clippy members doc",
    "kernels/catalogue.toml": f"ci {INTERFACE} benches nvrtc tsan asan kernels".replace("fmt ", ""),
    "kernels/core/ptx.cuh": f"{KERNEL} simt",
    "kernels/div/lanes/division.cuh": KERNEL,
    "kernels/simt/fiber.h": "ci fmt test simt tsan asan",
    "mpi/src/lib.rs": "fmt mpi",
    "paillier/src/groups.rs": "fmt clippy test members doc divide python mpi cross",
    "ptxi/src/module.rs": "fmt clippy test members benches doc ptxi",
    "python/docs/index.md": "python python-docs",
    "python/gpuint/_array.py": "fmt python python-docs",
    "python/src/batch.rs": "fmt clippy doc python cross",
    "scripts/cuda-toolchain": "test nvrtc kernels",
    "scripts/unit": "ci tsan asan kernels",
    "scripts/kernel-gate": "ci kernels",
    "scripts/mutants": "ci",
    "src/backend/cpu/mod.rs": LIBRARY,
    "src/backend/cuda/module.rs": f"{LIBRARY} nvrtc",
    "src/convert/integers.rs": f"{INTERFACE} features",
    "src/ops/div.rs": INTERFACE,
    "src/sieve/progression.rs": INTERFACE,
    "src/ops/tree/layout.rs": INTERFACE,
    "xgboost/src/plugin.rs": "fmt clippy members doc",
    "testkit/src/oracle.rs": "fmt clippy test members benches doc tsan asan",
    "tests/driver/stand_in.cpp": "fmt test",
    "tests/ecosystem.rs": "fmt clippy features",
    "tests/mutants.txt": "ci",
    "tests/sanitize/main.cpp": "ci fmt tsan asan",
    "tests/sanitize/units": "ci tsan asan kernels",
    "tests/suite/division.rs": "fmt clippy test",
    "tuning/h200.toml": f"{INTERFACE} benches nvrtc".replace("fmt ", ""),
}


def closure(source):
    """Returns the files of the repository that a C++ file includes, with itself."""
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-DGPUINT_SIMT", "-Ikernels"]
    rule = subprocess.run(
        [*command, "-MM", source], cwd=gates.ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return {os.path.normpath(path) for path in rule.replace("\\\n", " ").split()[1:]}


class OfTheRepository(unittest.TestCase):
    """The gates of .ci/gates.toml against the files that there are."""

    def test_changed_file_starts_its_gates(self):
        for path, names in EXAMPLES.items():
            with self.subTest(path):
                self.assertTrue(path in TREE.paths, "no such file")
                started = {
                    gate.name
                    for gate in GATES.gates.values()
                    if gate.tier == "change" and gates.matches(path, gate.inputs)
                }
                self.assertEqual(started, set(names.split()))

    def test_new_file_starts_package(self):
        started = {gate.name for gate in GATES.gates.values() if gates.matches("new", gate.names)}
        self.assertEqual(started, {"ci", "package"})

    def test_every_file_has_a_gate(self):
        for path in TREE.paths:
            gated = any(gates.matches(path, gate.inputs) for gate in GATES.gates.values())
            exempt = gates.matches(path, GATES.without_gate)
            self.assertTrue(gated or exempt, f"{path} is an input of no gate of .ci/gates.toml")

    def test_every_glob_matches_a_file(self):
        lists = [(gate.name, gate.inputs + gate.names) for gate in GATES.gates.values()]
        for name, patterns in [*lists, ("without_gate", GATES.without_gate)]:
            for pattern in patterns:
                expression = gates.expression(pattern.removeprefix("!"))
                found = any(expression.fullmatch(path) for path in TREE.paths)
                self.assertTrue(found, f'{name}: no file matches "{pattern}"')

    def test_script_of_a_gate_is_its_input(self):
        for gate in GATES.gates.values():
            for path in re.findall(r"\b(?:scripts|tests|kernels)/[\w/.-]+", gate.run):
                if gate.tier == "change" and path in TREE.paths:
                    self.assertTrue(gates.matches(path, gate.inputs), f"{gate.name}: {path}")

    def test_members_runs_every_test_file(self):
        patterns = ["examples/tests/*.rs", "testkit/tests/*.rs"]
        found = [path for path in TREE.paths if gates.matches(path, patterns)]
        self.assertEqual(found, ["examples/tests/programs.rs"])

    def test_included_headers_are_inputs(self):
        for name, source in (
            ("simt", "kernels/simt/selftest.cpp"),
            ("tsan", "tests/sanitize/main.cpp"),
            ("asan", "tests/sanitize/main.cpp"),
        ):
            for path in closure(source):
                self.assertTrue(gates.matches(path, GATES.gates[name].inputs), f"{name}: {path}")

    def test_gates_name_what_exists(self):
        for gate in GATES.gates.values():
            self.assertIn(gate.tier, ("setup", "change", "nightly"), gate.name)
            self.assertIn(gate.lane, (*gates.LANES, gates.EITHER), gate.name)
            self.assertLessEqual(set(gate.tools), set(GATES.tools), gate.name)
            for needed in gate.needs:
                self.assertEqual(GATES.gates[needed].tier, "setup", gate.name)
            facts.render(gate.facts, "")

    def test_budgets_fit_a_run(self):
        budgets = {lane: 0 for lane in (*gates.LANES, gates.EITHER, "setup")}
        for gate in GATES.gates.values():
            if gate.tier != "nightly":
                budgets[gate.lane if gate.tier == "change" else "setup"] += gate.budget
        left = GATES.run_seconds - budgets["setup"]
        for lane in gates.LANES:
            self.assertLessEqual(budgets[lane], left, lane)
        # Whichever lane they are in, one begins before the lanes have ended.
        both = sum(budgets[lane] for lane in (*gates.LANES, gates.EITHER))
        self.assertLessEqual(both, 2 * left)

    def test_tests_share_the_builds_of_dependencies(self):
        found = {}
        for name in ("test", "members", "compile-fail", "features", "benches", "capi"):
            for arguments in cargo_tests(GATES.gates[name]):
                for package, features in normal_dependencies(arguments):
                    found.setdefault(package, {}).setdefault(features, set()).add(name)
        shared = {line.split()[0] for line in cargo_tree("--package=gpuint", "--edges=normal")}
        found = {package: by for package, by in found.items() if package[0] in shared}
        self.assertGreater(len(found), 20)
        differing = {package: by for package, by in found.items() if len(by) > 1}
        self.assertEqual(differing, {}, "features for testkit/Cargo.toml")

    def test_everything_has_each_feature(self):
        features = set()
        for path in gates.ROOT.glob("**/Cargo.toml"):
            if str(path.relative_to(gates.ROOT)) in TREE.paths:
                manifest = tomllib.loads(path.read_text())
                name = manifest["package"]["name"]
                features |= {f"{name}/{feature}" for feature in manifest.get("features", {})}
        selected = re.findall(r"gpuint[\w-]*/[\w-]+", GATES.shell)
        self.assertEqual(sorted(selected), sorted(features - {"gpuint-cli/mpi"}))


def cargo_tests(gate):
    """Yields the packages and features of each call of `cargo test` in a gate, as arguments."""
    script = 'cargo() { printf "%s " "$@"; echo; }\n' + GATES.shell + gate.run
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        command, *arguments = shlex.split(line)
        if command == "test":
            options = zip(arguments, arguments[1:])
            selecting = [pair for pair in options if pair[0] in ("--package", "--features")]
            yield [text for pair in selecting for text in pair]


def cargo_tree(*arguments):
    """Returns the packages of a tree, each `NAME VERSION FEATURES`."""
    command = ["cargo", "tree", "--locked", "--prefix=none", "--format={p} {f}", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=gates.ROOT)
    return {line.removesuffix(" (*)") for line in done.stdout.splitlines() if line}


def normal_dependencies(selection):
    """Yields the packages of registries that tests link, as ((NAME, VERSION), FEATURES)."""
    for line in cargo_tree(*selection, "--edges=normal,dev,no-proc-macro"):
        name, version, *rest = line.split()
        if not (rest and rest[0].startswith("(")):
            yield (name, version), " ".join(rest)


class Globs(unittest.TestCase):
    def test_star_stays_in_its_folder(self):
        self.assertTrue(gates.matches("src/a.rs", ["src/*.rs"]))
        self.assertFalse(gates.matches("src/ops/a.rs", ["src/*.rs"]))
        self.assertFalse(gates.matches("srcs/a.rs", ["src/**"]))

    def test_two_stars_cross_folders(self):
        for path in ("Cargo.toml", "cli/Cargo.toml", "a/b/Cargo.toml"):
            self.assertTrue(gates.matches(path, ["**/Cargo.toml"]))
        self.assertFalse(gates.matches("NotCargo.toml", ["**/Cargo.toml"]))
        self.assertTrue(gates.matches("src/ops/div.rs", ["src/**"]))

    def test_last_match_decides(self):
        patterns = ["tests/**", "!tests/ptx/**", "tests/ptx/main.rs"]
        self.assertTrue(gates.matches("tests/gpu.rs", patterns))
        self.assertFalse(gates.matches("tests/ptx/notes", patterns))
        self.assertTrue(gates.matches("tests/ptx/main.rs", patterns))


class Budgets(unittest.TestCase):
    def test_slow_machine_has_larger_budgets(self):
        self.assertEqual(gates.limit_of(gates.Gate("a", "", "", 100), 2, 1000), 200)

    def test_gate_ends_with_the_run(self):
        self.assertEqual(gates.limit_of(gates.Gate("a", "", "", 100), 20, 1000), 1000)

    def test_nightly_has_no_run_to_end_with(self):
        long = gates.Gate("long", "", "", 5000, tier="nightly")
        self.assertEqual(gates.limit_of(long, 2, 1000), 10000)


SETTINGS = """
run_seconds = 600
settings = ["GPUINT_*", "!GPUINT_CACHE_DIR"]
shell = "said() { cat said; }"
[reference]
seconds = 1
longest = 60
source = ""
run = "true"
[tools]
tool = "cat $TOOL"
"""


class Runs(unittest.TestCase):
    """Runs in a repository of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.root = self.repository("repository")
        (self.root / "input").write_text("1")
        (self.root / "other").write_text("1")
        (self.root / ".gitignore").write_text("/target\n/said\n/runs\n")
        self.git(self.root, "add", "--all")
        self.git(self.root, "commit", "--quiet", "--message=first")
        self.environment = {
            "PATH": os.environ["PATH"],
            "GPUINT_CACHE_DIR": str(self.work / "cache"),
        }

    def repository(self, name):
        root = self.work / name
        root.mkdir()
        self.git(root, "init", "--quiet")
        return root

    def git(self, root, *arguments):
        identity = ["-c", "user.name=test", "-c", "user.email=test"]
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True)

    def run_gates(
        self, text='run = "echo run >>runs"', ignore_stamps=False, names=(), root=None, budget=60
    ):
        """Runs the gate `gate` with these fields; returns true if it passed, and what was said."""
        gates.output_of.cache_clear()
        data = self.work / "gates.toml"
        fields = f'[gate.gate]\nprotects = "it"\nbudget = {budget}\ninputs = ["input*"]'
        data.write_text(f"{SETTINGS}\n{fields}\n{text}\n")
        loaded = gates.load(data)
        said = io.StringIO()

        def out(*lines, flush):
            print(*lines, file=said)

        run = gates.Run(loaded, root or self.root, self.environment, ignore_stamps, out)
        passed = run.execute(gates.select(loaded, names, nightly=False))
        return passed, said.getvalue()

    def runs(self):
        path = self.root / "runs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def assert_runs(self, times, **options):
        before = self.runs()
        passed, said = self.run_gates(**options)
        self.assertTrue(passed, said)
        self.assertEqual(self.runs() - before, times, said)
        return said

    def test_unchanged_gate_is_not_run(self):
        self.assert_runs(1)
        commit = gates.Tree(self.root).commit()
        self.assertIn(f"gate gate: ok (unchanged since {commit})\n", self.assert_runs(0))

    def test_changed_input_starts_the_gate(self):
        self.assert_runs(1)
        (self.root / "input").write_text("2")
        self.assert_runs(1)

    def test_changed_mode_starts_the_gate(self):
        self.assert_runs(1)
        (self.root / "input").chmod(0o755)
        self.assert_runs(1)

    def test_removed_input_starts_the_gate(self):
        self.assert_runs(1)
        (self.root / "input").unlink()
        self.assert_runs(1)

    def test_untracked_input_starts_the_gate(self):
        self.assert_runs(1)
        (self.root / "input.new").write_text("")
        self.assert_runs(1)

    def test_other_file_does_not_start_the_gate(self):
        self.assert_runs(1)
        (self.root / "other").write_text("2")
        self.git(self.root, "commit", "--all", "--quiet", "--message=second")
        self.assert_runs(0)

    def test_content_that_comes_back_has_its_stamp(self):
        self.assert_runs(1)
        (self.root / "input").write_text("2")
        self.assert_runs(1)
        (self.root / "input").write_text("1")
        self.assert_runs(0)

    def test_named_file_starts_the_gate_if_it_moves(self):
        named = 'names = ["other*"]\nrun = "echo run >>runs"'
        self.assert_runs(1, text=named)
        (self.root / "other").write_text("2")
        self.assert_runs(0, text=named)
        (self.root / "other").rename(self.root / "others")
        self.assert_runs(1, text=named)

    def test_changed_script_starts_the_gate(self):
        self.assert_runs(1)
        self.assert_runs(1, text='run = "echo again >>runs"')

    def test_setting_starts_the_gate(self):
        self.assert_runs(1)
        self.environment["UNRELATED"] = "1"
        self.assert_runs(0)
        self.environment["GPUINT_REQUIRE"] = "cxx"
        self.assert_runs(1)

    def test_version_of_a_tool_starts_the_gate(self):
        text = 'tools = ["tool"]\nrun = "echo run >>runs"'
        tool = self.work / "tool"
        self.enterContext(unittest.mock.patch.dict(os.environ, {"TOOL": str(tool)}))
        tool.write_text("1")
        self.assert_runs(1, text=text)
        self.assert_runs(0, text=text)
        tool.write_text("2")
        self.assert_runs(1, text=text)

    def test_all_ignores_stamps(self):
        self.assert_runs(1)
        self.assert_runs(1, ignore_stamps=True)
        self.assert_runs(0)

    def test_nightly_gate_has_no_stamp(self):
        text = 'tier = "nightly"\nrun = "echo run >>runs"'
        self.assert_runs(0, text=text)
        self.assert_runs(1, text=text, names=["gate"])
        self.assert_runs(1, text=text, names=["gate"])

    def test_fresh_clone_has_the_stamps(self):
        self.assert_runs(1)
        clone = self.work / "clone"
        self.git(self.work, "clone", "--quiet", str(self.root), str(clone))
        self.assert_runs(0, root=clone)

    def test_without_cache_there_are_no_stamps(self):
        self.environment["GPUINT_CACHE_DIR"] = "off"
        self.assert_runs(1)
        self.assert_runs(1)

    def test_failing_gate_leaves_no_stamp(self):
        (self.root / "said").write_text("details\n")
        for _ in range(2):
            passed, said = self.run_gates('run = "said; false; echo unreachable"')
            self.assertFalse(passed)
            self.assertIn("gate gate: FAILED", said)
            self.assertIn("  | details", said)
            self.assertNotIn("unreachable", said)
            self.assertIn("gates FAILED: gate", said)

    def test_failure_removes_an_older_stamp(self):
        text = 'run = "test ! -e target/broken; echo run >>runs"'
        self.assert_runs(1, text=text)
        (self.root / "target/broken").write_text("")
        self.assertFalse(self.run_gates(text, ignore_stamps=True)[0])
        self.assertFalse(self.run_gates(text)[0])

    def test_input_that_changes_meanwhile_leaves_no_stamp(self):
        text = 'run = "echo run >>runs; date +%N >input"'
        self.assert_runs(1, text=text)
        self.assert_runs(1, text=text)

    def test_overrun_fails_and_ends_all_processes(self):
        self.enterContext(unittest.mock.patch.object(gates, "GRACE", 0.2))
        # The second one ignores SIGTERM.
        script = """
            sleep 600 & echo $! >target/pids
            bash -c "trap '' TERM; while :; do sleep 0.1; done" & echo $! >>target/pids
            wait
        """
        start = time.monotonic()
        passed, said = self.run_gates(f"run = '''{script}'''", budget=1)
        self.assertFalse(passed)
        self.assertLess(time.monotonic() - start, 30)
        self.assertRegex(said, r"FAILED \(exceeded its budget: \d+ of 1 s, \d+ s of CPU\)")
        for pid in (self.root / "target/pids").read_text().split():
            self.assert_ended(pid)
        self.assertFalse(any((self.work / "cache").rglob("*.json")))

    def assert_ended(self, pid):
        for _ in range(100):
            try:
                state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                return
            if state == "Z":
                return
            time.sleep(0.05)
        self.fail(f"process {pid} is still there")

    def test_unchanged_gate_prints_recorded_results(self):
        (self.root / "said").write_text(
            "     Running tests/a.rs (target/a)\n"
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
        )
        text = 'closing = true\nfacts = "{results}"\nrun = "said; echo run >>runs"'
        said = self.assert_runs(1, text=text)
        self.assertIn("3 passed, 0 failed, 0 skipped in 1 programs)", said)
        commit = gates.Tree(self.root).commit()
        said = self.assert_runs(0, text=text)
        self.assertIn(f"  recorded at {commit}: 3 passed, 0 failed, 0 skipped in 1 programs", said)
        self.assertIn("  recorded: test result: ok. 3 passed; 0 failed", said)

    def test_setup_runs_where_a_gate_needs_it(self):
        setup = (
            'needs = ["tool"]\nrun = "echo run >>runs"\n'
            '[gate.tool]\nprotects = ""\ntier = "setup"\nbudget = 60\nrun = "echo run >>runs"'
        )
        self.assert_runs(2, text=setup)
        self.assert_runs(0, text=setup)

    def test_lanes_run_beside_each_other(self):
        # Each waits for the other.
        meet = "touch target/{0}; while [[ ! -e target/{1} ]]; do sleep 0.05; done"
        text = f"run = '{meet.format('a', 'b')}'\n[gate.beside]\nprotects = ''\nbudget = 60\n"
        text += f"lane = 'compilers'\nrun = '{meet.format('b', 'a')}'"
        passed, said = self.run_gates(text)
        self.assertTrue(passed, said)

    def test_lane_that_ended_runs_gates_of_either(self):
        # The gate of the lane "cargo" ends once that of "either" ran.
        text = "run = 'while [[ ! -e target/done ]]; do sleep 0.05; done'\n[gate.between]\n"
        text += "protects = ''\nbudget = 60\nlane = 'either'\nrun = 'touch target/done'"
        passed, said = self.run_gates(text)
        self.assertTrue(passed, said)
        self.assertRegex(said, r"lane \w+ ended \d+ s before the other one")

    def test_gate_has_no_standard_input(self):
        self.assert_runs(1, text="run = 'cat; echo run >>runs'")

    def test_unknown_gate_is_refused(self):
        with self.assertRaises(SystemExit) as error:
            self.run_gates(names=["gates"])
        self.assertEqual(str(error.exception), 'unknown gate "gates"; expected one of gate')


class OfLogs(unittest.TestCase):
    LOG = """\
   Compiling gpuint v0.1.0
     Running unittests src/lib.rs (target/debug/deps/gpuint-1)
test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.00s
     Running tests/a.rs (target/debug/deps/a-1)
test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s
skipped: nvcc: not found
skipped: nvcc: not found
skipped: gpu: none
12 rows, 0 wrong; 30 rows, 0 wrong
test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s
   Doc-tests gpuint
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s
cargo test: 2.0 s, 3.0 + 1.0 s of CPU
"""

    def test_last_result_of_each_program_counts(self):
        rendered = facts.render("{results}", self.LOG)
        self.assertEqual(rendered, "7 passed, 2 failed, 3 skipped in 3 programs")

    def test_patterns_are_counted_summed_and_found(self):
        self.assertEqual(facts.render("{count:^test result}", self.LOG), "4")
        self.assertEqual(facts.render(r"{sum:(\d+) rows,(?=.* wrong)}", self.LOG), "42")
        self.assertEqual(facts.render(r"{first:^cargo test: (\S+ s)}", self.LOG), "2.0 s")
        self.assertEqual(facts.render("{first:^(never)}", self.LOG), "nothing")

    def test_timed_command_has_its_packages(self):
        rendered = facts.render("{timed}", self.LOG)
        self.assertEqual(
            rendered, "cargo test: 2.0 s, 3.0 + 1.0 s of CPU, 1 packages compiled"
        )

    def test_closing_lines_name_their_program(self):
        lines = facts.closing_lines(self.LOG)
        self.assertEqual(lines[2], "Running tests/a.rs (target/debug/deps/a-1)")
        self.assertTrue(lines[3].endswith("finished in 1.00s; 2 skipped"))


if __name__ == "__main__":
    unittest.main()
