#!/usr/bin/env python3
"""Writes divide.txt, the input that the `divide` example runs on by itself.

    python3 cli/data/make_divide.py            # rewrite divide.txt
    python3 cli/data/make_divide.py --check    # compare the stored file with what the script makes

Exact integer arithmetic and the standard library only; no randomness, so the file is a function of
this text. Every number is either computed from its definition, or a published constant that an
assertion here checks (a product of factors, a curve equation, a primality test, a digit sum).
Wherever theory gives the quotient or the remainder, the script asserts it. No operand is wider than
32768 bits.
"""

import argparse
import pathlib
import sys
from math import comb, factorial, gcd, isqrt, lcm, prod

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)

MAX_BITS = 32768
DECIMAL_BITS = 1100  # longer operands are written in hexadecimal, which is shorter there
TARGET = pathlib.Path(__file__).with_name("divide.txt")


class Family:
    """A titled list of (u, v, label) rows with the definition or source of its numbers."""

    def __init__(self, title, source):
        self.title, self.source, self.rows = title, source, []

    def add(self, u, v, label, q=None, r=None):
        """Appends a row; q and r, where given, are what theory says of it and are asserted."""
        assert u >= 0 and v >= 1, label
        assert max(u, v).bit_length() <= MAX_BITS, (label, u.bit_length(), v.bit_length())
        quotient, remainder = divmod(u, v)
        assert q is None or q == quotient, f"{self.title}: {label}: quotient"
        assert r is None or r == remainder, f"{self.title}: {label}: remainder"
        self.rows.append((u, v, label))


# Number theory used by the families


def primes_below(n):
    sieve = bytearray([1]) * n
    sieve[0:2] = b"\0\0"
    for p in range(2, isqrt(n - 1) + 1):
        if sieve[p]:
            sieve[p * p :: p] = bytes(len(range(p * p, n, p)))
    return [i for i in range(n) if sieve[i]]


PRIMES = primes_below(40000)


def is_probable_prime(n, bases=(2, 3)):
    """Strong probable-prime test: enough to detect a mistyped constant."""
    if n < 41 * 41:
        return n in PRIMES
    if any(n % p == 0 for p in PRIMES[:50]):
        return False
    s = (n - 1 & -(n - 1)).bit_length() - 1
    for base in bases:
        x = pow(base, n - 1 >> s, n)
        if x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def fibonacci(n):
    """(F(n), F(n + 1)) by doubling."""
    if n == 0:
        return 0, 1
    a, b = fibonacci(n // 2)
    c, d = a * (2 * b - a), a * a + b * b
    return (d, c + d) if n % 2 else (c, d)


def lucas(n):
    f, g = fibonacci(n)
    return 2 * g - f


def primorial(n):
    return prod(p for p in PRIMES if p <= n)


def repunit(n):
    return (10**n - 1) // 9


def mersenne(p):
    return 2**p - 1


def fermat(k):
    return 2 ** (2**k) + 1


def catalan(n):
    return comb(2 * n, n) // (n + 1)


# Constants as scaled integers. Each is the floor of the true value times the scale: computed with
# GUARD extra bits, and the assertion sees to it that the error cannot reach past the guard bits.

GUARD = 128


def scaled(value_with_guard, error):
    """floor(value / 2^GUARD), where |value - truth| <= error."""
    assert (value_with_guard - error) >> GUARD == (value_with_guard + error) >> GUARD
    return value_with_guard >> GUARD


def arccot_sum(terms, one):
    """sum of c * arccot(x) scaled by one, and a bound of its error (one unit per truncation)."""
    total = error = 0
    for c, x in terms:
        power, k, sign, partial = one // x, 1, 1, 0
        while power:
            partial += sign * (power // k)
            power, k, sign, error = power // (x * x), k + 2, -sign, error + 2 * abs(c)
        total += c * partial
        error += 2 * abs(c)
    return total, error


def pi_scaled(scale):
    """floor(pi * scale), Machin's formula; checked against Gauss's."""
    one = scale << GUARD
    machin, error = arccot_sum([(16, 5), (-4, 239)], one)
    gauss, other = arccot_sum([(48, 18), (32, 57), (-20, 239)], one)
    assert abs(machin - gauss) <= error + other
    return scaled(machin, error)


def e_scaled(scale):
    """floor(e * scale) from the series of 1/k!."""
    one = scale << GUARD
    term, k, total = one, 1, 0
    while term:
        total += term
        term, k = term // k, k + 1
    return scaled(total, k + 1)


def ln2_scaled(scale):
    """floor(ln 2 * scale): ln 2 = sum of 2 / ((2k + 1) 3^(2k + 1))."""
    one = scale << GUARD
    power, k, total = 2 * one // 3, 1, 0
    while power:
        total += power // k
        power, k = power // 9, k + 2
    return scaled(total, k + 1)


def sqrt_scaled(n, scale):
    root = isqrt(n * scale * scale)
    assert root * root <= n * scale * scale < (root + 1) ** 2
    return root


def convergents(terms):
    """Numerators and denominators of the convergents of a continued fraction."""
    p, q, p0, q0 = 1, 0, 0, 1
    for a in terms:
        p, q, p0, q0 = a * p + p0, a * q + q0, p, q
        yield p, q


# Families

# name: (modulus, its two prime factors)
RSA_FACTORED = {
    "RSA-100": (
        1522605027922533360535618378132637429718068114961380688657908494580122963258952897654000350692006139,
        37975227936943673922808872755445627854565536638199,
        40094690950920881030683735292761468389214899724061,
    ),
    "RSA-110": (
        35794234179725868774991807832568455403003778024228226193532908190484670252364677411513516111204504060317568667,
        6122421090493547576937037317561418841225758554253106999,
        5846418214406154678836553182979162384198610505601062333,
    ),
    "RSA-120": (
        227010481295437363334259960947493668895875336466084780038173258247009162675779735389791151574049166747880487470296548479,
        327414555693498015751146303749141488063642403240171463406883,
        693342667110830181197325401899700641361965863127336680673013,
    ),
    "RSA-129": (
        114381625757888867669235779976146612010218296721242362562561842935706935245733897830597123563958705058989075147599290026879543541,
        3490529510847650949147849619903898133417764638493387843990820577,
        32769132993266709549961988190834461413177642967992942539798288533,
    ),
    "RSA-130": (
        1807082088687404805951656164405905566278102516769401349170127021450056662540244048387341127590812303371781887966563182013214880557,
        39685999459597454290161126162883786067576449112810064832555157243,
        45534498646735972188403686897274408864356301263205069600999044599,
    ),
    "RSA-140": (
        21290246318258757547497882016271517497806703963277216278233383215381949984056495911366573853021918316783107387995317230889569230873441936471,
        3398717423028438554530123627613875835633986495969597423490929302771479,
        6264200187401285096151654948264442219302037178623509019111660653946049,
    ),
    "RSA-150": (
        155089812478348440509606754370011861770654545830995430655466945774312632703463465954363335027577729025391453996787414027003501631772186840890795964683,
        348009867102283695483970451047593424831012817350385456889559637548278410717,
        445647744903640741533241125787086176005442536297766153493419724532460296199,
    ),
    "RSA-155": (
        10941738641570527421809707322040357612003732945449205990913842131476349984288934784717997257891267332497625752899781833797076537244027146743531593354333897,
        102639592829741105772054196573991675900716567808038066803341933521790711307779,
        106603488380168454820927220360012878679207958575989291522270608237193062808643,
    ),
    "RSA-160": (
        2152741102718889701896015201312825429257773588845675980170497676778133145218859135673011059773491059602497907111585214302079314665202840140619946994927570407753,
        45427892858481394071686190649738831656137145778469793250959984709250004157335359,
        47388090603832016196633832303788951973268922921040957944741354648812028493909367,
    ),
    "RSA-576": (
        188198812920607963838697239461650439807163563379417382700763356422988859715234665485319060606504743045317388011303396716199692321205734031879550656996221305168759307650257059,
        398075086424064937397125500550386491199064362342526708406385189575946388957261768583317,
        472772146107435302536223071973048224632914695302097116459852171130520711256363590397527,
    ),
    "RSA-640": (
        3107418240490043721350750035888567930037346022842727545720161948823206440518081504556346829671723286782437916272838033415471073108501919548529007337724822783525742386454014691736602477652346609,
        1634733645809253848443133883865090859841783670033092312181110852389333100104508151212118167511579,
        1900871281664822113126851573935413975471896789968515493666638539088027103802104498957191261465571,
    ),
    "RSA-200": (
        27997833911221327870829467638722601621070446786955428537560009929326128400107609345671052955360856061822351910951365788637105954482006576775098580557613579098734950144178863178946295187237869221823983,
        3532461934402770121272604978198464368671197400197625023649303468776121253679423200058547956528088349,
        7925869954478333033347085841480059687737975857364219960734330341455767872818152135381409304740185467,
    ),
    "RSA-704": (
        74037563479561712828046796097429573142593188889231289084936232638972765034028266276891996419625117843995894330502127585370118968098286733173273108930900552505116877063299072396380786710086096962537934650563796359,
        9091213529597818878440658302600437485892608310328358720428512168960411528640933367824950788367956756806141,
        8143859259110045265727809126284429335877899002167627883200914172429324360133004116702003240828777970252499,
    ),
    "RSA-768": (
        1230186684530117755130494958384962720772853569595334792197322452151726400507263657518745202199786469389956474942774063845925192557326303453731548268507917026122142913461670429214311602221240479274737794080665351419597459856902143413,
        33478071698956898786044169848212690817704794983713768568912431388982883793878002287614711652531743087737814467999489,
        36746043666799590428244633799627952632279158164343087642676032283815739666511279233373417143396810270092798736308917,
    ),
    "RSA-240": (
        124620366781718784065835044608106590434820374651678805754818788883289666801188210855036039570272508747509864768438458621054865537970253930571891217684318286362846948405301614416430468066875699415246993185704183030512549594371372159029236099,
        509435952285839914555051023580843714132648382024111473186660296521821206469746700620316443478873837606252372049619334517,
        244624208838318150567813139024002896653802092578931401452041221336558477095178155258218897735030590669041302045908071447,
    ),
    "RSA-250": (
        2140324650240744961264423072839333563008614715144755017797754920881418023447140136643345519095804679610992851872470914587687396261921557363047454770520805119056493106687691590019759405693457452230589325976697471681738069364894699871578494975937497937,
        64135289477071580278790190170577389084825014742943447208116859632024532344630238623598752668347708737661925585694639798853367,
        33372027594978156556226010605355114227940760344767554666784520987023841729210037080257448673296881877565718986258036932062711,
    ),
}

# name: (modulus, the decimal digit sum that was published with it); not factored
RSA_OPEN = {
    "RSA-896": (
        412023436986659543855531365332575948179811699844327982845455626433876445565248426198098870423161841879261420247188869492560931776375033421130982397485150944909106910269861031862704114880866970564902903653658867433731720813104105190864254793282601391257624033946373269391,
        1222,
    ),
    "RSA-1024": (
        135066410865995223349603216278805969938881475605667027524485143851526510604859533833940287150571909441798207282164471551373680419703964191743046496589274256239341020864383202110372958725762358509643110564073501508187510676594629205563685529475213500852879416377328533906109750544334999811150056977236890927563,
        1369,
    ),
    "RSA-2048": (
        25195908475657893494027183240048398571429282126204032027777137836043662020707595556264018525880784406918290641249515082189298559149176184502808489120072844992687392807287776735971418347270261896375014971824691165077613379859095700097330459748808428401797429100642458691817195118746121515172654632282216869987549182422433637259085141865462043576798423387184774447920739934236584823824281198163815010674810451660377306056201619676256133844143603833904414952634432190114657544454178424020924616515723350778707749817125772467962926386356373289912154831438167899885040445364023527381951378636564391212010397122822120720357,
        2738,
    ),
}


def rsa():
    family = Family(
        "RSA challenge moduli",
        "RSA Factoring Challenge (RSA Laboratories, 1991-2007) and RSA-129 (Scientific American, "
        "August 1977). The factored\n"
        "moduli are checked by multiplying their published factors; RSA-896, RSA-1024 and "
        "RSA-2048, not factored, by their\n"
        "length and the decimal digit sum in the challenge's list. Over a factor the remainder is "
        "0.",
    )
    for name, (n, p, q) in RSA_FACTORED.items():
        assert p * q == n and is_probable_prime(p) and is_probable_prime(q), name
        family.add(n, p, f"{name} / p", q=q, r=0)
    for name, (n, digit_sum) in RSA_OPEN.items():
        assert sum(map(int, str(n))) == digit_sum and n.bit_length() == int(name[4:]), name
        assert not is_probable_prime(n), name
    moduli = {name: row[0] for name, row in {**RSA_FACTORED, **RSA_OPEN}.items()}
    names = list(moduli)
    for left, right in zip(names[1:], names):
        family.add(moduli[left], moduli[right], f"{left} / {right}")
    n = moduli["RSA-2048"]
    family.add(2**4096, n, "Barrett constant 2^4096 / RSA-2048")
    family.add((n - 1) ** 2, n, "(RSA-2048 - 1)^2 / RSA-2048", q=n - 2, r=1)
    for name in ("RSA-1024", "RSA-2048"):
        n = moduli[name]
        x = pow(2, 65537, n)
        family.add(x * x, n, f"(2^65537 mod {name})^2 / {name}")
    return family, list(moduli.values())


def batch_gcd(moduli):
    family = Family(
        "Batch GCD of the RSA moduli",
        "Bernstein's remainder tree: the product of all moduli above over the square of each. "
        "gcd(n, r / n) = 1\n"
        "then says that n shares no factor with the others.",
    )
    product = prod(moduli)
    for n in moduli:
        r = product % (n * n)
        assert r % n == 0 and gcd(n, r // n) == 1
        family.add(product, n * n, f"product / ({n.bit_length()}-bit modulus)^2", r=r)
    return family


MERSENNE_PRIMES = [
    521,
    607,
    1279,
    2203,
    2281,
    3217,
    4253,
    4423,
    9689,
    9941,
    11213,
    19937,
    21701,
    23209,
]


def mersenne_numbers():
    family = Family(
        "Mersenne numbers",
        "M(p) = 2^p - 1 with p of the Mersenne primes (checked by the Lucas-Lehmer test up to p = "
        "4423), their perfect\n"
        "numbers 2^(p-1) M(p), composite M(p) over a known factor 2kp + 1, and M(ab) over M(a): "
        "remainder 0.",
    )
    for p in MERSENNE_PRIMES:
        if p <= 4423:
            s, m = 4, mersenne(p)
            for _ in range(p - 2):
                s = s * s - 2
                s = (s & m) + (s >> p)
                s = (s & m) + (s >> p)
            assert s in (0, m), p
    for small, large in zip(MERSENNE_PRIMES, MERSENNE_PRIMES[1:]):
        family.add(
            mersenne(large), mersenne(small), f"M({large}) / M({small})", r=mersenne(large % small)
        )
    for p in (521, 1279, 2281, 4423, 9689, 11213):
        perfect = 2 ** (p - 1) * mersenne(p)
        family.add(perfect, mersenne(p), f"perfect number of p = {p} / M({p})", q=2 ** (p - 1), r=0)
    for p, factor in ((67, 193707721), (101, 7432339208719), (929, 13007), (1093, 43721)):
        family.add(mersenne(p), factor, f"M({p}) / {factor}", r=0)
    for limit in (1024, 2048, 4096, 8192, 16384, 32768):
        # p = 3 mod 4 and 2p + 1 both prime: 2p + 1 divides M(p) (Euler)
        p = max(p for p in PRIMES if p < limit and p % 4 == 3 and is_probable_prime(2 * p + 1))
        family.add(mersenne(p), 2 * p + 1, f"M({p}) / {2 * p + 1}", r=0)
    for a, b in (
        (61, 8),
        (89, 23),
        (127, 31),
        (521, 4),
        (607, 27),
        (1279, 12),
        (4423, 7),
        (9689, 3),
        (16384, 2),
    ):
        family.add(mersenne(a * b), mersenne(a), f"M({a * b}) / M({a})", r=0)
    for a, b in ((32768, 32767), (32767, 16384), (32768, 10923), (16411, 64), (30011, 8193)):
        family.add(mersenne(a), mersenne(b), f"M({a}) / M({b})", r=mersenne(a % b))
    return family


def lucas_lehmer():
    family = Family(
        "Lucas-Lehmer steps",
        "s(0) = 4, s(i+1) = s(i)^2 - 2 mod M(p): squares of terms over M(p), as the primality test "
        "of a Mersenne\n"
        "number meets them. For a prime M(p) the last step, s(p-3)^2 - 2 over M(p), leaves 0.",
    )
    for p in (521, 1279, 2203, 3217, 4423):
        m, s = mersenne(p), 4
        for i in range(p - 3):
            if i == p // 2:
                family.add(s * s, m, f"s({i})^2 / M({p})")
            s = (s * s - 2) % m
        family.add(s * s - 2, m, f"s({p - 3})^2 - 2 over M({p})", r=0)
    for p in (8191, 16381):
        m, s = mersenne(p), 4
        for i in range(p.bit_length() + 6):
            s = (s * s - 2) % m
        family.add(s * s, m, f"s({p.bit_length() + 6})^2 / M({p})")
    return family


FERMAT_FACTORS = {
    5: (641, 6700417),
    6: (274177, 67280421310721),
    7: (59649589127497217, 5704689200685129054721),
    8: (1238926361552897, 93461639715357977769163558199606896584051237541638188580280321),
    9: (2424833, 7455602825647884208337395736200454918783366342657),
    10: (45592577, 6487031809, 4659775785220018543264560743076778192897),
    11: (319489, 974849, 167988556341760475137, 3560841906445833920513),
    12: (
        114689,
        26017793,
        63766529,
        190274191361,
        1256132134125569,
        568630647535356955169033410940867804839360742060818433,
    ),
    13: (2710954639361, 2663848877152141313, 3603109844542291969, 319546020820551643220672513),
    14: (116928085873074369829035993834596371340386703423373313,),
}


def fermat_numbers():
    family = Family(
        "Fermat numbers",
        "F(k) = 2^(2^k) + 1 over its published prime factors and products of them (remainder 0; "
        "complete up to F(8)),\n"
        "over F(j) (remainder 2, as F(k) - 2 is the product of all smaller ones), and F(15) - 2 "
        "over F(j) (remainder 0).",
    )
    for k, factors in FERMAT_FACTORS.items():
        for p in factors:
            assert is_probable_prime(p) and p % 2 ** (k + 2) == 1
            family.add(fermat(k), p, f"F({k}) / {p if p < 10**12 else str(p)[:8] + '...'}", r=0)
        if k <= 8:
            assert prod(factors) == fermat(k)
        elif len(factors) > 1:
            family.add(fermat(k), prod(factors), f"F({k}) / product of these factors", r=0)
    for k in range(9, 15):
        family.add(fermat(k), fermat(k - 1), f"F({k}) / F({k - 1})", r=2)
    for j in (5, 10, 11, 12, 13, 14):
        family.add(fermat(15) - 2, fermat(j), f"(F(15) - 2) / F({j})", r=0)
    return family


def factorials():
    family = Family(
        "Factorials",
        "n! over k!, over k! (n-k)! (the binomial coefficient: remainder 0) and over its power of "
        "two; by Wilson's\n"
        "theorem (p-1)! + 1 over a prime p leaves 0, and over p^2 so for 5, 13, 563 and no other "
        "known prime.",
    )
    for n in (100, 170, 365, 500, 720, 1000, 1500, 2000, 2500, 3000, 3200):
        family.add(factorial(n), factorial(n // 2), f"{n}! / {n // 2}!", r=0)
    for n in (200, 400, 800, 1600, 2400, 3200):
        k = n // 3
        family.add(
            factorial(n),
            factorial(k) * factorial(n - k),
            f"{n}! / ({k}! {n - k}!)",
            q=comb(n, k),
            r=0,
        )
    for n in (300, 1024, 2048, 3100):
        twos = n - n.bit_count()
        family.add(factorial(n), 2**twos, f"{n}! / 2^{twos}", r=0)
        assert factorial(n) >> twos & 1
    for n, m in ((1000, 997), (2000, 1999), (3200, 2999)):
        family.add(factorial(n), factorial(m), f"{n}! / {m}!", r=0)
    for p in (13, 101, 563, 1009, 2003, 3203):
        family.add(factorial(p - 1) + 1, p, f"({p - 1}! + 1) / {p}", r=0)
    family.add(factorial(562) + 1, 563**2, "(562! + 1) / 563^2: Wilson prime", r=0)
    for n in (450, 1700, 3210):
        family.add(factorial(n) + 1, factorial(n // 2) - 1, f"({n}! + 1) / ({n // 2}! - 1)")
    return family


def primorials():
    family = Family(
        "Primorials and least common multiples",
        "p#: the product of the primes up to p; lcm(1..n) and n! over it are multiples of n# "
        "(remainder 0); Euclid's\n"
        "numbers p# + 1 over a smaller primorial leave 1.",
    )
    for p in (211, 541, 1009, 2003, 4001, 8009, 12007, 16001, 20011, 22501):
        family.add(primorial(p), primorial(p // 3), f"{p}# / {p // 3}#", r=0)
        family.add(primorial(p) + 1, primorial(p // 2), f"({p}# + 1) / {p // 2}#", r=1)
    for n in (500, 1500, 2500, 3200):
        family.add(factorial(n), primorial(n), f"{n}! / {n}#", r=0)
    for n in (1000, 5000, 10000, 22000):
        m = lcm(*range(1, n + 1))
        family.add(m, primorial(n), f"lcm(1..{n}) / {n}#", r=0)
    return family


def repunits():
    family = Family(
        "Repunits",
        "R(n) = (10^n - 1) / 9, ones only; R(n) over R(m) leaves R(n mod m). R(19), R(23), R(317), "
        "R(1031) are prime.",
    )
    for n in (19, 23, 317, 1031):
        assert is_probable_prime(repunit(n))
    for n, m in (
        (38, 19),
        (230, 23),
        (317, 23),
        (634, 317),
        (1031, 317),
        (2062, 1031),
        (3170, 317),
        (4096, 2048),
    ):
        family.add(repunit(n), repunit(m), f"R({n}) / R({m})", r=repunit(n % m))
    for n, m in (
        (5000, 3001),
        (6000, 77),
        (7777, 1111),
        (8192, 4097),
        (9001, 4500),
        (9863, 9862),
        (9864, 19),
    ):
        family.add(repunit(n), repunit(m), f"R({n}) / R({m})", r=repunit(n % m))
    return family


def fibonacci_numbers():
    family = Family(
        "Fibonacci and Lucas numbers",
        "F(n) over F(m) with m | n (remainder 0), F(2n) = F(n) L(n), L(n) over L(m) with n / m odd "
        "(remainder 0), and\n"
        "neighbours, where the quotient is 1: Euclid's algorithm is slowest on them.",
    )
    f = lambda n: fibonacci(n)[0]
    for n, m in (
        (300, 100),
        (720, 90),
        (1500, 500),
        (3000, 1000),
        (6000, 1500),
        (12000, 4000),
        (24000, 3000),
    ):
        family.add(f(n), f(m), f"F({n}) / F({m})", r=0)
    for n in (700, 1400, 2900, 5900, 11800, 23600):
        family.add(f(2 * n), f(n), f"F({2 * n}) / F({n})", q=lucas(n), r=0)
    for n, m in ((900, 300), (2500, 500), (7000, 1000), (15000, 5000), (45000, 9000)):
        family.add(lucas(n), lucas(m), f"L({n}) / L({m})", r=0)
    for n in (1475, 5901, 11802, 23604, 47000):
        family.add(f(n + 1), f(n), f"F({n + 1}) / F({n})", q=1, r=f(n - 1))
    for n, m in ((46000, 23001), (47000, 31333), (30000, 29999 // 2)):
        family.add(f(n), f(m), f"F({n}) / F({m})")
    return family


def binomials():
    family = Family(
        "Catalan numbers and binomial coefficients",
        "C(n) = binom(2n, n) / (n + 1): binom(2n, n) over n + 1 (remainder 0), C(n) over C(m), and "
        "binom(2p-1, p-1) - 1\n"
        "over p^3 (remainder 0 for every prime p >= 5: Wolstenholme).",
    )
    for n in (50, 500, 1000, 2047, 4096, 8191, 16380):
        family.add(comb(2 * n, n), n + 1, f"binom({2 * n}, {n}) / {n + 1}", q=catalan(n), r=0)
    for n, m in ((600, 200), (1500, 750), (3000, 1000), (6000, 5999), (12000, 6001), (16000, 5000)):
        family.add(catalan(n), catalan(m), f"C({n}) / C({m})")
    for p in (103, 1009, 4099, 16381):
        family.add(
            comb(2 * p - 1, p - 1) - 1, p**3, f"(binom({2 * p - 1}, {p - 1}) - 1) / {p}^3", r=0
        )
    return family


def powers():
    family = Family(
        "Powers",
        "10^a over powers of 3, 7, 2 and 5; 3^k over 2^k (Waring's problem); 2^(p-1) - 1 over p "
        "(Fermat: remainder 0) and\n"
        "over p^2, where 1093 and 3511 leave 0 and no other known prime does (Wieferich); smooth "
        "numbers.",
    )
    for a, b in ((300, 100), (616, 300), (1233, 800), (2466, 1234), (4932, 5000), (9864, 9999)):
        family.add(10**a, 3**b, f"10^{a} / 3^{b}")
    for a, b in ((308, 108), (1000, 400), (3000, 1700), (4900, 1), (9864, 5800)):
        family.add(10**a, 7**b, f"10^{a} / 7^{b}")
    for a in (308, 2000, 9864):
        family.add(10**a, 2**a, f"10^{a} / 2^{a}", q=5**a, r=0)
        family.add(10**a + 1, 5**a, f"(10^{a} + 1) / 5^{a}", q=2**a, r=1)
    for k in (640, 2584, 6000, 12920, 20673):
        family.add(3**k, 2**k, f"3^{k} / 2^{k}")
    for p in (1093, 3511):
        family.add(2 ** (p - 1) - 1, p * p, f"(2^{p - 1} - 1) / {p}^2: Wieferich prime", r=0)
    for p in (2003, 8191, 16381, 32749):
        assert (2 ** (p - 1) - 1) % (p * p)
        family.add(2 ** (p - 1) - 1, p, f"(2^{p - 1} - 1) / {p}", r=0)
    for a, b in ((645, 400), (2000, 1800), (10000, 5000)):
        family.add(5040 ** (a // 12), 720 ** (b // 12), f"smooth: 5040^{a // 12} / 720^{b // 12}")
    for k in (80, 320, 1250):
        smooth = prod(p ** (k // p.bit_length()) for p in PRIMES[:12])
        family.add(
            smooth,
            30030 ** (k // 6),
            f"smooth: product of p^({k} / bit length of p), p <= 37, over 30030^{k // 6}",
        )
    return family


def constants():
    family = Family(
        "Digits of pi, e, ln 2 and square roots",
        "floor(c * scale), from Machin's formula (checked by Gauss's), the series of 1/k! and of 2 "
        "/ ((2k+1) 3^(2k+1)),\n"
        "and the integer square root, with guard digits; quotients of two constants on different "
        "scales.",
    )
    for bits in (500, 1000, 2000, 4000, 8000, 16000, 32700):
        half = bits // 2
        family.add(pi_scaled(2**bits), e_scaled(2**half), f"pi 2^{bits} / e 2^{half}")
        family.add(
            e_scaled(2**bits),
            sqrt_scaled(2, 2 ** (half + 32)),
            f"e 2^{bits} / sqrt(2) 2^{half + 32}",
        )
    for digits in (150, 600, 1200, 2400, 4900, 9800):
        half = digits // 3
        family.add(
            pi_scaled(10**digits),
            10**half,
            f"pi 10^{digits} / 10^{half}",
            q=pi_scaled(10 ** (digits - half)),
        )
        family.add(
            ln2_scaled(10**digits),
            sqrt_scaled(3, 10**half),
            f"ln 2 10^{digits} / sqrt(3) 10^{half}",
        )
    for bits in (510, 2040, 8180, 16360):
        root = sqrt_scaled(2, 2**bits)
        family.add(2 ** (2 * bits + 1), root, f"2 * 4^{bits} / isqrt(2 * 4^{bits})")
        family.add(
            root * root, root + 1, f"s^2 / (s + 1), s = isqrt(2 * 4^{bits})", q=root - 1, r=1
        )
    return family


def continued_fractions():
    family = Family(
        "Convergents of continued fractions",
        "p(n) / q(n) of sqrt(2) = [1; 2, 2, ...], e = [2; 1, 2, 1, 1, 4, 1, ...] and the golden "
        "ratio: 2^k p over q is the\n"
        "constant on the scale 2^k, checked against its digits; p over q alone gives the first "
        "term.",
    )
    root2 = list(convergents([1] + [2] * 6500))
    euler = list(convergents([2] + [x for k in range(1, 900) for x in (1, 2 * k, 1)]))
    for n in (200, 800, 1600, 3200, 6400):
        p, q = root2[n]
        k = 2 * q.bit_length() - 20
        assert p * p - 2 * q * q in (1, -1)
        family.add(p, q, f"sqrt(2): p({n}) / q({n})", q=1)
        k = min(k, MAX_BITS - p.bit_length())
        near = sqrt_scaled(2, 2**k)
        family.add(p << k, q, f"sqrt(2): 2^{k} p({n}) / q({n})", q=(p << k) // q)
        assert abs((p << k) // q - near) <= 1
    for n in (100, 300, 700, 1300, 2100):
        p, q = euler[n]
        k = min(2 * q.bit_length() - 20, MAX_BITS - p.bit_length())
        assert abs((p << k) // q - e_scaled(2**k)) <= 1
        family.add(p << k, q, f"e: 2^{k} p({n}) / q({n})")
    for n in (500, 2000, 8000, 15000):
        b, a = fibonacci(n)
        k = 2 * b.bit_length() - 20
        k = min(k, MAX_BITS - a.bit_length())
        golden = (2**k + sqrt_scaled(5, 2**k)) // 2
        assert abs((a << k) // b - golden) <= 1
        family.add(a << k, b, f"golden ratio: 2^{k} F({n + 1}) / F({n})")
    return family


def curve_primes():
    """(name, p, x, y) of the standard base points, checked on their curves."""
    p192 = 2**192 - 2**64 - 1
    p224 = 2**224 - 2**96 + 1
    p256 = 2**256 - 2**224 + 2**192 + 2**96 - 1
    p384 = 2**384 - 2**128 - 2**96 + 2**32 - 1
    p521 = 2**521 - 1
    weierstrass = [
        (
            "P-192",
            p192,
            -3,
            0x64210519E59C80E70FA7E9AB72243049FEB8DEECC146B9B1,
            0x188DA80EB03090F67CBF20EB43A18800F4FF0AFD82FF1012,
            0x07192B95FFC8DA78631011ED6B24CDD573F977A11E794811,
        ),
        (
            "P-224",
            p224,
            -3,
            0xB4050A850C04B3ABF54132565044B0B7D7BFD8BA270B39432355FFB4,
            0xB70E0CBD6BB4BF7F321390B94A03C1D356C21122343280D6115C1D21,
            0xBD376388B5F723FB4C22DFE6CD4375A05A07476444D5819985007E34,
        ),
        (
            "P-256",
            p256,
            -3,
            0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
            0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
            0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
        ),
        (
            "secp256k1",
            2**256 - 2**32 - 977,
            0,
            7,
            0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
            0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
        ),
        (
            "P-384",
            p384,
            -3,
            0xB3312FA7E23EE7E4988E056BE3F82D19181D9C6EFE8141120314088F5013875AC656398D8A2ED19D2A85C8EDD3EC2AEF,
            0xAA87CA22BE8B05378EB1C71EF320AD746E1D3B628BA79B9859F741E082542A385502F25DBF55296C3A545E3872760AB7,
            0x3617DE4A96262C6F5D9E98BF9292DC29F8F41DBD289A147CE9DA3113B5F0B8C00A60B1CE1D7E819D7A431D7C90EA0E5F,
        ),
        (
            "P-521",
            p521,
            -3,
            0x051953EB9618E1C9A1F929A21A0B68540EEA2DA725B99B315F3B8B489918EF109E156193951EC7E937B1652C0BD3BB1BF073573DF883D2C34F1EF451FD46B503F00,
            0xC6858E06B70404E9CD9E3ECB662395B4429C648139053FB521F828AF606B4D3DBAA14B5E77EFE75928FE1DC127A2FFA8DE3348B3C1856A429BF97E7E31C2E5BD66,
            0x11839296A789A3BC0045C8A5FB42C7D1BD998F54449579B446817AFBD17273E662C97EE72995EF42640C550B9013FAD0761353C7086A272C24088BE94769FD16650,
        ),
    ]
    for name, p, a, b, x, y in weierstrass:
        assert (y * y - x**3 - a * x - b) % p == 0, name
        yield name, p, x, y
    p, x, y = (
        2**255 - 19,
        9,
        14781619447589544791020593568409986887264606134616475288964881837755586237401,
    )
    assert (y * y - x**3 - 486662 * x**2 - x) % p == 0
    yield "Curve25519", p, x, y
    p = 2**448 - 2**224 - 1
    x = 224580040295924300187604334099896036246789641632564134246125461686950415467406032909029192869357953282578032075146446173674602635247710
    y = 298819210078481492676017930443930673437544040154080242095928241372331506189835876003536878655418784733982303233503462500531545062832660
    assert (x * x + y * y - 1 + 39081 * x * x * y * y) % p == 0
    yield "Ed448", p, x, y


def field_primes():
    family = Family(
        "Elliptic-curve field primes",
        "NIST FIPS 186 / SEC 2 (P-192 .. P-521, secp256k1), RFC 7748 and 8032 (Curve25519, Ed448): "
        "products of the base\n"
        "point's coordinates, reduced modulo the field prime. The points are checked on their "
        "curves.",
    )
    for name, p, x, y in curve_primes():
        assert is_probable_prime(p), name
        family.add(y * y, p, f"y^2 / {name}")
        family.add(x * x * y, p, f"x^2 y / {name}")
        family.add(y ** (p.bit_length() // 32 or 2), p, f"y^{p.bit_length() // 32} / {name}")
    return family


def dh_groups():
    """(name, p): safe primes defined by the digits of pi (RFC 2409, 3526) and of e (RFC 7919)."""
    oakley = (
        (768, 149686),
        (1024, 129093),
        (1536, 741804),
        (2048, 124476),
        (3072, 1690314),
        (4096, 240904),
    )
    for n, offset in oakley + ((6144, 929484), (8192, 4743158)):
        yield f"MODP {n}", 2**n - 2 ** (n - 64) - 1 + 2**64 * (pi_scaled(2 ** (n - 130)) + offset)
    for n, offset in (
        (2048, 560316),
        (3072, 2625351),
        (4096, 5736041),
        (6144, 15705020),
        (8192, 10965728),
    ):
        yield f"ffdhe{n}", 2**n - 2 ** (n - 64) - 1 + 2**64 * (e_scaled(2 ** (n - 130)) + offset)


def diffie_hellman():
    family = Family(
        "Diffie-Hellman group primes",
        "RFC 2409 and 3526 (MODP, from the digits of pi) and RFC 7919 (ffdhe, from those of e), "
        "computed from their\n"
        "definitions and checked as safe primes up to 4096 bits: squares of 2^x mod p over p, as "
        "modular exponentiation\n"
        "meets them, Barrett constants, and (p - 1)^2 over p.",
    )
    for name, p in dh_groups():
        n = p.bit_length()
        if n <= 4096:
            assert is_probable_prime(p, (2,)) and is_probable_prime((p - 1) // 2, (2,)), name
        else:
            assert pow(2, (p - 1) // 2, p) == 1, name  # 2 is a square modulo each of these primes
        x = pow(2, 3**300 % 2**256, p)
        family.add(x * x, p, f"(2^x mod p)^2 / p, p = {name}")
        family.add(2 ** (2 * n), p, f"Barrett constant of {name}")
        family.add((p - 1) ** 2, p, f"(p - 1)^2 / p, p = {name}", q=p - 2, r=1)
    return family


def hard_inputs():
    family = Family(
        "Divisions that are hard to get right",
        "Operands on which published division code went wrong or that sit on its edges: quotient "
        "estimates off by one or\n"
        "two, divisors 2B^k - 1, B^k +- 1 and powers of two for B = 2^16, 2^32 and 2^64, equal "
        "leading words, longest\n"
        "carry chains, u = qv + r with r = 0, 1 and v - 1, and u < v.",
    )
    for w in (16, 32, 64):
        base = 2**w
        for bits in (1024, 8192, 32768):
            m = bits // w
            for k in (2, m // 2, m - 2):
                v = 2 * base**k - 1
                family.add(
                    v * base // 2, v, f"v = 2B^{k} - 1, u = v B / 2, B = 2^{w}", q=base // 2, r=0
                )
            if w == 64:
                for k, j in ((m // 2, 1), (m // 2, m // 4), (m - 2, m // 2)):
                    v = base // 2 * base**k + base**j - 1
                    if v.bit_length() + 2 <= bits:
                        family.add(
                            3 * v - 1, v, f"v = (B/2) B^{k} + B^{j} - 1, u = 3v - 1", q=2, r=v - 1
                        )
    base = 2**64
    for bits in (1024, 2048, 4096, 16384, 32768):
        m = bits // 64
        full = 2**bits - 1
        family.add(full, 3 * base + 5, f"2^{bits} - 1 over 3B + 5")
        family.add(base ** (m - 1) - 1, 3 * base + 5, f"B^{m - 1} - 1 over 3B + 5")
        family.add(full, base - 1, f"2^{bits} - 1 over B - 1: every quotient digit 1", r=0)
        family.add(full, base ** (m // 2), f"2^{bits} - 1 over B^{m // 2}")
        family.add(full, base ** (m // 2) - 1, f"2^{bits} - 1 over B^{m // 2} - 1", r=0)
        family.add(full, base ** (m // 2) + 1, f"2^{bits} - 1 over B^{m // 2} + 1", r=0)
        family.add(full, full, f"2^{bits} - 1 over itself", q=1, r=0)
        family.add(full - 1, full, f"2^{bits} - 2 over 2^{bits} - 1", q=0)
        family.add(full, 1, f"2^{bits} - 1 over 1", q=full, r=0)
        top = 2 ** (bits // 2 - 1)
        for low, name in ((1, "1"), (2 ** (bits // 4) - 1, f"2^{bits // 4} - 1")):
            v, q = top + low, 2 ** (bits // 2) - 1
            family.add(
                q * v + v - 1,
                v,
                f"v = 2^{bits // 2 - 1} + {name}, u = (2^{bits // 2} - 1) v + v - 1",
                q=q,
                r=v - 1,
            )
        v = base ** (m // 2) - base ** (m // 4)
        shift = bits - v.bit_length()
        family.add(
            (v << shift) - 1,
            v,
            f"equal leading words: u = v 2^{shift} - 1",
            q=2**shift - 1,
            r=v - 1,
        )
        family.add(
            (v << shift) + 1, v, f"equal leading words: u = v 2^{shift} + 1", q=2**shift, r=1
        )
    family.add(2**384 - 1, 2**321 - 1, "2^384 - 1 over 2^321 - 1", q=2**63, r=2**63 - 1)
    family.add(0xFFFFFC, 0x1FFFFF, "0xfffffc over 0x1fffff")
    family.add(int("72" * 128, 16), int("72" * 40, 16), "repeated bytes 0x72")
    family.add(int("72" * 4096, 16), int("72" * 1000, 16), "repeated bytes 0x72")
    family.add(0, 7, "0 over 7", q=0, r=0)
    family.add(0, 2**32767, "0 over 2^32767", q=0, r=0)
    family.add(6, 7, "u < v", q=0, r=6)
    return family


def families():
    challenge, moduli = rsa()
    yield challenge
    yield batch_gcd(moduli)
    for build in (
        mersenne_numbers,
        lucas_lehmer,
        fermat_numbers,
        factorials,
        primorials,
        repunits,
        fibonacci_numbers,
        binomials,
        powers,
        constants,
        continued_fractions,
        field_primes,
        diffie_hellman,
        hard_inputs,
    ):
        yield build()


def written(n):
    return str(n) if n.bit_length() <= DECIMAL_BITS else hex(n)


def render():
    lines = [
        "# Pairs of integers for examples/divide: `dividend divisor`, decimal or 0x hexadecimal, "
        "one pair a line.",
        "# Made by cli/data/make_divide.py; change that script, not this file.",
    ]
    total = 0
    for family in families():
        lines += ["", f"# family: {family.title}"]
        lines += [f"# {line}" for line in family.source.splitlines()]
        lines += [f"{written(u)} {written(v)} # {label}" for u, v, label in family.rows]
        total += len(family.rows)
    assert total >= 200
    return "\n".join(lines) + "\n", total


def main():
    parser = argparse.ArgumentParser(description="Writes divide.txt beside this script.")
    parser.add_argument(
        "--check", action="store_true", help="compare with the stored file, write nothing"
    )
    arguments = parser.parse_args()
    text, total = render()
    if arguments.check:
        if TARGET.read_text(encoding="ascii") != text:
            sys.exit(f"{TARGET.name} is not what this script makes")
        print(f"{TARGET.name} is up to date: {total} pairs")
    else:
        TARGET.write_text(text, encoding="ascii", newline="\n")
        print(f"{TARGET.name}: {total} pairs, {len(text)} bytes")


if __name__ == "__main__":
    main()
