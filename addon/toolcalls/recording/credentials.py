"""What credentials look like, as data: how keys begin, what their fields are called, where commands take them.

The beginnings are those that the vendors and the public lists of secret scanners document. `redact.py` makes patterns
of these tables; a new kind of key is one more row here and one more in `tests/recording/credential_corpus.py`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

WORD: Final = "[A-Za-z0-9_-]"
_HEX: Final = "[0-9a-f]"
_BASE64: Final = "[A-Za-z0-9+/=_-]"
_CAPITALS: Final = "[A-Z0-9]"


class KeyShape(NamedTuple):
    """Keys that begin with these characters, and go on with at least so many of an alphabet."""

    beginnings: str
    least: int
    alphabet: str = WORD
    mixed: bool = False
    """The beginning is that of words, too: a digit, a capital or sixteen letters in a row must follow."""


KEYS: Final = (
    # Models: OpenAI, Anthropic, OpenRouter and their kin; Cerebras, Perplexity, Groq, xAI, Hugging Face, NVIDIA
    KeyShape("sk- pk- rk-", 16, mixed=True),
    KeyShape("csk- pplx- gsk_ xai- nvapi- tgp_v1_ pcsk_ tvly- lsv2_pt_ lsv2_sk_", 16),
    KeyShape("hf_ fw_ r8_ jina_ e2b_ rpa_", 16, mixed=True),
    KeyShape("AIza", 30),
    KeyShape("ABSK", 40, _BASE64),
    # Clouds and platforms
    KeyShape("AKIA ASIA ABIA ACCA", 16, _CAPITALS),
    KeyShape("LTAI", 12, mixed=True),
    KeyShape("dapi dkea", 32, _HEX),
    KeyShape("dop_v1_ doo_v1_ dor_v1_ pscale_tkn_ pscale_pw_ tskey- CFPAT-", 20),
    KeyShape("napi_ sbp_ fo1_ rnd_ vcp_ vck_ glc_ phx_ ntn_", 20, mixed=True),
    KeyShape("xkeysib- PMAK- NRAK- glsa_ sntrys_ sntryu_ figd_ lin_api_ lin_oauth_ dckr_pat_", 16),
    KeyShape("secret_", 32, mixed=True),
    # Code and packages
    KeyShape("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glcbt- ATATT ATBB sgp_", 16),
    KeyShape("npm_ pypi- rubygems_ oy2", 20, mixed=True),
    # Money and messages
    KeyShape(
        "sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_ whsec_ shpat_ shpss_ shpca_ shppa_ sq0atp- sq0csp-", 14
    ),
    KeyShape("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", 10),
    KeyShape("key-", 32, _HEX),
    KeyShape("SK AC", 32, _HEX),
    KeyShape("AGE-SECRET-KEY-1", 20, _CAPITALS),
)
"""Keys without a dot in them: they are looked for in every long run of letters, digits, `_` and `-`."""

OTHER_SHAPES: Final = (
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}",  # JSON web tokens
    r"[0-9a-f]{32}\.[A-Za-z0-9]{16}\b",  # Z.AI and BigModel
    r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,}",  # Discord
)
"""Keys of several runs, of which the first is a long one."""

DOTTED: Final = {
    "ya29.": r"ya29\.(?P<secret>[A-Za-z0-9_-]{16,})",
    "aq.": r"AQ\.(?P<secret>[A-Za-z0-9_-]{20,})",
    "sg.": r"SG\.(?P<secret>[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
    "hvs.": r"hvs\.(?P<secret>[A-Za-z0-9_-]{20,})",
    "hvb.": r"hvb\.(?P<secret>[A-Za-z0-9_-]{20,})",
    "dp.": r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?P<secret>[A-Za-z0-9._-]{20,})",
    ":aa": r"(?<=[0-9]):(?P<secret>AA[A-Za-z0-9_-]{32,})",  # Telegram: the number of a bot and its token
}
"""Keys whose beginning ends with a dot, by the words that are looked for."""

HOOKS: Final = {
    "hooks.slack.com/": r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{20,})",
    "/api/webhooks/": r"/api/webhooks/[0-9]{5,25}/(?P<secret>[A-Za-z0-9_-]{20,})",
    "webhook.office.com/": r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/_-]{20,})",
}
"""Addresses that are a key."""

_OPTIONS = r"\s[^\r\n|;]{0,300}?(?<=\s)"
_QUOTE = r"\\{0,3}[\"']?"
_GIVEN = r"(?P<secret>[^\s\"'\\]{3,128})"
_GAP = r"(?:\s|\\{1,4}[nrt]){1,16}"
_USER = r"[^\s:\"'\\]{1,64}"
COMMANDS: Final = {
    "curl ": rf"curl{_OPTIONS}(?:-u|-U|--user|--proxy-user)[\s=]{{0,2}}{_QUOTE}{_USER}:(?!//){_GIVEN}",
    "mysql": rf"mysql(?:dump|admin|import|sh)?{_OPTIONS}-p{_QUOTE}(?P<secret>[^\s\"'\\-][^\s\"'\\]{{2,128}})",
    "sshpass": rf"sshpass\s{{1,4}}-p\s{{0,4}}{_QUOTE}{_GIVEN}",
    "redis-cli": rf"redis-cli{_OPTIONS}-a\s{{1,4}}{_QUOTE}{_GIVEN}",
    "docker login": rf"docker\ login{_OPTIONS}-p\s{{1,4}}{_QUOTE}{_GIVEN}",
    "login": rf"login{_GAP}{_USER}{_GAP}password{_GAP}{_GIVEN}",  # .netrc
}
"""Where commands and files take a password without a name in front of it."""

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
    *("secret", "passw", "passphrase", "authorization", "session", "cookie", "credential", "srf", "_pass", "-pass"),
    *("pwd", "sshpass", "contrase", "passwort", "kennwort", "senha", "wachtwoord", "parola", "haslo", "sifre"),
    *("heslo", "jelszo", "salasana", "losenord", "mot_de_passe", "motdepasse", "mot de passe", "adgangskode"),
    *("пароль", "Пароль", "密码", "密碼", "パスワード", "비밀번호", "hasło", "şifre", "lösenord", "jelszó"),
    *(r"\u5bc6\u7801", r"\u5bc6\u78bc", r"\u043f\u0430\u0440\u043e\u043b\u044c"),
)
"""What the names of credentials have in them, in lower case."""

NAMED: Final = (
    r"secret|passw(?:or)?d|passwd|passphrase|authorization|session[_-]?(?:id|key|token)|cookie|credential|(?<=[cx])srf"
    r"|[_-]pass(?:wd)?|(?<![a-z])pwd|(?<=[_-])pwd|sshpass|contrase(?:ñ|n|\\u00f1)a|passwort|kennwort|senha|wachtwoord"
    r"|parola|haslo|sifre|heslo|jelszo|salasana|losenord|mot[_\ ]?de[_\ ]?passe|adgangskode|пароль|Пароль|密码|密碼"
    r"|パスワード|비밀번호|hasło|şifre|lösenord|jelszó|\\u5bc6\\u7801|\\u5bc6\\u78bc|\\u043f\\u0430\\u0440\\u043e\\u043b\\u044c"
)
"""The names themselves."""

NO_SECRET: Final = (
    r"(?:os\.|process\.|self\.|this\.|config\.|settings\.|env\.|args\.|opts\.|options\.|req(?:uest)?\.|import\.|props\."
    r"|\$|%|\{\{|<|(?:str|string|text|bytes|bool|boolean|none|null|undefined|true|false|required|optional|any|unknown"
    r"|input|getpass|getenv|validate\w{0,20}|hash\w{0,20}|check\w{0,20}|verify\w{0,20}|new\ )(?![\w-]))"
)
"""How a value begins that only says where the secret comes from, or of which type it is."""

QUERY: Final = (
    r"(?:[a-z0-9_.-]{0,40}(?:key|token|secret|passw(?:or)?d|passwd|signature|credential)"
    r"|sig|code|auth|pass|pwd|jwt|sid)"
)
"""The parameters of an address that are credentials."""
