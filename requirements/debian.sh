#!/bin/sh
# Installs the Debian packages that are listed in the files given, where this user may; else says which are missing and goes on:
# the decoder works without them, and marks what it cannot decode as `missing_tool`.
set -eu
missing=""
for package in $(cat "$@"); do
  dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2> /dev/null | grep -q '^ii' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get > /dev/null; then
  echo "Not a Debian system: install the equivalents of$missing by hand (universal-decoder doctor tells what each is for)." >&2
elif [ "$(id -u)" = 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null
elif sudo -n true 2> /dev/null; then
  sudo apt-get update -qq
  sudo DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null
else
  echo "Missing Debian packages:$missing. Without them some documents are not decoded, or take longer: sudo apt-get install$missing" >&2
fi
