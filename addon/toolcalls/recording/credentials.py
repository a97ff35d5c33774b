"""What credentials look like, as rows: how keys begin, and where files, commands and code contain a secret.

The prefixes are documented by the vendors and in the public lists of secret scanners. `redact.py` reads these tables;
a new kind of key is one more row here and one more in `tests/recording/credential_corpus.py`.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class KeyShape(NamedTuple):
    """Keys with one of these prefixes (`beginnings`), followed by at least `least` characters of an alphabet."""

    beginnings: str
    least: int
    alphabet: str = "[A-Za-z0-9_-]"
    mixed: bool = False
    """Ordinary words begin like this too, so a digit, a capital or sixteen letters in a row must follow."""


_HEX: Final = "[0-9a-f]"
_BASE64: Final = "[A-Za-z0-9+/=_-]"
_CAPITALS: Final = "[A-Z0-9]"

KEYS: Final = (
    KeyShape("sk- pk- rk- hf_ fw_ r8_ jina_ e2b_ rpa_", 16, mixed=True),
    KeyShape("csk- pplx- gsk_ xai- nvapi- tgp_v1_ pcsk_ tvly- lsv2_pt_ lsv2_sk_ vercel_blob_rw_ sb_secret_", 16),
    KeyShape("xkeysib- PMAK- NRAK- glsa_ sntrys_ sntryu_ figd_ lin_api_ lin_oauth_ dckr_pat_ bkua_ CLOJARS_", 16),
    KeyShape("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glcbt- ATBB sgp_ s-s4t2ud-", 16),
    KeyShape("shippo_live_ shippo_test_ duffel_live_ duffel_test_ FLWSECK- FLWSECK_TEST-", 16),
    KeyShape("sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_ whsec_ sq0atp- sq0csp-", 14),
    KeyShape("shpat_ shpss_ shpca_ shppa_", 14),
    KeyShape("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", 10),
    KeyShape("GOCSPX- dop_v1_ doo_v1_ dor_v1_ pscale_tkn_ pscale_pw_ tskey- CFPAT-", 20),
    KeyShape("napi_ sbp_ fo1_ rnd_ vcp_ vck_ glc_ phx_ ntn_ ico- p8e- rdme_ tfp_", 20, mixed=True),
    KeyShape("npm_ pypi- rubygems_ oy2", 20, mixed=True),
    KeyShape("LTAI", 12, mixed=True),
    KeyShape("secret_", 32, mixed=True),
    KeyShape("AIza AQVN", 30),
    KeyShape("AKCp", 40),
    KeyShape("EZAK EZTK", 50),
    KeyShape("EAA", 90),
    KeyShape("AKIA ASIA ABIA ACCA", 16, _CAPITALS),
    KeyShape("AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", 20, _CAPITALS),
    KeyShape("API-", 24, _CAPITALS),  # Octopus
    KeyShape("dapi dkea key- SK AC", 32, _HEX),
    KeyShape("pul-", 40, _HEX),
    KeyShape("access-sandbox- access-development- access-production- pat-na1- pat-eu1-", 36, "[0-9a-f-]"),
    KeyShape("ABSK ATATT", 40, _BASE64),
)
"""Keys without a dot: they are looked for in every long run of letters, digits, `_` and `-`."""

OTHER_KEYS: Final = (
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}",  # JSON web tokens
    r"[0-9a-f]{32}\.[A-Za-z0-9]{16}\b",  # Z.AI and BigModel
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",  # Airtable
    r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",  # Terraform
    r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,}",  # Discord
)
"""Keys of several runs of such characters, the first of which is long."""

_OWNERS: Final = (
    "api access private secret signing encryption account subscription shared storage master admin auth client "
    "service license webhook function host sharedaccess ssh"
)
"""A `key` with one of these words before it, with or without `_` or `-` between them, is a credential."""

PARTS: Final = {
    # Quotes and ends of lines, also inside of JSON strings, and inside of those in JSON strings
    "QUOTE": r"\\{0,3}[\"']?",
    "DOUBLE": r"\\{0,3}\"",
    "END": r"(?:[\r\n]|\\{1,4}[nr]){1,2}",
    "GAP": r"(?:\s|\\{1,4}[nrt]){1,16}",
    # A whole quoted value, its quotes escaped or not
    "QUOTED": r"(?:\"((?:[^\"\\\r\n]|\\.){4,4096})\"|'((?:[^'\"\\\r\n]|\\[^\"]){4,4096})'"
    r"|\\\"((?:[^\"\\\r\n]|\\u[0-9a-fA-F]{4}|\\\\\\\\|\\\\\\\"|\\\\[^\\\"]){4,4096}))",
    "STRING": r"\\{0,3}[\"'](?!\$|\{\{|<)([^\"'\\\r\n]{4,256})\\{0,3}[\"']",
    # What is no secret: it says where the secret comes from, or what type it has
    "NO_SECRET": r"(?:os\.|process\.|self\.|this\.|config\.|settings\.|env\.|args\.|opts\.|options\.|req(?:uest)?\."
    r"|import\.|props\.|\$|%|\{|<|your[_-]|sk-\.|\.\.\."
    r"|(?:str|string|text|bytes|bool|boolean|none|null|undefined|true|false|required|optional|any|unknown"
    r"|input|getpass|getenv|validate\w{0,20}|hash\w{0,20}|check\w{0,20}|verify\w{0,20}|new )(?![\w-]))",
    "VARIABLE": r"(?:\$\{?[A-Za-z_]\w{0,63}\}?|%\w{1,63}%)(?:[\s\"'\\]|$)",
    "FROM": r"\\{0,3}[\"']?(?:{VARIABLE}|<|\$\()",
    # A password on a command line: a word, or quoted; and one that is no word of a sentence and no path
    "GIVEN": r"(?!{VARIABLE}|<)([^\s\"'\\]{3,128})",
    "VALUE": r"(?!{FROM})(?:\\{0,3}\"([^\"\\\r\n]{3,1024})|'([^'\\\r\n]{3,1024})|([^\s\"'\\|]{3,1024}))",
    "NO_WORD": r"(?=[^\s\"'\\]{0,127}?(?:[0-9]|[a-z](?-i:[A-Z])|[._!@#%^*+~:-][A-Za-z0-9]))(?![./~-]|id=)",
    # Commands: their options, a user's name, a password that is piped into them, and which take one so
    "OPTIONS": r"\s[^\r\n|;]{0,300}?(?<=\s)",
    "USER": r"[^\s:\"'\\]{1,64}",
    "PIPED": r"\s{1,4}(?:-[neE]{1,3}\s{1,4})?(?:{QUOTE}%s(?:\\{1,4}n)?{QUOTE}\s{1,4})?{VALUE}(?:\\{1,4}n)?{QUOTE}"
    r"\s{0,4}\|\s{0,4}(?:{SUDO}|su\s|gh secret set\s|wrangler secret put\s|(?:docker|podman|helm|gh|oras|vercel"
    r"|flyctl|gcloud)\s[^\r\n|;]{0,200}(?:--password-stdin|--with-token|--data-file=-))",
    "SUDO": r"sudo\s(?:-[A-Za-z-]{1,20}\s{1,4}(?:[\w.]{1,32}\s{1,4})?){0,4}(?:(?-i:-[A-Za-z]{0,4}S)|--stdin)",
    "COOKIE": r"[^\s\"'\\=;]{1,64}=(?!{FROM})",
    # The name of a secret, what may stand between it and its value, and the value
    "NAME": r"[\w.-]{0,64}(?:key|token|secret|passw(?:or)?d|pass|pwd|salt|_pat)",
    "NAME_IN": r"{NAME}(?:[_-](?:prod|production|dev|test|staging|live|old|new|main|base64|b64|hex|[0-9]{1,2}))?",
    "NEXT": r"(?:,|\s|\\{1,3}[nr]|{DOUBLE}(?!value|name|key)\w{1,32}{DOUBLE}\s?:\s?"
    r"(?:{DOUBLE}[^\"\\\r\n]{0,64}{DOUBLE}|\w{1,16})){1,40}",
    "OF_NAME": r"{QUOTE}\s?:\s{0,4}(?!{QUOTE}{NO_SECRET})(?:{QUOTED}|\\{3}\"((?:[^\"\\\r\n]|(?>\\{4,8})\"?){4,1024})"
    r"|\\{0,3}[\"']?([^\s\"'\\,;}{)(<>\[\]]{4,256}))",
    "OWNER": "(?:" + "|".join(rf"(?<={owner}[_-])|(?<={owner})" for owner in _OWNERS.split()) + ")",
    # An assignment: the rest of the name, the type, the sign
    "ASSIGNED": r"[A-Za-z0-9_-]{0,32}(?:\\{0,7}[\"']\]?)?{EQUALS}",
    "EQUALS": r"(?:\s?:?\s?(?:&(?:'static )?)?(?:str|string)\??\s?(?==))?\s{0,4}"
    r"(?:[:=]|：|\\{1,4}u003[dD]|%3[dD])\s{0,4}",
    "BARE": r"[^\s\"'\\,;&}{)(<>\[\]\x80-\xff]",
    # A private key, and a line end in it, with what tools write before the next line (its number) and its own headers
    "KEY_LINES": r"(?:[A-Za-z0-9+/= ]|{KEY_LINE_END}){16,8192}",
    "KEY_LINE_END": r"(?:(?:\\{1,4}[nr]|[\r\n]){1,4}"
    r"(?: {0,8}L?[0-9]{1,8}(?:→|\\{1,4}u2192|\||:|-|\\{1,4}t|\t| ){1,3} ?|[> ]{1,8}|-(?!-))?"
    r"(?:[A-Za-z-]{4,12}: [^\r\n\\\"]{1,100})?)",
}
"""Parts of the patterns below, in which `{QUOTE}` stands for the part of this name."""


class Place(NamedTuple):
    """Wherever one of these words (divided by `|`) stands, in any case, the pattern is tried.

    The last group of the pattern that matches is the secret.
    """

    words: str
    pattern: str
    kind: str = ""
    """`random`: the value must look random. `key`: the ends of its lines stay."""


EXACT_PLACES: Final = (
    Place("ya29.", r"ya29\.([A-Za-z0-9_-]{16,})"),
    Place("aq.", r"AQ\.([A-Za-z0-9_-]{20,})"),
    Place("1//0", r"1//0([A-Za-z0-9_-]{30,})"),  # Google's refresh tokens
    Place("sg.", r"SG\.([A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"),
    Place("hvs.|hvb.", r"hv[sb]\.([A-Za-z0-9_-]{20,})"),
    Place("dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.([A-Za-z0-9._-]{20,})"),
    Place("dt0c01.", r"dt0c01\.([A-Z0-9]{20,}\.[A-Z0-9]{40,})"),  # Dynatrace
    Place("t1.", r"t1\.([A-Za-z0-9_-]{20,}={0,2}\.[A-Za-z0-9_-]{80,})"),  # Yandex
    Place("v1.0-", r"v1\.0-([0-9a-f]{24}-[0-9a-f]{100,})"),  # Cloudflare's origin CA
    Place("sha256~", r"sha256~([A-Za-z0-9_-]{43})"),  # OpenShift
    Place("fm2_", r"fm2_([A-Za-z0-9+/=,_-]{40,})"),  # Fly.io
    Place("glc_eyj|sntrys_eyj", r"(?:glc|sntrys)_(eyJ[A-Za-z0-9+/=_-]{20,})"),  # Grafana Cloud, Sentry
    # AWS: the key behind its id, as in the table that the console gives
    Place(
        "akia|asia",
        r"A[KS]IA[A-Z0-9]{16}{QUOTE}(?:[,;|:\s]|\\{1,4}t){1,4}{QUOTE}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    Place("base64:", r"base64:([A-Za-z0-9+/]{43}=)(?![A-Za-z0-9+/=])"),  # Laravel
    Place(":aa", r"(?<=[0-9]):(AA[A-Za-z0-9_-]{32,})"),  # Telegram: the number of a bot and its token
    Place("$5$|$6$|$y$", r"\$(?:5|6|y)\$([A-Za-z0-9./=$]{40,})"),  # /etc/shadow
    Place("$2a$|$2b$|$2y$", r"\$2[aby]\$([0-9]{2}\$[A-Za-z0-9./]{53})"),
    # What stands near the beginning of a private key, for keys whose first line is not shown: OpenSSH, RSA, PKCS 8,
    # two elliptic curves, Ed25519
    Place(
        "b3blbnnzac1rzxktdje|ibaakcaqea|ibaakcagea|ibadanbgkqhkig9w0baqefaas|mhccaqeei|migkagebbda"
        "|mc4caqawbqydk2vwbci",
        r"(?:b3BlbnNzaC1rZXktdjE|IBAAKCAQEA|IBAAKCAgEA|IBADANBgkqhkiG9w0BAQEFAAS|MHcCAQEEI|MIGkAgEBBDA"
        r"|MC4CAQAwBQYDK2VwBCI)({KEY_LINES})",
        "key",
    ),
)
"""Keys that contain other characters than letters, digits, `_` and `-`. The pattern means capitals as it has them."""

BEFORE: Final = Place("@tcp(|@unix(|@cloudsql(", r"[^\s:@\"'\\]{1,64}:(?!{NO_SECRET})([^\s\"'\\]{1,128})\Z")
"""Passwords that stand before the word to search for: the data sources of Go."""

COMMANDS: Final = (
    Place("curl ", r"curl{OPTIONS}(?:-u|-U|--user|--proxy-user)[\s=]{0,2}{QUOTE}{USER}:(?!//){GIVEN}"),
    Place(
        "curl",
        r"curl\s(?:[^\r\n|;]{0,300}?\s)??(?:(?-i:-b)|--cookie)[\s=]{0,2}"
        r"(?:\\{0,3}[\"']{COOKIE}([^\"'\\\r\n]{3,4096})|{COOKIE}([^\s\"'\\]{3,4096}))",
    ),
    Place("echo|printf|yes ", r"(?:echo|printf|yes){PIPED}"),
    Place("sudo", r"{SUDO}[^\r\n|;<]{0,200}(?:<<<\s{0,4}|<<-?\s?{QUOTE}\w{1,16}{QUOTE}{END}){VALUE}"),
    Place("wrangler secret put", r"wrangler secret put\s[^\r\n|;<]{0,200}<<<\s{0,4}{VALUE}"),
    Place("aws", r"aws\sconfigure set\s{1,4}[\w.-]{0,64}(?:key|token)\s{1,4}{VALUE}"),
    Place("aws", r"aws\ssecretsmanager{OPTIONS}--secret-string[\s=]{1,2}{VALUE}"),
    Place("aws", r"aws\sssm\s[^\r\n|;]{0,300}?SecureString{OPTIONS}--value[\s=]{1,2}{VALUE}"),
    Place(":_authtoken ", r":_authtoken\s{1,4}{QUOTE}{GIVEN}"),
    Place("az keyvault", r"az keyvault secret set{OPTIONS}--value[\s=]{1,2}{VALUE}"),
    Place("--from-literal", r"--from-literal[\s=]{1,2}{QUOTE}[^\s\"'\\=]{1,64}={VALUE}"),
    Place("gh secret set", r"gh secret set{OPTIONS}(?:(?-i:-b)|--body)[\s=]{0,2}{VALUE}"),
    Place("http ", r"http{OPTIONS}(?:-a|--auth)[\s=]{1,2}{QUOTE}{USER}:(?!//){GIVEN}"),
    Place("mysql", r"mysql(?:dump|admin|import|sh)?{OPTIONS}-p{QUOTE}([^\s\"'\\-][^\s\"'\\]{2,128})"),
    Place("sshpass", r"sshpass\s{1,4}-p\s{0,4}{QUOTE}{GIVEN}"),
    Place("redis-cli", r"redis-cli{OPTIONS}-a\s{1,4}{QUOTE}{GIVEN}"),
    Place(" login ", r" login{OPTIONS}-p\s{1,4}{QUOTE}(?![0-9]{1,5}\b){GIVEN}"),
    Place("smb", r"smb[a-z]{0,10}{OPTIONS}(?:-U|--user)[\s=]{1,2}{QUOTE}[^\s%\"'\\]{1,64}%{GIVEN}"),
    Place("sqlcmd", r"sqlcmd{OPTIONS}(?-i:-P)\s{0,4}{QUOTE}{GIVEN}"),
    Place("ldap", r"ldap[a-z]{3,10}{OPTIONS}(?-i:-w)\s{0,4}{QUOTE}{GIVEN}"),
    Place("rclone", r"rclone{OPTIONS}pass\s{1,4}{QUOTE}{GIVEN}"),
    Place("nmcli", r"nmcli{OPTIONS}password\s{1,4}{QUOTE}{GIVEN}"),
    Place("htpasswd", r"htpasswd\s{1,4}-[a-z]{0,8}b[a-z]{0,8}\s(?:[^\s]{1,128}\s){1,2}{QUOTE}{GIVEN}"),
    Place("net user", r"net user\s{1,4}{USER}\s{1,4}{QUOTE}(?!/){GIVEN}"),
    Place("echo ", r"echo\s{1,4}{QUOTE}{USER}:{GIVEN}{QUOTE}\s{0,4}\|\s{0,4}(?:sudo\s)?chpasswd"),
    Place("-pass", r"-pass(?:in|out)?\s{1,4}{QUOTE}pass:{GIVEN}"),  # openssl
    Place(
        "-passw|-passphrase |-token |-secret |-api-key |-apikey ",
        r"-(?:passw(?:or)?d|passphrase|token|secret|api-?key)\s{1,4}{QUOTE}{NO_WORD}{GIVEN}",
    ),
    Place("securestring", r"securestring\s{1,4}(?:-string\s)?{STRING}"),
    Place("setx ", r"setx\s{1,4}{NAME}\w{0,32}\s{1,4}{QUOTE}{GIVEN}"),
    Place("set -", r"set\s-[a-z]{1,3}\s{1,4}{NAME}\w{0,32}\s{1,4}{QUOTE}{GIVEN}"),  # fish
)
"""Where commands take a password that has no name before it."""

PLACES: Final = (
    Place("private key-----|private key block-----", r"private key(?: block)?-----({KEY_LINES})", "key"),
    # URLs: hooks that are credentials themselves, parameters, a user's password or token
    Place("hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})"),
    Place("/api/webhooks/", r"/api/webhooks/[0-9]{5,25}/([A-Za-z0-9_-]{20,})"),
    Place("webhook.office.com/", r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/_-]{20,})"),
    Place(
        "?|&|u0026|%26",
        r"(?:[?&]|u0026|%26)(?!(?:key|token)=(?-i:[a-z]{1,32}(?:[_.-][a-z]{1,32}){0,7})(?:[&\s\"'\\<>#]|$))"
        r"(?:[a-z0-9_.-]{0,40}(?:key|token|secret|passw(?:or)?d|passwd|signature|credential)"
        r"|sig|code|auth|pass|pwd|jwt|sid)"
        r"(?:=|\\{1,4}u003d|%3d)((?![0-9]{1,3}\b)(?:[^&\s\"'\\<>#%]|%(?!26)[0-9a-f]{2}){4,})",
    ),
    Place("://", r"://(?:[^\s/:@\"'\\]{0,64}:([^\s/@\"'\\]{1,256})|([0-9a-f]{32}))@"),
    Place("://", r"://([A-Za-z0-9_-]{16,256})(?::[^\s/:@\"'\\]{0,256})?@", "random"),
    Place("jdbc:oracle:", r"jdbc:oracle:[a-z]{2,8}:[^\s/@]{1,64}/([^\s@\"'\\]{3,128})@"),
    # Headers
    Place(
        "authorization",
        r"authorization{ASSIGNED}\\{0,7}[\"']?(?>[a-z][a-z0-9-]{1,24}\s{1,4})?+(?!{NO_SECRET})({BARE}{6,}+)(?!\()",
    ),
    Place("bearer |basic ", r"(?:bearer|basic)\s{1,4}([A-Za-z0-9._~+/=-]{16,})"),
    Place("cookie", r"cookies?\s{0,4}:\s{0,4}([^\r\n\"'\\{}\[\]\x80-\xff]{6,})"),
    Place("signature=", r"signature=([0-9a-f]{40,})"),
    # Files
    Place("login", r"login{GAP}{USER}{GAP}password{GAP}{GIVEN}"),  # .netrc
    Place(":5432:", r":5432:[^\s:]{1,64}:{USER}:{GIVEN}"),  # .pgpass
    Place("name", r"name{QUOTE}\s?:\s{0,4}{QUOTE}{NAME_IN}{QUOTE}{NEXT}{QUOTE}value{OF_NAME}"),  # of a container
    Place("key: ", r"key:\s{1,4}{QUOTE}{NAME_IN}{QUOTE}{NEXT}value{OF_NAME}"),
    Place("key", r"key{DOUBLE}:\s{0,4}{DOUBLE}{NAME_IN}{DOUBLE}{NEXT}{DOUBLE}(?:\w{1,16})?value{OF_NAME}"),
    Place(
        "value",
        r"value{DOUBLE}:\s{0,4}{DOUBLE}(?!{NO_SECRET})([^\"\\\r\n]{4,1024}){DOUBLE},(?:\s|\\{1,3}[nr]){0,40}"
        r"{DOUBLE}(?:name|key){DOUBLE}:\s{0,4}{DOUBLE}{NAME_IN}{DOUBLE}",
    ),
    # The password of a new user, in the table that AWS gives
    Place(
        "user name,password,",
        r"user name,password,[^\r\n\\]{1,200}{END}[^,\r\n\\]{1,64},([^,\"\\\r\n]{4,128}),",
    ),
    Place("key=", r"key=\\{0,3}\"{NAME}\\{0,3}\"\s{1,4}value={STRING}"),  # .NET
    Place(
        "variable ",  # Terraform
        r"variable\s{DOUBLE}{NAME}\w{0,16}{DOUBLE}\s{0,4}\{[^}]{0,300}?default\s{0,16}=\s{0,4}{STRING}",
    ),
    Place("<pass|<secret|<token|<api|<private", r"<{NAME}\w{0,16}>([^\s<>]{4,256})</"),
    # Code and sentences
    Place("define(", r"define\(\s{0,4}[\"']{NAME}[\"'],\s{0,4}{STRING}"),
    Place("auth=(|basicauth(", r"(?:basic)?auth=?\(\s{0,4}{QUOTE}[^\"'\\,]{1,64}{QUOTE},\s{0,4}{STRING}"),
    Place("identified by", r"identified by\s{1,4}{STRING}"),
    Place("password ", r"password\s{1,4}{STRING}"),
    Place(
        "password is",
        r"password is:?\s{1,4}{QUOTE}(?=[^\s\"'\\]{0,127}?[0-9])(?=[^\s\"'\\]{0,127}?[a-z]){GIVEN}",
    ),
    Place(
        "mnemonic|seed phrase|seed_phrase|recovery phrase|seedphrase",
        r"[a-z]{4,9}(?:[_ ]?phrase)?\W{1,12}((?:[a-z]{3,8} ){11,23}[a-z]{3,8})",
    ),
    # `"auth": "…"` of Docker and npm. The bare word is too common, so a quote or `_` must precede it
    Place("auth", r"(?<=[\"'_])auth\\{0,7}[\"']?\s{0,4}[:=]\s{0,4}\\{0,7}[\"']?([A-Za-z0-9+/=_-]{8,})"),
    # `token` appears in every parser and every usage count
    Place(
        "token|_pat",
        r"(?:tokens?(?:_[A-Za-z0-9_]{1,32})?|_pat)(?:\\{0,7}[\"']\]?)?{EQUALS}\\{0,7}[\"']?"
        r"((?=[^\s\"'\\]{0,200}?[0-9])(?=[^\s\"'\\]{0,200}?[A-Za-z])[A-Za-z0-9._~+/=:-]{8,})",
        "random",
    ),
    # What is named like a credential, in a dozen languages
    Place(
        "key|secret|passw|passphrase|session|cookie|credential|srf|_pass|-pass|psk|pwd|sshpass|contrase|kennwort|senha"
        "|wachtwoord|parola|haslo|sifre|heslo|jelszo|salasana|losenord|mot_de_passe|motdepasse|mot de passe"
        "|adgangskode|пароль|Пароль|密码|密碼|パスワード|비밀번호|hasło|şifre|lösenord|jelszó"
        r"|\u5bc6\u7801|\u5bc6\u78bc|\u043f\u0430\u0440\u043e\u043b\u044c",
        r"(?:{OWNER}key|secret(?!ar|name|ref|s?_?manager)|passw(?:or)?d|passphrase|session[_-]?(?:id|key|token)"
        r"|cookie|credential|(?<=[cx])srf|[_-]pass(?:wd)?|(?:(?<![a-z])|(?<=\\[nrt]))(?:pwd|psk)|sshpass|passwort"
        r"|contrase(?:ñ|n|\\u00f1)a|kennwort|senha|wachtwoord|parola|haslo|sifre|heslo|jelszo|salasana|losenord"
        r"|mot[_ ]?de[_ ]?passe|adgangskode|пароль|Пароль|密码|密碼|パスワード|비밀번호|hasło|şifre|lösenord|jelszó"
        r"|\\u5bc6\\u7801|\\u5bc6\\u78bc|\\u043f\\u0430\\u0440\\u043e\\u043b\\u044c)"
        r"{ASSIGNED}(?!\\{0,7}[\"']?{NO_SECRET})"
        r"(?:{QUOTED}|\\{0,7}[\"']?(?:(?:bearer|basic|token|bot)\s{1,4})?({BARE}{6,}+)(?!\())",
    ),
)
"""Where URLs, headers, files, code and sentences contain a secret."""
