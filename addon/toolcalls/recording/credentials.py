"""What credentials look like, as rows: how keys begin, and where files, commands and code contain a secret.

The prefixes are documented by the vendors and in the public lists of secret scanners. `redact.py` reads these tables;
a new kind of key is one more row here and one more in `tests/recording/credential_corpus.py`.
"""

from __future__ import annotations

from typing import Final

KEYS: Final = (
    r"(?:[prs]k-|hf_|fw_|r8_|jina_|e2b_|rpa_){MIXED}[\w-]{16,}",
    r"(?:csk-|pplx-|gsk_|xai-|nvapi-|tgp_v1_|pcsk_|tvly-|lsv2_(?:pt|sk)_|vercel_blob_rw_|sb_secret_)[\w-]{16,}",
    r"(?:xkeysib-|PMAK-|NRAK-|glsa_|sntry[su]_|figd_|lin_(?:api|oauth)_|dckr_pat_|bkua_|CLOJARS_)[\w-]{16,}",
    r"(?:gh[oprsu]_|github_pat_|gl(?:pat|dt|rt|ptt|cbt)-|ATBB|sgp_|s-s4t2ud-)[\w-]{16,}",
    r"(?:(?:shippo|duffel)_(?:live|test)_|FLWSECK(?:_TEST)?-)[\w-]{16,}",
    r"(?:[prs]k_(?:live|test)_|whsec_|sq0(?:atp|csp)-|shp(?:at|ss|ca|pa)_)[\w-]{14,}",
    r"(?:xox[abeoprs]|xapp)-[\w-]{10,}",
    r"(?:GOCSPX-|do[opr]_v1_|pscale_(?:tkn|pw)_|tskey-|CFPAT-)[\w-]{20,}",
    r"(?:napi_|sbp_|fo1_|rnd_|vc[kp]_|glc_|phx_|ntn_|ico-|p8e-|rdme_|tfp_){MIXED}[\w-]{20,}",
    r"(?:npm_|pypi-|rubygems_|oy2){MIXED}[\w-]{20,}",
    r"LTAI{MIXED}[\w-]{12,}|secret_{MIXED}[\w-]{32,}",
    r"(?:AIza|AQVN)[\w-]{30,}|AKCp[\w-]{40,}|EZ[AT]K[\w-]{50,}|EAA[\w-]{90,}",
    r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16,}|AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{20,}|API-[A-Z0-9]{24,}",
    r"(?:dapi|dkea|key-|SK|AC)[0-9a-f]{32,}|pul-[0-9a-f]{40,}",
    r"(?:access-(?:sandbox|development|production)|pat-(?:na|eu)1)-[0-9a-f-]{36,}",
    r"(?:ABSK|ATATT)[\w+/=-]{40,}",
    # With a dot, behind a long part
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}",  # JSON web tokens
    r"[0-9a-f]{32}\.[A-Za-z0-9]{16}\b",  # Z.AI and BigModel
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",  # Airtable
    r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}",  # Terraform
    r"[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{25,}",  # Discord
)
"""Keys that begin with a long run of letters, digits, `_` and `-`. They are looked for where such a run begins."""

_OWNERS: Final = (
    "api access private secret signing encryption account subscription shared storage master admin auth client "
    "service license webhook function host sharedaccess ssh"
)
"""A `key` with one of these words before it, with or without `_` or `-` between them, is a credential."""

PARTS: Final = {
    # Words begin like some keys too, so a digit, a capital or sixteen letters in a row must follow
    "MIXED": r"(?=[\w-]{0,200}?(?:[A-Z0-9]|[a-z]{16}))",
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
    "LOGIN": r"{QUOTE}{USER}:(?!//){GIVEN}",
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
    # What is named like a credential, in a dozen languages
    "PASSWORDS": r"kennwort|senha|wachtwoord|parola|haslo|sifre|heslo|jelszo|salasana|losenord|mot_de_passe"
    r"|motdepasse|mot de passe|adgangskode|пароль|Пароль|密码|密碼|パスワード|비밀번호|hasło|şifre|lösenord|jelszó",
    # An assignment: the rest of the name, the type, the sign
    "ASSIGNED": r"[A-Za-z0-9_-]{0,32}(?:\\{0,7}[\"']\]?)?{EQUALS}",
    "EQUALS": r"(?:\s?:?\s?(?:&(?:'static )?)?(?:str|string)\??\s?(?==))?\s{0,4}"
    r"(?:[:=]|：|\\{1,4}u003[dD]|%3[dD])\s{0,4}",
    "BARE": r"[^\s\"'\\,;&}{)(<>\[\]\x80-\xff]",
    # A private key, and a line end in it, with what tools write before the next line (its number) and its own headers
    "KEY_LINES": r"(?P<key>(?:[A-Za-z0-9+/= ]|{KEY_LINE_END}){16,8192})",
    "KEY_LINE_END": r"(?:(?:\\{1,4}[nr]|[\r\n]){1,4}"
    r"(?: {0,8}L?[0-9]{1,8}(?:→|\\{1,4}u2192|\||:|-|\\{1,4}t|\t| ){1,3} ?|[> ]{1,8}|-(?!-))?"
    r"(?:[A-Za-z-]{4,12}: [^\r\n\\\"]{1,100})?)",
}
"""Parts of the patterns, in which `{QUOTE}` stands for the part of this name."""

PLACES: Final = {
    # Keys with other characters than letters, digits, `_` and `-`
    "ya29.": r"(?-i:ya29)\.([\w-]{16,})",
    "aq.": r"(?-i:AQ)\.([\w-]{20,})",
    "1//0": r"1//0([\w-]{30,})",  # Google's refresh tokens
    "sg.": r"(?-i:SG)\.([\w-]{16,}\.[\w-]{16,})",
    "hvs.|hvb.": r"(?-i:hv[sb])\.([\w-]{20,})",
    "dp.": r"(?-i:dp\.(?:pt|st|ct|sa|scim|audit))\.([\w.-]{20,})",
    "dt0c01.": r"(?-i:dt0c01\.([A-Z0-9]{20,}\.[A-Z0-9]{40,}))",  # Dynatrace
    "t1.": r"(?-i:t1)\.([\w-]{20,}={0,2}\.[\w-]{80,})",  # Yandex
    "v1.0-": r"(?-i:v1\.0-([0-9a-f]{24}-[0-9a-f]{100,}))",  # Cloudflare's origin CA
    "sha256~": r"(?-i:sha256)~([\w-]{43})",  # OpenShift
    "fm2_": r"(?-i:fm2)_([\w+/=,-]{40,})",  # Fly.io
    "glc_eyj|sntrys_eyj": r"(?-i:(?:glc|sntrys)_(eyJ[\w+/=-]{20,}))",  # Grafana Cloud, Sentry
    # AWS: the key behind its id, as in the table that the console gives
    "akia|asia": r"(?-i:A[KS]IA[A-Z0-9]{16}){QUOTE}(?:[,;|:\s]|\\{1,4}t){1,4}{QUOTE}"
    r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    "base64:": r"(?-i:base64):([A-Za-z0-9+/]{43}=)(?![A-Za-z0-9+/=])",  # Laravel
    ":aa": r"(?<=[0-9]):(?-i:(AA[\w-]{32,}))",  # Telegram: the number of a bot and its token
    "$5$|$6$|$y$": r"\$(?-i:5|6|y)\$([A-Za-z0-9./=$]{40,})",  # /etc/shadow
    "$2a$|$2b$|$2y$": r"\$2(?-i:[aby])\$([0-9]{2}\$[A-Za-z0-9./]{53})",
    # What stands near the beginning of a private key, for keys whose first line is not shown: OpenSSH, RSA, PKCS 8,
    # two elliptic curves, Ed25519
    "b3blbnnzac1rzxktdje|ibaakcaqea|ibaakcagea|ibadanbgkqhkig9w0baqefaas|mhccaqeei|migkagebbda"
    "|mc4caqawbqydk2vwbci": r"(?-i:b3BlbnNzaC1rZXktdjE|IBAAKCA[Qg]EA|IBADANBgkqhkiG9w0BAQEFAAS|MHcCAQEEI|MIGkAgEBBDA"
    r"|MC4CAQAwBQYDK2VwBCI){KEY_LINES}",
    "private key-----|private key block-----": r"private key(?: block)?-----{KEY_LINES}",
    # Passwords before the word: the data sources of Go
    "@tcp(|@unix(|@cloudsql(": r"[^\s:@\"'\\]{1,64}:(?!{NO_SECRET})(?P<before>[^\s\"'\\]{1,128})\Z",
    # Commands that take a password without a name before it
    "curl ": r"curl{OPTIONS}(?:-u|-U|--user|--proxy-user)[\s=]{0,2}{LOGIN}",
    "curl": r"curl\s(?:[^\r\n|;]{0,300}?\s)??(?:(?-i:-b)|--cookie)[\s=]{0,2}"
    r"(?:\\{0,3}[\"']{COOKIE}([^\"'\\\r\n]{3,4096})|{COOKIE}([^\s\"'\\]{3,4096}))",
    "http ": r"http{OPTIONS}(?:-a|--auth)[\s=]{1,2}{LOGIN}",
    "echo|printf|yes ": r"(?:echo|printf|yes){PIPED}",
    "echo ": r"echo\s{1,4}{QUOTE}{USER}:{GIVEN}{QUOTE}\s{0,4}\|\s{0,4}(?:sudo\s)?chpasswd",
    "sudo": r"{SUDO}[^\r\n|;<]{0,200}(?:<<<\s{0,4}|<<-?\s?{QUOTE}\w{1,16}{QUOTE}{END}){VALUE}",
    "aws": r"aws\s(?:configure set\s{1,4}[\w.-]{0,64}(?:key|token)\s{1,4}"
    r"|secretsmanager{OPTIONS}--secret-string[\s=]{1,2}"
    r"|ssm\s[^\r\n|;]{0,300}?SecureString{OPTIONS}--value[\s=]{1,2}){VALUE}",
    "wrangler secret put|az keyvault|gh secret set": r"(?:wrangler secret put\s[^\r\n|;<]{0,200}<<<\s{0,4}"
    r"|az keyvault secret set{OPTIONS}--value[\s=]{1,2}|gh secret set{OPTIONS}(?:(?-i:-b)|--body)[\s=]{0,2}){VALUE}",
    "--from-literal": r"--from-literal[\s=]{1,2}{QUOTE}[^\s\"'\\=]{1,64}={VALUE}",
    "mysql": r"mysql(?:dump|admin|import|sh)?{OPTIONS}-p{QUOTE}([^\s\"'\\-][^\s\"'\\]{2,128})",
    "sshpass|redis-cli|sqlcmd|ldap|rclone|nmcli| login ": r"(?:sshpass\s{1,4}-p|redis-cli{OPTIONS}-a\s"
    r"|sqlcmd{OPTIONS}(?-i:-P)|ldap[a-z]{3,10}{OPTIONS}(?-i:-w)|rclone{OPTIONS}pass\s|nmcli{OPTIONS}password\s"
    r"| login{OPTIONS}-p(?!\s{1,4}{QUOTE}[0-9]{1,5}\b)\s)\s{0,4}{QUOTE}{GIVEN}",
    "smb": r"smb[a-z]{0,10}{OPTIONS}(?:-U|--user)[\s=]{1,2}{QUOTE}[^\s%\"'\\]{1,64}%{GIVEN}",
    "htpasswd": r"htpasswd\s{1,4}-[a-z]{0,8}b[a-z]{0,8}\s(?:[^\s]{1,128}\s){1,2}{QUOTE}{GIVEN}",
    "net user": r"net user\s{1,4}{USER}\s{1,4}{QUOTE}(?!/){GIVEN}",
    "-pass": r"-pass(?:in|out)?\s{1,4}{QUOTE}pass:{GIVEN}",  # openssl
    "-passw|-passphrase |-token |-secret |-api-key |-apikey ": r"-(?:passw(?:or)?d|passphrase|token|secret"
    r"|api-?key)\s{1,4}{QUOTE}{NO_WORD}{GIVEN}",
    ":_authtoken ": r":_authtoken\s{1,4}{QUOTE}{GIVEN}",
    "securestring": r"securestring\s{1,4}(?:-string\s)?{STRING}",
    "setx |set -": r"set(?:x|\s-[a-z]{1,3})\s{1,4}{NAME}\w{0,32}\s{1,4}{QUOTE}{GIVEN}",  # Windows and fish
    # URLs: hooks that are credentials themselves, parameters, a user's password or token
    "hooks.slack.com/|/api/webhooks/|webhook.office.com/": r"(?:hooks\.slack\.com/(?:services|workflows|triggers)"
    r"|/api/webhooks/[0-9]{5,25}|webhook\.office\.com/webhookb2)/([\w/@-]{20,})",
    "?|&|u0026|%26": r"(?:[?&]|u0026|%26)"
    r"(?!(?:key|token)=(?-i:[a-z]{1,32}(?:[_.-][a-z]{1,32}){0,7})(?:[&\s\"'\\<>#]|$))"
    r"(?:[a-z0-9_.-]{0,40}(?:key|token|secret|passw(?:or)?d|passwd|signature|credential)"
    r"|sig|code|auth|pass|pwd|jwt|sid)"
    r"(?:=|\\{1,4}u003d|%3d)((?![0-9]{1,3}\b)(?:[^&\s\"'\\<>#%]|%(?!26)[0-9a-f]{2}){4,})",
    "://": r"://(?:[^\s/:@\"'\\]{0,64}:([^\s/@\"'\\]{1,256})|([0-9a-f]{32}))@",
    # The word is another one than above, because a user may be a token and have a password too
    ":/": r"://(?P<random>[\w-]{16,256})(?::[^\s/:@\"'\\]{0,256})?@",
    "jdbc:oracle:": r"jdbc:oracle:[a-z]{2,8}:[^\s/@]{1,64}/([^\s@\"'\\]{3,128})@",
    # Headers
    "authorization": r"authorization{ASSIGNED}\\{0,7}[\"']?(?>[a-z][a-z0-9-]{1,24}\s{1,4})?+(?!{NO_SECRET})"
    r"({BARE}{6,}+)(?!\()",
    "bearer |basic ": r"(?:bearer|basic)\s{1,4}([A-Za-z0-9._~+/=-]{16,})",
    "cookie": r"cookies?\s{0,4}:\s{0,4}([^\r\n\"'\\{}\[\]\x80-\xff]{6,})",
    "signature=": r"signature=([0-9a-f]{40,})",
    # Files
    "login": r"login{GAP}{USER}{GAP}password{GAP}{GIVEN}",  # .netrc
    ":5432:": r":5432:[^\s:]{1,64}:{USER}:{GIVEN}",  # .pgpass
    # Pairs of a name and a value: of a container, and of AWS
    "name": r"name{QUOTE}\s?:\s{0,4}{QUOTE}{NAME_IN}{QUOTE}{NEXT}{QUOTE}value{OF_NAME}",
    'key: |key"|key\\': r"key(?::\s{1,4}{QUOTE}{NAME_IN}{QUOTE}{NEXT}"
    r"|{DOUBLE}:\s{0,4}{DOUBLE}{NAME_IN}{DOUBLE}{NEXT}{DOUBLE}(?:\w{1,16})?)value{OF_NAME}",
    "value": r"value{DOUBLE}:\s{0,4}{DOUBLE}(?!{NO_SECRET})([^\"\\\r\n]{4,1024}){DOUBLE},(?:\s|\\{1,3}[nr]){0,40}"
    r"{DOUBLE}(?:name|key){DOUBLE}:\s{0,4}{DOUBLE}{NAME_IN}{DOUBLE}",
    # The password of a new user, in the table that AWS gives
    "user name,password,": r"user name,password,[^\r\n\\]{1,200}{END}[^,\r\n\\]{1,64},([^,\"\\\r\n]{4,128}),",
    "key=": r"key=\\{0,3}\"{NAME}\\{0,3}\"\s{1,4}value={STRING}",  # .NET
    # Terraform
    "variable ": r"variable\s{DOUBLE}{NAME}\w{0,16}{DOUBLE}\s{0,4}\{[^}]{0,300}?default\s{0,16}=\s{0,4}{STRING}",
    "<pass|<secret|<token|<api|<private": r"<{NAME}\w{0,16}>([^\s<>]{4,256})</",
    # Code and sentences
    "define(": r"define\(\s{0,4}[\"']{NAME}[\"'],\s{0,4}{STRING}",
    "auth=(|basicauth(": r"(?:basic)?auth=?\(\s{0,4}{QUOTE}[^\"'\\,]{1,64}{QUOTE},\s{0,4}{STRING}",
    "identified by|password ": r"(?:identified by|password)\s{1,4}{STRING}",
    "password is": r"password is:?\s{1,4}{QUOTE}(?=[^\s\"'\\]{0,127}?[0-9])(?=[^\s\"'\\]{0,127}?[a-z]){GIVEN}",
    "mnemonic|seed phrase|seed_phrase|recovery phrase|seedphrase": r"[a-z]{4,9}(?:[_ ]?phrase)?\W{1,12}"
    r"((?:[a-z]{3,8} ){11,23}[a-z]{3,8})",
    # `"auth": "…"` of Docker and npm. The bare word is too common, so a quote or `_` must precede it
    "auth": r"(?<=[\"'_])auth\\{0,7}[\"']?\s{0,4}[:=]\s{0,4}\\{0,7}[\"']?([A-Za-z0-9+/=_-]{8,})",
    # `token` appears in every parser and every usage count
    "token|_pat": r"(?:tokens?(?:_\w{1,32})?|_pat)(?:\\{0,7}[\"']\]?)?{EQUALS}\\{0,7}[\"']?"
    r"(?P<random>(?=[^\s\"'\\]{0,200}?[0-9])(?=[^\s\"'\\]{0,200}?[A-Za-z])[A-Za-z0-9._~+/=:-]{8,})",
    "key|secret|passw|passphrase|session|cookie|credential|srf|_pass|-pass|psk|pwd|sshpass|contrase"
    r"|{PASSWORDS}|\u5bc6\u7801|\u5bc6\u78bc|\u043f\u0430\u0440\u043e\u043b\u044c": r"(?:{OWNER}key"
    r"|secret(?!ar|name|ref|s?_?manager)|passw(?:or)?d|passphrase|session[_-]?(?:id|key|token)"
    r"|cookie|credential|(?<=[cx])srf|[_-]pass(?:wd)?|(?:(?<![a-z])|(?<=\\[nrt]))(?:pwd|psk)|sshpass|passwort"
    r"|contrase(?:ñ|n|\\u00f1)a|{PASSWORDS}|\\u5bc6\\u7801|\\u5bc6\\u78bc|\\u043f\\u0430\\u0440\\u043e\\u043b\\u044c)"
    r"{ASSIGNED}(?!\\{0,7}[\"']?{NO_SECRET})"
    r"(?:{QUOTED}|\\{0,7}[\"']?(?:(?:bearer|basic|token|bot)\s{1,4})?({BARE}{6,}+)(?!\())",
}
"""Wherever one of these words (divided by `|`) stands, in any case, the pattern is tried: its last group is a secret.

A group with a name: a secret that must look `random`, a `key` (the ends of its lines stay), or one that stands
`before` the word.
"""
