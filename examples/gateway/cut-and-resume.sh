#!/usr/bin/env bash
# A tool call that loses its connection, and whose result arrives all the same.
#
#     npm ci && examples/gateway/cut-and-resume.sh
#
# Starts `holdfast serve` in front of a stdio server, charges a card, cuts the connection while the
# receipt is on its way, and resumes from the cursor. Needs curl 7.84 or newer.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
PATH="$root/node_modules/.bin:$PATH"
scratch=$(mktemp -d)

# 1. The gateway, on a free port. Behind the -- stands the command of your own stdio server.
coproc gateway {
  exec node "$root/packages/gateway/bin/holdfast.js" serve \
    --port 0 --log "sqlite:$scratch/holdfast.db" \
    -- node "$root/packages/gateway/src/demo-server/main.ts" "$scratch/charges.txt" 2>"$scratch/log"
}
gateway_pid=$gateway_PID
leave() {
  kill "$gateway_pid" 2>/dev/null || true
  wait "$gateway_pid" 2>/dev/null || true
  rm -rf "$scratch"
}
trap leave EXIT
url=""
while [[ -z $url ]] && read -r line <&"${gateway[0]}"; do
  if [[ $line =~ (http://[^[:space:]]+/mcp) ]]; then url=${BASH_REMATCH[1]}; fi
done
[[ -n $url ]] || { cat "$scratch/log" >&2; exit 1; }
echo "holdfast serve: $url"

# 2. A session.
json='content-type: application/json'
initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
  "capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'
session=$(curl -sS -o "$scratch/hello" -w '%header{mcp-session-id}' -H "$json" \
  -d "$initialize" "$url")
post() { curl -sSN -H "$json" -H "mcp-session-id: $session" "$@" "$url"; }
post -d '{"jsonrpc":"2.0","method":"notifications/initialized"}'

# 3. A charge whose receipt takes 4 s; the connection is cut after 2.5.
charge='{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"charge",
  "arguments":{"amount":42,"seconds":4},"_meta":{"progressToken":1}}}'
echo "--- the call, cut after 2.5 s"
post -m 2.5 -d "$charge" 2>/dev/null | tee "$scratch/seen" || true

# 4. The last event id that was seen is the cursor: everything after it, once, and the result.
cursor=$(sed -n 's/^id: //p' "$scratch/seen" | tail -n 1)
echo "--- resumed after $cursor"
curl -sSN -H 'accept: text/event-stream' -H "mcp-session-id: $session" \
  -H "last-event-id: $cursor" "$url"

echo "--- charges made: $(wc -l <"$scratch/charges.txt" | tr -d ' ')"
curl -sS -X DELETE -H "mcp-session-id: $session" "$url"
