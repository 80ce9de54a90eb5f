#!/bin/sh
# What the tests need from Debian or Ubuntu: a real MQTT broker. Nothing is done where it is there.
set -eu

if command -v mosquitto >/dev/null || [ -x /usr/sbin/mosquitto ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "no apt-get here: install mosquitto by other means, or its tests are left out" >&2
    exit 0
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo"
fi
$as_root apt-get update -q
$as_root apt-get install -y -q --no-install-recommends mosquitto
