/** What a command does with a path: `both` is a read and a write. */
export type Deed = 'none' | 'read' | 'write' | 'both'

/** Which words of a command are paths. Options are letters and long names, with spaces between. */
export interface OperandSpec {
  /** Of every operand but those that have a word of their own here. */
  readonly operands: Deed
  readonly first?: Deed
  /** Of the last one of several. */
  readonly last?: Deed
  /** Options with which first and last are as all others. */
  readonly unless?: string
  /** Options with which the operands are written, too. */
  readonly changing?: string
  /** Options whose value is no path, is read, or is written. */
  readonly values?: string
  readonly reads?: string
  readonly writes?: string
  /** Options with a name and a value behind. */
  readonly pairs?: string
}

const read: OperandSpec = { operands: 'read' }
const write: OperandSpec = { operands: 'write' }
const both: OperandSpec = { operands: 'both' }

const grep: OperandSpec = {
  operands: 'read',
  first: 'none',
  unless: 'e f regexp file',
  values: 'A B C D d e m context after-context before-context max-count regexp include exclude exclude-dir',
  reads: 'f file exclude-from',
}

const copy: OperandSpec = {
  operands: 'read',
  last: 'write',
  unless: 't target-directory',
  values: 'S suffix',
  writes: 't target-directory',
}

// An option that takes no value for one of the names must not stand there with one: it would swallow a path.
const rows: readonly (readonly [names: string, spec: OperandSpec])[] = [
  ['cat rev more most zcat bzcat xzcat zstdcat zless zmore vdir dir sum tsort comm', read],
  ['md5 md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum cksum', read],
  ['tac', { ...read, values: 's separator' }],
  ['nl', { ...read, values: 'b d f h i l n s v w' }],
  ['less', { ...read, values: 'b h j p P x y z', reads: 'k t T', writes: 'o O log-file LOG-FILE' }],
  ['bat batcat', { ...read, values: 'l r H m language line-range style theme' }],
  ['od', { ...read, values: 'A j N t' }],
  ['hexdump hd', { ...read, values: 'e n s', reads: 'f' }],
  ['strings', { ...read, values: 'n' }],
  ['base32 base64 basenc', { ...read, values: 'w wrap' }],
  ['stat', { ...read, values: 'c format printf' }],
  ['shasum', { ...read, values: 'a algorithm' }],
  ['cut', { ...read, values: 'b c d f bytes characters delimiter fields output-delimiter' }],
  ['paste', { ...read, values: 'd delimiters' }],
  ['join', { ...read, values: '1 2 a e j o t v' }],
  ['cmp', { ...read, values: 'i n' }],
  ['fold fmt', { ...read, values: 'w width' }],
  ['pr', { ...read, values: 'h l w' }],
  ['expand unexpand', { ...read, values: 't tabs' }],
  ['column', { ...read, values: 'c o s N' }],
  ['wc', { ...read, reads: 'files0-from' }],
  ['head', { ...read, values: 'n c lines bytes' }],
  ['tail', { ...read, values: 'n c s lines bytes sleep-interval pid' }],
  ['ls', { ...read, values: 'I ignore' }],
  ['tree', { ...read, values: 'L P I', writes: 'o' }],
  ['du', { ...read, values: 'd B t max-depth exclude', reads: 'X exclude-from files0-from' }],
  [
    'diff colordiff',
    {
      ...read,
      values: 'F I L S U C W x label width exclude ignore-matching-lines',
      reads: 'X exclude-from from-file to-file',
    },
  ],
  ['sdiff diff3', { ...read, writes: 'o output' }],
  ['file', { ...read, values: 'F e P', reads: 'f m files-from magic-file' }],
  ['grep egrep fgrep zgrep zegrep zfgrep ugrep', grep],
  [
    'rg',
    {
      ...grep,
      unless: 'e f regexp file files type-list',
      values:
        'A B C E M T d e g j m r t context after-context before-context max-count max-columns max-depth regexp glob iglob type type-not replace threads sort sortr encoding color colors pre',
      reads: 'f file ignore-file',
    },
  ],
  ['ag ack', { ...grep, values: 'A B C m G' }],
  ['fd fdfind', { ...grep, unless: '', values: 'd e E t c S x X j o', reads: 'search-path ignore-file' }],
  [
    'sort',
    {
      ...read,
      values: 'k t S key field-separator buffer-size parallel',
      reads: 'files0-from',
      writes: 'o T output temporary-directory',
    },
  ],
  ['shuf', { ...read, values: 'n i head-count input-range', writes: 'o output' }],
  ['iconv', { ...read, values: 'f t from-code to-code', writes: 'o output' }],
  ['uniq', { ...write, first: 'read', values: 'f s w skip-fields skip-chars check-chars' }],
  ['xxd', { ...write, first: 'read', values: 'c g l n o s R' }],
  ['split csplit', { operands: 'none', first: 'read', values: 'a b C l n' }],
  [
    'sed gsed',
    {
      ...read,
      first: 'none',
      unless: 'e f expression file',
      changing: 'i in-place',
      values: 'e l expression line-length',
      reads: 'f file',
    },
  ],
  [
    'awk gawk mawk nawk',
    {
      ...read,
      first: 'none',
      unless: 'e f file source',
      values: 'F v e field-separator assign source',
      reads: 'f i file include',
    },
  ],
  [
    'jq yq gojq jaq',
    {
      ...read,
      first: 'none',
      unless: 'f from-file',
      changing: 'i in-place inplace',
      values: 'indent',
      reads: 'f L from-file',
      pairs: 'arg argjson',
    },
  ],
  ['cp ln link', copy],
  ['mv', { ...copy, operands: 'both' }],
  [
    'install ginstall',
    {
      ...copy,
      unless: 't d target-directory directory',
      changing: 'd directory',
      values: 'S m o g suffix mode owner group',
    },
  ],
  [
    'rsync',
    {
      ...read,
      last: 'write',
      changing: 'remove-source-files',
      values: 'B M e f block-size rsh filter exclude include bwlimit chmod',
      reads: 'files-from include-from exclude-from password-file',
      writes: 'T temp-dir log-file partial-dir backup-dir',
    },
  ],
  ['scp', { ...read, last: 'write', values: 'c J l o P S', reads: 'F i' }],
  ['rm rmdir unlink trash tee mkfifo', write],
  ['shred', { ...write, values: 'n s iterations size' }],
  ['mkdir', { ...write, values: 'm mode' }],
  ['touch', { ...write, values: 'd t date time', reads: 'r reference' }],
  ['truncate', { ...write, values: 's size', reads: 'r reference' }],
  // `chmod -w file` has its mode where others have options.
  ['chmod', { ...write, first: 'none', unless: 'r w x X s t reference', reads: 'reference' }],
  ['chown chgrp', { ...write, first: 'none', unless: 'reference', values: 'from', reads: 'reference' }],
  [
    'patch',
    {
      ...both,
      values: 'p D F B V z strip fuzz prefix suffix',
      reads: 'i input',
      writes: 'd o r directory output reject-file',
    },
  ],
  ['gzip gunzip bzip2 bunzip2 compress uncompress', { ...both, values: 'S suffix' }],
  ['xz unxz lzma unlzma', { ...both, values: 'S T suffix threads' }],
  ['zstd unzstd', { ...both, reads: 'D', writes: 'o' }],
  ['zip', { ...read, first: 'write', values: 'P t', writes: 'b O' }],
  ['unzip', { operands: 'none', first: 'read', values: 'P', writes: 'd' }],
]

/** By the name of the program: those whose words are known well enough to tell what they open. */
export const operandSpecs: ReadonlyMap<string, OperandSpec> = new Map(
  rows.flatMap(([names, spec]) => names.split(' ').map((name) => [name, spec] as const)),
)

const shown: OperandSpec = {
  ...read,
  values: 'G S U author before after since until grep max-count',
  reads: 'L',
}
const listed = 'pathspec-from-file'

/** The same for git, by its subcommands. */
export const gitSpecs: ReadonlyMap<string, OperandSpec> = new Map<string, OperandSpec>([
  ...['diff', 'show', 'log', 'blame', 'annotate', 'cat-file', 'hash-object', 'apply', 'am'].map(
    (name) => [name, shown] as const,
  ),
  ['grep', { ...grep, values: 'A B C e m context max-count max-depth threads' }],
  ['add', { ...read, values: 'chmod', reads: listed }],
  [
    'commit',
    {
      ...read,
      values: 'm c C message author date reuse-message reedit-message fixup squash trailer cleanup',
      reads: `F t file template ${listed}`,
    },
  ],
  ['checkout', { ...write, values: 'b B orphan conflict', reads: listed }],
  ['restore', { ...write, values: 's source conflict', reads: listed }],
  ['rm', { ...write, reads: listed }],
  ['clean', { ...write, values: 'e exclude' }],
  ['stash', { ...write, values: 'm message', reads: listed }],
  ['mv', { ...both, last: 'write' }],
])
