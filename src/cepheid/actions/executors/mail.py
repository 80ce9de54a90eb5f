"""Sends an action as a mail by SMTP. The Message-ID is made of the key, so that a mail sent twice is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from cepheid.actions.action import Action, encode_line
from cepheid.actions.delivery import DeliveryFailed
from cepheid.actions.settings import Settings
from cepheid.core.templates import Template, shown

if TYPE_CHECKING:
    from email.message import EmailMessage
    from smtplib import SMTP
    from ssl import SSLContext

SECURITY = ("none", "starttls", "tls")


@dataclass(frozen=True, slots=True)
class Mail:
    """An action's own arguments `to`, `subject` and `text` go before those of the settings."""

    host: str
    port: int
    sender: str
    to: tuple[Template, ...] = ()
    subject: Template | None = None
    text: Template | None = None
    security: str = "none"
    user: str | None = None
    password: str = field(default="", repr=False)
    timeout: float = 30.0

    @classmethod
    def read(cls, settings: Settings) -> Mail:
        security = settings.one_of("security", SECURITY, "none")
        user = settings.text("user", "") or None
        if user is None and settings.has("password_env"):
            settings.wrong("password_env", "a password needs a user")
        return cls(
            host=settings.text("host"),
            port=settings.whole("port", {"none": 25, "starttls": 587, "tls": 465}[security]),
            sender=settings.text("from"),
            to=tuple(settings.as_template("to", text) for text in settings.texts("to", ())),
            subject=settings.template("subject"),
            text=settings.template("text"),
            security=security,
            user=user,
            password=settings.secret("password", required=user is not None),
            timeout=settings.seconds("timeout", 30.0),
        )

    def deliver(self, action: Action, now: float) -> None:
        import smtplib

        message = self._message(action, now)
        try:
            server = self._server()
            try:
                self._log_in(server)
                refused = server.send_message(message)
            finally:
                _leave(server)
        except smtplib.SMTPRecipientsRefused as problem:
            raise _refused(problem.recipients, is_any_sent=False) from None
        except smtplib.SMTPAuthenticationError as problem:  # a password may be set right
            raise DeliveryFailed(f"the server refuses the login: {_said(problem)}") from None
        except smtplib.SMTPResponseException as problem:
            is_permanent = 500 <= problem.smtp_code < 600
            raise DeliveryFailed(_said(problem), permanent=is_permanent) from None
        except smtplib.SMTPNotSupportedError as problem:
            raise DeliveryFailed(str(problem), permanent=True) from None
        except smtplib.SMTPException as problem:
            raise DeliveryFailed(str(problem) or type(problem).__name__) from None
        if refused:
            raise _refused(refused, is_any_sent=True)

    def describe(self, action: Action) -> str:
        message = self._message(action, 0.0)
        return f"mail to {message['To']}: {message['Subject']}"

    def _server(self) -> SMTP:
        from smtplib import SMTP, SMTP_SSL

        if self.security == "tls":
            return SMTP_SSL(self.host, self.port, timeout=self.timeout, context=_context())
        return SMTP(self.host, self.port, timeout=self.timeout)

    def _log_in(self, server: SMTP) -> None:
        if self.security == "starttls":
            server.starttls(context=_context())
        if self.user is not None:
            server.login(self.user, self.password)

    def _message(self, action: Action, now: float) -> EmailMessage:
        from email.message import EmailMessage
        from email.utils import formatdate

        message = EmailMessage()
        try:
            message["From"] = self.sender
            message["To"] = ", ".join(self._recipients(action))
            message["Subject"] = self._own(action, "subject", self.subject) or action.name
            text = self._own(action, "text", self.text)
            message.set_content(encode_line(action.row()).decode() if text is None else text)
        except (ValueError, IndexError) as problem:  # such as the end of a line in a header
            raise DeliveryFailed(f"this is no mail: {problem}", permanent=True) from None
        if not message["To"]:
            raise DeliveryFailed("nobody to send the mail to", permanent=True)
        message["Date"] = formatdate(now)
        domain = self.sender.rpartition("@")[2].strip("> ") or "localhost"
        token = blake2b(action.key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        message["Message-ID"] = f"<{token}@{domain}>"
        return message

    def _recipients(self, action: Action) -> list[str]:
        own = action.arguments.get("to")
        if own is None:
            return [text.text(action.names) for text in self.to]
        return [shown(one) for one in own] if isinstance(own, list | tuple) else [shown(own)]

    def _own(self, action: Action, name: str, usual: Template | None) -> str | None:
        own = action.arguments.get(name)
        if own is not None:
            return shown(own)
        return None if usual is None else usual.text(action.names)


def _leave(server: SMTP) -> None:
    """Says good-bye. A mail that was taken stays taken, whatever the server answers to that."""
    from smtplib import SMTPException

    try:
        server.quit()
    except (OSError, SMTPException):
        server.close()


def _context() -> SSLContext:
    import ssl

    return ssl.create_default_context()


def _said(problem: object) -> str:
    code, text = getattr(problem, "smtp_code", 0), getattr(problem, "smtp_error", b"")
    said = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    return f"SMTP {code} {said}".rstrip()


def _refused(recipients: dict[str, tuple[int, bytes]], *, is_any_sent: bool) -> DeliveryFailed:
    """Nobody gets a mail twice because somebody else did not get it once."""
    who = ", ".join(
        f"{name} ({code} {text.decode(errors='replace')})"
        for name, (code, text) in recipients.items()
    )
    if is_any_sent:
        return DeliveryFailed(f"sent to the others, refused for {who}", permanent=True)
    is_permanent = all(code >= 500 for code, _ in recipients.values())
    return DeliveryFailed(f"refused for {who}", permanent=is_permanent)
