"""What a screen shows of a session, without the screen: events become blocks and a standing. No Textual, no I/O."""
