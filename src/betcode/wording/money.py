"""Amounts of money as people read them."""


def dollars(amount_usd: float) -> str:
    """`$1.25`; what is less than a cent is not nothing, and nothing is an empty text."""
    if not amount_usd:
        return ""
    return f"${amount_usd:.2f}" if amount_usd >= 0.005 else "<$0.01"
