#!/bin/bash
# What a machine of the EC2 bed runs in its namespaces: metadata service, sshd, then the user data.
#   ec2_init.sh FOLDER PYTHON     (FOLDER is shared with this computer)
# There is no init here: `shutdown` means that this process ends, and with it the machine.
d=$1 here=$(dirname "$0")
trap 'exit 0' TERM
mkdir -p /usr/local/sbin
for name in shutdown poweroff halt; do
    printf '#!/bin/sh\ntouch "%s/shutdown"; kill -TERM 1; sleep 9\n' "$d" >/usr/local/sbin/$name
    chmod 755 /usr/local/sbin/$name
done
"$2" "$here/ec2_metadata.py" "$d/metadata" &
until (exec 3<>/dev/tcp/169.254.169.254/80) 2>/dev/null; do sleep 0.02; done
if [ -s "$d/authorized_keys" ]; then
    [ -s "$d/host_key" ] || ssh-keygen -q -t ed25519 -N '' -f "$d/host_key"
    printf '%s\n' "HostKey $d/host_key" "AuthorizedKeysFile $d/authorized_keys" 'StrictModes no' 'UsePAM no' \
        'PasswordAuthentication no' 'PermitRootLogin prohibit-password' 'PidFile none' 'UseDNS no' >"$d/sshd.conf"
    /usr/sbin/sshd -D -f "$d/sshd.conf" &
fi
if [ "$(head -c2 "$d/user-data" | tr -d '\0')" = '#!' ]; then
    cp "$d/user-data" /root/user-data
    chmod 700 /root/user-data
    (cd /root && exec setsid /root/user-data) &
fi
while :; do sleep 86400 & wait $!; done
