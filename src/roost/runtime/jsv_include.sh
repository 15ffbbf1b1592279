# Functions for scripts that verify submissions (JSV), with the names and the protocol of Grid Engine's
# util/resources/jsv/jsv_include.sh. A script sources this file, defines jsv_on_start and jsv_on_verify, and calls
# jsv_main. It works in any POSIX shell. Names that begin with _jsv are for this file alone.

jsv_logging_enabled=false
_jsv_state=initialized
_jsv_params=
_jsv_envs=

# _jsv_is_name NAME: whether it can be part of a shell variable's name.
_jsv_is_name() {
    case $1 in '' | *[!A-Za-z0-9_]*) return 1 ;; esac
}

# _jsv_has LIST NAME
_jsv_has() {
    case " $1 " in *" $2 "*) return 0 ;; esac
    return 1
}

# _jsv_without LIST NAME: the list without the name, in _jsv_found.
_jsv_without() {
    # zsh does not split what stands behind `in`.
    _jsv_found= _jsv_rest="$1 "
    while [ -n "$_jsv_rest" ]; do
        _jsv_each=${_jsv_rest%% *} _jsv_rest=${_jsv_rest#* }
        [ -z "$_jsv_each" ] || [ "$_jsv_each" = "$2" ] || _jsv_found="$_jsv_found $_jsv_each"
    done
}

_jsv_keep_param() {
    _jsv_is_name "$1" || return 0
    _jsv_has "$_jsv_params" "$1" || _jsv_params="$_jsv_params $1"
    eval "_jsv_param_$1=\$2"
}

_jsv_keep_env() {
    _jsv_is_name "$1" || return 0
    _jsv_has "$_jsv_envs" "$1" || _jsv_envs="$_jsv_envs $1"
    eval "_jsv_env_$1=\$2"
}

_jsv_drop_env() {
    _jsv_without "$_jsv_envs" "$1"
    _jsv_envs=$_jsv_found
}

jsv_clear_params() { _jsv_params=; }
jsv_clear_envs() { _jsv_envs=; }

# -- parameters of the job

jsv_is_param() { if _jsv_has "$_jsv_params" "$1"; then echo true; else echo false; fi; }

jsv_get_param() {
    if _jsv_has "$_jsv_params" "$1"; then eval "printf '%s\n' \"\$_jsv_param_$1\""; else echo; fi
}

jsv_set_param() {
    _jsv_keep_param "$1" "$2"
    printf 'PARAM %s %s\n' "$1" "$2"
}

jsv_del_param() {
    _jsv_has "$_jsv_params" "$1" || return 0
    _jsv_without "$_jsv_params" "$1"
    _jsv_params=$_jsv_found
    printf 'PARAM %s \n' "$1"
}

# -- parts of parameters that are lists: NAME=VALUE,NAME,...

# _jsv_part NAME: a part of the list in _jsv_list; its value is in _jsv_value, and the others are in _jsv_others.
_jsv_part() {
    _jsv_others= _jsv_value= _jsv_there=false
    while [ -n "$_jsv_list" ]; do
        _jsv_each=${_jsv_list%%,*}
        case $_jsv_list in *,*) _jsv_list=${_jsv_list#*,} ;; *) _jsv_list= ;; esac
        if [ "${_jsv_each%%=*}" = "$1" ]; then
            _jsv_there=true
            case $_jsv_each in *=*) _jsv_value=${_jsv_each#*=} ;; esac
            _jsv_each=$2
        fi
        [ -z "$_jsv_each" ] || _jsv_others="$_jsv_others${_jsv_others:+,}$_jsv_each"
    done
    $_jsv_there
}

# _jsv_list_of PARAM: the list, in _jsv_list.
_jsv_list_of() {
    _jsv_list=
    _jsv_has "$_jsv_params" "$1" && eval "_jsv_list=\$_jsv_param_$1"
    :
}

jsv_sub_is_param() {
    _jsv_list_of "$1"
    if _jsv_part "$2" ''; then echo true; else echo false; fi
}

jsv_sub_get_param() {
    _jsv_list_of "$1"
    _jsv_part "$2" ''
    printf '%s\n' "$_jsv_value"
}

jsv_sub_add_param() {
    _jsv_new="$2${3:+=$3}"
    _jsv_list_of "$1"
    _jsv_part "$2" "$_jsv_new" || _jsv_others="$_jsv_others${_jsv_others:+,}$_jsv_new"
    jsv_set_param "$1" "$_jsv_others"
}

jsv_sub_del_param() {
    _jsv_has "$_jsv_params" "$1" || return 0
    _jsv_list_of "$1"
    _jsv_part "$2" ''
    jsv_set_param "$1" "$_jsv_others"
}

# -- environment of the job

jsv_send_env() { echo 'SEND ENV'; }

jsv_is_env() { if _jsv_has "$_jsv_envs" "$1"; then echo true; else echo false; fi; }

jsv_get_env() {
    if _jsv_has "$_jsv_envs" "$1"; then eval "printf '%s\n' \"\$_jsv_env_$1\""; else echo; fi
}

jsv_add_env() {
    _jsv_keep_env "$1" "$2"
    printf 'ENV ADD %s %s\n' "$1" "$2"
}

jsv_mod_env() {
    _jsv_keep_env "$1" "$2"
    printf 'ENV MOD %s %s\n' "$1" "$2"
}

jsv_del_env() {
    _jsv_has "$_jsv_envs" "$1" || return 0
    _jsv_drop_env "$1"
    printf 'ENV DEL %s\n' "$1"
}

# -- messages

jsv_log_info() { printf 'LOG INFO %s\n' "$1"; }
jsv_log_warning() { printf 'LOG WARNING %s\n' "$1"; }
jsv_log_error() { printf 'LOG ERROR %s\n' "$1"; }

jsv_show_params() {
    for _jsv_each in $_jsv_params; do
        jsv_log_info "got param $_jsv_each=$(jsv_get_param "$_jsv_each")"
    done
}

jsv_show_envs() {
    for _jsv_each in $_jsv_envs; do
        jsv_log_info "got env $_jsv_each=$(jsv_get_env "$_jsv_each")"
    done
}

# -- the verdict: the last thing that jsv_on_verify says

_jsv_result() {
    printf 'RESULT STATE %s %s\n' "$1" "$2"
    _jsv_state=initialized
}

jsv_accept() { _jsv_result ACCEPT "$1"; }
jsv_correct() { _jsv_result CORRECT "$1"; }
jsv_reject() { _jsv_result REJECT "$1"; }
jsv_reject_wait() { _jsv_result REJECT_WAIT "$1"; }

# -- the conversation

_jsv_wrong_state() { printf 'ERROR JSV script got %s command but is in state %s\n' "$1" "$_jsv_state"; }

_jsv_environment() {
    _jsv_name=${2%% *}
    case $2 in *' '*) _jsv_text=${2#* } ;; *) _jsv_text= ;; esac
    case $1 in
    ADD | MOD) _jsv_keep_env "$_jsv_name" "$_jsv_text" ;;
    DEL) _jsv_drop_env "$_jsv_name" ;;
    esac
}

jsv_main() {
    while IFS= read -r _jsv_line; do
        _jsv_word=${_jsv_line%% *}
        case $_jsv_line in *' '*) _jsv_rest=${_jsv_line#* } ;; *) _jsv_rest= ;; esac
        if [ "$jsv_logging_enabled" = true ] && [ -n "${logfile:-}" ]; then
            printf '%s <- %s\n' "$0" "$_jsv_line" >> "$logfile"
        fi
        case $_jsv_word in
        QUIT) return 0 ;;
        START)
            [ "$_jsv_state" = initialized ] || { _jsv_wrong_state START; continue; }
            jsv_clear_params
            jsv_clear_envs
            jsv_on_start
            _jsv_state=started
            echo STARTED
            ;;
        PARAM | ENV | BEGIN)
            [ "$_jsv_state" = started ] || { _jsv_wrong_state "$_jsv_word"; continue; }
            case $_jsv_word in
            PARAM)
                _jsv_name=${_jsv_rest%% *}
                case $_jsv_rest in *' '*) _jsv_text=${_jsv_rest#* } ;; *) _jsv_text= ;; esac
                _jsv_keep_param "$_jsv_name" "$_jsv_text"
                ;;
            ENV) _jsv_environment "${_jsv_rest%% *}" "${_jsv_rest#* }" ;;
            BEGIN)
                _jsv_state=verifying
                jsv_on_verify
                ;;
            esac
            ;;
        SHOW)
            jsv_show_params
            jsv_show_envs
            ;;
        *) printf 'ERROR JSV script got unknown command "%s"\n' "$_jsv_word" ;;
        esac
    done
}
