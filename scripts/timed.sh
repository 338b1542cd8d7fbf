#!/bin/sh
# Runs a command and says what it was and how long it took: scripts/timed.sh COMMAND [ARG...]
printf '\n== %s\n' "$*"
began=$(date +%s)
"$@"
code=$?
printf -- '-- %s s, exit %s: %s\n' "$(($(date +%s) - began))" "$code" "$*"
exit "$code"
