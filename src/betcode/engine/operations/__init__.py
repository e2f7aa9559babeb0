"""Operations that callers may request: one module per verb."""
