"""200 secrets and 200 texts that look like some, all made up: letters from a generator behind the public beginnings.

A row is a text and what of it must be masked; of a look-alike nothing may be. The beginnings are put together from
parts, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid
from typing import NamedTuple

_CHANCE = random.Random("toolfix")
_WORD = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


class MadeUp(NamedTuple):
    kind: str
    text: str
    secret: str = ""


def _made(size: int, alphabet: str = _WORD) -> str:
    """Random characters, with a digit and letters among them as nearly every key has."""
    middle = "".join(_CHANCE.choice(alphabet) for _ in range(size - 3))
    ends = "a7b" if alphabet == _HEX else "K7Z" if alphabet.isupper() else "x7Q"
    return middle + ends


def _digits(size: int) -> str:
    return "".join(_CHANCE.choice("123456789") for _ in range(size))


_FRAMES = (
    '{{"content": "use {} here"}}',
    "the key is {}, keep it",
    "export X={}",
    '{{\\"header\\": \\"{}\\"}}',
)

_PREFIXED = [
    ("s" "k-", 40), ("s" "k-proj-", 60), ("s" "k-ant-api03-", 80), ("s" "k-or-v1-", 64), ("r" "k-", 30), ("c" "sk-", 48),
    ("pp" "lx-", 48), ("g" "sk_", 52), ("x" "ai-", 80), ("h" "f_", 34), ("nv" "api-", 64), ("f" "w_", 24),
    ("tg" "p_v1_", 40), ("r" "8_", 37), ("pc" "sk_", 60), ("ji" "na_", 50), ("tv" "ly-", 32), ("e" "2b_", 40),
    ("rp" "a_", 40), ("ls" "v2_pt_", 42), ("AI" "za", 35), ("AB" "SK", 110), ("LT" "AI", 20), ("do" "p_v1_", 64),
    ("na" "pi_", 60), ("sb" "p_", 40), ("ps" "cale_tkn_", 43), ("ts" "key-auth-", 30), ("xk" "eysib-", 64),
    ("PM" "AK-", 59), ("NR" "AK-", 27), ("gl" "sa_", 41), ("gl" "c_", 60), ("sn" "trys_", 60), ("ph" "x_", 43),
    ("fi" "gd_", 40), ("nt" "n_", 46), ("li" "n_api_", 40), ("dc" "kr_pat_", 27), ("se" "cret_", 43), ("gh" "p_", 36),
    ("gh" "o_", 36), ("gh" "s_", 36), ("git" "hub_pat_", 82), ("gl" "pat-", 20), ("gl" "dt-", 20), ("AT" "ATT", 180),
    ("AT" "BB", 32), ("sg" "p_", 40), ("np" "m_", 36), ("py" "pi-", 120), ("ru" "bygems_", 48), ("sk" "_live_", 24),
    ("rk" "_test_", 24), ("wh" "sec_", 32), ("sh" "pat_", 32), ("sq" "0atp-", 22), ("xo" "xb-1234567890-", 24),
    ("xo" "xp-1234567890-", 32), ("xa" "pp-1-", 40),
]  # fmt: skip

_NAMED = [
    "AWS_BEARER_TOKEN_BEDROCK={}", "GITHUB_TOKEN_PROD={}", "export NPM_TOKEN_CI={}", "DB_PASS={}", "MYSQL_PWD={}",
    "PGPASSWORD={}", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}==;EndpointSuffix=x",
    "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey={}=", "Ocp-Apim-Subscription-Key: {}",
    "https://api.example/v1?subscription-key={}&x=1", "https://api.example/v1?api-version=1&sig={}",
    '{{"passphrase": "{}"}}', '{{"auths": {{"registry.example": {{"auth": "{}"}}}}}}',
    "machine api.example login bob password {}", "machine api.example\\n  login bob\\n  password {}\\n",
    "curl -s -u bob:{} https://api.example", "curl --user 'bob:{}' https://api.example",
    "mysql -h db -u root -p{} shop", "mysqldump -uroot -p'{}' shop", "sshpass -p {} ssh bob@host",
    "redis-cli -h cache -a {} ping", "docker login -u bob -p {} registry.example",
    '{{"contraseña": "{}"}}', '{{"contrasena": "{}"}}', '{{"Passwort": "{}"}}', "Kennwort: {}", "senha={}",
    '{{"mot_de_passe": "{}"}}', '{{"wachtwoord": "{}"}}', "пароль: {}", '{{"密码": "{}"}}', '{{"パスワード": "{}"}}',
    '{{"비밀번호": "{}"}}', '{{"hasło": "{}"}}', '{{"\\u5bc6\\u7801": "{}"}}', "https://a.example/?key\\u003d{}\\u0026x=1",
    "https://a.example/?x=1\\u0026key\\u003d{}", "https://a.example/?x=1\\u0026access_token={}", "password\\u003d{}",
    '{{"api_key": "{}"}}', '{{"arguments": "{{\\"client_secret\\": \\"{}\\"}}"}}', "Authorization: Bearer {}",
    '{{"Authorization": "Basic {}"}}', "Cookie: sid={}; theme=dark", "Set-Cookie: session={}; Path=/",
    "postgres://bob:{}@db.example/shop", "amqp://bob:{}@mq.example", '{{"auth_token": "{}"}}', "csrf_token: {}",
    '{{"private_key": "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END"}}', "secret_key_base: {}", "SIGNING_KEY={}",
    "ENCRYPTION_KEY={}", "x-api-key: {}", "https://hooks.slack.com/services/T0AB1/B0CD2/{}",
    "https://discord.com/api/webhooks/123456789012345678/{}", "https://x.webhook.office.com/webhookb2/{}",
    "https://a.example/?X-Amz-Credential={}&X-Amz-Date=1", "//registry.example/:_authToken={}", "_auth={}",
]  # fmt: skip


def secrets() -> list[MadeUp]:
    found = []
    for number, (beginning, size) in enumerate(_PREFIXED):
        secret = beginning + _made(size)
        frames = (_FRAMES[number % 4], _FRAMES[(number + 1) % 4])
        found += [MadeUp(f"{beginning}…", frame.format(secret), secret) for frame in frames]
    for beginning, secret in (
        ("AKIA", "AKIA" + _made(16, string.ascii_uppercase)),
        ("dapi", "dapi" + _made(32, _HEX)),
        ("key-", "key-" + _made(32, _HEX)),
        ("SK", "SK" + _made(32, _HEX)),
        ("ya29", _made(60)),
        ("AQ", _made(50)),
        ("SG", _made(22) + "." + _made(43)),
        ("hvs", _made(90)),
        ("dp.pt", _made(43)),
        ("Telegram", "AA" + _made(33)),
        ("Discord", "M" + _made(23) + "." + _made(6) + "." + _made(38)),
        ("JWT", "eyJ" + _made(30) + "." + _made(60) + "." + _made(43)),
        ("Z.AI", _made(32, _HEX) + "." + _made(16)),
    ):
        before = {"ya29": "ya29.", "AQ": "AQ.", "SG": "SG.", "hvs": "hvs.", "dp.pt": "dp.pt."}.get(beginning, "")
        before = _digits(10) + ":" if beginning == "Telegram" else before
        found.append(MadeUp(beginning, f'{{"content": "use {before}{secret} here"}}', secret))
    for frame in _NAMED:
        secret = _made(28)
        found.append(MadeUp(frame.split("{}")[0][-30:], frame.format(secret), secret))
    for size in (8, 10, 12, 16, 20, 24, 32):
        secret = _made(size)
        found.append(MadeUp("a short password", f'{{"password": "{secret}"}}', secret))
    return found


def _hash(name: str) -> str:
    return hashlib.new(name, _made(9).encode()).hexdigest()


def _base64(size: int) -> str:
    return base64.b64encode(_CHANCE.randbytes(size)).decode()


_PLAIN = [
    "the password is checked in auth.py", "password: str", "password: string;", "def login(user, password): ...",
    "api_key=os.environ['API_KEY']", "const token = process.env.TOKEN", "token: ${{ secrets.GITHUB_TOKEN }}",
    '{"max_tokens": 4096, "completion_tokens": 12}', "tokens_used: 18234", "tokenizer: cl100k_base",
    "the tokenizer is gpt-4o-mini-2024-07-18", "token_model: gpt-4o-mini-2024", "import secrets",
    '<div class="sk-folding-cube-container">', ".pk-navigation-item-active { color: red }",
    "rk-list-header-title-container", "task-runner-configuration-manager", "risk-assessment-report-generator",
    "docker run -u 1000:1000 alpine", "docker run -p 8080:8080 nginx", "mysql -u root shop", "mysql --port 3306 shop",
    "mkdir -p /var/lib/mysql/data", "cp -p mysql.cnf backup", "curl -s https://api.example/v1/models?page=2",
    "curl -u https://example.org", "git log --author=bob", "ssh -p 2222 bob@host", "author: Bob", "authority: none",
    "authenticated: true", '{"auth": {"type": "none"}}', "authors: [a, b]", "keyboard: de", "monkey: 12345678",
    "key: value", "primary key: id", "foreign_key: user_id", "hotkey = ctrl+shift+p", "?page=2&sort=asc&key=id",
    "sessions: 12", "passenger: Bob Smith", "compass=north-north-west", "bypass: enabled", "secretary: Alice",
    "npm_config_registry=https://registry.example", "npm_lifecycle_event=build", "hf_hub_download(repo_id, filename)",
    "sk_learn_pipeline_builder", "glc_renderer_initialise(context)", "ghost-theme-casper-master", "fw_update_manager()",
    "e2b_template_build_context", "eyJust.some.words", "SG.GetScreen().Size()", "AQ.Count", "hvs.Length",
    "https://example.org/hooks/services/list", "https://user@example.org/path", "http://localhost:8080/a:b@c",
    "node_modules/.pnpm/@babel+core@7.24.0/node_modules", "sha512 is a hash", "Bearer of bad news", "Basic usage",
]  # fmt: skip


def _uuid() -> uuid.UUID:
    return uuid.UUID(int=_CHANCE.getrandbits(128), version=4)


def _minified(number: int) -> str:
    a, b, c = (_CHANCE.choice(string.ascii_lowercase) for _ in range(3))
    return 4 * f"function {a}({b},{c}){{return {b}.key==={c}?{b}[{c}]:void 0}}var token{number}={a}({b}||{c},!0);"


def look_alikes() -> list[MadeUp]:
    found = [MadeUp("words", text) for text in _PLAIN]
    hashes = ("{}", "{}  file.tar.gz", '{{"digest": "sha256:{}"}}', "commit {}", "index {}..abc 100644")
    for name in ("md5", "sha1", "sha256", "sha512"):
        found += [MadeUp("a hash", frame.format(_hash(name))) for frame in hashes]
    ids = ("{}", '{{"id": "{}"}}', "/jobs/{}/log", "request-id: {}", "urn:uuid:{}")
    for _ in range(5):
        found += [MadeUp("a UUID", frame.format(_uuid())) for frame in ids]
    heads = ("data:image/png;base64,iVBORw0KGgo", "data:font/woff2;base64,d09GMgAB", "/9j/4AAQSkZJRgAB")
    for size in (40, 90, 300, 900, 3000):
        found += [MadeUp("a file as base64", f'{{"url": "{head}{_base64(size)}"}}') for head in heads]
    kinds = ("call_", "toolu_", "msg_", "resp_", "chatcmpl-")
    found += [MadeUp("a lock file", f'"integrity": "sha512-{_base64(64)}"') for _ in range(15)]
    found += [MadeUp("an id", f'{{"id": "{kinds[number % 5]}{_made(24)}"}}') for number in range(15)]
    found += [MadeUp("minified code", _minified(number)) for number in range(15)]
    found += [
        MadeUp("a source map", f'{{"mappings": "AAAA,SAAS,{_made(20, "ABCDEFG")},IAAI;EACF{number}"}}')
        for number in range(15)
    ]
    found += [
        MadeUp("numbers", f"token_count: {_digits(9)}, offset={_digits(12)}, port {_digits(4)}")
        for _ in range(200 - len(found))
    ]
    return found
