# Beside a test with a PostgreSQL server of its own: waits until nobody holds the other end of its input, however the test ends, then stops
# the server in $2/data with the tools in $1 and removes $2. Until both are gone: initdb has a server too, which takes no orders and writes
# while its folder goes, and one that is only beginning may not hear the first word.
read line
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  "$1/pg_ctl" -D "$2/data" -t 5 -m immediate stop
  if ! "$1/pg_ctl" -D "$2/data" status; then
    rm -rf "$2"
    sleep 0.2
    [ -e "$2" ] || break
  fi
  sleep 0.5
done
