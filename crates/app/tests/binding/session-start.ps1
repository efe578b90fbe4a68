#!/usr/bin/env pwsh
# Tells a session which plans this project has and to which one its worktree is bound.
# Made by `planwright prompt session-start`; the twin for the other shell is made of the same source.
if (-not (Get-Command planwright -ErrorAction SilentlyContinue)) { [Console]::Error.WriteLine('[planwright] not on the PATH, so no plan is told of'); exit 0 }
[Console]::In.ReadToEnd() | & planwright --quiet list-plans --session
exit 0
