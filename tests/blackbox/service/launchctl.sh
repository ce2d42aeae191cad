#!/bin/sh
# Runs the agent of the user's gateway, as launchd would. How it is called is noted.
state=@STATE@
echo "launchctl $*" >> "$state/calls"
running() {
    [ -e "$state/pid" ] || return 1
    case $(cat "/proc/$(cat "$state/pid")/stat" 2> /dev/null) in
        "" | *") Z "*) return 1 ;;
    esac
}
strings() { sed -n "/<key>$1</,/<\/$2>/s/.*<string>\(.*\)<\/string>/\1/p" "$3"; }
case $1 in
    bootstrap)
        running && { echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; }
        home=$(sed -n '/<key>MANYHANDS_HOME</{n;s/.*<string>\(.*\)<\/string>/\1/p;}' "$3")
        log=$(sed -n '/<key>StandardOutPath</{n;s/.*<string>\(.*\)<\/string>/\1/p;}' "$3")
        set -- $(strings ProgramArguments array "$3")
        rm -f "$state/pid"
        MANYHANDS_HOME=$home MANYHANDS_SERVICE=user setsid sh -c \
            'echo $$ > "$0/starting"; mv "$0/starting" "$0/pid"; exec "$@"' \
            "$state" "$@" >> "$log" 2>&1 < /dev/null &
        while ! [ -e "$state/pid" ]; do sleep 0.02; done ;;
    bootout)
        running || { echo "Boot-out failed: 3: No such process" >&2; exit 3; }
        kill -TERM "$(cat "$state/pid")"
        while running; do sleep 0.02; done
        rm -f "$state/pid" ;;
    print)
        running || { echo "Could not find service" >&2; exit 113; }
        printf 'gui/0/manyhands.gateway = {\n\tstate = running\n}\n' ;;
esac
