"""Scripts of the repository as modules, for tests."""
import importlib.machinery
import importlib.util

import gates


def load(path):
    """Returns the module of a script without an ending."""
    name = path.rpartition("/")[2].replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, str(gates.ROOT / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
