"""The worker's side of memory stores: keeps folders equal to stores over HTTP. Imports nothing of Django."""
