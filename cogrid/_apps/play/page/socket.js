// What runs the game: here the server that the page is from, over a socket.
//
// `connect(receive, lose)` returns { send(command), fits(command) }. Commands and messages are those of session.py:
// messages of the kinds "game", "frame", "film" and "error" go to `receive`; `lose(headline, hint)` tells that no game runs.

const REPLACED = 4001, PATIENCE = 600;  // milliseconds until it is tried again

export function connect(receive, lose) {
  let socket = null;

  function open() {
    socket = new WebSocket(location.href.replace(/^http/, "ws").replace(/[?#].*/, "") + "ws");
    socket.onmessage = (event) => receive(JSON.parse(event.data));
    socket.onclose = (event) => {
      if (event.code === REPLACED) return lose("Opened in another window", "This one no longer follows the game.");
      lose("Connection lost", "The game is paused and will continue when you reconnect.");
      setTimeout(open, PATIENCE);
    };
  }

  open();
  return {
    send: (command) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(command));
    },
    fits: (command) => new Blob([JSON.stringify(command)]).size <= MAX_MESSAGE,  // a number that the server writes here
  };
}
