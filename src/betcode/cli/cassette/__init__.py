"""`betcode cassette`."""
