"""Goals: agents walk to goals of their own colour and to shared ones; the smallest family."""
