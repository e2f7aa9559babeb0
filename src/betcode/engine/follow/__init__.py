"""How clients follow a session: the tail in memory, the stored history, and who is connected."""
