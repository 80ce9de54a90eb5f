#!/bin/sh
# What the tests need from Debian or Ubuntu: a real MQTT broker and a browser. Nothing is done for what is there.
set -eu

missing=""
if ! command -v mosquitto >/dev/null && ! [ -x /usr/sbin/mosquitto ]; then
    missing="$missing mosquitto"
fi
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null; then
    missing="$missing chromium"
fi
if [ -z "$missing" ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "no apt-get here: install$missing by other means, or their tests are left out" >&2
    exit 0
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo"
fi
$as_root apt-get update -q
# shellcheck disable=SC2086 # several names
$as_root apt-get install -y -q --no-install-recommends $missing
