# What every test bed needs: its directory, installing, free ports, waiting, ending by pid.
#
# A bed is a script that defines bed_up and bed_down and ends with: main "$@"
# Both find their state in $S: a short path without blanks that every user may enter, as unix
# sockets, slurm.conf and Grid Engine ask for. DIR/state is $S, or a link to it.
set -euo pipefail
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
HERE=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
ROOT=$(dirname "$(dirname "$HERE")")
BED=$(basename "$0")
CANNOT=77 # exit status: this machine cannot have this bed (not root); the tests skip

die() { echo "$BED: $*" >&2; exit 1; }
cannot() { echo "$BED: $*" >&2; exit $CANNOT; }
is_root() { [ "$(id -u)" = 0 ]; }

main() {
    if [ "$*" = packages ]; then echo "${PACKAGES[@]}"; return; fi # what it installs
    [ $# = 2 ] && [[ $1 = up || $1 = down ]] || die "usage: $BED up|down DIR, or $BED packages (parameters: see the top of $0)"
    D=$(realpath -m -- "$2")
    "main_$1"
}

main_up() {
    mkdir -p "$D"
    if [ ! -e "$D/.testbed" ]; then
        [ -z "$(ls -A "$D")" ] || die "$D is not empty; give a new directory"
        echo "$BED" >"$D/.testbed"
    fi
    [ "$(cat "$D/.testbed")" = "$BED" ] || die "$D holds the bed '$(cat "$D/.testbed")'"
    if [ ! -d "$D/state" ]; then
        if [[ $D = *[[:space:]]* || ${#D} -gt 48 ]] || ! everyone_enters "$D"; then
            ln -sfn "$(mktemp -d "/tmp/bats-$BED.XXXXXX")" "$D/state"
        else
            mkdir "$D/state"
        fi
    fi
    S=$(readlink -f "$D/state")
    chmod 755 "$S"
    mkdir -p "$S/run" "$S/log"
    watch_owner
    bed_up >&2
    mv "$S/env.new" "$D/env.sh"
    cat "$D/env.sh"
}

# Ends everything and removes what `up` made; nothing to do is no error.
main_down() {
    [ -e "$D/.testbed" ] || return 0
    [ "$(cat "$D/.testbed")" = "$BED" ] || die "$D holds the bed '$(cat "$D/.testbed")'"
    if S=$(readlink -e "$D/state"); then
        [ "$(pid_in "$S/run/watch.pid")" = $$ ] || end "$S/run/watch.pid"
        bed_down >&2
        # what was just killed may still be writing
        wait_for 5 rm -rf --one-file-system "$S" || rm -rf --one-file-system "$S"
    fi
    rm -rf "$D/state" "$D/env.sh" "$D/.testbed"
    rmdir --ignore-fail-on-non-empty "$D"
}

# OWNER=PID: the bed goes down when that process is gone, however it ended (a killed test session).
# `read` on a silent pipe waits without a process of its own, which would outlive the watcher.
watch_owner() {
    [ -n "${OWNER:-}" ] && ! alive "$S/run/watch.pid" || return 0
    daemon watch bash -c 'exec 9<> <(:); while [ -d "/proc/$1" ]; do read -t 1 -u 9; done; exec "$2" down "$3"' _ "$OWNER" "$HERE/$BED" "$D"
}

# everyone_enters DIR: other users may pass through it and all above it
everyone_enters() {
    local p=$1
    while [ "$p" != / ]; do
        (( 8#$(stat -c %a "$p") & 1 )) || [ "$p" = "$1" ] || return 1
        p=$(dirname "$p")
    done
    chmod a+x "$1"
}

# environment NAME=VALUE...: what `up` prints and DIR/env.sh exports, quoted for the shell
environment() {
    local pair
    for pair; do printf 'export %s=%q\n' "${pair%%=*}" "${pair#*=}"; done >"$S/env.new"
}

# alone COMMAND...: no two do so at a time, be they of different checkouts: all share the file that is locked
alone() { (flock 9; "$@" 9>&-) 9<"$LOCK"; }
LOCK=/usr/bin/apt-get
[ -e $LOCK ] || LOCK=/bin/sh

# need COMMAND PACKAGE...: installs the packages unless they are installed, or the command is there without them.
# What a package holds is there before it is configured, and works only then: so its state is asked,
# and by one at a time, for others may just be installing it.
need() {
    local log=$S/log/apt.log
    alone install_missing "$@" >>"$log" 2>&1 && return
    [ $? != $CANNOT ] || cannot "needs the packages ${*:2}; install them, or run as root"
    die "apt-get could not install ${*:2}: $(tail -n 5 "$log")"
}
install_missing() {
    local command=$1 policy=/usr/sbin/policy-rc.d states; shift
    states=$(dpkg-query -W -f '${db:Status-Status}\n' "$@" || true)
    [ "$(grep -cx installed <<<"$states")" != $# ] || return 0
    if ! grep -Evqx 'not-installed|config-files|' <<<"$states" && command -v "$command"; then return 0; fi
    is_root || return $CANNOT
    if [ ! -e $policy ]; then # it keeps packages from starting the system's own daemons
        trap "rm -f $policy" EXIT
        printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy
    fi
    ! grep -Eq '^(half|unpacked|triggers)' <<<"$states" || dpkg --configure -a || true # a session was killed there
    fresh_lists || apt-get -o DPkg::Lock::Timeout=300 update -qq
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
        install -y -qq --no-install-recommends "$@" </dev/null
}
fresh_lists() { [ -n "$(find /var/lib/apt/lists -name '*Packages*' -mmin -60 -print -quit 2>/dev/null)" ]; }

# free_ports N: the first of N ports in a row that no socket has, chosen at random below
# those that outgoing connections take, and kept in $S/port, so that a second `up` finds it
free_ports() {
    local n=$1 low base i try
    if [ -s "$S/port" ]; then cat "$S/port"; return; fi
    read -r low _ </proc/sys/net/ipv4/ip_local_port_range
    (( low > 12000 )) || low=60000
    for try in {1..200}; do
        base=$(( 10000 + SRANDOM % (low - 10000 - n) ))
        for (( i = 0; i < n; i++ )); do taken $(( base + i )) && continue 2; done
        echo "$base" | tee "$S/port"
        return
    done
    die "no $n free ports in a row after $try tries"
}
# taken PORT: by whoever listens, and by connections that go out from it, which keep others from listening, too
taken() { grep -qsE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$1") " /proc/net/tcp /proc/net/tcp6; }
listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
    local end=$(( $(date +%s%N) + $1 * 1000000000 )); shift
    until "$@" >/dev/null 2>&1; do
        (( $(date +%s%N) < end )) || return 1
        sleep 0.05
    done
}

# live PID [NAME]: runs (a zombie does not: PID 1 may not reap) and has that name (pids are reused)
live() {
    [ -n "${1:-}" ] || return 1
    local state
    state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null) || return 1
    [[ -n $state && $state != [ZX]* ]] || return 1
    [ -z "${2:-}" ] || [[ $(cat "/proc/$1/comm" 2>/dev/null) = "$2"* ]]
}
pid_in() { [ ! -s "$1" ] || tr -dc 0-9 <"$1"; }
alive() { live "$(pid_in "$1")" "${2:-}"; }

# daemon NAME COMMAND...: started apart from us, its pid in run/NAME.pid, its words in log/NAME.log
daemon() {
    local name=$1; shift
    setsid "$@" >>"$S/log/$name.log" 2>&1 </dev/null &
    echo $! >"$S/run/$name.pid"
}

# end PIDFILE [NAME [SECONDS]]: TERM, and KILL after so many seconds; that process only
end() {
    local pid; pid=$(pid_in "$1")
    if live "$pid" "${2:-}"; then
        kill -TERM "$pid" 2>/dev/null || true
        ended() { ! live "$pid"; }
        wait_for "${3:-10}" ended || { kill -KILL "$pid" 2>/dev/null || true; wait_for 5 ended || true; }
    fi
    rm -f "$1"
}

# end_marked ENTRY VARIABLE NAME: kills what outlived the daemon that started it: every process with
# ENTRY in its environment which also has VARIABLE there (a job) or is called NAME (its keeper).
# A user's shell that has only sourced env.sh lives on.
end_marked() {
    local d pid entries all
    for d in /proc/[0-9]*; do
        pid=${d#/proc/}
        { mapfile -d '' -t entries <"$d/environ"; } 2>/dev/null || continue
        printf -v all '\n%s\n' "${entries[@]}"
        [[ $all = *$'\n'"$1"$'\n'* ]] || continue
        [[ $all = *$'\n'"$2"=* ]] || live "$pid" "$3" || continue
        kill -KILL "$pid" 2>/dev/null || true
    done
}
