"""Tests of the kept units of scripts/kernel-gate."""
import os
import pathlib
import shutil
import tempfile
import unittest
import unittest.mock

import gates
import scripts

kernel_gate = scripts.load("scripts/kernel-gate")

SOURCE = '#include "outer.cuh"\n'


class Cache(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for name in ("kernels", "tests/sanitize", "work"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(gates.ROOT / "tests/sanitize/units", self.root / "tests/sanitize")
        self.write("outer", '#include "inner.cuh"\n')
        self.write("inner", "int a;\n")
        self.compiled, self.version = [], "13.0"

    def write(self, name, text):
        (self.root / f"kernels/{name}.cuh").write_text(text)

    def compile(self, arch="sm_90a", source=SOURCE):
        """Returns what a unit's compiler said and its cubin, and if the compiler ran."""
        path = self.root / "work/unit.cu"

        def compile_unit(cuda, arch, path, source):
            self.compiled.append(source)
            path.with_suffix(f".{arch}.cubin").write_bytes(b"code\n%d" % len(self.compiled))
            return [f"serialized {len(self.compiled)}"]

        before = len(self.compiled)
        with (
            unittest.mock.patch.object(kernel_gate, "ROOT", self.root),
            unittest.mock.patch.object(kernel_gate, "output", lambda *_, **__: self.version),
            unittest.mock.patch.object(kernel_gate, "compile_unit", compile_unit),
            unittest.mock.patch.dict(os.environ, {"GPUINT_CACHE_DIR": str(self.root / "cache")}),
        ):
            cached = kernel_gate.with_cache(pathlib.Path("/cuda"), self.root / "work")
            said = cached(pathlib.Path("/cuda"), arch, path, source)
        return said, path.with_suffix(f".{arch}.cubin").read_bytes(), len(self.compiled) > before

    def test_an_unchanged_unit_is_kept_with_its_messages(self):
        first = self.compile()
        self.assertEqual(first, (["serialized 1"], b"code\n1", True))
        self.write("inner", "// A comment.\nint a;\n")
        for _ in range(2):
            self.assertEqual(self.compile(), (*first[:2], False))

    def test_all_that_a_unit_depends_on_compiles_it_again(self):
        self.compile()
        self.write("inner", "int b;\n")
        self.assertTrue(self.compile()[2], "code of an included header")
        self.assertTrue(self.compile(arch="sm_80")[2], "architecture")
        self.assertTrue(self.compile(source=SOURCE + "int c;\n")[2], "source")
        self.version = "13.1"
        self.assertTrue(self.compile()[2], "compiler")
        with unittest.mock.patch.object(kernel_gate, "OPTIONS", ("-cubin",)):
            self.assertTrue(self.compile()[2], "options")


if __name__ == "__main__":
    unittest.main()
