"""What credentials look like, as data: how keys begin, what their fields are called, where commands take them.

The prefixes are documented by the vendors and in the public lists of secret scanners. `redact.py` turns these tables
into patterns; a new kind of key is one more row here and one more in `tests/recording/credential_corpus.py`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

WORD: Final = "[A-Za-z0-9_-]"
_HEX: Final = "[0-9a-f]"
_BASE64: Final = "[A-Za-z0-9+/=_-]"
_CAPITALS: Final = "[A-Z0-9]"


class KeyShape(NamedTuple):
    """Keys with one of these prefixes (`beginnings`), followed by at least `least` characters of an alphabet."""

    beginnings: str
    least: int
    alphabet: str = WORD
    mixed: bool = False
    """Ordinary words begin like this too, so a digit, a capital or sixteen letters in a row must follow."""


KEYS: Final = (
    # Models: OpenAI, Anthropic, OpenRouter and their kin; Cerebras, Perplexity, Groq, xAI, Hugging Face, NVIDIA
    KeyShape("sk- pk- rk-", 16, mixed=True),
    KeyShape("csk- pplx- gsk_ xai- nvapi- tgp_v1_ pcsk_ tvly- lsv2_pt_ lsv2_sk_", 16),
    KeyShape("hf_ fw_ r8_ jina_ e2b_ rpa_", 16, mixed=True),
    KeyShape("AIza", 30),
    KeyShape("GOCSPX-", 20),
    KeyShape("ABSK", 40, _BASE64),
    KeyShape("AQVN", 30),
    # Clouds and platforms
    KeyShape("AKIA ASIA ABIA ACCA", 16, _CAPITALS),
    KeyShape("LTAI", 12, mixed=True),
    KeyShape("dapi dkea", 32, _HEX),
    KeyShape("dop_v1_ doo_v1_ dor_v1_ pscale_tkn_ pscale_pw_ tskey- CFPAT-", 20),
    KeyShape("napi_ sbp_ fo1_ rnd_ vcp_ vck_ glc_ phx_ ntn_ ico- p8e- rdme_ tfp_", 20, mixed=True),
    KeyShape("xkeysib- PMAK- NRAK- glsa_ sntrys_ sntryu_ figd_ lin_api_ lin_oauth_ dckr_pat_", 16),
    KeyShape("vercel_blob_rw_ sb_secret_ bkua_ CLOJARS_ s-s4t2ud-", 16),
    KeyShape("pul-", 40, _HEX),
    KeyShape("AKCp", 40),
    KeyShape("API-", 24, _CAPITALS),  # Octopus
    KeyShape("access-sandbox- access-development- access-production- pat-na1- pat-eu1-", 36, "[0-9a-f-]"),
    KeyShape("secret_", 32, mixed=True),
    # Code and packages
    KeyShape("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glcbt- ATBB sgp_", 16),
    KeyShape("ATATT", 40, _BASE64),
    KeyShape("npm_ pypi- rubygems_ oy2", 20, mixed=True),
    # Money and messages
    KeyShape(
        "sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_ whsec_ shpat_ shpss_ shpca_ shppa_ sq0atp- sq0csp-", 14
    ),
    KeyShape("shippo_live_ shippo_test_ duffel_live_ duffel_test_ FLWSECK- FLWSECK_TEST-", 16),
    KeyShape("EZAK EZTK", 50),
    KeyShape("EAA", 90),
    KeyShape("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", 10),
    KeyShape("key-", 32, _HEX),
    KeyShape("SK AC", 32, _HEX),
    KeyShape("AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", 20, _CAPITALS),
)
"""Keys without a dot: they are looked for in every long run of letters, digits, `_` and `-`."""

OTHER_SHAPES: Final = (
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}",  # JSON web tokens
    r"[0-9a-f]{32}\.[A-Za-z0-9]{16}\b",  # Z.AI and BigModel
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",  # Airtable
    r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",  # Terraform
    r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,}",  # Discord
)
"""Keys of several runs of such characters, the first of which is long."""

MARKED: Final = {
    "ya29.": r"ya29\.(?P<secret>[A-Za-z0-9_-]{16,})",
    "aq.": r"AQ\.(?P<secret>[A-Za-z0-9_-]{20,})",
    "1//0": r"1//0(?P<secret>[A-Za-z0-9_-]{30,})",  # Google's refresh tokens
    "sg.": r"SG\.(?P<secret>[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
    "hvs.": r"hvs\.(?P<secret>[A-Za-z0-9_-]{20,})",
    "hvb.": r"hvb\.(?P<secret>[A-Za-z0-9_-]{20,})",
    "dp.": r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?P<secret>[A-Za-z0-9._-]{20,})",
    "dt0c01.": r"dt0c01\.(?P<secret>[A-Z0-9]{20,}\.[A-Z0-9]{40,})",  # Dynatrace
    "t1.": r"t1\.(?P<secret>[A-Za-z0-9_-]{20,}={0,2}\.[A-Za-z0-9_-]{80,})",  # Yandex
    "v1.0-": r"v1\.0-(?P<secret>[0-9a-f]{24}-[0-9a-f]{100,})",  # Cloudflare's origin CA
    "sha256~": r"sha256~(?P<secret>[A-Za-z0-9_-]{43})",  # OpenShift
    "fm2_": r"fm2_(?P<secret>[A-Za-z0-9+/=,_-]{40,})",  # Fly.io
    "glc_eyj": r"glc_(?P<secret>eyJ[A-Za-z0-9+/=_-]{20,})",  # Grafana Cloud
    "sntrys_eyj": r"sntrys_(?P<secret>eyJ[A-Za-z0-9+/=_-]{20,})",  # Sentry
    # AWS: the key behind its id, as in the table that the console gives
    **dict.fromkeys(
        ("akia", "asia"),
        r"A[KS]IA[A-Z0-9]{16}\\{0,3}[\"']?(?:[,;|:\s]|\\{1,4}t){1,4}\\{0,3}[\"']?(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    "base64:": r"base64:(?P<secret>[A-Za-z0-9+/]{43}=)(?![A-Za-z0-9+/=])",  # Laravel
    ":aa": r"(?<=[0-9]):(?P<secret>AA[A-Za-z0-9_-]{32,})",  # Telegram: the number of a bot and its token
    **dict.fromkeys(("$5$", "$6$", "$y$"), r"\$(?:5|6|y)\$(?P<secret>[A-Za-z0-9./=$]{40,})"),  # /etc/shadow
    **dict.fromkeys(("$2a$", "$2b$", "$2y$"), r"\$2[aby]\$(?P<secret>[0-9]{2}\$[A-Za-z0-9./]{53})"),
}
"""Keys that contain other characters than letters, digits, `_` and `-`, by the mark to search for."""

BEFORE: Final = dict.fromkeys(
    ("@tcp(", "@unix(", "@cloudsql("), r"(?P<user>[^\s:@\"'\\]{1,64}):(?P<secret>[^\s\"'\\]{1,128})\Z"
)
"""Passwords that stand before the mark to search for: the data sources of Go."""

_NUMBER = r"(?:\ {0,8}L?[0-9]{1,8}(?:→|\\{1,4}u2192|\||:|-|\\{1,4}t|\t|\ ){1,3}\ ?|[>\ ]{1,8}|-(?!-)){0,1}"
KEY_LINE_ENDS: Final = rf"(?:(?:\\{{1,4}}[nr]|[\r\n]){{1,4}}{_NUMBER}(?:[A-Za-z-]{{4,12}}:\ [^\r\n\\\"]{{1,100}})?)"
"""A line end in a private key, with what tools write before the next line (its number) and the key's own headers."""
KEY_LINES: Final = rf"(?:[A-Za-z0-9+/=\ ]|{KEY_LINE_ENDS})"
"""A piece of a private key."""
KEY_BODIES: Final = (
    *("b3BlbnNzaC1rZXktdjE", "IBAAKCAQEA", "IBAAKCAgEA", "IBADANBgkqhkiG9w0BAQEFAAS"),
    *("MHcCAQEEI", "MIGkAgEBBDA", "MC4CAQAwBQYDK2VwBCI"),
)
"""What stands near the beginning of a private key, for keys whose first line is not shown: OpenSSH, RSA, PKCS 8, two
elliptic curves, Ed25519."""

HOOKS: Final = {
    "hooks.slack.com/": r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{20,})",
    "/api/webhooks/": r"/api/webhooks/[0-9]{5,25}/(?P<secret>[A-Za-z0-9_-]{20,})",
    "webhook.office.com/": r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/_-]{20,})",
}
"""URLs that are credentials themselves."""

NO_SECRET: Final = (
    r"(?:os\.|process\.|self\.|this\.|config\.|settings\.|env\.|args\.|opts\.|options\.|req(?:uest)?\.|import\.|props\."
    r"|\$|%|\{|<|your[_-]|sk-\.|\.\.\.|(?:str|string|text|bytes|bool|boolean|none|null|undefined|true|false|required|optional|any|unknown"
    r"|input|getpass|getenv|validate\w{0,20}|hash\w{0,20}|check\w{0,20}|verify\w{0,20}|new\ )(?![\w-]))"
)
"""How a value begins if it is no secret but says where the secret comes from, or what type it has."""

_OPTIONS = r"\s[^\r\n|;]{0,300}?(?<=\s)"
_QUOTE = r"\\{0,3}[\"']?"
_VARIABLE = r"(?:\$\{?[A-Za-z_]\w{0,63}\}?|%\w{1,63}%)(?:[\s\"'\\]|$)"
_GIVEN = rf"(?!{_VARIABLE}|<)(?P<secret>[^\s\"'\\]{{3,128}})"
_NO_WORD = r"(?=[^\s\"'\\]{0,127}?(?:[0-9]|[a-z](?-i:[A-Z])|[._!@#%^*+~:-][A-Za-z0-9]))(?![./~-]|id=)"
"""A password, neither the next word of a sentence nor a path: with a digit, a capital or a punctuation mark."""
_GAP = r"(?:\s|\\{1,4}[nrt]){1,16}"
_USER = r"[^\s:\"'\\]{1,64}"
_NAME = r"[\w.-]{0,64}(?:key|token|secret|passw(?:or)?d|pass|pwd|salt|_pat)"
_STRING = r"\\{0,3}[\"'](?!\$|\{\{|<)(?P<secret>[^\"'\\\r\n]{4,256})\\{0,3}[\"']"
_QUOTED = r"""
    (?P<quote>"(?P<a>(?:[^"\\\r\n]|\\.){LEAST,4096})"
    | '(?P<b>(?:[^'"\\\r\n]|\\[^"]){LEAST,4096})'
    | \\"(?P<c>(?:[^"\\\r\n]|\\u[0-9a-fA-F]{4}|\\\\\\\\|\\\\\\"|\\\\[^\\"]){LEAST,4096}))
"""


def quoted(least: int) -> str:
    """A whole quoted value: a string of JSON or Python, or such a string inside a JSON string, its quotes escaped."""
    return _QUOTED.replace("LEAST", str(least))


_FROM = rf"\\{{0,3}}[\"']?(?:{_VARIABLE}|<|\$\()"
"""A value that comes from elsewhere."""
_VALUE = (
    rf"(?!{_FROM})(?:\\{{0,3}}\"(?P<a>[^\"\\\r\n]{{3,1024}})|'(?P<b>[^'\\\r\n]{{3,1024}})"
    r"|(?P<bare>[^\s\"'\\|]{3,1024}))"
)
"""The value of an option: quoted, or a word."""
_LINE = r"(?:[\r\n]|\\{1,4}[nr]){1,2}"
_FORMAT = rf"(?:{_QUOTE}%s(?:\\{{1,4}}n)?{_QUOTE}\s{{1,4}})?"
_PIPED = rf"\s{{1,4}}(?:-[neE]{{1,3}}\s{{1,4}})?{_FORMAT}{_VALUE}(?:\\{{1,4}}n)?{_QUOTE}\s{{0,4}}\|\s{{0,4}}"
_SUDO_S = r"sudo\s(?:-[A-Za-z-]{1,20}\s{1,4}(?:[\w.]{1,32}\s{1,4})?){0,4}(?:(?-i:-[A-Za-z]{0,4}S)|--stdin)"
_COOKIE = rf"[^\s\"'\\=;]{{1,64}}=(?!{_FROM})"
_TAKES_A_PASSWORD = (
    rf"(?:{_SUDO_S}|su\s|gh\ secret\ set\s|wrangler\ secret\ put\s"
    r"|(?:docker|podman|helm|gh|oras|vercel|flyctl|gcloud)\s[^\r\n|;]{0,200}(?:--password-stdin|--with-token|--data-file=-))"
)
COMMANDS: Final = {
    "curl ": rf"curl{_OPTIONS}(?:-u|-U|--user|--proxy-user)[\s=]{{0,2}}{_QUOTE}{_USER}:(?!//){_GIVEN}",
    "curl": rf"curl\s(?:[^\r\n|;]{{0,300}}?\s)??(?:(?-i:-b)|--cookie)[\s=]{{0,2}}"
    rf"(?:\\{{0,3}}[\"']{_COOKIE}(?P<a>[^\"'\\\r\n]{{3,4096}})|{_COOKIE}(?P<bare>[^\s\"'\\]{{3,4096}}))",
    "echo": rf"echo{_PIPED}{_TAKES_A_PASSWORD}",
    "printf": rf"printf{_PIPED}{_TAKES_A_PASSWORD}",
    "yes ": rf"yes{_PIPED}{_TAKES_A_PASSWORD}",
    "sudo": rf"{_SUDO_S}[^\r\n|;<]{{0,200}}(?:<<<\s{{0,4}}|<<-?\s?{_QUOTE}\w{{1,16}}{_QUOTE}{_LINE}){_VALUE}",
    "wrangler secret put": rf"wrangler\ secret\ put\s[^\r\n|;<]{{0,200}}<<<\s{{0,4}}{_VALUE}",
    "aws": rf"aws\s(?:configure\ set\s{{1,4}}[\w.-]{{0,64}}(?:key|token)\s{{1,4}}"
    rf"|(?:secretsmanager{_OPTIONS}--secret-string|ssm\s[^\r\n|;]{{0,300}}?SecureString{_OPTIONS}--value)[\s=]{{1,2}}){_VALUE}",
    ":_authtoken ": rf":_authtoken\s{{1,4}}{_QUOTE}{_GIVEN}",
    "az keyvault": rf"az\ keyvault\ secret\ set{_OPTIONS}--value[\s=]{{1,2}}{_VALUE}",
    "--from-literal": rf"--from-literal[\s=]{{1,2}}{_QUOTE}[^\s\"'\\=]{{1,64}}={_VALUE}",
    "gh secret set": rf"gh\ secret\ set{_OPTIONS}(?:(?-i:-b)|--body)[\s=]{{0,2}}{_VALUE}",
    "http ": rf"http{_OPTIONS}(?:-a|--auth)[\s=]{{1,2}}{_QUOTE}{_USER}:(?!//){_GIVEN}",
    "mysql": rf"mysql(?:dump|admin|import|sh)?{_OPTIONS}-p{_QUOTE}(?P<secret>[^\s\"'\\-][^\s\"'\\]{{2,128}})",
    "sshpass": rf"sshpass\s{{1,4}}-p\s{{0,4}}{_QUOTE}{_GIVEN}",
    "redis-cli": rf"redis-cli{_OPTIONS}-a\s{{1,4}}{_QUOTE}{_GIVEN}",
    " login ": rf"\ login{_OPTIONS}-p\s{{1,4}}{_QUOTE}(?![0-9]{{1,5}}\b){_GIVEN}",
    "smb": rf"smb[a-z]{{0,10}}{_OPTIONS}(?:-U|--user)[\s=]{{1,2}}{_QUOTE}[^\s%\"'\\]{{1,64}}%{_GIVEN}",
    "sqlcmd": rf"sqlcmd{_OPTIONS}(?-i:-P)\s{{0,4}}{_QUOTE}{_GIVEN}",
    "ldap": rf"ldap[a-z]{{3,10}}{_OPTIONS}(?-i:-w)\s{{0,4}}{_QUOTE}{_GIVEN}",
    "rclone": rf"rclone{_OPTIONS}pass\s{{1,4}}{_QUOTE}{_GIVEN}",
    "nmcli": rf"nmcli{_OPTIONS}password\s{{1,4}}{_QUOTE}{_GIVEN}",
    "htpasswd": rf"htpasswd\s{{1,4}}-[a-z]{{0,8}}b[a-z]{{0,8}}\s(?:[^\s]{{1,128}}\s){{1,2}}{_QUOTE}{_GIVEN}",
    "net user": rf"net\ user\s{{1,4}}{_USER}\s{{1,4}}{_QUOTE}(?!/){_GIVEN}",
    "echo ": rf"echo\s{{1,4}}{_QUOTE}{_USER}:{_GIVEN}{_QUOTE}\s{{0,4}}\|\s{{0,4}}(?:sudo\s)?chpasswd",
    "-pass": rf"-pass(?:in|out)?\s{{1,4}}{_QUOTE}pass:{_GIVEN}",  # openssl
    **dict.fromkeys(
        ("-passw", "-passphrase ", "-token ", "-secret ", "-api-key ", "-apikey "),
        rf"-(?:passw(?:or)?d|passphrase|token|secret|api-?key)\s{{1,4}}{_QUOTE}{_NO_WORD}{_GIVEN}",
    ),
    "securestring": rf"securestring\s{{1,4}}(?:-string\s)?{_STRING}",
    "setx ": rf"setx\s{{1,4}}{_NAME}\w{{0,32}}\s{{1,4}}{_QUOTE}{_GIVEN}",
    "set -": rf"set\s-[a-z]{{1,3}}\s{{1,4}}{_NAME}\w{{0,32}}\s{{1,4}}{_QUOTE}{_GIVEN}",  # fish
}
"""Where commands take a password that has no name before it, by the word to search for."""

_ESCAPES = ("\\", "\\\\\\")
"""What stands before a quotation mark in a JSON string, and in a JSON string inside of one."""
_STRING_END = r"\\{0,3}\""
_PASSWORD_NAME = (
    rf"{_NAME}(?:[_-](?:prod|production|dev|test|staging|live|old|new|main|base64|b64|hex|[0-9]{{1,2}}))?"
)
_NEXT = (
    r"(?:,|\s|\\{1,3}[nr]|\\{0,3}\"(?!value|name|key)\w{1,32}\\{0,3}\"\s?:\s?"
    r"(?:\\{0,3}\"[^\"\\\r\n]{0,64}\\{0,3}\"|\w{1,16})){1,40}"
)
_GIVEN_VALUE = (
    rf"{_QUOTE}\s?:\s{{0,4}}(?!{_QUOTE}{NO_SECRET})"
    rf"(?:{quoted(4)}|\\{{3}}\"(?P<secret>(?:[^\"\\\r\n]|(?>\\{{4,8}})\"?){{4,1024}})"
    r"|\\{0,3}[\"']?(?P<bare>[^\s\"'\\,;}{)(<>\[\]]{4,256}))"
)
PLACES: Final = {
    "login": rf"login{_GAP}{_USER}{_GAP}password{_GAP}{_GIVEN}",  # .netrc
    ":5432:": rf":5432:[^\s:]{{1,64}}:{_USER}:{_GIVEN}",  # .pgpass
    "jdbc:oracle:": r"jdbc:oracle:[a-z]{2,8}:[^\s/@]{1,64}/(?P<secret>[^\s@\"'\\]{3,128})@",
    **dict.fromkeys(
        (
            *("name: ", "name':"),
            *(f'name{escape}"{space}:' for escape in ("", *_ESCAPES) for space in ("", " ")),
        ),  # the environment of a container
        rf"name\\{{0,3}}[\"']?\s?:\s{{0,4}}{_QUOTE}{_PASSWORD_NAME}{_QUOTE}{_NEXT}{_QUOTE}value{_GIVEN_VALUE}",
    ),
    "key: ": rf"key:\s{{1,4}}{_QUOTE}{_PASSWORD_NAME}{_QUOTE}{_NEXT}value{_GIVEN_VALUE}",
    **dict.fromkeys(
        ('key":', *(f'key{escape}":' for escape in _ESCAPES)),
        rf"key{_STRING_END}:\s{{0,4}}{_STRING_END}{_PASSWORD_NAME}{_STRING_END}{_NEXT}{_STRING_END}(?:\w{{1,16}})?value{_GIVEN_VALUE}",
    ),
    **dict.fromkeys(
        ('value":', *(f'value{escape}":' for escape in _ESCAPES)),
        rf"value{_STRING_END}:\s{{0,4}}{_STRING_END}(?!{NO_SECRET})(?P<secret>[^\"\\\r\n]{{4,1024}}){_STRING_END},(?:\s|\\{{1,3}}[nr]){{0,40}}"
        rf"{_STRING_END}(?:name|key){_STRING_END}:\s{{0,4}}{_STRING_END}{_PASSWORD_NAME}{_STRING_END}",
    ),
    # The password of a new user, in the table that AWS gives
    "user name,password,": rf"user\ name,password,[^\r\n\\]{{1,200}}{_LINE}[^,\r\n\\]{{1,64}},"
    r"(?P<secret>[^,\"\\\r\n]{4,128}),",
    "key=": rf"key=\\{{0,3}}\"{_NAME}\\{{0,3}}\"\s{{1,4}}value={_STRING}",  # .NET
    "variable ": rf"variable\s\\{{0,3}}\"{_NAME}\w{{0,16}}\\{{0,3}}\"\s{{0,4}}"
    rf"\{{[^}}]{{0,300}}?default\s{{0,16}}=\s{{0,4}}{_STRING}",  # Terraform
    "define(": rf"define\(\s{{0,4}}[\"']{_NAME}[\"'],\s{{0,4}}{_STRING}",
    "auth=(": rf"auth=\(\s{{0,4}}{_QUOTE}[^\"'\\,]{{1,64}}{_QUOTE},\s{{0,4}}{_STRING}",
    "basicauth(": rf"basicauth\(\s{{0,4}}{_QUOTE}[^\"'\\,]{{1,64}}{_QUOTE},\s{{0,4}}{_STRING}",
    "identified by": rf"identified\ by\s{{1,4}}{_STRING}",
    "password ": rf"password\s{{1,4}}{_STRING}",
    "password is": rf"password\ is:?\s{{1,4}}{_QUOTE}"
    rf"(?=[^\s\"'\\]{{0,127}}?[0-9])(?=[^\s\"'\\]{{0,127}}?[a-z]){_GIVEN}",
    "signature=": r"signature=(?P<secret>[0-9a-f]{40,})",
    **dict.fromkeys(
        ("<pass", "<secret", "<token", "<api", "<private"), rf"<{_NAME}\w{{0,16}}>(?P<secret>[^\s<>]{{4,256}})</"
    ),
    **dict.fromkeys(
        ("mnemonic", "seed phrase", "seed_phrase", "recovery phrase", "seedphrase"),
        r"[a-z]{4,9}(?:[_\ ]?phrase)?\W{1,12}(?P<secret>(?:[a-z]{3,8}\ ){11,23}[a-z]{3,8})",
    ),
}
"""Where files, code and sentences contain a password, by the word to search for."""

WHOSE_KEY: Final = (
    *("api", "access", "private", "secret", "signing", "encryption", "account", "subscription", "shared", "storage"),
    *(
        "master",
        "admin",
        "auth",
        "client",
        "service",
        "license",
        "webhook",
        "function",
        "host",
        "sharedaccess",
        "ssh",
    ),
)
"""A `key` with one of these words before it is a credential."""

NAMES: Final = (
    *("secret", "passw", "passphrase", "session", "cookie", "credential", "srf", "_pass", "-pass", "psk"),
    *("pwd", "sshpass", "contrase", "passwort", "kennwort", "senha", "wachtwoord", "parola", "haslo", "sifre"),
    *("heslo", "jelszo", "salasana", "losenord", "mot_de_passe", "motdepasse", "mot de passe", "adgangskode"),
    *("пароль", "Пароль", "密码", "密碼", "パスワード", "비밀번호", "hasło", "şifre", "lösenord", "jelszó"),
    *(r"\u5bc6\u7801", r"\u5bc6\u78bc", r"\u043f\u0430\u0440\u043e\u043b\u044c"),
)
"""The words to search for, in lower case: parts of the names of credentials."""

NAMED: Final = (
    r"secret(?!ar|name|ref|s?_?manager)|passw(?:or)?d|passwd|passphrase|session[_-]?(?:id|key|token)|cookie|credential|(?<=[cx])srf"
    r"|[_-]pass(?:wd)?|(?:(?<![a-z])|(?<=\\[nrt]))pwd|(?<=[_-])pwd|sshpass|contrase(?:ñ|n|\\u00f1)a|passwort|kennwort|senha|wachtwoord"
    r"|parola|haslo|sifre|heslo|jelszo|salasana|losenord|mot[_\ ]?de[_\ ]?passe|adgangskode|пароль|Пароль|密码|密碼"
    r"|(?:(?<![a-z])|(?<=\\[nrt]))psk|(?<=[_-])psk|パスワード|비밀번호|hasło|şifre|lösenord|jelszó|\\u5bc6\\u7801|\\u5bc6\\u78bc|\\u043f\\u0430\\u0440\\u043e\\u043b\\u044c"
)
"""A pattern for these names."""

QUERY: Final = (
    r"(?:[a-z0-9_.-]{0,40}(?:key|token|secret|passw(?:or)?d|passwd|signature|credential)"
    r"|sig|code|auth|pass|pwd|jwt|sid)"
)
"""The names of URL parameters that are credentials."""
