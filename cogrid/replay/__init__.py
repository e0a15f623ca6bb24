"""Replays: record episodes, save and verify them, read them as arrays; tapes of many episodes."""

from cogrid.replay.frames import Frame
from cogrid.replay.recording import Mismatch, Recorder, Replay, load_folder, record
from cogrid.replay.tapes import Tapes
from cogrid.replay.tapes import load as load_tapes

__all__ = ("Frame", "Mismatch", "Recorder", "Replay", "Tapes", "load_folder", "load_tapes", "record")
