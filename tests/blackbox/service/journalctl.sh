#!/bin/sh
# The log of the gateway, as the journal would show it.
state=@STATE@
echo "journalctl $*" >> "$state/calls"
case "$*" in
    *--follow*) exec tail -n 100 -f "$state/log" ;;
    *) exec tail -n 100 "$state/log" ;;
esac
