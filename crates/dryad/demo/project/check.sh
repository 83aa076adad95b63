# Checks tally.sh against sums that are known.

failures=0

expect() {
    wanted=$1
    shift
    found=$(sh tally.sh "$@")
    if [ "$found" = "$wanted" ]; then
        echo "ok    $* = $wanted"
    else
        echo "FAIL  $* = $wanted, but tally says $found"
        failures=$((failures + 1))
    fi
}

expect 5 5
expect 9 2 3 4
expect 0 7 -7

[ "$failures" -eq 0 ] || exit 1
echo "all good"
