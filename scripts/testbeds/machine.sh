#!/bin/bash
# First process of a machine made of namespaces (of sshd and ec2): machine.sh FS NAME HOSTS SHARED BIND COMMAND...
# Gives it a throw-away copy of this machine's file system (an overlay on memory, mounted at FS/root), the
# host name NAME and the hosts file HOSTS, then runs COMMAND there. It shares the folder SHARED with this
# machine, and those of BIND (colon-separated) which the copy lacks, as they are on mounts of their own.
set -euo pipefail
fs=$1 name=$2 hosts=$3 shared=$4
IFS=: read -ra bind <<<"$5"
shift 5
mount --make-rprivate /
mkdir -p "$fs"
mount -t tmpfs -o size=2g tmpfs "$fs"
mkdir "$fs"/{up,work,low,root}
mount --bind / "$fs/low"
mount -t overlay overlay -o "lowerdir=$fs/low,upperdir=$fs/up,workdir=$fs/work" "$fs/root"
r=$fs/root
for d in sys dev dev/pts; do mount --bind "/$d" "$r/$d"; done
mount -t tmpfs -o mode=1777 tmpfs "$r/dev/shm"
mount -t proc proc "$r/proc"
for d in "$shared" "${bind[@]}"; do
    [ "$d" = "$shared" ] || { [ -d "$d" ] && [ "$(stat -c %m "$d")" != / ]; } || continue
    mkdir -p "$r$d"
    mount --bind "$d" "$r$d"
done
rm -f "$r/etc/resolv.conf"
: >"$r/etc/resolv.conf" # no name server: a lookup fails at once, not after 10 s
cat "$hosts" - >"$r/etc/hosts" <<HOSTS
127.0.0.1 localhost
127.0.1.1 $name
HOSTS
hostname "$name"
echo "$name" >"$r/etc/hostname"
mkdir -p "$r/run/sshd"
ip link set lo up
exec chroot "$r" "$@"
