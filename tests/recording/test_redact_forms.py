"""Forms in which agents show secrets, each with a near miss, as they are and inside of JSON strings."""

from __future__ import annotations

import json
import time

import pytest

from toolcalls.recording.redact import redact, redact_bytes

# What must be masked stands between ‹ and ›. The beginnings are cut in two, so that no scanner takes this for a leak.
_LINES = ("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB", "AAABlwAAAAdzc2gtcnNhAAAAAwEAAQAAAYEA1x", "kQ==")
_OPENSSH, _RSA = "-----BEGIN OPENSSH PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----"
_END = "-----END OPENSSH PRIVATE KEY-----"
_RSA_LINES = ("MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn4", "/ygWyF8PbnGy0AHB7MaC2n3g==")


def _numbered(form: str, beginning: str, lines: tuple[str, ...]) -> str:
    """A key as a tool shows it, with the numbers of its lines."""
    shown = [beginning, *(f"‹{line}›" for line in lines), _END]
    return "\n".join(form.format(number) + line for number, line in enumerate(shown, 1))


SECRETS = [
    # A private key behind line numbers: Claude Code, opencode, cat -n, nl, grep -n, a diff
    *(
        _numbered(form, beginning, lines)
        for form in ("{:6}→", "{:05}| ", "{:6}\t", "{:6}  ", "{}:", "{}-", "+", "-", " ", "> ", "L{}: ")
        for beginning, lines in ((_OPENSSH, _LINES), (_RSA, _RSA_LINES))
    ),
    f"{_RSA}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C\n\n‹{_RSA_LINES[0]}›\n‹{_RSA_LINES[1]}›\n-----END",
    f"     7→{_LINES[0][:19]}‹{_LINES[0][19:]}›\n     8→‹{_LINES[1]}›",
    # URLs
    "git clone https://‹ghtoken0123456789abcd›@github.com/a/b",
    "https://‹9f86d081884c7d659a2feaa0c55ad015a3bf4f1b›@git.example/a.git",
    "https://‹a7f3k9d2m5x8q1w4›:x-oauth-basic@github.com/a",
    "https://x-access-token:‹hunter2›@github.com/a",
    "url = https://‹abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst›@dev.azure.com/org",
    # Commands
    "curl -b 'session=‹abc123def›' https://a.example",
    "curl -s --cookie \"sid=‹abc123def; theme=dark›\" https://a.example",
    "curl -b session=‹abc123def› https://a.example",
    "echo ‹hunter2› | sudo -S apt update",
    "echo '‹correct horse battery›' | sudo -S -p '' ls",
    "echo -n \"‹hunter2›\" | sudo -kS ls",
    "printf '%s\\n' '‹hunter2›' | sudo -S ls",
    "sudo -S ls <<< '‹hunter2›'",
    "echo '‹hunter2›' | sudo --stdin ls",
    "echo -e '‹hunter2›\\n' | sudo -S ls",
    "{'name': 'DB_PASSWORD', 'value': '‹hunter2!›'}",
    "echo ‹hunter2› | docker login --password-stdin -u bob registry.example",
    "echo \"‹hunter2›\" | su -c ls root",
    "yes ‹hunter2› | sudo -S ls",
    "sudo -S ls <<EOF\n‹hunter2›\nEOF",
    "sudo -S ls <<-'EOF'\n‹hunter2›\nEOF",
    "gh secret set API --body ‹hunter2›",
    "gh secret set API -b\"‹hunter2 and more›\" --repo a/b",
    "gh secret set API --body='‹hunter2›'",
    "echo ‹hunter2› | gh secret set API",
    "echo ‹hunter2› | wrangler secret put API",
    "wrangler secret put API <<< ‹hunter2›",
    "echo -n ‹hunter2› | gcloud secrets create API --data-file=-",
    "aws configure set aws_secret_access_key ‹hunter2›",
    "aws configure set profile.x.aws_session_token '‹hunter2›'",
    "aws secretsmanager put-secret-value --secret-id x --secret-string ‹hunter2›",
    "aws ssm put-parameter --name x --type SecureString --value ‹hunter2›",
    "az keyvault secret set --name x --vault-name v --value ‹hunter2›",
    "kubectl create secret generic db --from-literal=user=‹hunter2›",
    "npm config set //registry.example/:_authToken ‹hunter2›",
    # Data sources
    "root:‹hunter2›@tcp(127.0.0.1:3306)/shop",
    "dsn := \"app:‹p@ss:w0rd›@tcp(db:3306)/shop?parseTime=true\"",
    "app:‹hunter2›@unix(/tmp/mysql.sock)/shop",
    # Tables and pairs
    "User Name,Access key ID,Secret access key\nbob,‹AKIAIOSFODNN7EXAMPLE›,‹wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY›",
    "Access key ID,Secret access key\r\n‹AKIAIOSFODNN7EXAMPLE›,‹wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY›",
    "User name,Password,Console sign-in URL\nbob,‹k7#Qp!zR›,https://1.signin.aws.amazon.com/console",
    '{"name":"DB_PASSWORD","value":"‹hunter2›"}',
    '{ "name": "DB_PASSWORD",\n  "value": "‹with, spaces; and {brackets}›" }',
    '{"Name": "API_TOKEN", "Value": "‹hunter2›"}',
    '{"name":"DB_PASSWORD","value":"‹hun\\\\ter2 \\"quoted\\"›"}',
    '{"name":"DB_PASSWORD","type":"string","value":"‹hunter2›"}',
    '{"value":"‹hunter2›","name":"DB_PASSWORD"}',
    '{"key":"DB_PASSWORD","value":"‹hunter2›"}',
    '{"name":"DB_PASSWORD_PROD","value":"‹hunter2›"}',
    '{"ParameterKey":"DbPassword","ParameterValue":"‹hunter2›"}',
    "- name: DB_PASSWORD\n  value: ‹hunter2›",
    "- key: db_password\n  value: ‹hunter2›",
    '{"name":"DB_PASSWORD","env":"prod","hidden":true,"value":"‹hunter2›"}',
    '{"name" : "DB_PASSWORD", "value" : "‹hunter2›"}',
    # Keys, first in a line too
    "‹GOC" "SPX-abcdEFGH1234ijklMNOP5678qrst›",
    "# created: 2026\n‹AGE-SECRET" "-KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSGPQYQ›",
    "‹AGE-SECRET" "-KEY-PQ-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSGPQYQ›",
    "1//0‹gAbCdEfGhIjKlMnOpQrStUvWxYz-0123456789abc›",
    "     2→MHcCAQEEI‹IGlRHQ5w3Zx0K4bFf0l1n2m3o4p5q6r7s8t9u0v1w2xoAoGCCqGSM49›",
    "keys:\n‹s" "k-proj-abcdefghijklmnop1234567890›\n\t‹gh" "p_abcdefghijklmnopqrstuvwxyz0123456789›",
    "[db]\npwd=‹hunter2hunter2›",
]  # fmt: skip

NEAR_MISSES = [
    "     1→-----BEGIN CERTIFICATE-----\n     2→MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQsw\n     3→-----END",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA0Z3VS5JJcds3xfn4\n-----END",
    "     1→if \"PRIVATE KEY-----\" in text:\n     2→    raise Leak()\n     3→return text",
    "https://user@example.org/path",
    "https://some-user-name-of-2024@bitbucket.org/team/repo.git",
    "ssh://git@github.com:22/a/b",
    "https://example.org/@scope/package@1.2.3",
    "https://example.org/users/a7f3k9d2m5x8q1w4/posts",
    "curl -b cookies.txt -c cookies.txt https://a.example",
    "curl -b \"session=$SESSION\" https://a.example",
    "curl -B https://a.example?page=2",
    "echo $PASSWORD | sudo -S ls",
    "echo \"$PASSWORD\" | sudo -S ls",
    "echo 'deb https://a.example stable main' | sudo tee /etc/apt/sources.list.d/a.list",
    "sudo -S ls < /dev/stdin",
    "gh secret set API --body \"$API_KEY\"",
    "gh secret set API --body \"$(cat key.txt)\"",
    "gh secret set API < key.txt",
    "gh secret set -f .env",
    "echo $TOKEN | docker login --password-stdin -u bob registry.example",
    "docker login --password-stdin < token.txt",
    "echo yes | sudo tee /etc/x",
    "yes | sudo apt install vim",
    "sudo -S ls <<EOF\n$PASSWORD\nEOF",
    "wrangler secret put API < key.txt",
    "aws configure set region eu-central-1",
    "aws ssm put-parameter --name x --type String --value blue12345",
    "aws secretsmanager put-secret-value --secret-id x --secret-string \"$SECRET\"",
    "kubectl create secret generic db --from-literal=user=$DB_USER",
    "kubectl create secret generic db --from-file=tls.key",
    "https://example.org/a1//0/b",
    "- key: colour\n  value: blue12345",
    '{"name":"colour","env":"prod","value":"blue12345"}',
    "gh issue create --title hunter2 --body hunter2",
    "root@tcp(127.0.0.1:3306)/shop",
    "fmt.Sprintf(\"%s:%s@tcp(%s)/%s\", user, pass, host, db)",
    "${DB_USER}:${DB_PASS}@tcp(db:3306)/shop",
    "call:later @tcp(now)",
    "User Name,Access level,Group\nbob,admin1234,developers\nalice,reader5678,testers",
    "name,value\ncolour,blue12345\nsize,large6789",
    "User name,Phone,City\nbob,5551234567,Berlin",
    '{"name":"DB_HOST","value":"db.example.org"}',
    '{"name":"MAX_TOKENS","value":"4096"}',
    '{"name":"keyboard","value":"qwerty123"}',
    '{"name":"DB_PASSWORD","value":"${DB_PASSWORD}"}',
    '{"name":"DB_PASSWORD","valueFrom":{"secretKeyRef":{"name":"db","key":"password"}}}',
    '{"value":"blue12345","name":"colour"}',
    '{"key":"theme","value":"solarized2"}',
    "GOCSPX is how Google's client secrets begin",
    "AGE-SECRET-KEY- is how age keys begin",
    "cd /srv\npwd\nls",
]  # fmt: skip

ESCAPED = {
    "as it is": lambda text: text,
    "in JSON": lambda text: json.dumps({"content": text}),
    "in JSON, with its characters": lambda text: json.dumps({"content": text}, ensure_ascii=False),
    "in the arguments of a call": lambda text: json.dumps({"arguments": json.dumps({"text": text})}),
}


def _cases() -> list[tuple[str, list[str]]]:
    found = []
    for row in SECRETS:
        pieces = row.split("‹")
        secrets = [piece.partition("›")[0] for piece in pieces[1:]]
        found.append((row.replace("‹", "").replace("›", ""), secrets))
    return found


@pytest.mark.parametrize("form", ESCAPED)
@pytest.mark.parametrize(("text", "secrets"), _cases())
def test_secrets_in_many_forms_are_masked(text: str, secrets: list[str], form: str) -> None:
    written = ESCAPED[form](text)
    masked = redact(written)
    assert len(masked.encode()) == len(written.encode())
    for secret in secrets:
        assert secret not in masked
        assert "*" * len(secret) in masked, "all of it"
    if form != "as it is":
        told = json.loads(masked)
        assert told.keys() == json.loads(written).keys()
        if "arguments" in told:
            json.loads(told["arguments"])


@pytest.mark.parametrize("form", ESCAPED)
@pytest.mark.parametrize("text", NEAR_MISSES)
def test_what_only_looks_like_a_secret_stays(text: str, form: str) -> None:
    written = ESCAPED[form](text)
    assert redact(written) == written


def test_the_numbers_of_the_lines_of_a_key_stay() -> None:
    key = _numbered("{:6}→", _OPENSSH, _LINES).replace("‹", "").replace("›", "")
    lines = redact(key).splitlines()
    assert [line[:7] for line in lines] == [f"{number:6}→" for number in range(1, 6)]
    assert lines[-1] == f"     5→{_END}"


HARD = [
    "echo a", "echo 'a | sudo ", "printf a ", "sudo -S ", "sudo ", "curl -b a=", "curl ", "gh secret set ",
    "@tcp(", "a:@tcp(", "a:b", ":", "AKIA", "AKIAIOSFODNN7EXAMPLE,", "IBAAKCAQEA", "b3BlbnNzaC1rZXktdjE",
    "PRIVATE KEY-----\n     2→", "PRIVATE KEY-----", '"name":"', '"value":"a', '{"value":"a","name":"', "://a1",
    "://a1b2c3d4e5f6a7b8", "User name,Password,", "\\n1|", "GOCSPX-", "key\":\"", "a,",
]  # fmt: skip


@pytest.mark.parametrize("piece", HARD)
def test_masking_two_megabytes_of_anything_takes_linear_time(piece: str) -> None:
    """Twice the text costs twice the time; a text of every character once more would be far above this."""

    def cost(size: int) -> float:
        text = piece * (size // len(piece))
        started = time.process_time()
        redact_bytes(text.encode())
        return time.process_time() - started

    assert cost(2 * 2**20) < 8 * max(cost(2**19), 0.1)
