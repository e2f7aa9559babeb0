"""Shell syntax: a command's text is parsed into words, commands and redirected files."""
