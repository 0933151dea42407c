"""Tests of the units of the sanitizers and of their selection (tests/sanitize/units)."""
import os
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

import gates
import scripts

SCRIPT = "tests/sanitize/units"
units = scripts.load(SCRIPT)

SHAPES = ("b1024", "b2048", "b4096", "b8192")
NAMES = ("add", "gcd", "div_rem_blocked_classical", "div_rem_by_classical", "prepare_classical")
LINES = [f"GPUINT_KERNEL(gpuint_{name}_{shape}, x)" for name in NAMES for shape in SHAPES]


def of_tree(changed=None, setting="", lines=LINES):
    """Returns the units of LINES, with a statement more in one file."""
    original = units.code_of

    def code_of(path):
        added = "\nint added;" if changed and path == gates.ROOT / changed else ""
        return original(path) + added

    with unittest.mock.patch.object(units, "code_of", code_of):
        return units.units_of(lines, SHAPES, setting)


def passed(found):
    return {unit.stamp for unit in found} | {unit.own for unit in found}


def names(found):
    return {unit.name for unit in found}


class Units(unittest.TestCase):
    def setUp(self):
        self.units = of_tree()

    def differing(self, field, **options):
        """Returns the names of the units of which a hash differs after a change."""
        now = {unit.name: getattr(unit, field) for unit in of_tree(**options)}
        self.assertEqual(now.keys(), names(self.units))
        return {unit.name for unit in self.units if getattr(unit, field) != now[unit.name]}

    def test_each_kernel_is_in_one_unit(self):
        found = [line for unit in self.units for line in unit.source.splitlines() if line in LINES]
        self.assertEqual(sorted(found), sorted(LINES))

    def test_kernels_of_one_shape_are_units(self):
        lines = [line for line in LINES if "add" not in line or "b1024" in line]
        lines.append("GPUINT_KERNEL(gpuint_sub_b1024, x)")
        found = [name for name in names(of_tree(lines=lines)) if ".linear." in name]
        self.assertEqual(
            sorted(found), ["b1024.linear.add.gpuint_add", "b1024.linear.add.gpuint_sub"]
        )

    def test_headers_include_those_of_the_compiler(self):
        command = [os.environ.get("CXX", "g++"), "-std=c++17", "-DGPUINT_SIMT", "-Ikernels"]
        for unit in self.units[::4]:
            source = unit.source.split("using namespace")[0]
            rule = subprocess.run(
                [*command, "-MM", "-x", "c++", "-"],
                cwd=gates.ROOT, check=True, input=source, stdout=subprocess.PIPE, text=True,
            ).stdout
            included = rule.replace("\\\n", " ").split()[1:]
            expected = {(gates.ROOT / path).resolve() for path in included} - {gates.ROOT / "-"}
            self.assertGreater(len(expected), 5)
            self.assertLessEqual(expected, units.closure(unit.source, units.KERNELS))

    def test_changed_header_changes_its_units(self):
        for path, header in (
            ("kernels/linear/add.cuh", "linear/add"),
            ("kernels/euclid/gcd.cuh", "euclid/gcd"),
        ):
            expected = {f"{shape}.{header.replace('/', '.')}" for shape in SHAPES}
            self.assertEqual(self.differing("own", changed=path), expected)
            self.assertEqual(self.differing("stamp", changed=path), expected)

    def test_shared_header_and_checks_change_all_stamps(self):
        for path in (
            "kernels/core/carry.cuh",
            "kernels/simt/block.h",
            "kernels/simt/block.cpp",
            "tests/sanitize/main.cpp",
            "testkit/src/cases/mod.rs",
        ):
            self.assertEqual(self.differing("stamp", changed=path), names(self.units), path)
            self.assertEqual(self.differing("own", changed=path), set(), path)
        self.assertEqual(self.differing("stamp", setting="-O2"), names(self.units))

    def test_kernels_that_prepare_divisors_change_all_stamps(self):
        path = "kernels/dispatch/prepare/classical.cuh"
        self.assertEqual(self.differing("stamp", changed=path), names(self.units))
        expected = {name for name in names(self.units) if ".prepare." in name}
        self.assertEqual(self.differing("own", changed=path), expected)

    def test_comments_are_no_code(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.cuh"
            path.write_text('// one\nint a;  /* two\n */ f("// three");\n\n')
            self.assertEqual(units.code_of.__wrapped__(path), 'int a;    f("// three");')


class Selection(unittest.TestCase):
    def setUp(self):
        self.units = of_tree()

    def select(self, stamps, turn, found=None):
        chosen, changed, by_turns = units.select(found or self.units, stamps, turn)
        self.assertEqual(len(chosen), changed + by_turns)
        return names(chosen), changed

    def test_changed_unit_is_selected_in_every_turn(self):
        path = "kernels/div/lanes/division.cuh"
        before = {unit.name: unit.own for unit in self.units}
        now = of_tree(path)
        expected = {unit.name for unit in now if unit.own != before[unit.name]}
        self.assertGreaterEqual(len(expected), 8)
        for turn in range(units.TURNS):
            self.assertEqual(self.select(passed(self.units), turn, now), (expected, len(expected)))

    def test_changed_unit_is_selected_with_a_changed_shared_header(self):
        # Only hashes of units' own headers are left of the last run.
        stamps = {unit.own for unit in self.units if not unit.header.startswith("linear")}
        for turn in range(units.TURNS):
            chosen, changed = self.select(stamps, turn)
            self.assertEqual(changed, len(SHAPES))
            self.assertLess(len(chosen), len(self.units))
            self.assertLessEqual({f"{shape}.linear.add" for shape in SHAPES}, chosen)

    def test_unit_that_passed_is_left_out(self):
        for turn in range(units.TURNS):
            self.assertEqual(self.select(passed(self.units), turn), (set(), 0))

    def test_turns_cover_every_unit(self):
        for shapes in range(1, len(SHAPES) + 1):
            found = [unit for unit in self.units if unit.name.startswith(SHAPES[:shapes])]
            turns = [self.select(set(), turn, found)[0] for turn in range(7, 7 + units.TURNS)]
            self.assertEqual(set.union(*turns), names(found))
            for chosen in turns:
                headers = {unit.header for unit in found if unit.name in chosen}
                self.assertEqual(headers, {unit.header for unit in found})

    def test_turn_has_a_third_of_many_units(self):
        for turn in range(units.TURNS):
            chosen, changed = self.select(set(), turn)
            self.assertEqual(changed, 0)
            self.assertLessEqual(len(chosen), len(self.units) * 2 / units.TURNS)

    def test_kernels_that_prepare_are_built_in_every_turn(self):
        tasks = ("prepare_odd_fp64", "mul_residues_fp64", "square_residues_fp64", "pow_mod_fp64")
        lines = [f"GPUINT_KERNEL(gpuint_{task}_b1024, x)" for task in tasks]
        found = of_tree(lines=[*LINES, *lines])
        for turn in range(units.TURNS):
            chosen = units.select(found, set(), turn)[0]
            built = names(units.built_with(chosen, found))
            self.assertLessEqual(names(chosen), built)
            self.assertIn("b1024.dispatch.modular.fp64.gpuint_prepare_odd_fp64", built)
            self.assertLessEqual({f"{s}.dispatch.prepare.classical" for s in SHAPES}, built)


class Runs(unittest.TestCase):
    """The script as tests/sanitize/run starts it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.stamps = self.work / "stamps"
        self.stamps.mkdir()

    def run_units(self, *options, setting=""):
        """Returns the names and hashes of the units to check, and what was said."""
        build = self.work / "build"
        build.mkdir(exist_ok=True)
        arguments = [*options, setting, build, self.stamps, *SHAPES]
        done = subprocess.run(
            [gates.ROOT / SCRIPT, *arguments],
            check=True, input="\n".join(LINES), stdout=subprocess.PIPE, text=True,
        )
        lines = (build / "checked").read_text().splitlines()
        for name in (line.split()[0] for line in lines):
            self.assertTrue((build / f"{name}.cpp").exists())
        return [line.split() for line in lines], done.stdout.strip()

    def test_without_sample_all_units_are_checked(self):
        self.run_units("--sample")
        chosen, said = self.run_units()
        self.assertEqual(len(chosen), len(LINES))
        self.assertEqual(said, f"all {len(LINES)} units")

    def test_left_out_units_count_as_unchanged_and_take_turns(self):
        first, said = self.run_units("--sample")
        self.assertIn(f"{len(first)} of {len(LINES)} units: 0 changed", said)
        for stamp in (stamp for _, *stamps in first for stamp in stamps):
            (self.stamps / stamp).touch()
        again, said = self.run_units("--sample")
        self.assertEqual((again, said.split("; ")[1]), ([], f"{len(first)} passed before"))
        # Another compiler: all stamps change, and no unit's own headers.
        _, said = self.run_units("--sample", setting="other")
        self.assertIn("units: 0 changed", said)

    def test_units_that_prepare_divisors_are_always_built(self):
        self.run_units("--sample")
        for shape in SHAPES:
            path = self.work / f"build/{shape}.dispatch.prepare.classical.cpp"
            self.assertTrue(path.exists(), path)


if __name__ == "__main__":
    unittest.main()
