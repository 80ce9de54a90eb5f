#!/bin/sh
# Flink from PyPI in an environment of its own, and a Java that it runs on.
#     sh benchmarks/flink/install.sh FOLDER
set -e
folder=$1
if ! "${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 | grep -qE 'version "(11|17|21)[."]'; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get install -qq -y openjdk-17-jre-headless
    else
        echo "Flink needs Java 11, 17 or 21: install one, or set JAVA_HOME to it" >&2
        exit 1
    fi
fi
${PYTHON:-python3} -m venv "$folder"
"$folder/bin/python" -m pip install -q --disable-pip-version-check apache-flink==2.3.0
touch "$folder/.installed"
