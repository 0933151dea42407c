"""Every public call with every wrong kind of argument: errors are documented and name it."""

import inspect
import operator
import os
import re

import numpy as np
import pytest

import gpuint
from conftest import BITS
from gpuint import paillier, sieve

# A count of squares in turn that is valid, and takes longer than any test.
ENDLESS = 2**62
# Bounds of sieves, too.
ENDLESS_ARGUMENTS = {"count", "limit", "stop"}
WRONG = [
    None,
    1.5,
    "x",
    b"x",
    object(),
    {},
    [1.5],
    ["x"],
    [None, 1],
    [[1], [2]],
    (1, 2),
    np.array([0.5]),
    np.array(["x"]),
    np.zeros((2, 2, 2)),
    np.zeros((2, 2), np.int64),
    np.float64(2.5),
    -5,
    -(2**70),
    2**70,
    ENDLESS,
    [-1],
    [2**70],
    [-(2**70), 2**64],
]

# Private names, words of Rust, and messages of the interpreter about the package's own code.
LEAKS = re.compile(
    r"\b_[a-z]|::|usize|\bi64\b|\bu64\b|\bBatch|Q =|has no attribute|object is not|"
    r"__index__|positional argument|unexpected keyword|C unsigned long|PyO3|cast"
)


# The rows that all operands make together are at fault.
OF_ROWS = ["numbers of rows", "widest rows", "out of memory"]


# A row of bytes.
ODD = bytes([3]) + bytes(BITS // 8 - 1)


def examples(device):
    """Objects to call methods of, and valid arguments by their names."""
    a = gpuint.array([7, 9, 25], BITS, device)
    modulus = gpuint.Modulus(101, BITS, device)
    receivers = [
        a,
        a > 8,
        gpuint.SignedArray([3, -4, 5], BITS, device),
        modulus.residues(a),
        gpuint.Modulus(a, BITS, device),
        gpuint.Divisor(a, BITS),
        gpuint.Factor(a, BITS),
        gpuint.FixedBase(3, 101, 64, device),
        gpuint.ProductTree(a),
        gpuint.Crt(gpuint.array([7, 9, 25], BITS, device)),
        gpuint.SecretBatch(ODD, BITS, device),
        device,
        sieve.Progression(2, 1),
        sieve.Exponents(3, 2, 1),
        sieve.Family.terms(1, 2),
        sieve.Constellation([sieve.Family.terms(1, 2), sieve.Family.terms(3, 4)]),
    ]
    arguments = {
        "bits": BITS,
        "byteorder": "little",
        "arrays": [a, a],
        "coefficients": [1, 2],
        "data": ODD,
        "device": device,
        "distance": 3,
        "magnitude": a,
        "mask": [True, False, True],
        "memo": {},
        "name": "cpu",
        "negative": [True, False, True],
        "pairs": [(a, a)],
        "rounding": "floor",
        "stream": None,
        "max_version": (1, 0),
        "dl_device": (1, 0),
        "copy": None,
        "dtype": object,
        "jit": False,
        "high": a,
        "key": 1,
        "limbs": np.ones((3, BITS // 64), np.uint64),
        "exponents": [1, 2, 3],
        "families": [sieve.Family.terms(1, 2)],
        "family": sieve.Family.terms(1, 2),
        "limit": 100,
        "offsets": [0, 2],
        "stop": 100,
        "terms": [1, 2, 3],
        "numerators": 3,
        "denominators": 3,
        "moduli": [7, 9, 25],
        "numbers": a,
        "residues": a,
        "addend": gpuint.SecretBatch(ODD, BITS, device),
        "factors": ODD,
        "bit": 3,
        "base": 10,
        "bases": 3,
        "file": os.devnull,
        "rng": None,
        "safe": False,
        "verified": False,
        "texts": ["1", "0x2"],
        "rows": [0, 1, 2],
        "values": [1, 2, 3],
    }
    return receivers, arguments


def examples_of_paillier(device, folder):
    """As `examples`, for the module `paillier`."""
    pytest.importorskip("phe")
    pytest.importorskip("pyarrow")
    private = paillier.PrivateKey.generate(1024, device=device)
    public, phe_key = private.public_key, private.to_phe()
    encrypted = public.encrypt([1, -2, 0.5], device=device)
    packing = paillier.Packing(public, 20, 10)
    file = folder / "encrypted.parquet"
    paillier.write_parquet(file, {"a": encrypted})
    arguments = {
        "bits": 1024,
        "ciphertexts": encrypted.ciphertexts(),
        "columns": ["a"],
        "device": device,
        "dtype": np.float64,
        "encrypted": encrypted,
        "exponent": -2,
        "exponents": encrypted.exponents,
        "file": file,
        "group": [0, 1, 0],
        "groups": 2,
        "key": public,
        "n": public.n,
        "numbers": encrypted.to_phe(),
        "p": phe_key.p,
        "q": phe_key.q,
        "rows": [0, 2],
        "safe": False,
        "short": False,
        "short_base": None,
        "table": paillier.to_arrow({"a": encrypted}),
        "terms": 10,
        "text": public.to_jwk(),
        "texts": encrypted.to_json(),
        "value_bits": 20,
        "values": [1, -2, 0.5],
        "width": 2,
        "of PrivateKey.from_jwk": {"text": private.to_jwk()},
        "of PublicKey.from_phe": {"key": public.to_phe()},
        "of PrivateKey.from_phe": {"key": phe_key},
        "of Packing.pack": {"values": [[1, 2], [3, 4]]},
        "of Packing.unpack": {"numbers": packing.pack([[1, 2], [3, 4]])},
        "of to_arrow": {"columns": {"a": encrypted}},
        "of write_parquet": {"file": folder / "written.parquet", "columns": {"a": encrypted}},
    }
    return [private, public, encrypted, packing], arguments


# Arguments that are of any type, or not checked by the package.
FREE = {
    "memo",
    "dtype",
    "jit",
    "stream",
    "max_version",
    "dl_device",
    "copy",
    "error",
    "file",
    "safe",
    "short",
    "verified",
}


def calls(modules, receivers, arguments):
    """Names and calls of modules and methods of receivers, with their valid arguments."""
    device = arguments["device"]

    def bound(name, call):
        given = {}
        for parameter in inspect.signature(call).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                return None
            given[parameter.name] = arguments.get(parameter.name, 3)
        given |= arguments.get(f"of {name}", {})
        if name in ("full", "random", "random_primes"):
            given["rows"] = 3
        if name == "random_primes":
            given["bits"] = 64
        if name in ("Mask", "Mask.__init__"):
            given["bits"] = [True, False]
        if name == "powmod":
            given["base"] = receivers[0]
        if name in ("powmod_base_list", "Array.is_strong_probable_prime_bases"):
            given["bases"] = [1, 2]
        if name == "SecretFactor":
            given["moduli"] = ODD
        if name.endswith(".mul_add_secret"):
            given["factor"] = gpuint.SecretFactor(ODD, ODD, BITS, device)
        if name.endswith(".pow_secret"):
            given["exponents"] = gpuint.SecretExponents(ODD, BITS, 2, device)
            given["modulus"] = gpuint.SecretModulus(ODD, BITS, device)
        if name in ("Family.survivors", "Constellation.survivors"):
            given["rows"] = 3
        if name == "Modulus.of_special":
            given["value"] = gpuint.SpecialModulus(3, 189, 1)
        if name == "Residues.powers_of":
            given["modulus"] = gpuint.Modulus(101, BITS, device)
        if name == "Mask.select":
            given["other"] = [True, True, False]
        if name == "Array.is_equal":
            given["other"] = receivers[0]
        return name, call, given

    for name, public in [
        (name, getattr(module, name)) for module in modules for name in module.__all__
    ]:
        if inspect.isfunction(public):
            yield bound(name, public)
        elif inspect.isclass(public) and not issubclass(public, Exception):
            yield bound(name, public)
            for method in dir(public):
                if isinstance(inspect.getattr_static(public, method), classmethod):
                    if not method.startswith("_"):
                        yield bound(f"{name}.{method}", getattr(public, method))
    for receiver in receivers:
        kind = type(receiver)
        for name in dir(kind):
            method = inspect.getattr_static(kind, name)
            if not inspect.isfunction(method) or (name.startswith("_") and name != "__getitem__"):
                continue
            yield bound(f"{kind.__name__}.{name}", getattr(receiver, name))


@pytest.fixture(scope="module", params=["numbers", "paillier"])
def found(request, device, tmp_path_factory):
    """Every public call with arguments, and its valid ones."""
    if request.param == "numbers":
        found = calls([gpuint, sieve], *examples(device))
        least = 120
    else:
        found = calls([paillier], *examples_of_paillier(device, tmp_path_factory.mktemp("files")))
        least = 20
    found = [call for call in found if call is not None]
    assert len(found) > least
    return found


WITHOUT_CONSTRUCTOR = [gpuint.Array, gpuint.Residues, sieve.Family, paillier.EncryptedArray]


@pytest.mark.parametrize("kind", WITHOUT_CONSTRUCTOR)
@pytest.mark.parametrize("arguments", [(), ([1],), ([1], 64)])
def test_class_without_constructor_names_the_functions_that_make_it(kind, arguments):
    with pytest.raises(TypeError, match=rf"{kind.__name__} \w+ made by [gMFP]"):
        kind(*arguments)


def problem(argument, work):
    """The fault of the error that a call raises, if it has one."""
    try:
        work()
    except (TypeError, ValueError, gpuint.GpuintError) as error:
        message = str(error)
        if leak := LEAKS.search(message):
            return f"{leak[0]} in: {message}"
        has_row = getattr(error, "row", None) is not None or any(map(message.count, OF_ROWS))
        if argument is None or has_row or re.search(rf"\b{argument}\b", message):
            return None
        return f"no name in: {message}"
    except BaseException as error:
        return f"undocumented: {error!r}"
    return None


def test_wrong_arguments_are_documented_errors_that_name_them(found):
    failures, tried = [], 0
    for name, call, given in found:
        # There is no memory of a GPU whose device could be wrong.
        for argument in given.keys() - FREE - ({"device"} if name == "from_cuda" else set()):
            for wrong in WRONG:
                if argument in ENDLESS_ARGUMENTS and wrong is ENDLESS:
                    continue
                tried += 1
                fault = problem(argument, lambda: call(**(given | {argument: wrong})))
                if fault is not None:
                    failures.append(f"{name}({argument}={str(wrong)[:30]!r}): {fault}")
    assert tried > 10 * len(found)
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)


def test_valid_arguments_of_the_table_are_taken(found):
    for name, call, given in found:
        if name != "from_cuda":
            try:
                call(**given)
            except gpuint.GpuintError as error:
                assert getattr(error, "row", None) is not None, (name, error)


OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.floordiv,
    operator.mod,
    divmod,
    operator.pow,
    operator.lshift,
    operator.rshift,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.truediv,
    operator.matmul,
    operator.getitem,
]


@pytest.mark.parametrize("op", OPERATORS)
def test_wrong_operands_are_documented_errors(device, op):
    receivers, _ = examples(device)
    for receiver in receivers[:6]:
        for wrong in WRONG:
            assert not problem(None, lambda: op(receiver, wrong)), (receiver, wrong)
            if op is not operator.getitem:
                assert not problem(None, lambda: op(wrong, receiver)), (wrong, receiver)
