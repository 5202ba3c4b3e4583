"""`./hub bench`: what each operation costs, beside the same SQL transaction driven bare by psycopg.

The bench starts a hub of its own in a temporary folder (`hub`), fills it (`arrange`), records the statements that
the hub executes for each operation (`floor`), and lets the same client processes (`clients`) call the hub and replay
the statements in turn, with the steps of `plans`. `figures` makes the table.
"""
