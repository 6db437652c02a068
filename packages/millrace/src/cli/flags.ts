/** The commands there are; whatever begins otherwise is a question. */
export const commands = {
  serve: { words: '[agents.ts]', says: 'Serve agents over HTTP and WebSocket', most: 1 },
  mcp: { words: '[agents.ts]', says: 'Serve agents as MCP tools, on stdin and stdout', most: 1 },
  threads: { words: '', says: 'List the threads, the latest first', most: 0 },
  show: { words: 'ID', says: 'Play a thread back', most: 1 },
  export: { words: 'ID', says: 'Write a thread to stdout as Markdown, JSON or a test', most: 1 },
  approve: { words: 'ID [CALL]', says: 'Allow (or --deny) a call that waits, and go on', most: 2 },
  stop: { words: 'ID', says: 'Stop what a thread is doing', most: 1 },
  delete: { words: 'ID', says: 'Delete a thread and everything in it', most: 1 },
  help: { words: '[COMMAND]', says: 'Tell more about a command', most: 1 },
} as const

export type Command = keyof typeof commands | 'ask'

interface Flag {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** What stands behind it. */
  readonly value?: string
  /** The only words that may stand behind it; if none of them does, the first is meant. */
  readonly choices?: readonly [string, ...string[]]
  /** The commands that take it; `all` take those of everybody. */
  readonly of: readonly Command[] | 'all'
  readonly says: string
}

const talking = ['ask', 'approve'] as const
const withAgent = [...talking, 'serve', 'mcp'] as const

/** Every flag, in the order in which they are told. What is not here does not exist. */
export const flags = {
  model: {
    type: 'string',
    short: 'm',
    value: 'NAME',
    of: withAgent,
    says: 'provider/name, or URL#name; else MILLRACE_MODEL, or what is found',
  },
  system: { type: 'string', short: 's', value: 'TEXT', of: withAgent, says: 'What the model is to be' },
  tools: { type: 'string', value: 'FILE', of: withAgent, says: 'A module that exports tools' },
  thread: { type: 'string', short: 't', value: 'ID', of: ['ask'], says: 'Go on with this thread' },
  new: { type: 'boolean', of: ['ask'], says: 'Begin a thread, under the id that --thread gives it' },
  timeout: { type: 'string', value: 'TIME', of: talking, says: 'Give up after 30s, 2m, 500ms …' },
  json: {
    type: 'boolean',
    of: [...talking, 'threads', 'show'],
    says: 'One JSON object a line; the last one of an answer is the result',
  },
  quiet: { type: 'boolean', short: 'q', of: talking, says: 'Nothing on stderr but errors' },
  verbose: {
    type: 'boolean',
    of: withAgent,
    says: 'A line on stderr for each run, and for what fails',
  },
  pace: { type: 'boolean', of: ['show'], says: 'As fast as it was told then; long silences are cut' },
  format: { type: 'string', value: 'md|json|test', of: ['export'], says: 'md unless told otherwise' },
  deny: { type: 'string', value: 'REASON', of: ['approve'], says: 'Decline the call; the model is told why' },
  input: { type: 'string', value: 'JSON', of: ['approve'], says: 'Run the call with this instead' },
  remember: {
    type: 'string',
    value: 'thread|always',
    of: ['approve'],
    says: 'Allow the same from now on, where the rules of the agent ask',
  },
  limit: { type: 'string', value: 'N', of: ['threads'], says: 'How many at most; 20 unless told otherwise' },
  search: {
    type: 'string',
    value: 'WORDS',
    of: ['threads'],
    says: 'Only those that have all of these words',
  },
  port: { type: 'string', value: 'N', of: ['serve'], says: '8787 unless told otherwise; 0 takes a free one' },
  host: { type: 'string', value: 'HOST', of: ['serve'], says: '127.0.0.1 unless told otherwise' },
  token: {
    type: 'string',
    value: 'TEXT',
    of: ['serve'],
    says: 'Only who shows it gets in; or MILLRACE_TOKEN',
  },
  mcp: { type: 'boolean', of: ['serve'], says: 'The agents as MCP tools too, at /mcp' },
  voice: {
    type: 'string',
    value: '[flite|…]',
    choices: ['flite', 'espeak', 'openai'],
    of: ['serve'],
    says: 'Speak, with flite unless told espeak or openai; and listen',
  },
  otel: { type: 'boolean', of: ['serve'], says: 'Send traces and metrics where OTEL_* variables say' },
  hosts: { type: 'string', value: 'A,B', of: ['serve'], says: 'Names it goes by, beside its address' },
  origins: { type: 'string', value: 'A,B', of: ['serve'], says: 'Origins whose pages may use it' },
  data: {
    type: 'string',
    value: 'FILE',
    of: [...withAgent, 'threads', 'show', 'export', 'stop', 'delete'],
    says: 'Where threads are kept; or MILLRACE_DATA',
  },
  help: { type: 'boolean', short: 'h', of: 'all', says: 'This' },
  version: { type: 'boolean', short: 'v', of: 'all', says: 'The version' },
} as const satisfies Record<string, Flag>

type FlagTable = typeof flags

/** The flags that were given. */
export type Flags = {
  readonly [Name in keyof FlagTable]?: FlagTable[Name]['type'] extends 'boolean' ? boolean : string
}

export function takes(command: Command, name: keyof FlagTable): boolean {
  const { of }: Flag = flags[name]
  return of === 'all' || of.includes(command)
}

/** What may stand behind a flag, if that is not anything. */
export function choicesOf(name: string): readonly string[] | undefined {
  const known: Readonly<Record<string, Flag>> = flags
  return Object.hasOwn(known, name) ? known[name]?.choices : undefined
}
