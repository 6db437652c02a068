/**
 * Names, kind, why, and what the arguments are. An option that takes no value for one of the names must
 * not be listed with a value: it would swallow a path.
 */
export const programTable = `
  cat rev zcat bzcat xzcat vdir dir sum tsort comm md5 md5sum sha1sum sha224sum sha256sum | reads | prints what it reads | operands: read
  sha384sum sha512sum b2sum b3sum cksum readlink realpath | reads | prints what it reads | operands: read
  echo true false pwd which type basename dirname tr seq sleep exit | reads | prints what it reads
  uname whoami id nproc printenv df free uptime ps pgrep lscpu groups tty arch | reads | prints facts about the machine
  tac | reads | prints what it reads | operands: read; values: s separator
  nl | reads | prints what it reads | operands: read; values: b d f h i l n s v w
  od | reads | prints what it reads | operands: read; values: A j N t
  hexdump hd | reads | prints what it reads | operands: read; values: e n s; reads: f
  strings | reads | prints what it reads | operands: read; values: n
  base32 base64 basenc | reads | prints what it reads | operands: read; values: w wrap
  stat | reads | prints what it reads | operands: read; values: c format printf
  shasum | reads | prints what it reads | operands: read; values: a algorithm
  cut | reads | prints what it reads | operands: read; values: b c d f bytes characters delimiter fields output-delimiter
  paste | reads | prints what it reads | operands: read; values: d delimiters
  join | reads | prints what it reads | operands: read; values: 1 2 a e j o t v
  cmp | reads | prints what it reads | operands: read; values: i n
  fold fmt | reads | prints what it reads | operands: read; values: w width
  pr | reads | prints what it reads | operands: read; values: h l w
  expand unexpand | reads | prints what it reads | operands: read; values: t tabs
  column | reads | prints what it reads | operands: read; values: c o s N
  wc | reads | prints what it reads | operands: read; reads: files0-from
  head | reads | prints what it reads | operands: read; values: n c lines bytes
  tail | reads | prints what it reads | operands: read; values: n c s lines bytes sleep-interval pid
  ls | reads | prints what it reads | operands: read; values: I ignore
  du | reads | prints what it reads | operands: read; values: d B t max-depth exclude; reads: X exclude-from files0-from
  grep egrep fgrep | reads | prints what it reads | operands: read; first: none; unless: e f regexp file; values: A B C D d e m context after-context before-context max-count regexp include exclude exclude-dir; reads: f file exclude-from
  cd | reads | later paths are relative to it
  diff | reads | prints what it reads | operands: read; values: F I L S U C W x label width exclude ignore-matching-lines; reads: X exclude-from from-file to-file
  jq gojq | reads | prints what it reads | operands: read; first: none; unless: f from-file; values: indent; reads: f L from-file; pairs: arg argjson
  tree | reads | it can write its list to a file | operands: read; flags: a d f i s h t r C n l x p u g D F dirsfirst du prune gitignore noreport L P I
  file | reads | it can write a list of file types | operands: read; flags: b i L h k s brief mime mime-type mime-encoding dereference; values: F e P; reads: f m files-from magic-file
  rg | reads | it can run a program on each file | operands: read; first: none; unless: e f regexp file files type-list; flags: i s S n N l c v w x o U u F P a b H h I L q p 0 . ignore-case smart-case case-sensitive line-number no-line-number files-with-matches files-without-match count count-matches invert-match word-regexp line-regexp only-matching multiline multiline-dotall hidden no-ignore no-ignore-vcs no-ignore-parent fixed-strings pcre2 text follow heading no-heading json stats files type-list vimgrep with-filename no-filename null quiet trim pretty column passthru no-messages no-config crlf one-file-system version; values: A B C E M T d e g j m r t context after-context before-context max-count max-columns max-depth max-filesize regexp glob iglob type type-not replace threads sort sortr encoding color colors context-separator; reads: f file ignore-file
  fd fdfind | reads | it can run a program on each file | operands: read; first: none; unless:; flags: H I u s i g F a l L p 0 1 q hidden no-ignore unrestricted case-sensitive ignore-case glob fixed-strings absolute-path list-details follow full-path print0 no-ignore-vcs prune show-errors version; values: d e E t c S j o max-depth min-depth exact-depth extension exclude type color size threads owner changed-within changed-before max-results; reads: search-path ignore-file base-directory
  sort | reads | it can write a file, and run a program to compress with | operands: read; flags: b d f g h i M n R r V c C m s u z ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort ignore-nonprinting month-sort numeric-sort random-sort reverse version-sort check merge stable unique zero-terminated debug version; values: k t S key field-separator buffer-size parallel sort batch-size; reads: files0-from random-source; writes: o T output temporary-directory
  uniq | reads | it writes to its second operand | operands: write; first: read; most: 1; flags: c d D i u z count repeated all-repeated ignore-case unique zero-terminated group version; values: f s w skip-fields skip-chars check-chars
  xxd | reads | it writes to its second operand | operands: write; first: read; most: 1; flags: a b c E e g i l n o p R s u
  date | reads | it can set the clock | flags: u R I utc universal rfc-email iso-8601 version; values: d date rfc-3339; reads: r f reference file
  hostname | reads | it can set the host name | most: 0; flags: f s i I d A y version
  ag ack ugrep | changes | it can run a program on each file | operands: read; first: none; unless: e f regexp file; values: A B C m G; reads: f file exclude-from; runs: pager filter view
  zgrep zegrep zfgrep colordiff zstdcat | changes | it runs another program | operands: read; first: none; unless: e f regexp file; values: A B C D d e m context after-context before-context max-count regexp include exclude exclude-dir; reads: f file exclude-from
  sdiff diff3 | changes | it can write a file | operands: read; writes: o output; runs: diff-program
  shuf | changes | it can write a file | operands: read; values: n i head-count input-range; writes: o output
  iconv | changes | it can write a file | operands: read; values: f t from-code to-code; writes: o output
  split | changes | it writes files | first: read; values: a b C l n; runs: filter
  csplit | changes | it writes files | first: read; values: b f n
  yq jaq | changes | it can change files | operands: read; first: none; unless: f from-file; changing: i in-place inplace; values: indent; reads: f L from-file
  cp link | changes | it writes files | operands: read; last: write; unless: t target-directory; links; values: S suffix; writes: t target-directory
  ln | changes | it creates links | operands: read; last: write; unless: t target-directory; links; values: S suffix; writes: t target-directory
  mv | changes | it moves files | operands: both; last: write; unless: t target-directory; links; values: S suffix; writes: t target-directory
  install ginstall | changes | it writes files | operands: read; last: write; unless: t d target-directory directory; changing: d directory; links; values: S m o g suffix mode owner group; writes: t target-directory; runs: strip-program
  rsync | changes | it copies files, and can run a program to reach them | operands: read; last: write; changing: remove-source-files; links; values: B M f block-size filter exclude include bwlimit chmod; reads: files-from include-from exclude-from password-file; writes: T temp-dir log-file partial-dir backup-dir; runs: e rsh rsync-path early-exec daemon config
  scp | changes | it copies files to other machines | operands: read; last: write; values: c l P; reads: i; runs: S F o J
  rm rmdir unlink trash tee mkfifo | changes | it changes files | operands: write
  shred | changes | it erases files | operands: write; values: n s iterations size
  mkdir | changes | it creates folders | operands: write; values: m mode
  touch | changes | it creates files | operands: write; values: d t date time; reads: r reference
  truncate | changes | it truncates files | operands: write; values: s size; reads: r reference
  chmod | changes | it changes permissions | operands: write; first: none; unless: r w x X s t reference; reads: reference
  chown chgrp | changes | it changes owners | operands: write; first: none; unless: reference; values: from; reads: reference
  patch | changes | it changes files | operands: both; links; values: p D F B V z strip fuzz prefix suffix; reads: i input; writes: d o r directory output reject-file; runs: e ed
  gzip gunzip bzip2 bunzip2 compress uncompress | changes | it replaces files | operands: both; values: S suffix
  xz unxz lzma unlzma | changes | it replaces files | operands: both; values: S T suffix threads
  zstd unzstd | changes | it writes files | operands: both; reads: D; writes: o
  zip | changes | it can run a program to test with | operands: read; first: write; values: P t; writes: b O; runs: T TT unzip-command
  unzip | changes | it writes files | first: read; links; values: P; writes: d
  curl | changes | it sends and downloads data | values: A C F H U X d e m r t u w x y Y z header request data data-ascii data-binary data-raw data-urlencode json form url user proxy max-time user-agent referer range retry connect-timeout write-out; reads: E T b upload-file cookie cert key cacert netrc-file; writes: D c o output dump-header cookie-jar output-dir trace trace-ascii stderr etag-save; keeps: O remote-name remote-name-all; runs: K config engine
  wget | changes | it downloads files | values: A D I Q R T U X l t w header user-agent tries timeout post-data method body-data accept reject domains level; reads: i input-file post-file body-file load-cookies certificate private-key; writes: O P a o output-document directory-prefix append-output output-file save-cookies; runs: e execute use-askpass config
  npm pnpm yarn | changes | it can take settings that name programs to run | version: -v --version; values: w workspace; runs: C script-shell shell node-options prefix dir cwd userconfig globalconfig node-gyp git
  npx | changes | it can download what it runs | stops; version: -v --version; runs: c call package p shell
  tar bsdtar gtar | changes | it can run programs on what it packs | operands: read; changing: x extract get; links; flags: A c d r t u x k m p U v w z j J Z a h O P S s l list create extract get append update diff delete concatenate keep-old-files verbose gzip bzip2 xz zstd compress auto-compress dereference to-stdout absolute-names no-same-owner no-same-permissions overwrite sort wildcards; values: b H K L N V exclude transform strip-components owner group mode mtime format; reads: X exclude-from; lists: T files-from; writes: g; base: C directory; archive: f file
  timeout | wraps | it runs another program | most: 1; flags: v f p verbose foreground preserve-status; values: k s kill-after signal
  nice | wraps | it runs another program | flags: 0 1 2 3 4 5 6 7 8 9; values: n adjustment
  nohup | wraps | it runs another program | flags:
  stdbuf | wraps | it runs another program | flags:; values: i o e input output error
  command | wraps | it runs another program | flags: p
  find | reads | it can delete, write, and run a program on each file | flags: H L P not o a and or print print0 prune empty xdev mount follow depth ls quit true false readable writable executable daystart noleaf nouser nogroup d version; values: name iname path ipath wholename iwholename type xtype size mtime mmin ctime cmin atime amin newer anewer cnewer newermt maxdepth mindepth perm user group uid gid regex iregex regextype links samefile inum fstype printf lname ilname used
  sed gsed | reads | its script can run programs and write files | operands: read; first: none; unless: e f expression file; changing: i in-place; values: e l expression line-length; reads: f file
  git | changes | its settings and some of its options name programs to run | version: --version; flags: P no-pager no-optional-locks literal-pathspecs no-replace-objects; values: C; links; runs: exec upload-pack receive-pack extcmd open-files-in-pager output ext-diff textconv filters no-index config template
  git-status git-rev-parse git-rev-list git-ls-files git-ls-tree git-shortlog git-describe git-merge-base git-name-rev git-diff-tree | reads | prints what is in the repository
  git-diff-index git-diff-files git-show-ref git-for-each-ref git-show-branch git-whatchanged git-range-diff git-cherry git-count-objects | reads | prints what is in the repository
  git-check-ignore git-check-attr git-version | reads | prints what is in the repository
  git-diff git-show git-log git-blame git-annotate git-cat-file | reads | prints what is in the repository | operands: read; values: G S U author before after since until grep max-count; reads: L
  git-grep | reads | it can open what it finds in a program | operands: read; first: none; unless: e f regexp file; values: A B C e m context max-count max-depth threads; reads: f file; runs: O
  git-hash-object git-apply git-am | changes | it changes the repository | operands: read
  git-add | changes | it changes the repository | operands: read; values: chmod; lists: pathspec-from-file
  git-commit | changes | it changes the repository | operands: read; values: m c C message author date reuse-message reedit-message fixup squash trailer cleanup; reads: F t file template; lists: pathspec-from-file
  git-checkout | changes | it changes files | operands: write; values: b B orphan conflict; lists: pathspec-from-file
  git-restore | changes | it changes files | operands: write; values: s source conflict; lists: pathspec-from-file
  git-rm | changes | it deletes files | operands: write; lists: pathspec-from-file
  git-clean | changes | it deletes files | operands: write; values: e exclude
  git-stash | changes | it changes files | operands: write; values: m message; lists: pathspec-from-file
  git-mv | changes | it moves files | operands: both; last: write
  git-rebase | changes | it can run a program at each step | runs: x exec
  git-clone | changes | it can take settings, and a program to reach the other side | runs: u c upload-pack config template
  git-ls-remote git-archive | changes | it can write a file, and take a program to reach the other side | runs: u o
  git-config git-difftool git-mergetool git-filter-branch git-bisect git-submodule git-hook git-instaweb git-send-email git-imap-send | runs | it runs programs, or its settings name them
  git-daemon git-http-backend git-upload-pack git-receive-pack git-upload-archive git-shell git-web--browse git-citool git-gui git-credential | runs | it runs programs
  git-for-each-repo git-maintenance git-svn git-p4 git-archimport git-cvsserver git-help git-request-pull git-remote-ext git-remote-fd git-fast-import | runs | it runs programs
  dd | changes | it writes files
  awk gawk mawk nawk | runs | it runs the code it is given | operands: read; first: none; unless: e f file source; values: F v e field-separator assign source; reads: f i file include
  xargs | runs | it runs another program, with arguments that are not in the line
  test [ | reads | it evaluates text in brackets
  printf | reads | it can set a variable and evaluate text in brackets
  set | shell | it changes how the shell reads the line
  sh bash rbash dash ash zsh ksh mksh oksh yash fish csh tcsh nu pwsh elvish xonsh | runs | it runs the code it is given | version: --version
  python pypy ipython | runs | it runs the code it is given | version: -V --version
  node nodejs bun deno | runs | it runs the code it is given | version: -v --version
  perl ruby irb php lua luajit tclsh wish expect Rscript R julia ghci guile osascript scala groovy jshell | runs | it runs the code it is given | version: --version
  m4 dc sqlite sqlite3 psql mysql mariadb mongosh redis-cli gnuplot octave | runs | it runs the code it is given | version: --version
  env sudo doas su runuser pkexec sg newgrp gosu su-exec setpriv capsh chroot unshare nsenter | runs | it runs another program
  bwrap firejail proot fakeroot faketime systemd-run dbus-run-session xvfb-run | runs | it runs another program
  parallel setsid flock watch entr script unbuffer rlwrap busybox toybox run-parts start-stop-daemon | runs | it runs another program
  ionice chrt taskset numactl setarch prlimit cpulimit time strace ltrace gdb lldb valgrind perf | runs | it runs another program
  at batch crontab tmux screen logsave tini dumb-init make-wrapper | runs | it runs another program
  ssh sshpass mosh socat nc ncat netcat telnet | runs | it runs programs here or elsewhere
  less more most man info vi vim nvim view ex ed emacs nano pico zless zmore bat batcat | runs | it can run programs
  export read declare typeset local readonly unset shopt trap alias unalias let mapfile readarray | shell | it changes the shell
  eval source . exec builtin enable hash getopts wait bind complete compgen compopt fc jobs fg bg | shell | it changes the shell
  disown pushd popd dirs ulimit umask return break continue shift times caller suspend logout chdir | shell | it changes the shell
`
