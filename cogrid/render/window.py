"""A window on the screen, using tkinter from the standard library."""

from __future__ import annotations

import time
from typing import Any

from cogrid.render.raster import Pixels

WINDOW_TILE = 64


class Window:
    """Shows pictures; opened by the first one. Once its user closes it, it stays closed."""

    def __init__(self, title: str) -> None:
        try:
            import tkinter
        except ModuleNotFoundError:
            raise ValueError(
                "render_mode='human' needs tkinter, which this Python lacks: install your system's package "
                "for it (python3-tk), or use render_mode='rgb_array'."
            ) from None
        self._tk: Any = tkinter
        self._title = title
        self._root: Any = None
        self._label: Any = None
        self._closed = False
        self._next = 0.0  # when the next picture is due

    def show(self, image: Pixels, fps: float) -> None:
        """Show a (height, width, 3) picture, after the previous one was shown long enough."""
        if self._closed:
            return
        if self._root is None:
            self._open()
        time.sleep(max(0.0, min(self._next - time.monotonic(), 1 / fps)))
        self._next = time.monotonic() + 1 / fps
        height, width, _ = image.shape
        data = b"P6 %d %d 255\n" % (width, height) + image.tobytes()
        try:
            photo = self._tk.PhotoImage(master=self._root, data=data, format="PPM")
            self._label.configure(image=photo)
            self._label.image = photo  # Tk drops a picture without a reference
            self._root.update()
        except self._tk.TclError:  # the window was closed meanwhile
            self.close()

    def _open(self) -> None:
        try:
            self._root = self._tk.Tk()
        except self._tk.TclError as error:
            raise ValueError(
                f"render_mode='human' cannot open a window here ({error}): use render_mode='rgb_array'."
            ) from None
        self._root.title(self._title)
        self._root.resizable(False, False)
        self._root.protocol("WM_DELETE_WINDOW", self.close)
        self._label = self._tk.Label(self._root, borderwidth=0)
        self._label.pack()

    def close(self) -> None:
        """Close the window for good."""
        self._closed = True
        if self._root is not None:
            root, self._root = self._root, None
            try:
                root.destroy()
            except self._tk.TclError:  # it is gone already
                return
