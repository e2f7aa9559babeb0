"""Small value types: identifiers, text, times, versions, secrets, and the clock."""
