# Logs a user in. The deadline is too short for slow connections.
deadline_seconds=30
