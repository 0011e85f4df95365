"""What the caller of an audit gave: found wrong before anything is played, or as soon as the target shows it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agentsim.audit.played import Options
from agentsim.errors import UsageError, nearest
from agentsim.http.guard import host_names

__all__ = ["ToolCheck", "check_options"]


def check_options(target: str | Sequence[str], options: Options) -> None:
    """What is wrong with the options whatever the target does.

    Raises:
        UsageError: a command has a `result`, whose output is all that there is to classify; a host is none.
    """
    host_names(options.allow_hosts, "--allow-host")
    if options.result is not None and not isinstance(target, str):
        raise UsageError(
            "--result says what a callable returned, but the target is a command: its output with exit status 0 is an "
            "answer, and any other end is none; leave --result out"
        )


class ToolCheck:
    """Whether the target offers the tools that `--tool` names: of a misspelt one no rule would say anything.

    Args:
        wanted: the names; none: every tool may be called, and nothing is looked at.
    """

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = wanted
        self._known = not wanted

    def look(self, offered: Sequence[str]) -> None:
        """A scenario was played in which the target offered these tools; the first that offers any decides.

        Raises:
            UsageError: one that was named is not among them.
        """
        if self._known or not offered:
            return
        self._known = True
        missing = sorted(set(self._wanted) - set(offered))
        if missing:
            near = nearest(missing[0], offered)
            hint = f"; did you mean {near!r}?" if near else ""
            raise UsageError(
                f"--tool {missing[0]}: the target offers no such tool; it offers {', '.join(offered)}{hint}"
            )

    def end(self) -> None:
        """Everything was played.

        Raises:
            UsageError: tools were named, and the target never offered any.
        """
        if not self._known:
            raise UsageError(
                f"--tool {min(self._wanted)}: the target offers no such tool; none of its requests offers any"
            )
