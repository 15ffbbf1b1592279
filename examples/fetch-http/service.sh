# What the hooks have in common. Each begins with: . "${0%/*}/service.sh"
PATH=/usr/local/bin:/usr/bin:/bin
here=${0%/*}

# The ads from standard input, job first.
ads=$(cat)

# An attribute of the first ad that has it, without quotes.
attribute() {
    printf '%s\n' "$ads" | sed -n "s/^$1 = \"\{0,1\}\(.*[^\"]\)\"\{0,1\}\$/\1/p" | head -n 1
}

# Say something to the service until it answers, for as long as $patience (s): it may be away for a while. What it
# answers with is printed. Saying it twice does no harm. Ends with 1 if it says no, with 2 if it says nothing.
patience=20
say() {
    path=$1
    shift
    left=$patience
    while :; do
        answer=$(curl -s --max-time 10 -X POST -w '\n%{http_code}' "$@" "$(cat "$here/url")$path")
        case ${answer##*"
"} in
            200) printf '%s\n' "${answer%"
"*}"; return 0 ;;
            204) return 0 ;;
            4*) return 1 ;;
        esac
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 2
        sleep 1
    done
}

item=$(attribute WorkItem)
token=$(attribute WorkToken)
