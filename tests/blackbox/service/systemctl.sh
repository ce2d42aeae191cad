#!/bin/sh
# Runs the unit of the user's gateway, as systemd would. How it is called is noted.
state=@STATE@
echo "systemctl $*" >> "$state/calls"
[ "$1" = --user ] || { echo "only the user's units are here" >&2; exit 1; }
shift
verb=$1
shift
unit=$HOME/.config/systemd/user/manyhands.service

# A note asks for the death of the caller, once.
die() {
    if [ -e "$state/kill-$1-$verb" ]; then
        rm "$state/kill-$1-$verb"
        kill -9 $PPID
        [ "$1" = after ] || exit 1
    fi
}
running() {
    [ -e "$state/pid" ] || return 1
    case $(cat "/proc/$(cat "$state/pid")/stat" 2> /dev/null) in
        "" | *") Z "*) return 1 ;;
    esac
}
start() {
    [ -e "$unit" ] || { echo "Unit manyhands.service not found." >&2; exit 5; }
    running && return
    # The words of a unit are quoted as a shell quotes them; $$ stands for $.
    eval "set -- $(sed -n 's/^ExecStart=//p' "$unit")"
    rm -f "$state/pid"
    sed -n 's/^Environment=/export /p' "$unit" | sed 's/%%/%/g' > "$state/environment"
    # In a session of its own, because the caller kills what this script leaves in its own.
    setsid sh -c '. "$0/environment"; echo $$ > "$0/starting"; mv "$0/starting" "$0/pid"; exec "$@"' \
        "$state" "$@" >> "$state/log" 2>&1 < /dev/null &
    while ! [ -e "$state/pid" ]; do sleep 0.02; done
}
stop() {
    if running; then
        kill -TERM "$(cat "$state/pid")"
        while running; do sleep 0.02; done
    fi
    rm -f "$state/pid"
}

die before
case $verb in
    show)
        case "$*" in
            *Version*) echo Version=252 ;;
            *)
                if running; then printf 'ActiveState=active\nSubState=running\n'
                elif [ -e "$state/pid" ]; then printf 'ActiveState=failed\nSubState=failed\n'
                else printf 'ActiveState=inactive\nSubState=dead\n'; fi
                echo UnitFileState=enabled ;;
        esac ;;
    enable | start) start ;;
    restart) stop; start ;;
    disable | stop) stop ;;
    daemon-reload) ;;
    *) echo "Unknown command verb $verb." >&2; exit 1 ;;
esac
die after
exit 0
