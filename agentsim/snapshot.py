"""Transcripts as syrupy snapshots: one readable text file a test. The only module that imports syrupy."""

from __future__ import annotations

from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from agentsim.core.transcript import Transcript
from agentsim.report.transcript import transcript_lines


class TranscriptExtension(SingleFileSnapshotExtension):
    """Keeps a transcript as the text that `agentsim show` prints."""

    _write_mode = WriteMode.TEXT
    file_extension = "transcript.txt"

    def serialize(self, data: Any, **_: Any) -> str:
        """The transcript as text.

        Args:
            data: a Transcript, or what has one (a Sim, a Result).
        Raises:
            TypeError: it is neither.
        """
        transcript = getattr(data, "transcript", data)
        if not isinstance(transcript, Transcript):
            raise TypeError(f"transcript_snapshot compares transcripts; {type(data).__name__} came")
        return "\n".join(transcript_lines(transcript, full=True)) + "\n"
