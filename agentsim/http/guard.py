"""Nothing leaves the machine: sockets connect to this machine, and names are looked up of it, and no further.

Loops that connect below Python's sockets (uvloop) are not seen here; their HTTP clients are intercepted all the same.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from agentsim.errors import AgentsimError, UsageError

_HOST = re.compile(r"(\*\.)?[\w-]+(\.[\w-]+)*")
#: The host in a URL, or before a port.
_HOST_IN = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://)?(?:[^/@]*@)?((?:\*\.)?[\w-]+(?:\.[\w-]+)*)(?:\.?$|[:/?#.])", re.IGNORECASE
)
_LOCAL = frozenset({"localhost", "", "0.0.0.0", "::", "testserver"})


class NetworkBlocked(AgentsimError, ConnectionRefusedError):
    """A connection that would have left the machine."""


class _Guard:
    """The patches, once for all who ask for them."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.holders: list[tuple[frozenset[str], Callable[[NetworkBlocked], None] | None]] = []
        self.resolved: set[str] = set()
        self.real: dict[str, Any] = {}

    def allows(self, host: Any) -> bool:
        if isinstance(host, bytes):
            host = host.decode("ascii", "replace")
        if not isinstance(host, str) or is_local(host) or host in self.resolved:
            return True
        return any(allowed(host, hosts) for hosts, _ in self.holders)

    def refuse(self, what: str) -> NetworkBlocked:
        error = NetworkBlocked(f"agentsim keeps the network closed: {what} was not let through")
        for _, tell in self.holders:
            if tell is not None:
                tell(error)
        return error

    def install(self) -> None:
        for name, wrapped in _METHODS.items():
            self.real[name] = getattr(socket.socket, name)
            setattr(socket.socket, name, wrapped)
        for name, wrapped in _LOOKUPS.items():
            self.real[name] = getattr(socket, name)
            setattr(socket, name, wrapped)

    def uninstall(self) -> None:
        for name in _METHODS:
            setattr(socket.socket, name, self.real[name])
        for name in _LOOKUPS:
            setattr(socket, name, self.real[name])
        self.resolved.clear()


_guard = _Guard()


@lru_cache(maxsize=256)
def is_local(host: str) -> bool:
    """Whether a host is this machine."""
    if host.lower().rstrip(".") in _LOCAL or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0].strip("[]")).is_loopback
    except ValueError:
        return False


def host_names(hosts: Iterable[str], what: str) -> tuple[str, ...]:
    """Names of hosts, checked: one that is an address with a scheme, a port or a path would never fit any host.

    Args:
        hosts: names and IP addresses; `*.example.com` is all below one.
        what: where they were given, for the message.
    Raises:
        UsageError: one is none, or a text came in place of a list.
    """
    if isinstance(hosts, str | bytes) or not isinstance(hosts, Iterable):
        came = "a single text" if isinstance(hosts, str | bytes) else repr(hosts)
        raise UsageError(f"{what}: expected a list of host names, as ['api.example.com'], but {came} came")
    names = tuple(hosts)
    for name in names:
        if not isinstance(name, str) or not (_HOST.fullmatch(name) or _is_address(name)):
            found = _HOST_IN.match(name) if isinstance(name, str) else None
            hint = f"; did you mean {found[1]!r}?" if found else ""
            raise UsageError(
                f"{what}: expected a host name, as api.example.com or *.example.com, but {name!r} came{hint}"
            )
    return names


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def allowed(host: str, hosts: Iterable[str]) -> bool:
    """Whether a host is one of these, or below one that is written `*.example.com`."""
    host = host.lower().rstrip(".")
    return any(host == name or (name.startswith("*.") and host.endswith(name[1:])) for name in hosts)


def _check(sock: socket.socket, address: Any) -> None:
    if sock.family in (socket.AF_INET, socket.AF_INET6) and not _guard.allows(address[0]):
        raise _guard.refuse(f"a connection to {address[0]}:{address[1]}")


def _connect(self: socket.socket, address: Any) -> Any:
    _check(self, address)
    return _guard.real["connect"](self, address)


def _connect_ex(self: socket.socket, address: Any) -> Any:
    _check(self, address)
    return _guard.real["connect_ex"](self, address)


def _sendto(self: socket.socket, data: Any, *flags_and_address: Any) -> Any:
    _check(self, flags_and_address[-1])
    return _guard.real["sendto"](self, data, *flags_and_address)


def _getaddrinfo(host: Any, *more: Any, **named: Any) -> Any:
    _check_name(host)
    found = _guard.real["getaddrinfo"](host, *more, **named)
    if host is not None:
        _guard.resolved.update(str(address[4][0]) for address in found)
    return found


def _gethostbyname(host: str) -> Any:
    _check_name(host)
    found = _guard.real["gethostbyname"](host)
    _guard.resolved.add(found)
    return found


def _gethostbyname_ex(host: str) -> Any:
    _check_name(host)
    found = _guard.real["gethostbyname_ex"](host)
    _guard.resolved.update(found[2])
    return found


def _check_name(host: Any) -> None:
    if host is not None and not _guard.allows(host):
        raise _guard.refuse(f"the address of {host}")


_METHODS: dict[str, Any] = {"connect": _connect, "connect_ex": _connect_ex, "sendto": _sendto}
_LOOKUPS: dict[str, Any] = {
    "getaddrinfo": _getaddrinfo,
    "gethostbyname": _gethostbyname,
    "gethostbyname_ex": _gethostbyname_ex,
}


@contextlib.contextmanager
def closed_network(
    allow_hosts: Iterable[str] = (), tell: Callable[[NetworkBlocked], None] | None = None
) -> Iterator[None]:
    """While it is open, only this machine and the allowed hosts can be reached.

    Args:
        allow_hosts: names, `*.example.com` for all below one.
        tell: is called with each refusal, since clients swallow what is raised.
    """
    holder = (frozenset(name.lower() for name in host_names(allow_hosts, "allow_hosts")), tell)
    with _guard.lock:
        _guard.holders.append(holder)
        if len(_guard.holders) == 1:
            _guard.install()
    try:
        yield
    finally:
        with _guard.lock:
            _guard.holders.remove(holder)
            if not _guard.holders:
                _guard.uninstall()
