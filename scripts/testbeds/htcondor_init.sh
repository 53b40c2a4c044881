#!/bin/bash
# In a mount namespace of its own: enters the tree that has HTCondor and becomes its master.
#   htcondor_init.sh TREE STATE DIR:DIR     (directories of this machine that jobs shall see)
set -euo pipefail
tree=$1 state=$2
IFS=: read -ra shared <<<"$3"
export CONDOR_CONFIG=$state/condor_config
[ "$tree" != / ] || exec condor_master -f
mount --make-rprivate /
mount --bind "$tree" "$tree" # condor needs / to be a mount point
mount -t proc proc "$tree/proc"
mount --rbind /dev "$tree/dev"
mount --rbind /sys "$tree/sys"
for dir in /tmp "$state" "${shared[@]}"; do
    [ -d "$dir" ] || continue
    mkdir -p "$tree$dir"
    mountpoint -q "$tree$dir" || mount --rbind "$dir" "$tree$dir"
    while dir=$(dirname "$dir") && [ "$dir" != / ]; do # the tree's own, even of /root: all may pass
        mountpoint -q "$tree$dir" || chmod a+x "$tree$dir"
    done
done
exec chroot "$tree" /usr/sbin/condor_master -f
