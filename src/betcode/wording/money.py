"""Amounts of money as text."""


def dollars(amount_usd: float) -> str:
    """Return `$1.25`; `<$0.01` for less than a cent, and an empty text for zero."""
    if not amount_usd:
        return ""
    return f"${amount_usd:.2f}" if amount_usd >= 0.005 else "<$0.01"
