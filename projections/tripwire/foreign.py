"""The detectors of `detect-secrets`, named one by one, asked directly.

1. Only `analyze_string` is called: no filter, no allow-list comment, no setting of that program and no
   request to anybody takes part.
2. Left out are the two that measure entropy, which take every digest for a secret, and the one for public
   addresses, which takes versions of four numbers for addresses; `addresses` has one of ours.
3. The version is pinned. Another one is another tripwire.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from anvil.projections.tripwire.detector import Detector, broken

PINNED = "1.5.0"

# Put together at run time, so that no scanner takes the samples in this file for secrets.
_A = "a1B2c3D4e5F6a7B8c9D0e1F2a3B4c5D6e7F8a9B0"
_HEX = "0123456789abcdef" * 4

PLUGINS: dict[str, tuple[str, str]] = {
    "artifactory:ArtifactoryDetector": ("artifactory", f"AKC{_A}"),
    "aws:AWSKeyDetector": ("aws-key", "AKIA" + "ABCDEFGHIJ234567"),
    "azure_storage_key:AzureStorageKeyDetector": ("azure-storage-key", "AccountKey=" + "Ab1+" * 22),
    "basic_auth:BasicAuthDetector": ("url-password", "https://somebody:" + "pass-word@example.com"),
    "cloudant:CloudantDetector": ("cloudant", f'cloudant_password = "{_HEX}"'),
    "discord:DiscordBotTokenDetector": ("discord", f"M{_A[:23]}.{_A[:6]}.{_A[:27]}"),
    "github_token:GitHubTokenDetector": ("github-token", f"ghp_{_A[:36]}"),
    "gitlab_token:GitLabTokenDetector": ("gitlab-token", f"glpat-{_A[:20]}"),
    "ibm_cloud_iam:IbmCloudIamDetector": ("ibm-cloud-iam", f'ibm_api_key = "{(_A + _A)[:44]}"'),
    "ibm_cos_hmac:IbmCosHmacDetector": ("ibm-cos-hmac", f'secret_access_key = "{_HEX[:48]}"'),
    "jwt:JwtTokenDetector": ("jwt", "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0.c2lnbmF0dXJl"),
    "keyword:KeywordDetector": ("keyword", 'password = "' + 'correct-horse-battery"'),
    "mailchimp:MailchimpDetector": ("mailchimp", f"{_HEX[:32]}-us12"),
    "npm:NpmDetector": ("npm", f"//registry.example.com/:_authToken=npm_{_A[:36]}"),
    "openai:OpenAIDetector": ("openai", f"sk-{_A[:20]}T3BlbkFJ{_A[:20]}"),
    "private_key:PrivateKeyDetector": ("private-key", "-----BEGIN " + "PRIVATE KEY-----"),
    "pypi_token:PypiTokenDetector": ("pypi-token", f"pypi-AgEIcHlwaS5vcmc{_A}{_A}"),
    "sendgrid:SendGridDetector": ("sendgrid", f"SG.{_A[:22]}.{(_A + _A)[:43]}"),
    "slack:SlackDetector": ("slack", "xoxb-" + "1234567890-abcdefghij"),
    "softlayer:SoftlayerDetector": ("softlayer", f'softlayer_key = "{_HEX}"'),
    "square_oauth:SquareOAuthDetector": ("square-oauth", f"sq0csp-{(_A + _A)[:43]}"),
    "stripe:StripeDetector": ("stripe", f"sk_live_{_A[:24]}"),
    "telegram_token:TelegramBotTokenDetector": ("telegram", f"123456789:{_A[:35]}"),
    "twilio:TwilioKeyDetector": ("twilio", f"AC{_HEX[:32]}"),
}
"""Module and class to our name for it and its sample."""


def foreign_detectors() -> tuple[Detector, ...]:
    """Return the detectors.

    Raises:
        TripwireBroken: `detect-secrets` or one of its detectors is missing, or it is another version.
    """
    try:
        found = version("detect-secrets")
    except PackageNotFoundError as error:
        raise broken("detect-secrets", "it is not installed") from error
    if found != PINNED:
        raise broken("detect-secrets", f"version {found} is installed, expected {PINNED}")
    return tuple(_detector(where, name, sample) for where, (name, sample) in PLUGINS.items())


def _detector(where: str, name: str, sample: str) -> Detector:
    module, _, class_name = where.partition(":")
    try:
        plugin = getattr(import_module(f"detect_secrets.plugins.{module}"), class_name)()
    except (ImportError, AttributeError, TypeError) as error:
        raise broken(name, f"detect-secrets has none at {where}") from error
    return Detector(name, plugin.analyze_string, sample)
