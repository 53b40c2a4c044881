#!/bin/bash
# In a mount namespace of its own: enters the tree that has HTCondor and becomes its master.
#   htcondor_init.sh TREE STATE PROJECT
set -euo pipefail
tree=$1 state=$2 project=$3
export CONDOR_CONFIG=$state/condor_config
[ "$tree" != / ] || exec condor_master -f
mount --make-rprivate /
mount --bind "$tree" "$tree" # condor needs / to be a mount point
mount -t proc proc "$tree/proc"
mount --rbind /dev "$tree/dev"
mount --rbind /sys "$tree/sys"
for shared in /tmp /home /root "$project" "$state"; do
    mkdir -p "$tree$shared"
    mountpoint -q "$tree$shared" || mount --rbind "$shared" "$tree$shared"
done
exec chroot "$tree" /usr/sbin/condor_master -f
