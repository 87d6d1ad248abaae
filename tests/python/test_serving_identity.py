"""Clients that are known by a certificate of TLS, or by a token of an identity provider."""

import datetime
import json
import ssl
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from serving_fakes import WEIGHTS, FakeSharing, client_table, config, parties
from test_serving_client import https_certificate
from test_serving_http import refused

import tacit
from tacit import TacitError
from tacit.cli import main
from tacit.serving import described
from tacit.serving.clients import Client, Shown, clients_of
from tacit.serving.policy import Policy, key_hash, salt_of

X = np.arange(8, dtype=np.float32).reshape(2, 4)
PEM = serialization.Encoding.PEM
PKCS8, PLAIN = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()


def certificate(folder, name, *, days=9, signer=None, key=None):
    """A client's certificate and key; self-signed unless another signs it."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    named = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    issuer, signing = signer or (named, key)
    now = datetime.datetime.now(datetime.timezone.utc)
    built = x509.CertificateBuilder(issuer, named, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now - datetime.timedelta(days=20))
    built = built.not_valid_after(now + datetime.timedelta(days=days))
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    made = built.sign(signing, hashes.SHA256())
    paths = folder / f"{name}.pem", folder / f"{name}-key.pem"
    paths[0].write_bytes(made.public_bytes(PEM))
    paths[1].write_bytes(key.private_bytes(PEM, PKCS8, PLAIN))
    return paths, (named, key)


@pytest.fixture(scope="module")
def https(tmp_path_factory):
    """Three parties by HTTPS: a hospital is known by its certificate, a bank by that and a key.

    The certificate of a clinic is of an authority, which has issued others, too.
    """
    folder = tmp_path_factory.mktemp("identity")
    _, authority = certificate(folder, "authority")
    clinic, _ = certificate(folder, "clinic", signer=authority)
    certificate(folder, "neighbour", signer=authority)
    hospital, _ = certificate(folder, "hospital")
    bank, _ = certificate(folder, "bank")
    tables = [
        {"name": "hospital", "certificate": str(hospital[0])},
        {"name": "clinic", "certificate": str(clinic[0])},
        client_table("bank", "key-of-bank", certificate=str(bank[0])),
        client_table("shop", "key-of-shop"),
    ]
    own, key = https_certificate(folder)
    more = {"certificate": str(own), "key": str(key)}
    with parties(folder, (tables,) * 3, **more) as (running, worlds):
        yield running, worlds["digits"], own, folder


def ask(https, identity=None, key=None, **more):
    running, _, own, _ = https
    urls = [f"https://localhost:{one.port}" for one in running]
    given = {"certificates": own, "timeout": 3, "identity": identity, "key": key, **more}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(described, "make_sharing", FakeSharing)
        with tacit.connect(urls, **given) as service:
            return service.predict("digits", X).output


def pair(https, name):
    folder = https[3]
    return folder / f"{name}.pem", folder / f"{name}-key.pem"


def unknown(https, **given):
    with pytest.raises(tacit.ServiceError) as caught:
        ask(https, **given)
    assert caught.value.code == "unknown-client", caught.value


def test_a_client_is_known_by_its_certificate(https):
    np.testing.assert_allclose(ask(https, pair(https, "hospital")), X @ WEIGHTS, rtol=1e-5)
    lines = [each for each in https[0][0].audited if each["kind"] == "request"]
    assert lines[-1]["client"] == "hospital"
    assert ask(https, key="key-of-shop").shape == (2, 3)


def test_a_certificate_of_an_authority_is_its_clients_alone(https):
    np.testing.assert_allclose(ask(https, pair(https, "clinic")), X @ WEIGHTS, rtol=1e-5)
    lines = [each for each in https[0][0].audited if each["kind"] == "request"]
    assert lines[-1]["client"] == "clinic"
    # Neither the authority nor whoever else it knows is let in.
    for other in ("authority", "neighbour"):
        with pytest.raises(tacit.ServiceError) as caught:
            ask(https, pair(https, other))
        assert caught.value.code in ("unreachable", "timeout")


def test_all_that_a_client_has_to_show(https):
    assert ask(https, pair(https, "bank"), "key-of-bank").shape == (2, 3)
    unknown(https, key="key-of-bank")
    unknown(https, identity=pair(https, "bank"))
    unknown(https, identity=pair(https, "hospital"), key="key-of-bank")
    # A wrong key beside a right certificate is not overlooked.
    unknown(https, identity=pair(https, "hospital"), key="wrong")
    unknown(https)


def test_certificates_that_are_not_the_clients(https, tmp_path):
    """TLS refuses those of strangers; one that a client has signed is nobody's."""
    stranger, _ = certificate(tmp_path, "hospital")
    expired, _ = certificate(tmp_path, "old", days=-1)
    for identity in (stranger, expired):
        with pytest.raises(tacit.ServiceError) as caught:
            ask(https, identity)
        assert caught.value.code in ("unreachable", "timeout")
    hospital = https[3] / "hospital.pem"
    key = serialization.load_pem_private_key((https[3] / "hospital-key.pem").read_bytes(), None)
    name = x509.load_pem_x509_certificate(hospital.read_bytes()).subject
    child, _ = certificate(tmp_path, "child", signer=(name, key))
    unknown(https, identity=child)
    # The same key in another certificate is another certificate.
    again, _ = certificate(tmp_path, "again", key=key)
    with pytest.raises(tacit.ServiceError):
        ask(https, again)
    assert ask(https, pair(https, "hospital")).shape == (2, 3)


def test_what_a_request_says_of_a_certificate_is_nothing(https):
    port = https[0][0].port
    trust = ssl.create_default_context(cafile=str(https[2]))
    print_ = "ab" * 32
    headers = {"certificate": print_, "x-client-cert": print_, "x-ssl-client-verify": "SUCCESS"}
    answer = httpx.get(f"https://localhost:{port}/v2/models/digits", headers=headers, verify=trust)
    refused(answer, 401, "unknown-client")


def test_a_certificate_that_is_taken_away_and_one_that_comes(https, tmp_path):
    running = https[0]
    new, _ = certificate(tmp_path, "new")
    tables = {one: list(one.config["clients"]) for one in running}
    try:
        for one in running:
            one.config["clients"] = [
                *[each for each in tables[one] if each["name"] != "hospital"],
                {"name": "new", "certificate": str(new[0])},
            ]
            one.party.reload()
        unknown(https, identity=pair(https, "hospital"))
        assert ask(https, new).shape == (2, 3)
    finally:
        for one in running:
            one.config["clients"] = tables[one]
            one.party.reload()
    assert ask(https, pair(https, "hospital")).shape == (2, 3)


def test_the_certificate_of_https_is_changed_without_a_restart(https, tmp_path):
    """One whose key does not fit is not shown; nor is plain HTTP begun."""
    one = https[0][0]
    service, own = one.config["service"], https[2]
    before, key = own.read_bytes(), Path(service["key"]).read_bytes()

    def shown():
        text = ssl.get_server_certificate(("localhost", one.port))
        return x509.load_pem_x509_certificate(text.encode()).serial_number

    first = shown()
    new, new_key = https_certificate(tmp_path)
    try:
        own.write_bytes(new.read_bytes())
        one.party.reload()
        assert shown() == first
        Path(service["key"]).write_bytes(new_key.read_bytes())
        one.party.reload()
        assert shown() == x509.load_pem_x509_certificate(new.read_bytes()).serial_number
        own.write_bytes(b"")
        one.party.reload()
        one.config["service"] = {**service, "certificate": None}
        one.party.reload()
        assert shown() == x509.load_pem_x509_certificate(new.read_bytes()).serial_number
    finally:
        one.config["service"] = service
        own.write_bytes(before)
        Path(service["key"]).write_bytes(key)
        one.party.reload()
    assert shown() == first
    assert ask(https, pair(https, "hospital")).shape == (2, 3)


def test_a_certificate_and_a_key_that_do_not_fit(https, tmp_path):
    with pytest.raises(tacit.ServiceError, match="not its key"):
        ask(https, (pair(https, "hospital")[0], pair(https, "bank")[1]))


def test_certificates_need_https(tmp_path):
    from tacit.serving.https import meet

    (path, _), _ = certificate(tmp_path, "a")
    made = config(tmp_path, 0, 8100, clients=[{"name": "a", "certificate": str(path)}])
    with pytest.raises(TacitError, match="needs HTTPS"):
        meet(None, made)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([{"name": "a"}], "nothing to show"),
        ([{"name": "a", "subject": "x"}], r"one of \[\[issuers\]\]"),
        ([{"name": "a", "issuer": "x"}], "no subject"),
        ([client_table("a", "k"), client_table("b", "k", certificate="{}")], "one key"),
        ([{"name": "a", "certificate": "{}"}, {"name": "b", "certificate": "{}"}], "certificate"),
        ([{"name": "a", "certificate": "/not/there"}], "no such file"),
    ],
)
def test_clients_that_could_be_taken_for_each_other(tmp_path, tables, words):
    (path, _), _ = certificate(tmp_path, "c")
    filled = [
        {key: str(path) if value == "{}" else value for key, value in each.items()}
        for each in tables
    ]
    with pytest.raises(TacitError, match=words):
        clients_of(config(tmp_path, 0, 8100, clients=filled))


def test_who_shows_nothing_is_nobody():
    """Whatever a client has to show, nothing does not show it."""
    for client in (
        Client("a", b"x" * 32),
        Client("b", certificates=frozenset(["ab"])),
        Client("c", subject=("i", "s")),
    ):
        assert not client.is_shown(Shown())
        assert not client.is_shown(Shown(certificate="cd"))
        assert not client.is_shown(Shown(digest=b"y" * 32, certificate="ab", subject=("i", "t")))


def test_keys_that_are_hashed_with_a_salt(tmp_path, monkeypatch, capsys):
    """Whoever has the config alone cannot try keys."""
    monkeypatch.setenv("KEY_SALT", "0123456789abcdef\n")
    salt = salt_of({"key_salt": {"env": "KEY_SALT"}})
    assert salt == b"0123456789abcdef"
    policy = Policy([Client("a", key_hash("k", salt))], None, salt=salt)
    assert policy.who(["Bearer k"]).name == "a"
    with pytest.raises(Exception, match="not known"):
        Policy([Client("a", key_hash("k", None))], None, salt=salt).who(["Bearer k"])
    monkeypatch.setenv("KEY_SALT", "short")
    with pytest.raises(TacitError, match=r"key_salt.*fewer than 16"):
        salt_of({"key_salt": {"env": "KEY_SALT"}})
    assert salt_of({"key_salt": None}) is None


def test_a_key_is_made_by_a_command(tmp_path, capsys):
    path = tmp_path / "client.key"
    assert main(["key", str(path)]) == 0
    told = capsys.readouterr().out
    made = path.read_text().strip()
    assert key_hash(made, None).hex() in told and made not in told
    assert path.stat().st_mode & 0o777 == 0o600
    assert main(["key", str(path)]) == 2
    assert path.read_text().strip() == made


# Tokens.

ISSUER, AUDIENCE = "https://login.example", "tacit-alpha"


class Provider:
    """Signs tokens, and has its public keys in a file."""

    def __init__(self, folder, kid="one"):
        self.jwt = pytest.importorskip("jwt", reason="PyJWT is not installed")
        self.kid = kid
        self.key = rsa.generate_private_key(65537, 2048)
        self.path = folder / f"{kid}.json"
        algorithm = self.jwt.algorithms.RSAAlgorithm
        self.public = {**json.loads(algorithm.to_jwk(self.key.public_key())), "kid": kid}
        self.path.write_text(json.dumps({"keys": [self.public]}))

    def token(self, key=None, algorithm="RS256", kid=None, without=(), **claims):
        now = int(time.time())
        whole = {"iss": ISSUER, "aud": AUDIENCE, "sub": "lab", "exp": now + 300, "iat": now}
        whole = {name: value for name, value in {**whole, **claims}.items() if name not in without}
        headers = {"kid": self.kid if kid is None else kid}
        signing = self.key if key is None else key
        return self.jwt.PyJWS().encode(json.dumps(whole).encode(), signing, algorithm, headers)

    @property
    def table(self):
        return {"issuer": ISSUER, "audience": AUDIENCE, "keys": str(self.path)}


@pytest.fixture
def provider(tmp_path):
    return Provider(tmp_path)


@pytest.fixture
def policy(tmp_path, provider):
    from tacit.serving.tokens import tokens_of

    clients = [{"name": "lab", "subject": "lab"}, client_table("shop", "key-of-shop")]
    made = config(tmp_path, 0, 8100, clients=clients)
    made["issuers"] = [provider.table]
    return Policy(clients_of(made), None, tokens=tokens_of(made))


def test_a_token_says_who_asks(policy, provider):
    assert policy.who([f"Bearer {provider.token()}"]).name == "lab"
    assert policy.who([f"Bearer {provider.token(aud=['other', AUDIENCE])}"]).name == "lab"
    assert policy.who(["Bearer key-of-shop"]).name == "shop"


def why(policy, token):
    with pytest.raises(Exception, match=r".") as caught:
        policy.who([f"Bearer {token}"])
    assert caught.value.code == "unknown-client", caught.value
    assert token not in caught.value.message
    return caught.value.message


def test_tokens_that_are_refused(policy, provider, tmp_path):
    now = int(time.time())
    for given, words in [
        ({"exp": now - 60}, "has ended"),
        ({"nbf": now + 600}, "does not hold"),
        ({"iss": "https://other.example"}, "no issuer"),
        ({"iss": ["https://login.example"]}, "no issuer|does not hold"),
        ({"aud": "tacit-beta"}, "another audience"),
        ({"sub": "somebody"}, "not known here"),
        ({"sub": 7}, "does not hold"),
        ({"kid": "two"}, "signed by a key that is not known"),
        ({"without": ["exp"]}, "does not hold"),
        ({"without": ["aud"]}, "does not hold"),
        ({"without": ["sub"]}, "does not hold"),
        ({"without": ["iss"]}, "no issuer"),
        ({"exp": "soon"}, "does not hold"),
    ]:
        found = why(policy, provider.token(**given))
        assert any(word in found for word in words.split("|")), (given, found)


def test_tokens_that_somebody_else_has_made(policy, provider, tmp_path):
    """Tokens by another key, without a signature, or signed by the public key are refused."""
    stranger = Provider(tmp_path, "two")
    assert "does not hold" in why(policy, stranger.token(kid="one"))
    assert "does not hold" in why(policy, provider.token("", "none"))
    public = json.dumps(provider.public).encode()
    assert "does not hold" in why(policy, provider.token(public * 2, "HS256"))
    good = provider.token()
    head, body, signature = good.split(".")
    other = provider.token(sub="shop").split(".")[1]
    for token in (f"{head}.{other}.{signature}", f"{head}.{body}.", f"{head}.{body}.AAAA"):
        assert "does not hold" in why(policy, token)
    for token in ("a.b.c", "..", "e30.e30.e30", "x" * 5000):
        why(policy, token)
    nested = ".".join(["e30"] * 2000)
    why(policy, nested)


def test_a_subject_is_one_issuers(tmp_path, provider):
    """A second issuer that is known here, too, may have somebody of the same name."""
    from tacit.serving.tokens import tokens_of

    other = Provider(tmp_path, "other")
    clients = [{"name": "lab", "subject": "lab", "issuer": ISSUER}]
    made = config(tmp_path, 0, 8100, clients=clients)
    made["issuers"] = [provider.table, {**other.table, "issuer": "https://other.example"}]
    policy = Policy(clients_of(made), None, tokens=tokens_of(made))
    assert policy.who([f"Bearer {provider.token()}"]).name == "lab"
    assert "not known here" in why(policy, other.token(iss="https://other.example"))
    assert "not known" in why(policy, other.token())
    with pytest.raises(TacitError, match=r"one of \[\[issuers\]\]"):
        clients_of({**made, "clients": [{"name": "lab", "subject": "lab"}]})


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("", "no JSON Web Key Set"),
        ("{}", "no JSON Web Key Set"),
        ('{"keys": []}', "no JSON Web Key Set"),
        ('{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "one"}]}', "no public key"),
    ],
)
def test_keys_of_an_issuer_that_are_none(tmp_path, provider, keys, words):
    from tacit.serving.tokens import Issuer

    provider.path.write_text(keys)
    with pytest.raises(TacitError, match=words):
        Issuer.of(provider.table)


def test_signatures_of_shared_secrets_are_refused(provider):
    from tacit.serving.tokens import Issuer

    for algorithm in ("HS256", "none", "XX"):
        with pytest.raises(TacitError, match="no signature such as"):
            Issuer.of({**provider.table, "algorithms": [algorithm]})


def test_a_service_takes_tokens(tmp_path, provider):
    """A service takes tokens, and reads the issuer's keys anew with its clients."""
    clients = [{"name": "lab", "subject": "lab"}]
    with parties(tmp_path, (clients,) * 3, issuers=[provider.table]) as (running, _):
        one = running[0]
        asked = {"authorization": f"Bearer {provider.token()}"}
        url = f"{one.url}/v2/models/digits"
        assert httpx.get(url, headers=asked).status_code == 200
        new = Provider(tmp_path, "new")
        provider.path.write_text(new.path.read_text())
        one.party.reload()
        refused(httpx.get(url, headers=asked), 401, "unknown-client")
        fresh = {"authorization": f"Bearer {new.token()}"}
        assert httpx.get(url, headers=fresh).status_code == 200


def test_tokens_need_a_package(tmp_path, monkeypatch):
    from tacit.serving import needs
    from tacit.serving.tokens import Issuer

    monkeypatch.setitem(needs.PACKAGES, "oidc", ("not_installed_anywhere",))
    with pytest.raises(tacit.MissingPackageError, match=r"tacit\[oidc\]"):
        Issuer.of({"issuer": "a", "audience": "b", "keys": "c"})
