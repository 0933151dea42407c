"""Tests of the list of mutants (tests/mutants.txt), which the gate `mutants` runs by night."""
import unittest

import scripts

mutants = scripts.load("scripts/mutants")


class List(unittest.TestCase):
    def test_mutants_are_of_the_kernels(self):
        written, files = mutants.read_list()
        self.assertGreater(len(written), 500)
        self.assertGreater(len(files), 50)
