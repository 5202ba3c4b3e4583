"""What the agents of the example project remember."""

CUSTOMER_NOTES = {
    "/customers/acme-boatyard/profile.md": "# Acme Boatyard\n\n- Contact: Priya Raman, purchasing\n- Prefers e-mail\n",
    "/customers/acme-boatyard/orders.md": "# Orders\n\n- 2026-09-14: 40 m anchor chain, galvanised\n- 2026-10-02: 12 fenders, navy\n",
    "/customers/brandt-marine/profile.md": "# Brandt Marine\n\n- Contact: Jonas Brandt\n- Pays within 14 days, invoices to rechnung@brandt-marine.example\n- Speaks German and English\n",
    "/customers/brandt-marine/complaints.md": "# Complaints\n\n2026-10-21: two cleats arrived scratched. Replaced free of charge, customer is content.\n",
    "/customers/coastal-rescue/profile.md": "# Coastal Rescue\n\n- Volunteer organisation, tax exempt (certificate on file)\n- Orders need a second signature above 2,000 EUR\n",
    "/customers/oldfield/contact.md": "Contract ended in 2025.\n",
    "/policies/refunds.md": "# Refunds\n\n1. Within 30 days: full refund, no questions.\n2. Later: store credit, if unused.\n3. Above 500 EUR a person decides.\n",
    "/policies/tone.md": "Be brief and kind. Never promise a delivery date that the carrier has not confirmed.\n",
    "/preferences.yaml": "language: en\ncurrency: EUR\nsigning_off: The Harbor Supply team\nescalate_to:\n  - maya\n  - tomas\n",
}
_PROFILE = """# Acme Boatyard

- Contact: Priya Raman, purchasing
- Prefers e-mail, before 16:00
- Delivery: gate 3, forklift on site until 15:00

## What matters to them

They refit lifeboats on fixed dates, so a late delivery costs them a slot in the dry dock.
Offer partial delivery before a delay, and always name the carrier.
"""
# (days ago, the text of the first note from then on, who wrote it)
STEPS = [
    (
        18.0,
        "# Acme Boatyard\n\n- Contact: Priya Raman, purchasing\n- Prefers phone calls\n- Portal password: anchor-7731\n",
        "support_agent",
    ),
    (
        9.0,
        "# Acme Boatyard\n\n- Contact: Priya Raman, purchasing\n- Prefers phone calls\n- Delivery: gate 3\n",
        "support_agent",
    ),
    (2.5, _PROFILE.replace("e-mail, before 16:00", "phone calls"), "support_agent"),
    (0.1, _PROFILE, "maya"),
]
CODING_NOTES = {
    "/conventions.md": "# Conventions\n\n- Python 3.13, ruff, no new dependency without a decision\n- Handlers stay thin: parse, call one function, answer\n- Money is in integer cents\n",
    "/decisions/0007-idempotency-keys.md": "# 0007 Idempotency keys\n\nPOST /orders takes `Idempotency-Key`. Kept for 24 hours in PostgreSQL, not in Redis: an order must not be lost with a cache.\n",
    "/decisions/0008-no-soft-delete.md": "# 0008 No soft delete\n\nRows are deleted; the audit table keeps who and when.\n",
    "/pitfalls/timezones.md": "The carrier's API answers local time without an offset. Convert at the edge (`carrier/client.py`), nowhere else.\n",
    "/pitfalls/flaky-tests.md": "`test_label_printing` fails when two runs share /tmp/labels. Use `tmp_path`.\n",
    "/sessions/2026-11-27.md": "Finished: refund webhook. Open: retry on 503 from the carrier, see `pitfalls/timezones.md`.\n",
}
MEETING = "/sessions/2026-11-27.md"
MEETING_OF_A_PERSON = "Finished: refund webhook, retry on 503 from the carrier.\nNext: labels for oversized parcels (ask Maya for the limits).\n"
PRICES = '{\n  "currency": "EUR",\n  "valid_from": "2026-01-01",\n  "items": [\n    {"sku": "CHAIN-10", "price_cents": 1290, "unit": "m"},\n    {"sku": "FENDER-N", "price_cents": 4900, "unit": "piece"}\n  ]\n}\n'
