#!/usr/bin/env bash
# Makes a CA and a serving pair for local runs, in certs/out. You can run it again at any time: it keeps
# files that are still good, so clients that trust the CA need no change.
#
#   certs/generate.sh [NAME|ADDRESS]...     names in addition to localhost, 127.0.0.1 and ::1
#   certs/generate.sh --new [NAME]...       a new CA as well
set -euo pipefail

usage() {
    sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

if ! command -v openssl >/dev/null; then
    echo "certs/generate.sh: openssl is not installed" >&2
    exit 2
fi

case "${1-}" in
    -h | --help)
        usage
        exit
        ;;
esac

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
out="$here/out"
config="$here/openssl.cnf"
ca_days=3650
serving_days=365
# A certificate that expires within this many seconds (30 days) is made again.
soon=2592000

if [ "${1-}" = --new ]; then
    shift
    rm -rf "$out"
fi

names="DNS:localhost,IP:127.0.0.1,IP:::1"
for name in "$@"; do
    case "$name" in
        -*)
            echo "certs/generate.sh: $name is not a name or an address" >&2
            usage >&2
            exit 2
            ;;
        *:*) names+=",IP:$name" ;;
        *[!0-9.]*) names+=",DNS:$name" ;;
        *) names+=",IP:$name" ;;
    esac
done
export SUBJECT_ALT_NAMES="$names"

# Only the owner may read keys, from the moment they are written.
umask 077
mkdir -p "$out"
cd "$out"

lasts() {
    [ -s "$1" ] && openssl x509 -in "$1" -noout -checkend "$soon" >/dev/null 2>&1
}

new_key() {
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null
}

if lasts ca.crt && [ -s ca.key ]; then
    echo "kept     certs/out/ca.crt"
else
    new_key ca.key
    openssl req -new -x509 -config "$config" -extensions ca -key ca.key -sha256 \
        -days "$ca_days" -subj "/CN=setguard local CA" -out ca.crt
    rm -f tls.crt
    echo "written  certs/out/ca.crt"
fi

# names.txt holds the names of the pair; openssl would print them in its own format.
if lasts tls.crt && [ -s tls.key ] && [ "$(cat names.txt 2>/dev/null)" = "$names" ] &&
    openssl verify -CAfile ca.crt tls.crt >/dev/null 2>&1; then
    echo "kept     certs/out/tls.crt"
else
    new_key tls.key
    openssl req -new -config "$config" -key tls.key -subj "/CN=setguard" -out tls.csr
    # A random serial number of 128 bits, so that no file has to keep a counter.
    openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -set_serial "0x$(openssl rand -hex 16)" \
        -sha256 -days "$serving_days" -extfile "$config" -extensions serving -out tls.crt 2>/dev/null
    rm -f tls.csr
    echo "$names" >names.txt
    openssl verify -CAfile ca.crt tls.crt >/dev/null
    echo "written  certs/out/tls.crt"
fi
# One line of base64, as a webhook configuration needs it for caBundle.
openssl base64 -A -in ca.crt >ca-bundle.txt

chmod 0644 ca.crt tls.crt ca-bundle.txt
echo "names    $names"
echo "serve    setguard serve --tls-cert certs/out/tls.crt --tls-key certs/out/tls.key"
