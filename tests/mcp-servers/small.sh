# The smallest server: it greets, calls and pings in the shell itself, so that it starts at once.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"small","version":"0"}}' ;;
    *'"method":"notifications/'*) continue ;;
    *'"method":"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"
      continue ;;
    *'"name":"die"'*) exit 1 ;;
    *) result='{"content":[{"type":"text","text":"small"}]}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
